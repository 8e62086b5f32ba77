package clif

// MakeAlias makes v another name of to. A caller that makes aliases also replaces them in all
// operands (ResolveInsts, ResolveTargets) before the next stage sees the function.
func (f *Func) MakeAlias(v, to Value) {
	d := &f.Values[v]
	d.Kind, d.Def = ValueAlias, uint32(to)
}

// Resolve returns the value that v is a name of: v itself if it is no alias.
func (f *Func) Resolve(v Value) Value {
	if f.Values[v].Kind != ValueAlias {
		return v
	}
	return f.resolveAlias(v)
}

// resolveAlias follows a chain of aliases, and makes each of them name its end.
func (f *Func) resolveAlias(v Value) Value {
	values := f.Values
	root := Value(values[v].Def)
	for values[root].Kind == ValueAlias {
		root = Value(values[root].Def)
	}
	for values[v].Kind == ValueAlias {
		d := &values[v]
		v, d.Def = Value(d.Def), uint32(root)
	}
	return root
}

// ResolveOperands replaces aliases among the operands of d.
func (f *Func) ResolveOperands(d *InstData) {
	f.resolveList(d.Operands())
	f.resolveList(f.ListOperands(d))
}

// ResolveInsts replaces aliases among the operands of all instructions.
func (f *Func) ResolveInsts() {
	for i := range f.Insts {
		f.Stop.PollAt(i)
		f.ResolveOperands(&f.Insts[i])
	}
}

// ResolveTargets replaces aliases among the arguments of all branch targets.
func (f *Func) ResolveTargets() {
	for t := range f.Targets {
		f.Stop.PollAt(t)
		f.resolveList(f.TargetArgs(Target(t)))
	}
}

func (f *Func) resolveList(values []uint32) {
	for i, v := range values {
		if f.Values[v].Kind == ValueAlias {
			values[i] = uint32(f.resolveAlias(Value(v)))
		}
	}
}
