package compile

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// driver compiles one module. The first fields are fixed before the workers start.
type driver struct {
	newAllocator func() backend.Allocator // as Options.Regalloc says
	opt          Options
	target       *machine
	wm           *wasmfront.Module // nil for a module given as CLIF
	body         Bodies            // nil for a Wasm module
	cm           *clif.Module
	layout       *instance.Layout
	order        []uint32 // functions: those that may be inlined, then the others, the largest first
	// inlining is nil if nothing is inlined.
	inlining *inlining

	todo    []uint32     // what the workers compile: order, or what turned out to be needed
	again   bool         // that is functions whose bodies others may have inlined
	next    atomic.Int64 // next entry of todo
	invalid lowest       // function whose body is not valid
	failed  lowest       // function that cannot be compiled
	account account
	over    atomic.Bool // a limit of the account is exceeded: nobody need go on

	workers []*worker
	// results and errs are by function index; each is written by the worker that has the function.
	results []result
	errs    []error

	mu   sync.Mutex // for callbacks
	done int
}

// lowest is the lowest of the numbers it is told.
type lowest struct{ n atomic.Uint32 }

func (l *lowest) reset() { l.n.Store(^uint32(0)) }

func (l *lowest) tell(n uint32) {
	for old := l.n.Load(); n < old; old = l.n.Load() {
		if l.n.CompareAndSwap(old, n) {
			return
		}
	}
}

// result is where the code of a function is: in the stores of a worker.
type result struct {
	worker                           *worker
	align, prologue, frame           uint32 // of the function, in bytes
	starts                           machbuffer.Starts
	code, relocs, traps, calls, maps span
	inlined                          span // of which entry 0 is the first in the function's table
	saved                            regalloc.PRegSet
	unwind, handlers                 span
	exceptions, heap                 bool // it uses the part of the instance data for them
}

// run compiles all functions. The error is the one that counts, whatever the
// order in which workers found errors: an invalid body before anything else, then
// the lowest function index.
func (d *driver) run() error {
	n := uint32(len(d.cm.Funcs))
	d.results, d.errs = make([]result, n), make([]error, n)
	d.invalid.reset()
	d.failed.reset()
	if d.wm != nil && d.opt.OptLevel > opt.O0 {
		survey := translate.TakeSurvey(d.wm, d.cm, d.jobs(), d.opt.stop)
		survey.Declare(d.cm)
		d.inlining = newInlining(d.wm, survey.Calls, d.opt.EagerInlining, d.opt.stop)
	}
	d.sort()
	d.opt.Costs.Ended("plan")
	d.work(d.order)
	if d.inlining != nil {
		d.drop()
	}
	for _, w := range d.workers {
		if w.costs != d.opt.Costs {
			d.opt.Costs.Add(w.costs)
		}
		w.forget()
	}
	d.inlining = nil
	if d.opt.Collect && d.account.memory() >= leastCollected {
		runtime.GC()
		d.opt.Costs.Ended("collect")
	}
	if d.opt.stop.IsSet() {
		return stop.Stopped{}
	}
	return d.firstError()
}

// work compiles functions, in about that order.
func (d *driver) work(todo []uint32) {
	d.todo = todo
	d.next.Store(0)
	jobs := max(1, min(d.opt.Jobs, len(todo)))
	for n := len(d.workers); n < jobs; n++ {
		w := &worker{d: d, costs: d.opt.Costs}
		if n > 0 {
			w.costs = w.costs.Another()
		}
		d.workers = append(d.workers, w)
	}
	var wg sync.WaitGroup
	for n := 1; n < jobs; n++ {
		wg.Go(d.workers[n].loop)
	}
	d.workers[0].loop() // in this goroutine: another one would wake a thread, for nothing if it is the only worker
	wg.Wait()
}

