package opt

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// accessesOf are the ways to load, or to store, a type.
func accessesOf(ty clif.Type, store bool) []clif.Access {
	switch {
	case ty.IsFloat():
		return []clif.Access{clif.Full}
	case store && ty == clif.I32:
		return []clif.Access{clif.Full, clif.U8, clif.U16}
	case store:
		return []clif.Access{clif.Full, clif.U8, clif.U16, clif.U32}
	case ty == clif.I32:
		return []clif.Access{clif.Full, clif.U8, clif.S8, clif.U16, clif.S16}
	}
	return []clif.Access{clif.Full, clif.U8, clif.S8, clif.U16, clif.S16, clif.U32, clif.S32}
}

// access is a load or store of the test.
type access struct {
	typ clif.Type
	how clif.Access
}

func accesses(store bool) (all []access) {
	for ty := clif.I32; ty <= clif.F64; ty++ {
		for _, a := range accessesOf(ty, store) {
			all = append(all, access{ty, a})
		}
	}
	return all
}

// TestOverlaps is exhaustive: for all ways to write twice, at all offsets that overlap or nearly do,
// through one index or two, what loads of one kind at all these offsets give, once and again. The
// values of the two indices make the accesses through them overlap in all ways, too.
func TestOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	functions, calls, forwarded := 0, 0, 0
	for _, first := range accesses(true) {
		for _, second := range accesses(true) {
			for _, loads := range accesses(false) {
				for offset := range uint64(17) {
					if !*everything && r.IntN(testenv.Cases(480, 30, 12)) > 0 {
						continue
					}
					for index := range clif.Value(2) {
						n, f := overlap(t, first, second, loads, offset, index)
						functions, calls, forwarded = functions+1, calls+n, forwarded+f
					}
				}
			}
		}
	}
	t.Logf("%d functions, %d calls, %d loads forwarded", functions, calls, forwarded)
	if forwarded == 0 {
		t.Error("no load was forwarded")
	}
}

// overlap loads around offset 8, stores there, stores at the given offset through the given index, and
// loads again.
func overlap(t *testing.T, first, second, loads access, offset uint64, index clif.Value) (calls, forwarded int) {
	params := []clif.Type{clif.I32, clif.I32, first.typ, second.typ}
	m := testModule(params, nil)
	f, b := newFunc(m)
	var results []clif.Value
	read := func(offsets ...uint64) {
		for _, at := range offsets {
			results = append(results, b.Load(loads.typ, loads.how, 0, 0, at))
			m.Sigs[0].Results = append(m.Sigs[0].Results, loads.typ)
		}
	}
	read(8, offset)
	b.Store(first.typ, first.how, 0, 0, 2, 8)
	read(8, 4)
	b.Store(second.typ, second.how, 0, index, 3, offset)
	read(8, offset, 7, 12)
	b.Return(results)
	ctl := &Control{Limit: -1}
	g := optimized(t, &Optimizer{Control: ctl}, f)
	for i := range ctl.Log {
		if ctl.Log[i].Rule == RuleLoadKnown.Info() {
			forwarded++
		}
	}
	before, after := newWorld(t, f), newWorld(t, g)
	seed := before.inst.Memory(0).Data[:64]
	for i := range seed {
		seed[i] = byte(0x81 + 29*i)
	}
	copy(after.inst.Memory(0).Data, seed)
	for _, delta := range []uint64{0, 1, 4, 7, 8, 12} {
		in := []uint64{8, 8 + delta, 0xF1F2F3F4F5F6F7F8, 0x1122334455667788}
		for k := 2; k < 4; k++ {
			if params[k].Bits() == 32 {
				in[k] &= 0xFFFFFFFF
			}
		}
		if a, b := before.call(t, in), after.call(t, in); a != b {
			t.Fatalf("f(%#x):\n%s before\n%s after\n%v\n%v", in, a, b, f, g)
		}
		calls++
	}
	if string(before.inst.Memory(0).Data) != string(after.inst.Memory(0).Data) {
		t.Fatalf("memories differ\n%v\n%v", f, g)
	}
	return calls, forwarded
}

