package flow

import "github.com/waot-project/waot/regalloc"

// Steps are the steps of an allocator but for the one that says where values are, and hold their memory. The first method
// of each says what it takes from the steps before.
type Steps struct {
	function  function
	liveness  Liveness
	builder   builder
	reserved  Reservations
	wrapper   wrapper
	coalescer Classes
	spiller   spiller
	resolver  resolver
	emitter   emitter
}

// Placer is the step that differs: it cuts the intervals of values into parts, each in a register or in memory. Part v is the first
// one of value v. Cutting adds ranges to iv.
type Placer interface {
	Place(iv *Intervals, live *Liveness, reserved *Reservations, classes *Classes) ([]Part, error)
	// Forget drops the input and the output, which belong to the caller.
	Forget()
}

// Run allocates registers for in, with the help of p, and puts the result in out. The error, if
// any, is an *Error; out is then of no use.
func (st *Steps) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output, p Placer) error {
	out.Reset()
	if max(len(in.Insts), len(in.Operands), len(in.VRegs), len(in.VRegLists)) >= maxInsts/2 {
		return Fail(TooLarge, None, None)
	}
	st.function.setup(in, env, out)
	err := st.take(st.function, p)
	st.forget()
	p.Forget()
	return err
}

// take takes the steps.
func (st *Steps) take(fn function, p Placer) error {
	if err := st.liveness.find(fn); err != nil {
		return err
	}
	iv := &st.builder.Intervals
	st.builder.build(fn, &st.liveness, &st.reserved)
	st.wrapper.wrap(*iv, &st.liveness, &st.reserved)
	st.coalescer.coalesce(*iv, &st.reserved)
	for _, v := range iv.refArgs {
		iv.homeOfRefArg(v, st.reserved.Safepoints)
	}
	parts, err := p.Place(iv, &st.liveness, &st.reserved, &st.coalescer)
	if err != nil {
		return err
	}
	homes, spilled := st.spiller.assign(*iv, &st.coalescer)
	rs := &st.resolver
	if err := rs.resolve(*iv, &st.liveness, parts, homes, spilled); err != nil {
		return err
	}
	st.emitter.emit(fn, &rs.moves)
	if fn.Out.Used&fn.Env.CalleeSaved == 0 {
		fn.Out.Unsaved = fn.Out.Unsaved[:0]
	}
	rs.makeClaims()
	return rs.makeStackMaps(st.reserved.Safepoints)
}

// forget drops the input and the output.
func (st *Steps) forget() {
	for _, fn := range [...]*function{&st.function, &st.liveness.function, &st.builder.function, &st.reserved.function,
		&st.wrapper.function, &st.coalescer.function, &st.spiller.function, &st.resolver.function, &st.emitter.function} {
		fn.Forget()
	}
}

// Forget drops the input and the output, which belong to the caller.
func (fn *function) Forget() { fn.In, fn.Env, fn.Out = nil, nil, nil }
