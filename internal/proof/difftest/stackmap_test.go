package difftest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/interpengine"
)

// refTrace is what an engine says at each call of the host.
type refTrace struct {
	points []refPoint
	nested int // how deep the host is inside itself
}

// refPoint is a call of the host: the frames, outermost first.
type refPoint struct {
	what   string
	frames []refFrame
}

// refFrame is a frame with the objects that references in it denote, in order.
type refFrame struct {
	fn      uint32
	objects []int
}

func (p *refPoint) add(fn uint32, objects []int) {
	slices.Sort(objects)
	p.frames = append(p.frames, refFrame{fn, slices.Compact(objects)})
}

// within describes the first point where a reference of inner is missing in outer, or
// else is empty.
func (tr *refTrace) within(outer *refTrace) string {
	if len(tr.points) != len(outer.points) {
		return fmt.Sprintf("%d and %d calls of the host", len(tr.points), len(outer.points))
	}
	for i, p := range tr.points {
		q := outer.points[i]
		if p.what != q.what || len(p.frames) != len(q.frames) {
			return fmt.Sprintf("call %d of the host: %v and %v", i, p, q)
		}
		for k := range p.frames {
			if p.frames[k].fn != q.frames[k].fn {
				return fmt.Sprintf("call %d of the host, frame %d: functions %d and %d", i, k, p.frames[k].fn, q.frames[k].fn)
			}
			for _, o := range p.frames[k].objects {
				if !slices.Contains(q.frames[k].objects, o) {
					return fmt.Sprintf("call %d of the host (%s), frame %d of function %d: object %d is in %v, not in %v",
						i, p.what, k, p.frames[k].fn, o, p.frames[k].objects, q.frames[k].objects)
				}
			}
		}
	}
	return ""
}

const maxNested = 3

// more counts the references that are not in live, which has the same points.
func (tr *refTrace) more(live *refTrace) (n int) {
	for i, p := range tr.points {
		for k, f := range p.frames {
			for _, o := range f.objects {
				if !slices.Contains(live.points[i].frames[k].objects, o) {
					n++
				}
			}
		}
	}
	return n
}

// object is the number of the object that is passed as argument n at depth d.
func object(n, d int) int { return 100*d + n + 1 }

// TestStackMaps compares, at each call of the host, the references that the stack maps
// of the frames list with those that the interpreter holds live there, for the same
// CLIF. What is used by instructions that the back end leaves out, since their results are
// not used, may be missing; nothing else may be. A few may be there although they are
// not live in CLIF: where the back end repeats a comparison with null at the branch
// that depends on it. What is listed is a reference in any case. Where functions are inlined, the
// references of several are in one frame, those that live across what was the call too.
func TestStackMaps(t *testing.T) {
	count := testenv.Cases[uint64](60, 60, 150)
	compareStackMaps(t, count, false, 1000)
}

// TestStackMapsOfThrows is the same with exceptions. Their handlers are where most of the repeated comparisons are.
func TestStackMapsOfThrows(t *testing.T) {
	compareStackMaps(t, testenv.Cases[uint64](60, 60, 150), true, 300)
}

// compareStackMaps compares those of count modules. One in dead references may be listed though it is not live.
func compareStackMaps(t *testing.T, count uint64, throws bool, dead int) {
	t.Helper()
	points, frames, refs, extra, inlined := 0, 0, 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		wasm, funcs, params, results := refModule(seed, throws)
		for _, how := range []refLevel{{opt.O0, false}, {opt.O1, false}, {opt.O1, true}} {
			live, calls, err := interpRefs(wasm, funcs, params, results, how, false)
			if err != nil {
				t.Fatalf("seed %d %v: interpreter: %v", seed, how, err)
			}
			inlined += calls
			needed, _, err := interpRefs(wasm, funcs, params, results, how, true)
			if err != nil {
				t.Fatalf("seed %d %v: interpreter: %v", seed, how, err)
			}
			found, err := nativeRefs(wasm, funcs, params, results, how)
			if err != nil {
				t.Fatalf("seed %d %v: %v", seed, how, err)
			}
			if d := needed.within(found); d != "" {
				t.Errorf("seed %d %v: missing in a stack map: %s", seed, how, d)
				continue
			}
			extra += found.more(live)
			points += len(found.points)
			for _, p := range found.points {
				frames += len(p.frames)
				for _, f := range p.frames {
					refs += len(f.objects)
				}
			}
		}
	}
	t.Logf("%d calls of the host, %d frames, %d references, %d of them dead; others are inlined in %d functions", points, frames, refs, extra, inlined)
	if extra > refs/dead {
		t.Errorf("too many dead references are listed")
	}
	if inlined < int(count)/3 {
		t.Error("too little is inlined")
	}
}

