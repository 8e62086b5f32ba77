package backend

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Allocator is a register allocator.
type Allocator interface {
	Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error
}

// Options of a Compiler.
type Options struct {
	// Allocator allocates registers; it belongs to the Compiler from then on.
	Allocator Allocator
	// SkipChecker leaves out the symbolic check of each allocation, which is on
	// by default.
	SkipChecker bool
	// Fixpoint makes the checker compute what it otherwise verifies.
	Fixpoint bool
	// NoSpectre leaves out the masks that keep misspeculation from using an out-of-bounds index of a jump table.
	NoSpectre bool
	// Verify checks each VCode instruction against its row, and sizes of code against their bounds.
	Verify bool
	// Trace receives dumps; nil for none.
	Trace *Trace
	// Ended, if not nil, is called after each stage.
	Ended func(stage string)
}

// Trace is a set of callbacks, each of which may be nil.
type Trace struct {
	// VCode receives the text before allocation, Allocated the text after it, with edits.
	VCode, Allocated func(f *clif.Func, text string)
	// Code receives the finished code.
	Code func(f *clif.Func, c *Code)
	// Rule receives each lowering rule that is applied, and the instructions that it has appended so far, which a test
	// may spoil. A rule of TermOperand appends none: its user appends them.
	Rule func(f *clif.Func, r Rule, insts []Inst)
	// Stages receives the tables of all stages, when the code is finished.
	Stages func(s *Stages)
}

// Compiler compiles functions of one module, one at a time; it keeps its memory
// between functions. Only one goroutine at a time may use it.
type Compiler struct {
	// Control, if not nil, says which lowering rules apply to the next function, and appends them to its log; nil
	// means all rules.
	Control *rewrite.Control

	target *Target
	opt    Options
	mod    *clif.Module

	order  BlockOrder
	far    farConsts
	lower  lowering
	vc     VCode
	out    regalloc.Output
	check  *checker.Checker
	frames frameLayout
	emit   Emitter
	stage  string
}

// New returns a Compiler for the functions of mod.
func New(target *Target, layout *instance.Layout, mod *clif.Module, opt Options) *Compiler {
	c := &Compiler{target: target, opt: opt, mod: mod, check: checker.New()}
	c.lower.Target, c.lower.Layout, c.lower.noSpectre = target, layout, opt.NoSpectre
	c.lower.trace = opt.Trace
	c.emit.Target, c.emit.Buf, c.emit.verify = target, machbuffer.New(target.Buffer), opt.Verify
	c.emit.marking = opt.Trace != nil && opt.Trace.Stages != nil
	return c
}

// Error says which stage failed on which function.
type Error struct {
	Func  string // name, or number
	Stage string // "order", "lower", "regalloc", "check", "emit"
	Err   error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("function %s: %s: %v", e.Func, e.Stage, e.Err) }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrUnsupported is wrapped by the errors of valid functions that this compiler
// cannot compile.
var ErrUnsupported = errors.New("unsupported")