// effectModule is a module whose function 1 may use everything: function 0 is the host's, and looks at
// all that there is; globals 0 and 1 are two imports of one global.
func effectModule() *clif.Module {
	imported := func(name string) *clif.ImportName { return &clif.ImportName{Module: "env", Name: name} }
	return &clif.Module{
		Sigs: []clif.Signature{{Params: []clif.Type{clif.I32, clif.I32, clif.I64}}, {}, {Params: []clif.Type{clif.I64}, Results: []clif.Type{clif.I64}}},
		Funcs: []clif.FuncDecl{{Sig: 2, Name: "note", Import: imported("note")}, {Sig: 0, Name: "f", Addressed: true},
			{Sig: 1, Name: "callee", Addressed: true}, {Sig: 1, Name: "init"}},
		NumImportedFuncs: 1,
		Globals: []clif.GlobalDecl{{Type: clif.I64, Mutable: true, Import: imported("g")}, {Type: clif.I64, Mutable: true, Import: imported("g")},
			{Type: clif.I64, Mutable: true, Init: 3}, {Type: clif.F64, Mutable: true, Init: 1 << 62}, {Type: clif.I64, Init: 9}},
		Memories: []clif.MemoryDecl{{Min: 1, Max: 3, HasMax: true}},
		Tables:   []clif.TableDecl{{Elem: clif.FuncRef, Min: 4, Max: 8, HasMax: true}, {Elem: clif.FuncRef, Min: 4, Max: 4, HasMax: true}},
		Datas:    []clif.DataDecl{{Bytes: []byte("\xFFdata in a segment")}, {Bytes: []byte("more\x80\x81\x82\x83")}},
		Elems:    []clif.ElemDecl{{Type: clif.FuncRef, Funcs: []clif.FuncIndex{1, 2, clif.ElemNull}}, {Type: clif.FuncRef, Funcs: []clif.FuncIndex{2, 2}}},
	}
}

// effects is a random function under construction that reads and writes all kinds of things.
type effects struct {
	r    *rand.Rand
	b    *clif.Builder
	m    *clif.Module
	vals map[clif.Type][]clif.Value
	read []clif.Value // what the function returns
	like []access     // most accesses are one of these
	deep int          // blocks that do not dominate the end: nothing in them is returned
}

func (e *effects) one(ty clif.Type) clif.Value {
	vs := e.vals[ty]
	return vs[max(0, len(vs)-1-e.r.IntN(5))]
}

func (e *effects) note(v clif.Value, ty clif.Type) {
	if e.deep > 0 {
		return
	}
	e.read = append(e.read, v)
	e.m.Sigs[0].Results = append(e.m.Sigs[0].Results, ty)
	if !ty.IsRef() {
		e.vals[ty] = append(e.vals[ty], v)
	}
}

// address is one of few, so that accesses meet; some are near the end of memory.
func (e *effects) address() (clif.Value, uint64) {
	base := clif.Value(e.r.IntN(4) / 3)
	if e.r.IntN(5) == 0 {
		base = e.b.Binary(clif.OpIadd, clif.I32, base, e.b.Iconst(clif.I32, uint64(uint32(e.r.IntN(16)-4))))
	}
	return base, uint64([...]int{0, 0, 4, 8, e.r.IntN(12)}[e.r.IntN(5)])
}

// access is a way to load or store.
func (e *effects) access(store bool) access {
	if a := e.like[e.r.IntN(len(e.like))]; e.r.IntN(3) > 0 && !(store && a.how.Signed()) {
		return a
	}
	all := accesses(store)
	return all[e.r.IntN(len(all))]
}