// refLevel is how the modules are compiled.
type refLevel struct {
	opt    opt.Level
	inline bool // eagerly, or not at all
}

// options are those of the compiler.
func (l refLevel) options() compile.Options {
	o := compile.Options{OptLevel: l.opt, EagerInlining: l.inline, Verify: true, Jobs: 1}
	if !l.inline {
		o.Control = func(clif.FuncIndex) *opt.Control {
			return &opt.Control{Limit: -1, Off: map[string]bool{inline.Pass: true}}
		}
	}
	return o
}

// dropUnused removes what the back end does not emit either: instructions without
// effects whose results are not used, and decisions between equal targets.
func dropUnused(o *opt.Optimizer, f *clif.Func) {
	for i := range f.Insts {
		d := &f.Insts[i]
		if d.Op != clif.OpBranch {
			continue
		}
		x, y := clif.Target(d.Args[1]), clif.Target(d.Args[2])
		if f.Targets[x].Block == f.Targets[y].Block && slices.Equal(f.TargetArgs(x), f.TargetArgs(y)) {
			*d = clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, uint32(x)}}
		}
	}
	o.RunPass(f, "dce")
}

func exported(i int) string { return string(rune('a' + i)) }

// refFuncs is the module as CLIF that the back end gets, and in how many functions others are inlined. With drop, what the
// back end does not emit is left out.
func refFuncs(wasm []byte, how refLevel, drop bool) (*interpengine.Module, int, error) {
	e := &inlinedEngine{options: how.options()}
	compiled, err := inlinedStore{e: e}.Compile(wasm)
	if err != nil {
		return nil, 0, err
	}
	m := compiled.(*interpengine.Module)
	for _, f := range m.Funcs {
		if f != nil && drop {
			dropUnused(&opt.Optimizer{}, f)
		}
	}
	return m, e.inlined, nil
}

