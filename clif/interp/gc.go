package interp

import (
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// defined is a type that modules define: one for all modules of a store, so that types are equal if they are the same *defined.
type defined struct {
	kind   abi.TypeKind
	super  *defined // or nil
	fields []abi.FieldType
}

// isSub reports whether t is u or a subtype of it.
func (t *defined) isSub(u *defined) bool {
	for ; t != nil; t = t.super {
		if t == u {
			return true
		}
	}
	return false
}

// object is a structure, whose fields are its slots, or an array.
type object struct {
	typ   *defined
	slots []uint64
	highs []uint64 // high halves of vectors, or nil
}

// A reference to an object is the number of the object, from 1 on, times 8: below those to host objects, and without the bit of small integers.
const (
	objectShift = 3
	firstHost   = 1 << 32 // references to host objects begin here
)

// newObject returns a reference to a new object with n slots, or traps.
func (m *machine) newObject(t *defined, n int) (uint64, bool) {
	s := m.store
	ref, slots := uint64(len(s.heap)+1)<<objectShift, s.slots+int64(n)+slotsPerObject
	if slots > s.opt.MaxSlots || ref >= firstHost {
		m.trap(abi.TrapHeapExhausted)
		return 0, false
	}
	s.slots = slots
	o := &object{typ: t, slots: make([]uint64, n)}
	if slices.ContainsFunc(t.fields, func(f abi.FieldType) bool { return f.Type == abi.V128 }) {
		o.highs = make([]uint64, n)
	}
	s.heap = append(s.heap, o)
	return ref, true
}

// slotsPerObject is what an object takes besides its slots.
const slotsPerObject = 8

// objectAt returns the object that a reference is to, or nil if it is to none.
func (s *Store) objectAt(ref uint64) *object {
	if n := ref >> objectShift; ref < firstHost && ref&(1<<objectShift-1) == 0 && n-1 < uint64(len(s.heap)) {
		return s.heap[n-1]
	}
	return nil
}

// object returns the object of a type that ref is to, or traps.
func (m *machine) object(ref uint64, typ uint32) *object {
	t := m.inst.types[typ]
	if ref == 0 {
		m.trap(nullTraps[t.kind])
		return nil
	}
	o := m.store.objectAt(ref)
	if o == nil || !o.typ.isSub(t) {
		m.undefined("0x%x is no reference to an object of type%d", ref, typ)
		return nil
	}
	return o
}

var nullTraps = [...]abi.TrapCode{abi.KindStruct: abi.TrapNullStructure, abi.KindArray: abi.TrapNullArray}

// isRefTo reports whether a reference is of a type of the current module, of the class that it has.
func (m *machine) isRefTo(ref uint64, want abi.ValType) bool {
	i, exact := want.TypeIndex()
	switch {
	case ref == 0:
		return !want.IsNotNull()
	case !exact:
		return m.store.IsRefTo(ref, want)
	case want.Base() == abi.FuncRef:
		f := m.store.funcOf(ref)
		return f != nil && f.typ.isSub(m.inst.types[i])
	}
	o := m.store.objectAt(ref)
	return o != nil && o.typ.isSub(m.inst.types[i])
}

// IsRefTo reports whether a reference, not null, of the class of t is of type t, which has no index.
func (s *Store) IsRefTo(ref uint64, t abi.ValType) bool {
	if t.Top() != abi.AnyRef {
		return !t.IsBottom()
	}
	kind := abi.AnyRef // the most that is said of what there is: so much of what is of the host
	if o := s.objectAt(ref); o != nil {
		kind = abi.RefToKind(o.typ.kind, 0)
	} else if ref&1 != 0 {
		kind = abi.I31Ref
	}
	return abi.Matches(kind, t.OrNull(), nil)
}

func opRefEq(m *machine, d *clif.InstData) { m.setBool(d, m.a(d) == m.b(d)) }

func opRefTest(m *machine, d *clif.InstData) {
	_, want := d.RefTestTypes()
	m.setBool(d, m.isRefTo(m.a(d), want))
}

func opRefI31(m *machine, d *clif.InstData)  { m.set64(d, uint64(uint32(m.a(d))<<1|1)) }
func opI31GetS(m *machine, d *clif.InstData) { m.set64(d, uint64(uint32(int32(m.a(d))>>1))) }
func opI31GetU(m *machine, d *clif.InstData) { m.set64(d, uint64(uint32(m.a(d))>>1)) }

func opStructNew(m *machine, d *clif.InstData) {
	t := m.inst.types[d.Aux]
	if ref, ok := m.newObject(t, len(t.fields)); ok {
		m.set64(d, ref)
	}
}

// The interpreter never has room at once, so that struct_new makes all structures.
func opHeapNext(m *machine, d *clif.InstData) { m.set64(d, 0) }
func opHeapFull(m *machine, d *clif.InstData) { m.set64(d, 1) }
func opHeapClaim(*machine, *clif.InstData) {
	panic("interp: heap_claim where heap_full said that there is no room")
}

func opArrayNew(m *machine, d *clif.InstData) {
	if ref, ok := m.newObject(m.inst.types[d.Aux], int(m.a(d))); ok {
		m.set64(d, ref)
	}
}

// kept returns what of x a field keeps.
func kept(f *abi.FieldType, x uint64) uint64 {
	if f.Packed != 0 {
		return x & (1<<f.Packed - 1)
	}
	return x
}

// get sets the result of d to a slot of an object.
func (m *machine) get(d *clif.InstData, o *object, slot uint64, f *abi.FieldType) {
	x := o.slots[slot]
	if d.Op == clif.OpStructGetS || d.Op == clif.OpArrayGetS {
		shift := 32 - f.Packed
		x = uint64(uint32(int32(x<<shift) >> shift))
	}
	if m.set64(d, x); d.Type == clif.V128 {
		m.highs[d.Result] = o.highs[slot]
	}
}

// put sets a slot of an object to the value v.
func (m *machine) put(o *object, slot uint64, f *abi.FieldType, v uint32) {
	if o.slots[slot] = kept(f, m.regs[v]); o.highs != nil && f.Type == abi.V128 {
		o.highs[slot] = m.highs[v]
	}
}

func opStructGet(m *machine, d *clif.InstData) {
	if o := m.object(m.a(d), d.Aux); o != nil {
		m.get(d, o, d.Imm, &o.typ.fields[d.Imm])
	}
}

func opStructSet(m *machine, d *clif.InstData) {
	if o := m.object(m.a(d), d.Aux); o != nil {
		m.put(o, d.Imm, &o.typ.fields[d.Imm], d.Args[1])
	}
}

func opArrayLen(m *machine, d *clif.InstData) {
	switch o := m.store.objectAt(m.a(d)); {
	case m.a(d) == 0:
		m.trap(abi.TrapNullArray)
	case o == nil || o.typ.kind != abi.KindArray:
		m.undefined("0x%x is no reference to an array", m.a(d))
	default:
		m.set64(d, uint64(len(o.slots)))
	}
}

func opArrayGet(m *machine, d *clif.InstData) {
	if o := m.object(m.a(d), d.Aux); o != nil && m.inRange("element", m.b(d), 1, uint64(len(o.slots))) {
		m.get(d, o, m.b(d), &o.typ.fields[0])
	}
}

func opArraySet(m *machine, d *clif.InstData) {
	if o := m.object(m.a(d), d.Aux); o != nil && m.inRange("element", m.b(d), 1, uint64(len(o.slots))) {
		m.put(o, m.b(d), &o.typ.fields[0], d.Args[2])
	}
}

// elements returns the array of d, an operation on n elements from a place on, or nil after a failure.
func (m *machine) elements(array uint64, typ uint32, at, n uint64) *object {
	o := m.object(array, typ)
	if o == nil || !m.inRange("elements", at, n, uint64(len(o.slots))) {
		return nil
	}
	return o
}

func opArrayFill(m *machine, d *clif.InstData) {
	l := m.fn.body.ListOperands(d)
	at, n := m.regs[l[1]], m.regs[l[3]]
	if o := m.elements(m.regs[l[0]], d.Aux, at, n); o != nil {
		for i := range n {
			m.put(o, at+i, &o.typ.fields[0], l[2])
		}
	}
}

func opArrayCopy(m *machine, d *clif.InstData) {
	l := m.fn.body.ListOperands(d)
	at, from, n := m.regs[l[1]], m.regs[l[3]], m.regs[l[4]]
	to := m.elements(m.regs[l[0]], d.Aux, at, n)
	if to == nil {
		return
	}
	if source := m.elements(m.regs[l[2]], uint32(d.Imm), from, n); source != nil {
		copy(to.slots[at:at+n], source.slots[from:from+n])
		if to.highs != nil {
			copy(to.highs[at:at+n], source.highs[from:from+n])
		}
	}
}

func opArrayInitElem(m *machine, d *clif.InstData) {
	l := m.fn.body.ListOperands(d)
	at, from, n := m.regs[l[1]], m.regs[l[2]], m.regs[l[3]]
	elems := m.inst.elems[d.Imm]
	if o := m.elements(m.regs[l[0]], d.Aux, at, n); o != nil && m.inRange("source", from, n, uint64(len(elems))) {
		copy(o.slots[at:at+n], elems[from:from+n])
	}
}

func opArrayInitData(m *machine, d *clif.InstData) {
	l := m.fn.body.ListOperands(d)
	at, from, n := m.regs[l[1]], m.regs[l[2]], m.regs[l[3]]
	data := m.inst.datas[d.Imm]
	o := m.elements(m.regs[l[0]], d.Aux, at, n)
	if o == nil {
		return
	}
	width := uint64(o.typ.fields[0].Bytes())
	if !m.inRange("source", from, n*width, uint64(len(data))) {
		return
	}
	for i := range n {
		var b [16]byte
		copy(b[:], data[from+i*width:][:width])
		if o.slots[at+i] = binary.LittleEndian.Uint64(b[:]); o.highs != nil {
			o.highs[at+i] = binary.LittleEndian.Uint64(b[8:])
		}
	}
}

// define returns the store's types that a module defines, by index.
func (s *Store) define(mod *clif.Module) []*defined {
	list := make([]*defined, len(mod.Types))
	records := mod.Records
	if records == nil {
		records = abi.RecordsOf(mod.Types, nil)
	}
	for i := range mod.Types {
		t := &mod.Types[i]
		digest := records.Digest(uint32(i))
		d := s.types[digest]
		if d == nil {
			d = &defined{kind: t.Kind, fields: t.Fields}
			if t.HasSuper {
				d.super = list[t.Super]
			}
			s.types[digest] = d
		}
		list[i] = d
	}
	return list
}

// plainType returns the type of functions with a signature that nothing else distinguishes.
func (s *Store) plainType(sig *clif.Signature) *defined {
	digest := abi.DigestOf(sig.Record())
	d := s.types[digest]
	if d == nil {
		d = &defined{kind: abi.KindFunc}
		s.types[digest] = d
	}
	return d
}

// matches reports whether t is u or a subtype of it.
func (s *Store) matches(t, u abi.OwnType) bool {
	return t.MatchesBy(u, func(a, b abi.Digest) bool { return a == b || s.types[a].isSub(s.types[b]) })
}