func (e *effects) step() {
	b, r := e.b, e.r
	small := b.Iconst(clif.I64, uint64(r.IntN(3)))
	table, segment := uint32(r.IntN(2)), uint32(r.IntN(2))
	switch kind := r.IntN(24); kind {
	case 0, 1, 2, 3:
		a := e.access(false)
		base, offset := e.address()
		if x := b.Load(a.typ, a.how, 0, base, offset); a.typ == clif.I64 && r.IntN(2) == 0 {
			e.note(b.Unary(clif.OpIreduce, clif.I32, x), clif.I32)
		} else {
			e.note(x, a.typ)
		}
	case 4, 5, 6, 7:
		a := e.access(true)
		base, offset := e.address()
		b.Store(a.typ, a.how, 0, base, e.one(a.typ), offset)
	case 8, 9:
		g := [...]uint32{0, 0, 1, 1, 2, 3, 4}[r.IntN(7)]
		ty := e.m.Globals[g].Type
		e.note(b.Entity(clif.OpGlobalGet, ty, g), ty)
	case 10, 11:
		g := [...]uint32{0, 0, 1, 1, 2, 3}[r.IntN(6)]
		ty := e.m.Globals[g].Type
		b.EntityEffect(clif.OpGlobalSet, ty, g, 0, e.one(ty))
	case 12:
		e.note(b.Entity(clif.OpMemorySize, clif.Invalid, 0), clif.I64)
		e.note(b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, uint64(r.IntN(2)))), clif.I32)
	case 13:
		e.note(b.Entity(clif.OpTableSize, clif.Invalid, table), clif.I64)
		if table == 0 {
			e.note(b.Entity(clif.OpTableGrow, clif.FuncRef, 0, b.Iconst(clif.I32, uint64(r.IntN(2))), b.RefNull(clif.FuncRef)), clif.I32)
		}
	case 14, 15:
		e.note(b.Unary(clif.OpRefIsNull, clif.FuncRef, b.Entity(clif.OpTableGet, clif.FuncRef, table, small)), clif.I32)
	case 16:
		ref := b.FuncAddr(1)
		if r.IntN(2) == 0 {
			ref = b.RefNull(clif.FuncRef)
		}
		b.EntityEffect(clif.OpTableSet, clif.FuncRef, table, 0, small, ref)
	case 17, 18:
		e.segments(kind == 17, table, segment, small)
	case 19:
		e.bulk(table, small)
	case 20:
		e.note(b.Call(0, []clif.Value{e.one(clif.I64)}), clif.I64)
	case 21:
		if r.IntN(2) == 0 {
			b.Call(2, nil)
			return
		}
		b.TrapIf(b.Icmp(clif.Eq, clif.I32, e.one(clif.I32), b.Iconst(clif.I32, uint64(r.IntN(3)))), abi.TrapCode(1+r.IntN(3)))
	case 22:
		e.diamond()
	case 23:
		e.loop()
	}
}

// segments uses a segment as the front end does: checked by its length, which data_drop changes.
func (e *effects) segments(data bool, table, segment uint32, small clif.Value) {
	b := e.b
	if e.r.IntN(4) == 0 {
		b.EntityEffect([]clif.Opcode{clif.OpElemDrop, clif.OpDataDrop}[boolBits(data)], clif.Invalid, segment, 0)
		return
	}
	length := b.Entity([]clif.Opcode{clif.OpElemLen, clif.OpDataLen}[boolBits(data)], clif.Invalid, segment)
	e.note(length, clif.I64)
	if e.r.IntN(2) == 0 {
		return
	}
	two := b.Iconst(clif.I64, 2)
	b.TrapIf(b.Icmp(clif.Ult, clif.I64, length, two), abi.TrapMemoryOutOfBounds)
	if data {
		wide := b.Binary(clif.OpBand, clif.I64, b.Unary(clif.OpUextend, clif.I64, 0), b.Iconst(clif.I64, 0xFF))
		b.EntityEffect(clif.OpMemoryInit, clif.Invalid, 0, segment, wide, b.Iconst(clif.I64, 0), two)
		return
	}
	b.EntityEffect(clif.OpTableInit, clif.Invalid, table, segment, small, b.Iconst(clif.I64, 0), two)
}