// interpRefs runs every function under the interpreter, and gives in how many others are inlined.
func interpRefs(wasm []byte, funcs, params int, types []byte, how refLevel, drop bool) (*refTrace, int, error) {
	m, inlined, err := refFuncs(wasm, how, drop)
	if err != nil {
		return nil, 0, err
	}
	tr := &refTrace{}
	s := interp.NewStore(interp.Options{})
	numbers := func(refs []uint64) (out []int) {
		for _, r := range refs {
			out = append(out, objectOf(s, r))
		}
		return out
	}
	note := func(what string, c *interp.HostCall, args ...uint64) {
		p := refPoint{what: fmt.Sprint(what, numbers(args))}
		for _, l := range c.LiveRefs() {
			var objects []int
			for _, b := range l.Bits {
				if b != 0 {
					objects = append(objects, objectOf(s, b))
				}
			}
			outer := len(p.frames)
			abi.Activations(l.Func.Inlined, uint32(l.Func.Index), l.Func.Srcs[l.Inst], func(a abi.Activation) bool {
				p.add(a.Func, objects)
				objects = nil // as SafepointWalk says it: the innermost has all
				return true
			})
			slices.Reverse(p.frames[outer:])
		}
		tr.points = append(tr.points, p)
	}
	arguments := func(n uint64) []uint64 {
		args := make([]uint64, params+1)
		for i := range params {
			args[i] = s.ExternRef(object(i, tr.nested))
		}
		args[params] = n
		return args
	}
	var inst *interp.Instance
	host := map[string]*interp.Function{
		"point": s.NewHostFunc("point", clif.Signature{}, func(c *interp.HostCall, _, _ []uint64) error {
			note("point", c)
			return nil
		}),
		"take": s.NewHostFunc("take", clif.Signature{Params: []clif.Type{clif.Ref, clif.Ref}, Results: []clif.Type{clif.Ref}},
			func(c *interp.HostCall, args, results []uint64) error {
				note("take", c, args...)
				results[0] = firstRef(args)
				return nil
			}),
		"measure": s.NewHostFunc("measure", clif.Signature{Params: []clif.Type{clif.Ref}, Results: []clif.Type{clif.F32, clif.Ref}},
			func(c *interp.HostCall, args, results []uint64) error {
				note("measure", c, args...)
				results[1] = args[0]
				return nil
			}),
		"again": s.NewHostFunc("again", clif.Signature{Params: []clif.Type{clif.I32, clif.Ref}},
			func(c *interp.HostCall, args, _ []uint64) error {
				note("again", c, args[1])
				if tr.nested == maxNested {
					return nil
				}
				tr.nested++
				defer func() { tr.nested-- }()
				f, _ := inst.Export(exported(int(args[0] % uint64(funcs))))
				a := arguments(args[0])
				a[0] = args[1]
				_, err := c.Call(f.(*interp.Function), a)
				return err
			}),
	}
	inst, err = s.Instantiate(m.Decl, m.Body, func(_, name string) (interp.Extern, bool) { return host[name], true })
	if err != nil {
		return nil, 0, err
	}
	for i := range funcs {
		f, _ := inst.Export(exported(i))
		results, err := f.(*interp.Function).Call(arguments(uint64(i + 1)))
		var x *interp.Exception
		switch {
		case errors.As(err, &x):
			tr.points = append(tr.points, refPoint{what: fmt.Sprint("exception", numbers(x.Args()))})
			continue
		case err != nil:
			return nil, 0, err
		}
		tr.points = append(tr.points, refPoint{what: fmt.Sprint("results", numbers(refsAmong(results, types)))})
	}
	return tr, inlined, nil
}

// exceptionObject is added to the object that an exception has to get the number of the exception.
const exceptionObject = 1_000_000

// objectOf is the number of what a reference of the interpreter refers to.
func objectOf(s *interp.Store, ref uint64) int {
	switch x := s.ExternValue(ref).(type) {
	case int:
		return x
	case *interp.Exception:
		return exceptionObject + objectOf(s, x.Args()[0])
	}
	return 0
}

// refsAmong are the words of type ref among the results of a function.
func refsAmong(words []uint64, types []byte) (out []uint64) {
	for i, t := range types {
		if t == 0x6F {
			out = append(out, words[i])
		}
	}
	return out
}

func firstRef(args []uint64) uint64 {
	if args[0] != 0 {
		return args[0]
	}
	return args[1]
}

