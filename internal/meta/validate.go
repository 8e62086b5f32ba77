package meta

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/waot-project/waot/internal/abi"
)

// InvalidError is metadata that is well-formed but cannot be true of any module.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "metadata: " + e.Reason }

// validator checks a module. After the first error, err is set and nothing else is noted. Where there are many entries,
// arguments of messages are made only when they are needed: each is an allocation.
type validator struct {
	m    *Module
	size Sizes
	// taken is the end of the part of the instance data that is accounted for.
	taken uint64
	err   error
}

// Validate checks that everything in m lies where it can be: each number within what it counts or
// points into, parts of the instance data in the order of the binary interface and apart, functions in
// order and apart, sites inside of functions, stack slots inside of frames. The error is an *InvalidError. Time is
// proportional to m.
func (m *Module) Validate(sizes Sizes) error {
	v := newValidator(m, sizes)
	v.declarations()
	if v.err == nil { // sites are looked up in functions, which must be right
		v.sites()
	}
	return v.err
}

func newValidator(m *Module, sizes Sizes) *validator {
	return &validator{m: m, size: sizes, taken: abi.InstanceHeader}
}

// declarations checks all but the tables of sites.
func (v *validator) declarations() {
	v.entities()
	v.instance()
	v.datas()
	v.funcs()
	v.exports()
	v.exceptions()
}

// sites checks the tables of sites, of a module whose declarations are right.
func (v *validator) sites() {
	m := v.m
	v.traps()
	v.returns("call", len(m.Calls), func(i int) uint32 { return m.Calls[i].Offset }, func(int, *Func) {})
	v.stackMaps()
	v.places()
	v.handlers()
}

func (v *validator) require(ok bool, format string, args ...any) {
	if !ok && v.err == nil {
		v.err = &InvalidError{fmt.Sprintf(format, args...)}
	}
}

// take accounts for size bytes of the instance data at an offset, the place of number i of its kind: behind all
// before, aligned to 8.
func (v *validator) take(offset uint32, size uint64, what string, i int) {
	end := uint64(offset) + size
	if offset%8 != 0 || uint64(offset) < v.taken || end > v.size.Data {
		v.require(false, "%s %d, at %d of the instance data, is outside or in the place of another", what, i, offset)
	}
	v.taken = max(v.taken, end)
}

// instance checks the parts of the instance data, in the order of the binary interface.
func (v *validator) instance() {
	m := v.m
	v.require(uint64(m.InstanceSize) == v.size.Data, "the instance data has %d bytes, not %d", v.size.Data, m.InstanceSize)
	v.take(m.Helpers, 8*uint64(abi.NumCommonHelpers), "helper slot", 0)
	for i := range m.Memories {
		v.take(m.Memories[i].Slot, 8, "memory slot", i)
	}
	for i := range m.Tables {
		v.take(m.Tables[i].Slot, 8, "table slot", i)
	}
	v.take(m.TypeSlots, 8*uint64(len(m.SlotTypes)), "type slot", 0)
	for i := range m.Funcs {
		if m.Funcs[i].Import != nil {
			v.take(m.Funcs[i].Slot, abi.ImportSize, "slot of function", i)
		}
	}
	for i := range m.Datas {
		v.take(m.Datas[i].Pair, abi.SegmentSize, "pair of data segment", i)
	}
	for i := range m.Elems {
		v.take(m.Elems[i].Pair, abi.SegmentSize, "pair of element segment", i)
	}
	for i := range m.Globals {
		g := &m.Globals[i]
		size := uint64(8)
		if g.Type == V128 && g.Import == nil {
			size = 16
		}
		v.take(g.Offset, size, "global", i)
	}
	for i := range m.Funcs {
		if m.Funcs[i].HasDesc {
			v.take(m.Funcs[i].Desc, abi.DescSize, "descriptor of function", i)
		}
	}
	for i := range m.Elems {
		v.take(m.Elems[i].Array, 8*uint64(m.Elems[i].Len), "elements of segment", i)
	}
	if x := m.Exceptions; x != nil {
		v.take(x.Helpers, uint64(abi.ExceptionHelpers), "helper slot for exceptions", 0)
		v.take(x.Current, uint64(abi.ExceptionArgs)+8*uint64(x.Words), "exception", 0)
		v.require(x.Current%16 == 0, "the exception is not aligned")
		v.take(x.TagSlots, 8*uint64(len(x.Tags)), "slot of tag", 0)
	}
	if h := m.Heap; h != nil {
		v.take(h.Part, uint64(abi.HeapTypes)+4*uint64(len(m.Types)), "part for the heap", 0)
		v.require(h.Part%16 == 0, "the part for the heap is not aligned")
	}
}