// bulk writes many places at once.
func (e *effects) bulk(table uint32, small clif.Value) {
	b := e.b
	wide := b.Binary(clif.OpBand, clif.I64, b.Unary(clif.OpUextend, clif.I64, clif.Value(e.r.IntN(2))), b.Iconst(clif.I64, 0xFF))
	four, one := b.Iconst(clif.I64, 4), b.Iconst(clif.I64, 1)
	switch e.r.IntN(4) {
	case 0:
		b.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, wide, e.one(clif.I32), four)
	case 1:
		b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, 0, 0, wide, four, four)
	case 2:
		b.EntityEffect(clif.OpTableFill, clif.FuncRef, table, 0, small, b.FuncAddr(2), one)
	case 3:
		b.EntityEffect(clif.OpTableCopy, clif.Invalid, table, 1-table, small, one, one)
	}
}

// diamond has effects on one way or both, and goes on where they meet.
func (e *effects) diamond() {
	if e.deep > 2 {
		return
	}
	b := e.b
	then, els, join := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.Branch(e.one(clif.I32), b.Target(then, nil), b.Target(els, nil))
	e.deep++
	for _, arm := range []clif.Block{then, els} {
		b.SwitchTo(arm)
		for range e.r.IntN(3) {
			e.step()
		}
		b.Jump(b.Target(join, nil))
	}
	e.deep--
	b.SwitchTo(join)
}

// loop has effects three times.
func (e *effects) loop() {
	if e.deep > 2 {
		return
	}
	b := e.b
	body, after := b.NewBlock(), b.NewBlock()
	n := b.AddParam(body, clif.I32)
	b.Jump(b.Target(body, []clif.Value{b.Iconst(clif.I32, 3)}))
	b.SwitchTo(body)
	e.deep++
	for range 1 + e.r.IntN(3) {
		e.step()
	}
	b.Call(0, []clif.Value{b.Load(clif.I64, clif.Full, 0, 0, 4)})
	e.deep--
	n = b.Binary(clif.OpIsub, clif.I32, n, b.Iconst(clif.I32, 1))
	b.Branch(n, b.Target(body, []clif.Value{n}), b.Target(after, nil))
	b.SwitchTo(after)
}

// calleeStates are the parts of the state that the function callee may write.
var calleeStates = [...]clif.StateSet{clif.StateMemory, clif.StateMemorySize, clif.StateTable, clif.StateSegments, clif.StateImported}

// keepSome lets the callee of m write some of what it may, and global 2 or not.
func keepSome(m *clif.Module, r *rand.Rand) {
	writes := clif.StateSet(0)
	for _, s := range calleeStates {
		if r.IntN(3) == 0 {
			writes |= s
		}
	}
	if r.IntN(2) == 0 {
		writes |= m.GlobalState(2)
	}
	m.Funcs[2].Keeps = ^writes
}

// effectCallee writes all that its declaration does not say that it keeps.
func effectCallee(m *clif.Module) *clif.Func {
	f := &clif.Func{Name: "callee", Mod: m, Index: 2, Sig: 1}
	b := &clif.Builder{F: f}
	b.SwitchTo(b.NewBlock())
	writes := ^m.Funcs[2].Keeps
	if g := m.GlobalState(2); writes&g != 0 {
		b.EntityEffect(clif.OpGlobalSet, clif.I64, 2, 0, b.Binary(clif.OpIadd, clif.I64, b.Entity(clif.OpGlobalGet, clif.I64, 0), b.Iconst(clif.I64, 3)))
	}
	if writes&clif.StateImported != 0 {
		b.EntityEffect(clif.OpGlobalSet, clif.I64, 1, 0, b.Binary(clif.OpIadd, clif.I64, b.Entity(clif.OpGlobalGet, clif.I64, 2), b.Iconst(clif.I64, 5)))
	}
	if writes&clif.StateMemory != 0 {
		b.Store(clif.I64, clif.Full, 0, b.Iconst(clif.I32, 0), b.Entity(clif.OpGlobalGet, clif.I64, 2), 8)
	}
	if writes&clif.StateMemorySize != 0 {
		b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, 1))
	}
	if writes&clif.StateSegments != 0 {
		b.EntityEffect(clif.OpDataDrop, clif.Invalid, 1, 0)
	}
	if writes&clif.StateTable != 0 {
		b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, b.Iconst(clif.I64, 0), b.FuncAddr(2))
	}
	b.Return(nil)
	return f
}