// jobs returns how many goroutines may take part in what is no function's: one if costs are measured, since a Meter measures its own.
func (d *driver) jobs() int {
	if d.opt.Costs != nil {
		return 1
	}
	return d.opt.Jobs
}

// aside does work, and meanwhile, in a goroutine of its own if there may be one, side.
func (d *driver) aside(side, work func()) {
	if d.jobs() == 1 {
		side()
		work()
		return
	}
	var g stop.Group
	defer g.Wait() // if a poll ends work
	g.Go(side)
	work()
	g.Wait()
}

// ended reports whether there will be no object.
func (d *driver) ended() bool {
	n := uint32(len(d.cm.Funcs))
	return d.opt.stop.IsSet() || d.over.Load() || d.invalid.n.Load() < n || d.failed.n.Load() < n
}

// firstError returns the error that counts: that of the first place in the module where validation fails, or where too many values
// are passed; else that of the first function that is too complex; else that of a limit of the account; else that of the first
// function that cannot be compiled. If a limit of the account ends the work, functions that would have come first may remain.
func (d *driver) firstError() error {
	n := uint32(len(d.cm.Funcs))
	invalid, failed := d.invalid.n.Load(), d.failed.n.Load()
	if d.over.Load() || invalid < n || failed < n {
		// If one body is invalid and another one passes too many values, the first one in the module is reported.
		if d.wm != nil {
			if _, err := validate.All(d.wm.Bytes, validate.Config{Features: d.wm.Features, Stop: d.opt.stop, Price: d.opt.Limits.price(d.wm.Bytes)}); err != nil {
				return err
			}
		}
		if invalid < n {
			return d.errs[invalid]
		}
	}
	if err := d.exceeded(true); err != nil {
		return err
	}
	if failed < n {
		return d.errs[failed]
	}
	return nil
}

// sort orders the defined functions: candidates for inlining by their rank, the others by the size of their bodies, so that none of
// the large ones is last.
func (d *driver) sort() {
	size := func(i uint32) int {
		if d.wm == nil {
			return 0
		}
		if i == uint32(d.cm.InitFunc()) {
			return 8 * (len(d.cm.Globals) + len(d.cm.Datas) + len(d.cm.Elems))
		}
		return len(d.wm.Body(i).Bytes)
	}
	if d.inlining != nil {
		d.order = append(d.order, d.inlining.order...)
	}
	first := len(d.order)
	for i := uint32(d.cm.NumImportedFuncs); i < uint32(len(d.cm.Funcs)); i++ {
		if _, ranked := d.inlining.candidate(i); !ranked {
			d.order = append(d.order, i)
		}
	}
	slices.SortStableFunc(d.order[first:], func(a, b uint32) int { return size(b) - size(a) })
}

// worker compiles functions; its stores keep the results.
type worker struct {
	d      *driver
	f      clif.Func
	tr     *translate.Translator
	inline inline.Inliner
	opt    opt.Optimizer
	gen    generate
	stage  string
	ready  bool // reset has been called

	verifier verify.Verifier

	code     store[byte]
	relocs   store[machbuffer.Reloc]
	traps    store[abi.TrapSite]
	calls    store[abi.CallSite]
	maps     store[abi.StackMap]
	inlined  store[abi.Inlined]
	unwind   store[abi.CFIChange]
	handlers store[abi.Handler]
	places   placeTable

	costs *cost.Meter // nil if nothing is measured
}

// reset creates all state anew, at the start and after a panic.
func (w *worker) reset() {
	d := w.d
	w.f = clif.Func{}
	if d.wm != nil {
		w.tr = translate.New(d.wm, d.cm)
		w.tr.Options = d.opt.translation(d.target)
		w.tr.MaxBytes = d.roomForFunction()
	}
	w.inline, w.opt, w.verifier = inline.Inliner{Objects: d.cm.HasObjects()}, opt.Optimizer{}, verify.Verifier{}
	if d.opt.Verify || d.opt.AfterPass != nil || w.costs != nil {
		w.opt.After = func(p *opt.Pass, f *clif.Func) error { return w.after(p.Name) }
	}
	w.gen, w.ready = nil, true
}