// exceptions checks the tags.
func (v *validator) exceptions() {
	m := v.m
	if m.Exceptions == nil {
		return
	}
	tags := m.Exceptions.Tags
	for i := range tags {
		if n := tags[i].Type; uint64(n) >= uint64(len(m.Types)) || len(m.Types[n].Results) != 0 {
			v.require(false, "type %d of tag %d", n, i)
			return
		}
		args := m.Types[tags[i].Type].Params
		v.require(abi.ExceptionWord(args, len(args)) <= int(m.Exceptions.Words), "the arguments of tag %d have no room", i)
	}
	v.importsFirst(len(tags), "tag", func(i int) bool { return tags[i].Import != nil })
}

// handlers checks that handlers and the calls that lead to them are in one function, and what functions save.
func (v *validator) handlers() {
	m := v.m
	v.returns("handler", len(m.Handlers), func(i int) uint32 { return m.Handlers[i].Return }, func(i int, f *Func) {
		at := m.Handlers[i].Landing
		v.require(at > f.Text && uint64(at) < uint64(f.Text)+uint64(f.Size), "landing of handler %d", i)
	})
	if len(m.Saves) != len(m.Funcs) {
		v.require(len(m.Saves) == 0, "%d functions save registers, of %d", len(m.Saves), len(m.Funcs))
		return
	}
	for i := range m.Saves {
		s, f := &m.Saves[i], &m.Funcs[i]
		v.require(8*bits.OnesCount32(s.Registers) <= int(f.Frame) && (f.Import == nil || s.Registers == 0), "registers of function %d", i)
		for k, c := range s.Changes {
			v.require(c <= f.Size && (k == 0 || c > s.Changes[k-1]), "change %d of function %d", k, i)
		}
	}
}

// importsFirst checks the order of n entities, of which imported tells the imports.
func (v *validator) importsFirst(n int, what string, imported func(int) bool) {
	for i := 1; i < n; i++ {
		if imported(i) && !imported(i-1) {
			v.require(false, "imported %s %d after defined ones", what, i)
		}
	}
}

func (v *validator) limits(lo, hi, ceiling uint64, what string, i int) {
	v.require(lo <= hi && hi <= ceiling, "limits %d and %d of %s %d", lo, hi, what, i)
}

// groupEnd returns the index behind the recursion group that begins with type i, up to which it may refer to types.
func (v *validator) groupEnd(i int) int {
	if i++; v.m.Heap != nil {
		for i < len(v.m.Heap.Defs) && v.m.Heap.Defs[i].Place != 0 {
			i++
		}
	}
	return i
}

// fields checks the types of fields.
func (v *validator) fields() {
	if v.m.Heap == nil {
		return
	}
	end := 0
	for i := range v.m.Heap.Defs {
		if i == end {
			end = v.groupEnd(i)
		}
		for _, f := range v.m.Heap.Defs[i].Fields {
			v.refersTo(f.Type, end, "type", i)
		}
	}
}