// observed is what a run did: what the host saw at each of its calls, the end, and what was left.
func observed(t *testing.T, f *clif.Func, in []uint64) (trace string, trapped bool) {
	s := interp.NewStore(interp.Options{MaxSteps: 1 << 20})
	shared := &interp.Global{Type: clif.I64, Mutable: true, Bits: 77}
	var inst *interp.Instance
	look := func() string {
		s := fmt.Sprintf("%d bytes %x", len(inst.Memory(0).Data), crc32.ChecksumIEEE(inst.Memory(0).Data))
		for g := range f.Mod.Globals {
			s += fmt.Sprintf(" %x", inst.Global(clif.GlobalIndex(g)).Bits)
		}
		for i := range clif.TableIndex(2) {
			for k := range inst.Table(i).Len() {
				s += fmt.Sprintf(" %x", inst.Table(i).Get(k))
			}
		}
		return s
	}
	note := s.NewHostFunc("note", f.Mod.Sigs[2], func(c *interp.HostCall, args, results []uint64) error {
		trace += fmt.Sprintf("note(%x): %s\n", args[0], look())
		shared.Bits += args[0]
		inst.Memory(0).Data[args[0]%32] ^= 0xA5
		results[0] = args[0]*3 + 1
		return nil
	})
	init := &clif.Func{Name: "init", Mod: f.Mod, Index: 3, Sig: 1}
	b := &clif.Builder{F: init}
	b.SwitchTo(b.NewBlock())
	b.Return(nil)
	other := effectCallee(f.Mod)
	inst, err := s.Instantiate(f.Mod, func(i clif.FuncIndex) (*clif.Func, error) { return []*clif.Func{nil, f, other, init}[i], nil },
		func(_, name string) (interp.Extern, bool) {
			if name == "g" {
				return shared, true
			}
			return note, true
		})
	if err != nil {
		t.Fatal(err)
	}
	results, err := inst.Func(1).Call(in)
	var trap *interp.Trap
	if err != nil && !errors.As(err, &trap) {
		t.Fatalf("%v\n%v", err, f)
	}
	if trap != nil {
		return fmt.Sprintf("%strap %v, %s", trace, trap.Code, look()), true
	}
	return fmt.Sprintf("%s%x, %s", trace, results, look()), false
}

// TestEffects compares random functions of everything that has effects, in order: what the host sees of memory,
// globals and tables whenever it is called, results, the trap and what was written before it.
func TestEffects(t *testing.T) {
	n := testenv.Cases[uint64](300, 600, 1500)
	if *everything {
		n = 60000
	}
	runs, traps, notes := 0, 0, 0
	var total fired
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 31))
		m := effectModule()
		keepSome(m, r)
		f := &clif.Func{Name: "f", Mod: m, Index: 1}
		b := &clif.Builder{F: f}
		entry := b.NewBlock()
		e := &effects{r: r, b: b, m: m, vals: map[clif.Type][]clif.Value{}}
		for _, ty := range m.Sigs[0].Params {
			e.vals[ty] = append(e.vals[ty], b.AddParam(entry, ty))
		}
		b.SwitchTo(entry)
		e.vals[clif.F32] = []clif.Value{b.Fconst(clif.F32, 0x7FA12345)}
		e.vals[clif.F64] = []clif.Value{b.Fconst(clif.F64, 0x7FF4123456789ABC)}
		all := accesses(false)
		e.like = []access{all[r.IntN(len(all))], all[r.IntN(len(all))]}
		for range 4 + r.IntN(40) {
			e.step()
		}
		b.Return(e.read)
		ctl := &Control{Limit: -1}
		if seed%8 == 0 {
			ctl.Limit = r.IntN(20)
		}
		g := optimized(t, &Optimizer{Control: ctl}, f)
		total.add(ctl.Log)
		for _, in := range [][]uint64{{0, 0, 5}, {8, 9, 0xFFFFFFFFFFFFFFFF}, {1, 65530, 1}, {65526, 3, 2}, {16, 12, 0x0102030405060708}} {
			x, trapped := observed(t, f, in)
			y, _ := observed(t, g, in)
			if x != y {
				t.Fatalf("seed %d, f(%#x):\n%s\nbefore\n%s\nafter\n%v\n%v", seed, in, x, y, f, g)
			}
			if runs++; trapped {
				traps++
			}
		}
		notes += count(f, clif.OpCall)
	}
	forwarded, dropped, over := 0, 0, 0
	for ty := range clif.NumTypes {
		forwarded, dropped, over = forwarded+total[RuleLoadKnown][ty], dropped+total[RuleStoreSame][ty], over+total[RuleStoreOver][ty]
	}
	low, sums := total[RuleLoadLow][clif.I64], total[RuleAddressSum][clif.I64]
	t.Logf("%d functions, %d runs, %d traps, %d calls in them; %d reads forwarded, %d and %d writes dropped, %d loads narrowed, %d addresses replaced",
		n, runs, traps, notes, forwarded, dropped, over, low, sums)
	if forwarded == 0 || dropped == 0 || over == 0 || traps == 0 || low == 0 || sums == 0 {
		t.Error("some of what is to be tested did not happen")
	}
}

