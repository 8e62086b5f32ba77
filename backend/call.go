package backend

import (
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// ArgKind returns how values of type t are passed.
func ArgKind(t clif.Type) abi.ArgKind {
	switch {
	case t == clif.V128:
		return abi.ArgVector
	case t.IsFloat():
		return abi.ArgFloat
	}
	return abi.ArgInt
}

func argKinds(dst []abi.ArgKind, types []clif.Type) []abi.ArgKind {
	for _, t := range types {
		dst = append(dst, ArgKind(t))
	}
	return dst
}

// assign lays out the signature sig in dst.
func (l *Place) assign(dst *abi.Sig, sig *clif.Signature) {
	l.kinds[0] = argKinds(l.kinds[0][:0], sig.Params)
	l.kinds[1] = argKinds(l.kinds[1][:0], sig.Results)
	l.Target.Conv.Assign(dst, l.kinds[0], l.kinds[1])
}

// signature lays out the function's own signature, and its argument area, at the end of which are its own arguments and those of each tail call.
func (l *Emit) signature() {
	l.assign(&l.fnSig, l.F.Signature())
	own := l.fnSig.ArgBytes(l.Target.Conv)
	area := own
	for _, b := range l.F.Layout {
		l.F.Stop.Poll()
		if d := &l.F.Insts[l.F.Terminator(b)]; d.Op.IsTailCall() {
			l.assign(&l.sig, l.Mod.CalleeSig(d))
			area = max(area, l.sig.ArgBytes(l.Target.Conv))
		}
	}
	l.code.In.ArgWords, l.code.PopBytes, l.code.GrowBytes = area/8, area, area-own
	if l.fnSig.HasHidden() {
		l.hidden = l.NewVReg(clif.I64)
	}
}

// regOf returns the register that a location names.
func regOf(loc abi.Loc) regalloc.PReg {
	if loc.Kind != abi.ArgInt {
		return regalloc.FloatReg(int(loc.Reg))
	}
	return regalloc.IntReg(int(loc.Reg))
}

func (l *Query) argDef(v regalloc.VReg, loc abi.Loc) regalloc.Operand {
	if loc.InReg {
		return regalloc.FixedDef(v, regOf(loc))
	}
	return regalloc.StackArgDef(v, l.code.GrowBytes/8+int(loc.Word))
}

// Hidden returns the register that holds the address of the caller's result area,
// and where, in words, result n is in it; ok is false if result n is in a register.
func (l *Query) Hidden(n int) (base regalloc.VReg, word int, ok bool) {
	loc := l.fnSig.Results[n]
	return l.hidden, int(loc.Word), !loc.InReg
}

// ReturnOps appends the operands of a return: results in registers.
func (l *Emit) ReturnOps(d *clif.InstData) {
	for n, v := range l.F.ListOperands(d) {
		if loc := l.fnSig.Results[n]; loc.InReg {
			l.Ops = append(l.Ops, regalloc.FixedUse(l.Use(clif.Value(v)), regOf(loc)))
		}
	}
}

// Call appends a call of a function with the signature sig: stores of stack
// arguments, the call itself and loads of results from memory. in is the call instruction;
// uses, its own operands, come first. Calls are safepoints.
func (l *Emit) Call(d *clif.InstData, sig *clif.Signature, in Inst, uses ...regalloc.Operand) {
	s := &l.sig
	l.assign(s, sig)
	vc := l.vc
	vc.HasCalls = true
	args := l.F.ListOperands(d)
	for n, v := range args {
		if loc := s.Args[n]; !loc.InReg {
			l.storeReg(Address{Mode: ModeOutArg, Disp: 8 * int32(loc.Word)}, l.Use(clif.Value(v)))
		}
	}
	pop := s.ArgBytes(l.Target.Conv)
	vc.OutArgBytes = max(vc.OutArgBytes, pop)
	in.SetPopped(pop)
	var hidden regalloc.VReg
	if s.HasHidden() {
		vc.LocalBytes = max(vc.LocalBytes, 8*s.ResultWords)
		hidden = l.NewVReg(clif.I64)
		l.Access(l.Target.Common.Lea, 8, Address{Mode: ModeLocal}, hidden)
	}
	l.Ops = append(l.Ops, uses...)
	if s.HasHidden() {
		l.Ops = append(l.Ops, regalloc.FixedUse(hidden, regalloc.IntReg(int(s.HiddenReg))))
	}
	for n, v := range args {
		if loc := s.Args[n]; loc.InReg {
			l.Ops = append(l.Ops, regalloc.FixedUse(l.Use(clif.Value(v)), regOf(loc)))
		}
	}
	for n, loc := range s.Results {
		if loc.InReg && l.vregs[int(d.Result)+n] != regalloc.NoVReg {
			l.Ops = append(l.Ops, regalloc.FixedDef(l.Def(d, n), regOf(loc)))
		}
	}
	l.PushClobber(in, regalloc.Safepoint|l.flags, l.Target.CallClobbers)
	if l.flags != 0 {
		return // results in memory are loaded behind the edge
	}
	for n, loc := range s.Results {
		if !loc.InReg && l.vregs[int(d.Result)+n] != regalloc.NoVReg {
			l.loadReg(Address{Mode: ModeLocal, Disp: 8 * int32(loc.Word)}, l.Def(d, n))
		}
	}
}

// TailCall appends a tail call of a function with the signature sig, which is like Call: but its arguments on the stack are operands, as they go where those of the
// function itself are, and the result area is that of the function's caller.
func (l *Emit) TailCall(d *clif.InstData, sig *clif.Signature, in Inst, uses ...regalloc.Operand) {
	s := &l.sig
	l.assign(s, sig)
	pop := s.ArgBytes(l.Target.Conv)
	in.SetPopped(pop)
	args := l.F.ListOperands(d)
	first := len(l.words)
	for n, v := range args {
		if loc := s.Args[n]; !loc.InReg {
			l.words = append(l.words, regalloc.StackArgUse(l.wholeWord(clif.Value(v)), l.code.In.ArgWords-pop/8+int(loc.Word)))
		}
	}
	l.Ops = append(l.Ops, uses...)
	if s.HasHidden() {
		l.Ops = append(l.Ops, regalloc.FixedUse(l.hidden, regalloc.IntReg(int(s.HiddenReg))))
	}
	for n, v := range args {
		if loc := s.Args[n]; loc.InReg {
			l.Ops = append(l.Ops, regalloc.FixedUse(l.Use(clif.Value(v)), regOf(loc)))
		}
	}
	l.Ops = append(l.Ops, l.words[first:]...)
	l.words = l.words[:first]
	l.Push(in, regalloc.IsTerminator|regalloc.IsTailCall)
}

// wholeWord returns a register of at least 8 bytes with the value v.
func (l *Emit) wholeWord(v clif.Value) regalloc.VReg {
	r := l.Use(v)
	if l.BytesOfVReg(r) >= 8 {
		return r
	}
	wide := l.NewVReg(clif.I64)
	l.Emit(Inst{Op: l.Target.Common.Copy, Size: 4}, r, wide)
	return wide
}

// HelperCall appends a call of a helper: integer arguments in registers, result
// in dst, or NoVReg. It is a safepoint if the helper may collect.
func (l *Emit) HelperCall(h abi.Helper, dst regalloc.VReg, args ...regalloc.VReg) {
	l.vc.HasCalls = true
	c := l.Target.Conv
	flags := regalloc.InstFlags(0)
	if abi.Helpers[h].Collects {
		flags = regalloc.Safepoint
	}
	for n, v := range args {
		l.Ops = append(l.Ops, regalloc.FixedUse(v, regalloc.IntReg(int(c.IntArgs[n]))))
	}
	if dst != regalloc.NoVReg {
		l.Ops = append(l.Ops, regalloc.FixedDef(dst, regalloc.IntReg(int(c.IntResults[0]))))
	}
	l.PushClobber(l.callSlot(l.Layout.Helper(h)), flags, l.Target.CallClobbers)
}

// findCalls fills vc.Calls and vc.Safepoints. It asks the instructions themselves what they call, not
// what lowering says about them, so that the checker and emission can compare the two.
func (vc *VCode) findCalls(t *Target, l *instance.Layout) {
	call, callInd := t.Common.Call, t.Common.CallInd
	for i := range vc.Insts {
		in := &vc.Insts[i]
		if in.Op != call && in.Op != callInd {
			continue
		}
		vc.Calls = append(vc.Calls, regalloc.Inst(i))
		if h, ok := in.helper(t, l); !ok || abi.Helpers[h].Collects {
			vc.Safepoints = append(vc.Safepoints, regalloc.Inst(i))
		}
	}
}

// helper returns the helper that the call in calls; ok is false if it calls a function, which may do anything.
func (in *Inst) helper(t *Target, l *instance.Layout) (h abi.Helper, ok bool) {
	if in.Op != t.Common.CallInd || in.Mode != ModeSym || in.Symbol() != SymInstance {
		return 0, false
	}
	return l.HelperAt(uint32(in.Disp))
}