// Compile compiles f, which must be verified. The Code aliases memory of c and is valid until
// the next Compile. An error is an *Error: something unsupported, a bug that was caught (by the checker, or as a
// panic), or stop.Stopped, after which c is of no use.
func (c *Compiler) Compile(f *clif.Func) (code *Code, err error) {
	defer func() {
		if r := recover(); r != nil {
			code, err = nil, c.recovered(r)
		}
		if err != nil {
			name := f.Name
			if name == "" {
				name = fmt.Sprint(uint32(f.Index))
			}
			err = &Error{Func: name, Stage: c.stage, Err: err}
		}
	}()
	c.stage = ""
	c.begin("order")
	c.order.Compute(f)
	constsStay := c.far.tooMany(f, &c.order)
	err = c.allocate(f, constsStay)
	if errors.Is(err, regalloc.ErrTooLarge) && !constsStay {
		// Constants may be most of what lives in many blocks.
		err = c.allocate(f, true)
	}
	if err != nil {
		if errors.Is(err, regalloc.ErrTooLarge) {
			err = fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return nil, err
	}
	if t := c.opt.Trace; t != nil && t.Allocated != nil {
		t.Allocated(f, c.dump(true))
	}
	if !c.opt.SkipChecker {
		c.begin("check")
		if err := c.check.Check(&c.vc.In, &c.target.Env, &c.out, checker.Options{Fixpoint: c.opt.Fixpoint}); err != nil {
			return nil, err
		}
		if err := checker.Safepoints(&c.out, c.vc.Safepoints); err != nil {
			return nil, err
		}
		if err := checker.Calls(&c.vc.In, c.vc.Calls, c.target.CallClobbers); err != nil {
			return nil, err
		}
	}
	c.begin("emit")
	e := &c.emit
	e.VC, e.Out = &c.vc, &c.out
	e.Frame = c.frames.layout(c.target, &c.vc, &c.out)
	e.Addressed = f.Index == c.mod.InitFunc() || c.mod.Funcs[f.Index].Addressed
	code, err = e.run()
	if err != nil {
		return nil, err
	}
	code.Inlined = f.Inlined
	c.begin("")
	if t := c.opt.Trace; t != nil && t.Code != nil {
		t.Code(f, code)
	}
	if c.emit.marking {
		c.opt.Trace.Stages(c.stages(f, code))
	}
	return code, nil
}

// begin ends a stage and begins the next one; there is none before the first and behind the last.
func (c *Compiler) begin(stage string) {
	if c.opt.Ended != nil && c.stage != "" {
		c.opt.Ended(c.stage)
	}
	c.stage = stage
}

// allocate lowers f and allocates its registers. If constsStay is set, no constant lives in more than one block. It shows the VCode, however it ends,
// unless there is another attempt.
func (c *Compiler) allocate(f *clif.Func, constsStay bool) error {
	c.begin("lower")
	c.lower.control, c.lower.constsStay = c.Control, constsStay
	rewrites := 0
	if c.Control != nil {
		rewrites = len(c.Control.Log)
	}
	c.lower.Run(f, &c.order, &c.vc)
	c.vc.findCalls(c.target, c.lower.Layout)
	again := false
	defer func() {
		if t := c.opt.Trace; t != nil && t.VCode != nil && !again {
			t.VCode(f, c.dump(false))
		}
	}()
	if err := c.verify(); err != nil {
		return err
	}
	c.begin("regalloc")
	c.out.Reset()
	err := c.opt.Allocator.Run(&c.vc.In, &c.target.Env, &c.out)
	again = errors.Is(err, regalloc.ErrTooLarge) && !constsStay
	if again && c.Control != nil {
		c.Control.Log = c.Control.Log[:rewrites] // the next attempt repeats those of this one
	}
	return err
}

// recovered turns a panic into an error.
func (c *Compiler) recovered(r any) error {
	switch r := r.(type) {
	case Unsupported:
		return fmt.Errorf("%w: %s", ErrUnsupported, string(r))
	case stop.Stopped:
		return r
	}
	return fmt.Errorf("internal error: %v\n%s", r, debug.Stack())
}

// verify checks the VCode if the options say so.
func (c *Compiler) verify() error {
	if !c.opt.Verify {
		return nil
	}
	in := &c.vc.In
	for v := range in.VRegs {
		storable := false
		if info := &in.VRegs[v]; info.Remat != regalloc.NoInst {
			_, storable = c.target.Common.StoreOf(&c.vc.Insts[info.Remat], info.Bytes)
		}
		if storable != in.VRegs[v].Storable {
			return fmt.Errorf("%v: that it can be stored as a constant is said to be %v", regalloc.VReg(v), !storable)
		}
	}
	for i := range c.vc.Insts {
		inst := &c.vc.Insts[i]
		if int(inst.Op) >= len(c.target.Shapes.Rows) {
			continue
		}
		if err := c.target.Shapes.Verify(inst, in.OperandsOf(regalloc.Inst(i)), in.VRegs); err != nil {
			return fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	return nil
}
