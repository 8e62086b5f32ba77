package compile

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
)

// cMachine is the C convention of a machine as adapters see it. A function with at most one result
// has the prototype one expects. One with more returns nothing and takes, in front of its
// arguments, the address of an array of 64-bit words that gets the results in order.
type cMachine struct {
	waot *abi.CallConv
	// ints and floats pass C's arguments; waot's come in the same order, and there are no fewer. Results
	// have the same first register.
	ints, floats []uint8
	fp, sp       regalloc.PReg
	// through holds the address of the callee between a stub and the adapter that it jumps to. It is one of the
	// registers that may change between a call and its callee. It may be scratch, as adapters store it first.
	through regalloc.PReg
	// scratch and scratch2 may be used between moves: no argument or result is in scratch, and scratch2
	// holds neither a C argument nor a result.
	scratch, scratch2 regalloc.PReg
	// code appends instructions to b.
	code func(b *adapterCode) cCode
}

// pointer is C's argument register of the address of results.
func (m *cMachine) pointer() regalloc.PReg { return regalloc.IntReg(int(m.ints[0])) }

// place is where the function is that an adapter calls or jumps to.
type place uint8

const (
	ours    place = iota // in this object
	foreign              // perhaps in another library: a C function
)

// cCode appends the instructions of adapters.
type cCode interface {
	// land begins what is called from elsewhere, or by call through a register.
	land()
	// enter opens a frame of at least n bytes below the frame pointer; leave closes it and returns, popping
	// n bytes of arguments.
	enter(n int)
	leave(n int)
	jump(to place, sym objfile.SymbolIndex, addend int64)
	call(to place, sym objfile.SymbolIndex, addend int64)
	// jumpThrough jumps to the address in a word of data.
	jumpThrough(sym objfile.SymbolIndex, addend int64)
	// jumpBack jumps to offset at of the section, which lies before. What is too far the section's limit refuses.
	jumpBack(at uint64)
	// callAt calls the address in a register.
	callAt(r regalloc.PReg)
	// address is the address of code of this object; behindJump that of what stands behind the next instruction, a jump.
	address(to regalloc.PReg, sym objfile.SymbolIndex, addend int64)
	behindJump(to regalloc.PReg)
	move(to, from regalloc.PReg, bytes uint8)
	// load loads a value of type t, which makes an i32 clean; store stores a word, or both of a v128. Neither needs more
	// alignment than words have.
	load(to, base regalloc.PReg, disp int32, t clif.Type)
	store(base regalloc.PReg, disp int32, from regalloc.PReg, t clif.Type)
	lea(to, base regalloc.PReg, disp int32)
}

// adapterCode is machine code with its relocations.
type adapterCode struct {
	code   []byte
	relocs []objfile.Reloc
	// prologue is where the frame of the last function is set up, -1 if it has none; changes are those of its unwind rules, by
	// offsets in the section.
	prologue int
	changes  []abi.CFIChange
}

// leftFrame is as backend.Emitter.LeftFrame.
func (b *adapterCode) leftFrame(popped int) {
	b.changes = append(b.changes, abi.CFIChange{Offset: uint32(len(b.code)), Kind: abi.FrameLeft, Popped: int32(popped)})
}

// setUpFrame begins the frame of a function; inst appends an instruction.
func (b *adapterCode) setUpFrame(steps []backend.FrameStep, inst func(backend.Inst, ...regalloc.PReg)) {
	b.prologue = len(b.code)
	for i := range steps {
		inst(steps[i].Inst, steps[i].Regs...)
	}
}

// adapterSection collects the adapters of an object.
type adapterSection struct {
	adapterCode
	cCode
	m      *cMachine
	target *machine
	frames []objfile.Frame
	// exports is the calls from C, imports those to C.
	exports, imports direction
	// symbols are those of the shared adapters.
	symbols []objfile.Symbol
	// kept are the registers that adapters of imports save, in this order from the top: C functions may throw, and what unwinds knows nothing of their frames. They
	// are the callee-saved ones in a module with exceptions or a heap, and else none.
	kept []regalloc.PReg
	// fixed is how many bytes of their frames the adapters need for themselves. If exits is set, adapters of imports note in the state of the heap, of which a word of the instance data has the base,
	// that they call a C function: compiled code may be active behind it, and a collection finds the frames in front of it so. Those of exports note that C calls compiled code: so a collection
	// notices where an exit is missing.
	fixed    int32
	exits    bool
	heapBase exitWord
}