// forget leaves of w only its stores.
func (w *worker) forget() {
	w.f, w.tr, w.inline, w.opt, w.verifier, w.gen, w.ready = clif.Func{}, nil, inline.Inliner{}, opt.Optimizer{}, verify.Verifier{}, nil, false
}

// leastCollected is from how many bytes on, as the account counts them, a collection before linking is worth its time.
const leastCollected = 64 << 20

func (w *worker) loop() {
	w.costs.Start()
	defer w.costs.Stop()
	if !w.ready {
		w.reset()
	}
	for {
		n := w.d.next.Add(1) - 1
		if n >= int64(len(w.d.todo)) {
			return
		}
		i := w.d.todo[n]
		if w.d.over.Load() {
			w.d.inlining.finish(i)
			return
		}
		if i > w.d.invalid.n.Load() {
			w.d.inlining.finish(i)
			continue
		}
		err := w.guarded(i)
		w.costs.Func(i)
		w.d.inlining.finish(i)
		if errors.Is(err, stop.Stopped{}) {
			return
		}
		if err != nil {
			w.report(i, err)
		}
		if p := w.d.opt.Progress; p != nil && !w.d.again {
			w.d.mu.Lock()
			w.d.done++
			p(w.d.done, len(w.d.order))
			w.d.mu.Unlock()
		}
	}
}

// funcError wraps an error of a stage with the index, the name and the offset of function i.
func (d *driver) funcError(i uint32, stage string, err error) *FuncError {
	e := &FuncError{Func: i, Name: d.cm.Funcs[i].Name, Stage: stage, Err: err}
	if n := int(i) - d.cm.NumImportedFuncs; d.wm != nil && n < len(d.wm.Code) {
		e.Offset = d.wm.Code[n].Offset
	}
	return e
}

// report notes the error of function i.
func (w *worker) report(i uint32, err error) {
	d := w.d
	var invalid *wasmfront.Error
	if errors.As(err, &invalid) {
		d.errs[i] = err
		d.invalid.tell(i)
		return
	}
	fe := d.funcError(i, w.stage, err)
	var be *backend.Error
	if errors.As(err, &be) {
		fe.Stage, fe.Err = be.Stage, be.Err
	}
	d.errs[i] = fe
	d.failed.tell(i)
	if d.opt.Crash != nil {
		d.mu.Lock()
		d.opt.Crash(&Crash{Error: fe, CLIF: &w.f})
		d.mu.Unlock()
	}
}

// guarded compiles function i and turns a panic into an error.
func (w *worker) guarded(i uint32) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop.Stopped:
			err = r
		default:
			err = fmt.Errorf("internal error: %v\n%s", r, debug.Stack())
			f := w.f
			w.reset()
			w.f = f
		}
	}()
	return w.function(i)
}

func (w *worker) function(i uint32) error {
	w.stage = "translate"
	w.f.Stop = w.d.opt.stop
	if err := w.produce(clif.FuncIndex(i)); errors.Is(err, translate.ErrBytes) {
		w.d.account.function(w.tr.Bytes())
		w.d.over.Store(true)
		return nil
	} else if err != nil {
		return err
	}
	if w.translated(i) {
		return nil
	}
	if err := w.after(""); err != nil {
		return err
	}
	w.stage = "opt"
	if control := w.d.opt.Control; control != nil {
		w.opt.Control = control(clif.FuncIndex(i))
	}
	idle, err := w.midEnd(i)
	if err != nil {
		return err
	}
	if idle {
		return nil
	}
	if err := w.opt.Finish(&w.f, w.d.opt.OptLevel); err != nil {
		return err
	}
	w.stage = "backend"
	if w.gen == nil {
		w.gen = w.d.newGenerator(w)
	}
	code, err := w.gen(&w.f)
	if err != nil {
		return err
	}
	w.d.account.keep(code)
	if w.full() {
		return nil
	}
	w.keep(i, code)
	w.costs.Ended("keep")
	return nil
}