// nativeRefs runs every function as compiled code.
func nativeRefs(wasm []byte, funcs, params int, types []byte, how refLevel) (*refTrace, error) {
	r, err := compile.Module(wasm, how.options())
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	// What stack maps do not list is collected: it would not arrive.
	s, err := inproc.NewStore(inproc.Config{CollectAlways: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m, err := s.Load(img)
	if err != nil {
		return nil, err
	}
	n := &nativeRefHost{s: s, tr: &refTrace{}, funcs: funcs, params: params, types: types, refs: map[int]uint64{}}
	host, err := n.imports()
	if err != nil {
		return nil, err
	}
	if n.inst, err = s.Instantiate(m, func(_, name string) inproc.Extern { return host[name] }); err != nil {
		return nil, err
	}
	for i := range funcs {
		f, err := n.inst.Func(exported(i))
		if err != nil {
			return nil, err
		}
		results := make([]uint64, len(types))
		err = f.Call(n.arguments(uint64(i+1)), results)
		var x *inproc.Exception
		switch {
		case errors.As(err, &x):
			number, _ := x.Refs()[0].(int)
			n.tr.points = append(n.tr.points, refPoint{what: fmt.Sprint("exception", []int{number})})
			continue
		case err != nil:
			return nil, err
		}
		found, err := n.numbers(refsAmong(results, types))
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		n.tr.points = append(n.tr.points, refPoint{what: fmt.Sprint("results", found)})
	}
	return n.tr, nil
}

type nativeRefHost struct {
	s             *inproc.Store
	inst          *inproc.Instance
	tr            *refTrace
	funcs, params int    // functions, and their parameters of type ref
	types         []byte // of their results
	refs          map[int]uint64
}

// ref is a reference to an object, the same while there is one.
func (n *nativeRefHost) ref(object int) uint64 {
	if n.s.Extern(n.refs[object]) == nil {
		n.refs[object] = n.s.ExternRef(object)
	} else if n.tr.nested == 0 {
		n.s.Retain(n.refs[object])
	}
	return n.refs[object]
}

// arguments are kept by nothing but the call that comes next, or by the host
// function that is running.
func (n *nativeRefHost) arguments(x uint64) []uint64 {
	args := make([]uint64, n.params+1)
	for i := range n.params {
		args[i] = n.ref(object(i, n.tr.nested))
	}
	if n.tr.nested == 0 {
		for _, r := range args[:n.params] {
			n.s.Release(r)
		}
	}
	args[n.params] = x
	return args
}

// numbers are the objects that references denote, 0 for null.
func (n *nativeRefHost) numbers(refs []uint64) (out []int, err error) {
	for _, r := range refs {
		x, ok := n.object(r)
		if !ok && r != 0 {
			err = fmt.Errorf("%#x denotes nothing", r)
		}
		out = append(out, x)
	}
	return out, err
}

// object is the number of what a reference refers to; ok is false if that is nothing.
func (n *nativeRefHost) object(ref uint64) (number int, ok bool) {
	switch x := n.s.Extern(ref).(type) {
	case int:
		return x, true
	case *inproc.Exception:
		number, _ = x.Refs()[0].(int)
		return exceptionObject + number, true
	}
	return 0, false
}

func (n *nativeRefHost) note(what string, c *inproc.Caller, args ...uint64) error {
	passed, garbage := n.numbers(args)
	p := refPoint{what: fmt.Sprint(what, passed)}
	c.SafepointWalk(func(f inproc.Frame, refs []uint64) {
		var objects []int
		for _, r := range refs {
			if r == 0 {
				continue
			}
			x, ok := n.object(r)
			if !ok {
				garbage = fmt.Errorf("a stack map lists a slot with %#x in function %d", r, f.Func)
			}
			objects = append(objects, x)
		}
		p.add(f.Func, objects)
	})
	slices.Reverse(p.frames)
	n.tr.points = append(n.tr.points, p)
	return garbage
}

func (n *nativeRefHost) imports() (map[string]*inproc.Func, error) {
	ref := meta.ExternRef
	out := map[string]*inproc.Func{}
	for _, h := range []struct {
		name string
		typ  meta.FuncType
		call inproc.HostFunc
	}{
		{"point", meta.FuncType{}, func(c *inproc.Caller, _, _ []uint64) error { return n.note("point", c) }},
		{"take", meta.FuncType{Params: []meta.ValType{ref, ref}, Results: []meta.ValType{ref}},
			func(c *inproc.Caller, args, results []uint64) error {
				results[0] = firstRef(args)
				return n.note("take", c, args...)
			}},
		{"measure", meta.FuncType{Params: []meta.ValType{ref}, Results: []meta.ValType{meta.F32, ref}},
			func(c *inproc.Caller, args, results []uint64) error {
				results[1] = args[0]
				return n.note("measure", c, args[0])
			}},
		{"again", meta.FuncType{Params: []meta.ValType{meta.I32, ref}}, n.again},
	} {
		f, err := n.s.NewHostFunc(h.typ, h.call)
		if err != nil {
			return nil, err
		}
		out[h.name] = f
	}
	return out, nil
}

func (n *nativeRefHost) again(c *inproc.Caller, args, _ []uint64) error {
	number, first := args[0], args[1]
	if err := n.note("again", c, first); err != nil || n.tr.nested == maxNested {
		return err
	}
	n.tr.nested++
	defer func() { n.tr.nested-- }()
	f, err := n.inst.Func(exported(int(number % uint64(n.funcs))))
	if err != nil {
		return err
	}
	a := n.arguments(number)
	a[0] = first
	return f.Call(a, make([]uint64, len(n.types)))
}