// exitWord is the word of the instance data that has the base of the heap.
type exitWord struct {
	sym objfile.SymbolIndex
	at  uint32
}

// newAdapterSection returns for a module with that many signatures.
func newAdapterSection(t *machine, sigs int, exceptions bool) *adapterSection {
	a := &adapterSection{m: t.c, target: t, fixed: fixed, exports: newDirection(sigs), imports: newDirection(sigs)}
	if exceptions {
		for s := t.kept; s != 0; s = s.Remove(s.First()) {
			a.kept = append(a.kept, s.First())
		}
	}
	a.cCode = t.c.code(&a.adapterCode)
	return a
}

// linkExits makes adapters note their calls.
func (a *adapterSection) linkExits(sym objfile.SymbolIndex, base uint32) {
	a.exits, a.fixed, a.heapBase = true, fixedLinked, exitWord{sym, base}
}

// begin starts a function and returns its offset.
func (a *adapterSection) begin() uint64 {
	for len(a.code)%abi.FuncAlign != 0 {
		a.code = append(a.code, a.target.filler)
	}
	a.prologue, a.changes = -1, nil
	return uint64(len(a.code))
}

// end ends the function that begins at start and returns its size.
func (a *adapterSection) end(start uint64) uint64 {
	size := uint64(len(a.code)) - start
	f := objfile.Frame{Symbol: sectionSymbol(secAdapters), Addend: int64(start), Size: uint32(size)}
	if f.HasFrame = a.prologue >= 0; f.HasFrame {
		f.Prologue = uint32(a.prologue) - uint32(start)
		for i := range a.changes {
			a.changes[i].Offset -= uint32(start)
		}
		f.Changes = a.changes
	}
	a.frames = append(a.frames, f)
	return size
}

// loadBytes returns how much of a value's words counts: i32 is loaded as 4 bytes, which clears the
// rest; of an f32 the rest is not specified, so whole words are moved.
func loadBytes(t clif.Type) uint8 {
	if t == clif.I32 {
		return 4
	}
	return storeBytes(t)
}

// storeBytes returns the size of a value's words.
func storeBytes(t clif.Type) uint8 { return uint8(8 * backend.ArgKind(t).Words()) }

// conventions is a signature in both conventions. In C, the pointer to results is not in
// the arguments but in the register of the first.
type conventions struct {
	sig  *clif.Signature
	waot abi.Sig
	c    []abi.Loc
	// cWords is the number of C's stack argument words; many whether there is a pointer to results.
	cWords int
	many   bool
}

func kindsOf(ts []clif.Type) []abi.ArgKind {
	ks := make([]abi.ArgKind, len(ts))
	for i, t := range ts {
		ks[i] = backend.ArgKind(t)
	}
	return ks
}

func (m *cMachine) conventionsOf(sig *clif.Signature) *conventions {
	v := &conventions{sig: sig, many: len(sig.Results) > 1}
	args := kindsOf(sig.Params)
	m.waot.Assign(&v.waot, args, kindsOf(sig.Results))
	ints := m.ints
	if v.many {
		ints = ints[1:]
	}
	conv := abi.CallConv{IntArgs: ints, FloatArgs: m.floats}
	var c abi.Sig
	conv.Assign(&c, args, nil)
	v.c, v.cWords = c.Args, c.ArgWords
	return v
}

// same reports whether both conventions pass the arguments alike and need no
// result area.
func (v *conventions) same() bool { return !v.many && v.cWords == 0 && v.waot.ArgWords == 0 }

func pregOf(l abi.Loc) regalloc.PReg {
	if l.Kind == abi.ArgInt {
		return regalloc.IntReg(int(l.Reg))
	}
	return regalloc.FloatReg(int(l.Reg))
}