// translated adds function i to the account, and reports whether the module exceeds a limit.
func (w *worker) translated(i uint32) bool {
	a := &w.d.account
	if w.d.wm == nil || w.d.again {
		return w.full()
	}
	if clif.FuncIndex(i) != w.d.cm.InitFunc() {
		if a.values.Add(int64(w.tr.Values())) > int64(validate.MaxValues(w.d.wm)) {
			w.d.over.Store(true) // validate.All will say where
			return true
		}
		a.complexity.Add(int64(w.tr.Beyond()))
	}
	a.function(w.tr.Bytes())
	return w.full()
}

// full reports whether a limit of the account is exceeded, and then ends the work of all.
func (w *worker) full() bool {
	if w.d.exceeded(false) == nil {
		return false
	}
	w.d.over.Store(true)
	return true
}

// produce builds function i in f, as it is before the mid-end.
func (w *worker) produce(i clif.FuncIndex) error {
	switch {
	case w.d.body != nil:
		f, err := w.d.body(i)
		if err == nil {
			w.f = *f
			w.f.Stop = w.d.opt.stop
		}
		return err
	case i == w.d.cm.InitFunc():
		w.tr.Init(&w.f)
		return nil
	}
	return w.tr.Func(&w.f, uint32(i))
}

// after verifies and shows the function after the named pass, which is empty for translation.
func (w *worker) after(pass string) error {
	w.costs.Ended(cmp.Or(pass, "translate"))
	if w.d.opt.AfterPass != nil {
		w.d.opt.AfterPass(pass, &w.f)
	}
	if !w.d.opt.Verify {
		return nil
	}
	if err := w.verifier.Func(&w.f); err != nil {
		w.stage = "verify"
		return err
	}
	w.costs.Ended("verify")
	return nil
}

// keep copies code, which is about to be overwritten.
func (w *worker) keep(i uint32, c *backend.Code) {
	r := &w.d.results[i]
	r.worker, r.align, r.starts, r.prologue, r.frame = w, c.Align, c.Starts, c.Prologue, c.FrameBytes
	r.code, r.relocs = w.code.keep(c.Bytes), w.relocs.keep(c.Relocs)
	r.saved, r.unwind, r.handlers = c.Saved, w.unwind.keep(c.Unwind), w.handlers.keep(c.Handlers)
	r.exceptions, r.heap = c.HasExceptions, c.HasHeap
	r.traps, r.calls = w.traps.keep(c.Traps), w.calls.keep(c.Calls)
	if len(c.Inlined) > 0 {
		w.keepPlaces(r, c)
	}
	r.maps = w.maps.keep(c.StackMaps)
	w.keepSlots(w.maps.at(r.maps))
}

// keepSlots copies the slots of stack maps into an array of their own. Maps in a row that share slots still do.
func (w *worker) keepSlots(maps []abi.StackMap) {
	all := make([]int32, 0, numSlots(maps))
	var from, to []int32 // the last that were copied, and the copy
	for i := range maps {
		w.d.opt.stop.PollAt(i)
		if slots := maps[i].Slots; !sameSlots(from, slots) {
			start := len(all)
			all = append(all, slots...)
			from, to = slots, all[start:len(all):len(all)]
		}
		maps[i].Slots = to
	}
}

// sameSlots reports whether two lists of slots are in the same memory.
func sameSlots(a, b []int32) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// numSlots returns how many slots stack maps have, which those that maps in a row share count once.
func numSlots(maps []abi.StackMap) (n int) {
	for i := range maps {
		if i == 0 || !sameSlots(maps[i-1].Slots, maps[i].Slots) {
			n += len(maps[i].Slots)
		}
	}
	return n
}