// entities checks types, memories, tables and globals but for their places.
func (v *validator) entities() {
	m := v.m
	v.fields()
	end := 0
	for i := range m.Types {
		if i == end {
			end = v.groupEnd(i)
		}
		t := &m.Types[i]
		v.require(len(t.Params) <= math.MaxUint16 && len(t.Results) <= math.MaxUint16, "type %d has too many parameters or results", i)
		for _, types := range [2][]ValType{t.Params, t.Results} {
			for _, x := range types {
				v.refersTo(x, end, "type", i)
			}
		}
	}
	for i, t := range m.SlotTypes {
		v.require(uint64(t) < uint64(len(m.Types)), "type %d of type slot %d", t, i)
	}
	for i := range m.Memories {
		v.limits(m.Memories[i].Min, m.Memories[i].Max, abi.MaxMemoryPages, "memory", i)
	}
	v.importsFirst(len(m.Memories), "memory", func(i int) bool { return m.Memories[i].Import != nil })
	for i := range m.Tables {
		t := &m.Tables[i]
		v.limits(t.Min, t.Max, abi.MaxTableElements, "table", i)
		v.require(t.Elem.IsRef(), "element type of table %d", i)
		v.refersTo(t.Elem, len(m.Types), "table", i)
	}
	v.importsFirst(len(m.Tables), "table", func(i int) bool { return m.Tables[i].Import != nil })
	for i := range m.Globals {
		v.refersTo(m.Globals[i].Type, len(m.Types), "global", i)
	}
	v.importsFirst(len(m.Globals), "global", func(i int) bool { return m.Globals[i].Import != nil })
}

// refersTo checks that what t refers to is among the first types.
func (v *validator) refersTo(t ValType, types int, what string, i int) {
	if n, ok := t.TypeIndex(); ok && int64(n) >= int64(types) {
		v.require(false, "type %d, which %s %d refers to", n, what, i)
	}
}

// datas checks where the bytes of static data segments come from, each byte for one of them, and go to.
func (v *validator) datas() {
	used := uint64(0)
	for i := range v.m.Datas {
		d := &v.m.Datas[i]
		end := uint64(d.Rodata) + uint64(d.Len)
		v.require(uint64(d.Rodata) >= used && end <= v.size.Rodata, "bytes of data segment %d", i)
		used = max(used, end)
		if uint64(d.Memory) >= uint64(len(v.m.Memories)) {
			v.require(false, "memory %d of data segment %d", d.Memory, i)
			return
		}
		mem := &v.m.Memories[d.Memory]
		v.require(mem.Import == nil && uint64(d.Offset)+uint64(d.Len) <= min(mem.Min, abi.MaxMemoryPages)*abi.PageSize,
			"data segment %d is outside of its memory", i)
	}
}

func (v *validator) funcs() {
	m := v.m
	end := uint64(0) // of the code before
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if uint64(f.Type) >= uint64(len(m.Types)) {
			v.require(false, "type %d of function %d", f.Type, i)
		}
		if f.Import != nil {
			continue
		}
		next := uint64(f.Text) + uint64(f.Size)
		switch {
		case f.Size == 0 && (f.HasDesc || f.Frame != 0 || i == len(m.Funcs)-1):
			v.require(false, "function %d has no code", i)
		case f.Text%abi.FuncAlign != 0 || uint64(f.Text) < end || next > v.size.Text:
			v.require(false, "code of function %d is outside of the text or out of order", i)
		case f.Frame%16 != 0 || f.Frame > abi.MaxFrameBytes:
			v.require(false, "frame of %d bytes of function %d", f.Frame, i)
		}
		end = max(end, next)
	}
	v.importsFirst(len(m.Funcs), "function", func(i int) bool { return m.Funcs[i].Import != nil })
	if n := len(m.Funcs); n == 0 || m.Funcs[n-1].Import != nil {
		v.require(false, "no init function")
	} else if v.err == nil {
		t := &m.Types[m.Funcs[n-1].Type]
		v.require(len(t.Params)+len(t.Results) == 0, "type of the init function")
	}
}