// Displacements from the frame pointer in a shared adapter's frame.
const (
	inArgs = 16  // incoming argument words: above the caller's frame pointer and the return address
	saved  = -8  // the caller's pointer to results
	callee = -16 // the address of the callee
	linked = -24 // the frame of the adapter that was noted before; only if exits are linked
	// fixed is how many bytes that takes below the frame pointer, fixedLinked where exits are linked. The runtime in C knows both.
	fixed       = 16
	fixedLinked = 32
)

// exit notes that the adapter calls a C function, and entry that C calls compiled code: all argument registers of C are in use, and neither scratch register is.
func (a *adapterSection) exit()  { a.note(0) }
func (a *adapterSection) entry() { a.note(abi.HeapEntry) }

// note makes the frame, with a mark, the innermost one that is noted.
func (a *adapterSection) note(mark int32) {
	if !a.exits {
		return
	}
	a.loadHeap()
	a.load(a.m.scratch2, a.m.scratch, abi.HeapExit, clif.I64)
	a.store(a.m.fp, linked, a.m.scratch2, clif.I64)
	frame := a.m.fp
	if mark != 0 {
		frame = a.m.scratch2
		a.lea(frame, a.m.fp, mark)
	}
	a.store(a.m.scratch, abi.HeapExit, frame, clif.I64)
}

// back takes that back; results are in their registers.
func (a *adapterSection) back() {
	if !a.exits {
		return
	}
	a.loadHeap()
	a.load(a.m.scratch2, a.m.fp, linked, clif.I64)
	a.store(a.m.scratch, abi.HeapExit, a.m.scratch2, clif.I64)
}

// loadHeap loads the base of the heap.
func (a *adapterSection) loadHeap() {
	a.address(a.m.scratch, a.heapBase.sym, int64(a.heapBase.at))
	a.load(a.m.scratch, a.m.scratch, 0, clif.I64)
}

// enterShared is the beginning of a shared adapter, with n bytes below the fixed part of its frame.
func (a *adapterSection) enterShared(n int) {
	a.enter(int(a.fixed) + n)
	a.store(a.m.fp, callee, a.m.through, clif.I64)
}

// keepBytes is how many bytes below the fixed part of its frame an adapter of an import has for registers that it saves.
func (a *adapterSection) keepBytes() int { return 8 * len(a.kept) }

// keep saves them. Unwinding reads them from there (waot_runtime.c).
func (a *adapterSection) keep() {
	for i, r := range a.kept {
		t := clif.I64
		if r.Class() == regalloc.Float {
			t = clif.F64
		}
		a.store(a.m.fp, -a.fixed-8*int32(i+1), r, t)
	}
}

// callCallee calls what the stub has named.
func (a *adapterSection) callCallee() {
	a.load(a.m.through, a.m.fp, callee, clif.I64)
	a.callAt(a.m.through)
}

// exportAdapter is a C function that calls a function in the waot convention, whose address is in m.through.
func (a *adapterSection) exportAdapter(v *conventions) {
	hidden := (8*v.waot.ResultWords + 15) &^ 15
	area := -a.fixed - int32(hidden) // of the results
	a.enterShared(hidden + v.waot.ArgBytes(a.m.waot))
	if v.many {
		a.store(a.m.fp, saved, a.m.pointer(), clif.I64)
	}
	a.entry()
	// No register argument goes to the stack, since the waot convention has at least as many registers. Each
	// moves to its own register or to the register of the argument before. So rising order is safe after the
	// words on the stack, whose copies use only the scratch register.
	for n, t := range v.sig.Params {
		if to := v.waot.Args[n]; !to.InReg {
			a.copy(a.m.sp, 8*int32(to.Word), a.m.fp, inArgs+8*int32(v.c[n].Word), a.m.scratch, t)
		}
	}
	for n, t := range v.sig.Params {
		to, from := v.waot.Args[n], v.c[n]
		switch {
		case !to.InReg:
		case !from.InReg:
			a.load(pregOf(to), a.m.fp, inArgs+8*int32(from.Word), t)
		case to.Kind == abi.ArgInt && (to.Reg != from.Reg || t == clif.I32):
			a.move(pregOf(to), pregOf(from), loadBytes(t))
		}
	}
	if v.waot.HasHidden() {
		a.lea(regalloc.IntReg(int(v.waot.HiddenReg)), a.m.fp, area)
	}
	a.callCallee()
	a.back()
	if v.many {
		a.load(a.m.scratch, a.m.fp, saved, clif.I64)
		at := int32(0)
		for n, t := range v.sig.Results {
			if from := v.waot.Results[n]; from.InReg {
				a.store(a.m.scratch, at, pregOf(from), t)
			} else {
				a.copy(a.m.scratch, at, a.m.fp, area+8*int32(from.Word), a.m.scratch2, t)
			}
			at += int32(storeBytes(t))
		}
	}
	a.leave(0)
}