// TestWritesForget: whatever an opcode writes by its row in the table of opcodes, nothing that was read of it before stays known, but for what the
// write itself says, and what the writer cannot reach though it is in the same part of the state.
func TestWritesForget(t *testing.T) {
	apart := map[[2]clif.Opcode]bool{{clif.OpDataDrop, clif.OpElemLen}: true, {clif.OpElemDrop, clif.OpDataLen}: true}
	elements, fields := []clif.Opcode{clif.OpArrayGet, clif.OpArrayGetS, clif.OpArrayGetU}, []clif.Opcode{clif.OpStructGet, clif.OpStructGetS, clif.OpStructGetU}
	for _, w := range []clif.Opcode{clif.OpStructSet, clif.OpArraySet} { // no field and no element is where the next object will be
		apart[[2]clif.Opcode{w, clif.OpHeapNext}] = true
	}
	for _, op := range elements {
		apart[[2]clif.Opcode{clif.OpStructSet, op}] = true
	}
	for _, op := range fields {
		for w := clif.OpArraySet; w <= clif.OpArrayInitElem; w++ {
			apart[[2]clif.Opcode{w, op}] = true
		}
	}
	m, writers := effectModule(), 0
	m.Types = []abi.TypeDef{{Kind: abi.KindStruct, Fields: []abi.FieldType{{Type: abi.I32, Mutable: true}}}}
	m.Records = abi.RecordsOf(m.Types, nil)
	f := &clif.Func{Name: "f", Mod: m, Index: 1}
	b := &clif.Builder{F: f}
	entry := b.NewBlock()
	x, y := b.AddParam(entry, clif.I32), b.AddParam(entry, clif.I32)
	b.SwitchTo(entry)
	b.Return(nil)
	var o Optimizer
	c := &o.fold
	c.f, c.o = f, &o
	for op := range clif.NumOpcodes {
		e := op.Info().Effects
		if !e.Has(effect.Writes) || e.Has(effect.Calls|effect.Control) {
			continue
		}
		writers++
		d := clif.InstData{Op: op, Type: clif.I32, Args: [3]uint32{uint32(x), uint32(x), uint32(x)}, Result: clif.NoValue}
		c.mem.reset(m)
		for read := range clif.NumOpcodes {
			if e := read.Info().Effects; e.Has(effect.Reads) && !e.Has(effect.Writes|effect.Calls|effect.Control) {
				c.mem.put(read, &clif.InstData{Type: clif.I32, Args: [3]uint32{uint32(y)}}, y).at = place{x: y}
			}
		}
		if c.mem.facts = slices.Clone(c.mem.facts); op.Info().Sig[strings.IndexByte(op.Info().Sig, ':')+1:] == "." {
			c.write(&d)
		} else {
			c.read(&d)
		}
		for _, k := range c.mem.facts {
			if k.state&m.WrittenBy(&d) != 0 && k.value == y && !apart[[2]clif.Opcode{op, k.op}] {
				t.Errorf("%v: what %v has read stays known", op, k.op)
			}
		}
	}
	if writers < 12 {
		t.Errorf("only %d opcodes write", writers)
	}
}