func (v *validator) exports() {
	m := v.m
	counts := [...]int{abi.ExternFunc: len(m.Funcs), abi.ExternTable: len(m.Tables), abi.ExternMemory: len(m.Memories), abi.ExternGlobal: len(m.Globals), abi.ExternTag: 0}
	if m.Exceptions != nil {
		counts[abi.ExternTag] = len(m.Exceptions.Tags)
	}
	names := make(map[string]bool, len(m.Exports)) // once for a module
	for i := range m.Exports {
		x := &m.Exports[i]
		v.require(int(x.Kind) < len(counts) && uint64(x.Index) < uint64(counts[int(x.Kind)%len(counts)]), "kind %d or index %d of export %d", x.Kind, x.Index, i)
		v.require(!names[x.Name], "second export %q", x.Name)
		names[x.Name] = true
	}
}

// within calls visit for each of n sites, whose offsets rise, with the function that it is in: from
// first bytes behind the function's start on, to less than first bytes behind its end.
func (v *validator) within(what string, n int, first uint64, offset func(int) uint32, visit func(int, *Func)) {
	f, before := 0, uint64(0)
	for i := 0; i < n && v.err == nil; i++ {
		at := uint64(offset(i))
		if i > 0 && at <= before {
			v.require(false, "%s %d is out of order", what, i)
			return
		}
		before = at
		for f < len(v.m.Funcs) && (v.m.Funcs[f].Import != nil || uint64(v.m.Funcs[f].Text)+uint64(v.m.Funcs[f].Size)+first <= at) {
			f++
		}
		if f == len(v.m.Funcs) || at < uint64(v.m.Funcs[f].Text)+first {
			v.require(false, "%s %d, at %#x, is in no function", what, i, at)
			return
		}
		visit(i, &v.m.Funcs[f])
	}
}

// returns is within for sites that are return addresses: a call may be a function's last instruction.
func (v *validator) returns(what string, n int, offset func(int) uint32, visit func(int, *Func)) {
	v.within(what, n, 1, offset, visit)
}

func (v *validator) traps() {
	m := v.m
	v.within("trap", len(m.Traps), 0, func(i int) uint32 { return m.Traps[i].Offset }, func(i int, _ *Func) {
		t := &m.Traps[i]
		memories := 1 // 0 is the number where there is none
		if t.Fault == abi.FaultMemory {
			memories = len(m.Memories)
		}
		switch {
		case t.Code == abi.TrapNone || t.Code >= abi.NumTrapCodes || t.Fault > abi.FaultDivide:
			v.require(false, "code or kind of fault of trap %d", i)
		case int(t.Memory) >= memories:
			v.require(false, "memory %d of trap %d", t.Memory, i)
		}
	})
}

// places checks that the table of inlined places names functions of the module, each behind its callers, and that sites refer to its entries.
func (v *validator) places() {
	m := v.m
	for i := range m.Inlined {
		p := &m.Inlined[i]
		if int64(p.Func) >= int64(len(m.Funcs)) || m.Funcs[p.Func].Import != nil || p.Src >= abi.InlinedPlace ||
			p.Caller >= abi.InlinedPlace && p.Caller-abi.InlinedPlace >= uint32(i) {
			v.require(false, "inlined place %d: function %d, offset %d, caller %#x", i, p.Func, p.Src, p.Caller)
		}
	}
	place := func(what string, i int, src uint32) {
		if src >= abi.InlinedPlace && int64(src-abi.InlinedPlace) >= int64(len(m.Inlined)) {
			v.require(false, "place %#x of %s %d", src, what, i)
		}
	}
	for i := range m.Traps {
		place("trap", i, m.Traps[i].Src)
	}
	for i := range m.Calls {
		place("call", i, m.Calls[i].Src)
	}
}