// copy copies the words of a value of type t in memory by way of a register, and makes an i32 clean.
func (a *adapterSection) copy(to regalloc.PReg, toDisp int32, from regalloc.PReg, fromDisp int32, by regalloc.PReg, t clif.Type) {
	for at := int32(0); at < int32(storeBytes(t)); at += 8 {
		a.load(by, from, fromDisp+at, wordType(t))
		a.store(to, toDisp+at, by, clif.I64)
	}
}

// wordType returns the integer type to copy a word of type t with.
func wordType(t clif.Type) clif.Type {
	if t == clif.I32 {
		return clif.I32
	}
	return clif.I64
}

// importAdapter is a function in the waot convention that calls a C function, whose address is in m.through.
func (a *adapterSection) importAdapter(v *conventions) {
	results := 0 // size of the array of results
	if v.many {
		results = 8 * clif.Words(v.sig.Results)
	}
	area := -a.fixed - int32(a.keepBytes()+results)
	a.enterShared((a.keepBytes()+results+15)&^15 + (8*v.cWords+15)&^15)
	a.keep()
	if v.waot.HasHidden() {
		a.store(a.m.fp, saved, regalloc.IntReg(int(v.waot.HiddenReg)), clif.I64)
	}
	a.importArgs(v)
	if v.many {
		a.lea(a.m.pointer(), a.m.fp, area)
	}
	a.exit()
	a.callCallee()
	a.back()
	switch {
	case v.clean():
		a.cleanResult()
	case v.many:
		a.importResults(v, area)
	}
	a.leave(v.waot.ArgBytes(a.m.waot))
}

// clean reports whether the one result of a C function has an upper half to be cleared.
func (v *conventions) clean() bool { return len(v.sig.Results) == 1 && v.sig.Results[0] == clif.I32 }

func (a *adapterSection) cleanResult() {
	r := regalloc.IntReg(int(a.m.waot.IntResults[0]))
	a.move(r, r, 4)
}

// importArgs moves arguments to where C wants them: first those that go to the stack, then
// the others from the last, since each goes to its own register or that of the argument after.
func (a *adapterSection) importArgs(v *conventions) {
	for n, to := range v.c {
		if to.InReg {
			continue
		}
		t := v.sig.Params[n]
		if from := v.waot.Args[n]; from.InReg {
			a.store(a.m.sp, 8*int32(to.Word), pregOf(from), t)
		} else {
			a.copy(a.m.sp, 8*int32(to.Word), a.m.fp, inArgs+8*int32(from.Word), a.m.scratch, t)
		}
	}
	for n := len(v.c) - 1; n >= 0; n-- {
		to, from := v.c[n], v.waot.Args[n]
		if to.InReg && to.Kind == abi.ArgInt && to.Reg != from.Reg {
			a.move(pregOf(to), pregOf(from), 8)
		}
	}
}

// importResults loads the results from the array at area.
func (a *adapterSection) importResults(v *conventions, area int32) {
	if v.waot.HasHidden() {
		a.load(a.m.scratch2, a.m.fp, saved, clif.I64)
	}
	at := area
	for n, t := range v.sig.Results {
		if to := v.waot.Results[n]; !to.InReg {
			a.copy(a.m.scratch2, 8*int32(to.Word), a.m.fp, at, a.m.scratch, t)
		}
		at += int32(storeBytes(t))
	}
	at = area
	for n, t := range v.sig.Results {
		if to := v.waot.Results[n]; to.InReg {
			a.load(pregOf(to), a.m.fp, at, t)
		}
		at += int32(storeBytes(t))
	}
}
