// Package opt is the mid-end: passes that rewrite a clif.Func into an
// equivalent one that runs faster. They keep program order: passes remove an
// instruction or replace it in place, and move none, so register
// pressure is that of the source program.
//
// Passes preserve traps: they remove an instruction that can trap only if it is
// known not to, or if an equal one before it would have trapped. They remove a store
// only if memory already holds the value that it writes.
//
// Every change applies a named rule (Rule). For debugging, Control limits
// the number of applications, turns rules off and keeps a log.
//
// Place in the pipeline: between the front end and the back end.
//
// Input: a clif.Func that the verifier accepts.
// Output: the same function rewritten; the verifier accepts it after each
// pass.
package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
)

// Level is an optimisation level.
type Level int

// The levels.
const (
	O0 Level = iota // no mid-end
	O1              // all passes
)

// Pass is one rewriting step.
type Pass struct {
	Name string
	// Reason says why the pass is where it is in the order.
	Reason string
	run    func(*Optimizer, *clif.Func)
	// again: only where dispatch has sent edges past tables, or past branches in a function that tests types, behind which one is decided then, or where objects has replaced some.
	again bool
	when  phase
}

// phase is when a pass runs.
type phase uint8

const (
	inRun    phase = iota
	inBegin        // before others are inlined in the function, see Begin
	inFinish       // where the function is not to be inlined any more, see Finish
)

// passes is the order of the mid-end.
var passes = [...]Pass{
	{Name: "callees", Reason: "before what is called is inlined", run: nameCallees, when: inBegin},
	{Name: "tails", Reason: "first: all others see the loops that it makes", run: loopTails},
	{Name: "returns", Reason: "early: ways that nothing takes do not meet others", run: decideReturns},
	{Name: "fold", Reason: "constants, identities, equal values, memory, branches: one walk over the dominator tree, definitions before uses", run: fold},
	{Name: "branches", Reason: "fold leaves empty blocks behind, which hide that edges agree", run: threadEmpty},
	{Name: "dispatch", Reason: "fold shows which indices and conditions are constant", run: threadChoices},
	{Name: "params", Reason: "fewer edges leave more parameters with one value", run: removeParams},
	{Name: "objects", Reason: "fold has removed tests of what was made, which see it; the second fold knows what fields hold", run: replaceObjects},
	{Name: "resume", Reason: "the second fold makes use of what is known then", run: copyResumed, again: true},
	{Name: "fold", Reason: "values met in dispatchers, and do not any more", run: fold, again: true},
	{Name: "branches", Reason: "as behind the first fold", run: threadEmpty, again: true},
	{Name: "params", Reason: "as behind the first branches", run: removeParams, again: true},
	{Name: "selects", Reason: "edges agree on a block when branches have gone past empty ones", run: chooseValues},
	{Name: "addresses", Reason: "sums are as simple as they get, and dce removes those that become offsets", run: foldAddresses},
	{Name: "dce", Reason: "the other passes leave unused instructions behind", run: removeDead},
	{Name: "bytes", Reason: "late: a loop is seen as it is only when all that is superfluous is gone", run: widenBytes},
	{Name: "exits", Reason: "behind all that looks at the variables of loops", run: exitValues},
	{Name: "allocate", Reason: "late: nothing else knows the parts of struct_new", run: allocateInLine, when: inFinish},
}

// Passes lists the passes in order. Passes of one name do the same.
func Passes() []Pass { return passes[:] }

// Optimizer runs passes; it is reusable from function to function, but not by
// two goroutines at once. The zero value is ready.
type Optimizer struct {
	// After, if not nil, is called after each pass: to verify, or to trace. An
	// error ends the run.
	After func(p *Pass, f *clif.Func) error
	// Control, if not nil, says which rewrites happen; for debugging.
	Control *Control

	widths
	cfg      analysis.CFG
	cfgValid bool // cfg is that of the function at hand
	domValid bool // dom is that of cfg
	dom      analysis.DomTree
	fold     folder
	live     liveness
	par      paramPass
	dis      dispatchPass
	threaded bool // dispatch has sent edges past tables, or past branches where types are tested, or there are fewer objects
	bytes    byteLoop

	objects   objectPass
	addresses addressPass
	exits     exitPass
	resumed   resumePass
	selects   selectPass
	allocate  allocatePass
}

// Begin applies to f the passes that are worth while only before Run and inlining.
func (o *Optimizer) Begin(f *clif.Func, level Level) error { return o.apply(f, level, inBegin) }

// Run applies the passes of the level to f, but for those of Begin and Finish.
func (o *Optimizer) Run(f *clif.Func, level Level) error {
	o.cfgValid, o.threaded = false, false
	return o.apply(f, level, inRun)
}

// Finish applies to f, to which Run has been applied last, the passes after which a body is not to be inlined: they take apart what the others know.
func (o *Optimizer) Finish(f *clif.Func, level Level) error { return o.apply(f, level, inFinish) }

func (o *Optimizer) apply(f *clif.Func, level Level, when phase) error {
	if level == O0 {
		return nil
	}
	for i := range passes {
		p := &passes[i]
		if p.when != when || p.again && !o.threaded {
			continue
		}
		p.run(o, f)
		if o.After != nil {
			if err := o.After(p, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// RunPass applies the pass of that name; it reports whether there is one.
func (o *Optimizer) RunPass(f *clif.Func, name string) bool {
	for i := range passes {
		if passes[i].Name == name {
			o.cfgValid = false
			passes[i].run(o, f)
			return true
		}
	}
	return false
}

// flow computes the cfg of f, and removes unreachable blocks from the layout.
func (o *Optimizer) flow(f *clif.Func) {
	if o.cfgValid {
		return
	}
	o.cfg.Compute(f)
	o.cfgValid, o.domValid = true, false
	if len(o.cfg.Order()) == len(f.Layout) {
		return
	}
	kept := f.Layout[:0]
	for _, b := range f.Layout {
		if o.cfg.Reachable(b) {
			kept = append(kept, b)
		} else {
			f.Blocks[b] = clif.BlockData{}
		}
	}
	f.Layout = kept
}

// dominators makes dom that of f, and flow too.
func (o *Optimizer) dominators(f *clif.Func) {
	if o.flow(f); !o.domValid {
		o.dom.Compute(&o.cfg)
		o.domValid = true
	}
}
