// Package initialize runs what a module does before it can be used, and makes the module that begins behind that.
//
// The code runs in this process, with what the options give it and nothing else: clocks and random numbers that are the same each time, or none, directories that the module will have again,
// and no input. What would not be there again, such as an open file, is refused by name.
//
// Place in the pipeline: in front of it, and on top of the host; packages compile and host run the code, package snapshot makes the module.
//
// Input: a module, and Options that say what runs.
// Output: a module whose instances begin in the state that was reached.
package initialize

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/snapshot"
	"github.com/waot-project/waot/wasmfront"
)

// Options say what runs, and what it has.
type Options struct {
	// Export is the exported function to call. Empty means _start up to the marker if the module imports that and exports _start, and otherwise _initialize alone.
	Export string
	// Run, if not nil, is called in the place of the exported function.
	Run func(ctx context.Context, inst *host.Instance) error
	// Args, Env and Dirs are what programs have, as wasirun.Options says.
	Args, Env []string
	Dirs      []wasirun.Dir
	// Output gets what is written to standard output and standard error; nil refuses that.
	Output io.Writer
	// Time is what clocks say at first; each look at one takes a microsecond, and waiting takes no time at all. Zero refuses to look, and to wait.
	Time time.Time
	// Seed is what random numbers come of; empty refuses them.
	Seed string
	// Imports are functions beside WASI's. A call of one that is missing is refused.
	Imports host.Imports
	// Store bounds what code may take.
	Store *host.StoreOptions
	// Compile has the name of the module, the limits, and what is to be the same for any compilation. Code is compiled for this machine, and without optimizations.
	Compile compile.Options
}

// Result is what was reached.
type Result struct {
	Wasm  []byte
	Stats snapshot.Stats
	// Export is the function that was called, empty if Options.Run was. Marker says that the marker ended it.
	Export string
	Marker bool
	// Took is how long the code ran.
	Took time.Duration
}

// The functions that programs and libraries begin with.
const (
	startName      = "_start"
	initializeName = "_initialize"
)

// Snapshot runs the initialisation of a module. The errors are those of the compiler and of instances, traps included, and *snapshot.Error for what a snapshot cannot have.
func Snapshot(ctx context.Context, wasm []byte, o *Options) (*Result, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	r, err := take(ctx, wasm, o)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = &compile.CancelError{Cause: context.Cause(ctx), Err: ctx.Err()}
	}
	return r, err
}

func take(ctx context.Context, wasm []byte, o *Options) (*Result, error) {
	limits := &o.Compile.Limits
	if err := limits.CheckSize(wasm); err != nil {
		return nil, err
	}
	if y := o.Time; !y.IsZero() && (y.Before(time.Unix(0, 0)) || y.After(time.Unix(0, math.MaxInt64/2))) {
		return nil, snapshot.Errorf("clocks cannot say %v", y)
	}
	features := o.Compile.Features
	if features == 0 {
		features = wasmfront.DefaultFeatures
	}
	r, err := snapshot.Instrument(wasm, features)
	if err != nil {
		return nil, err
	}
	if err := limits.CheckModule(r.Original); err != nil {
		return nil, err
	}
	begin, err := choose(r, o)
	if err != nil {
		return nil, err
	}
	x, err := start(ctx, r, o, begin)
	if err != nil {
		return nil, err
	}
	defer func() { x.close() }()
	state, err := x.state(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case x.places != nil:
		if x, state, err = x.again(ctx, o, begin, state); err != nil {
			return nil, err
		}
	case begin.marker:
		return nil, snapshot.Errorf("%s has returned, and has not called %s.%s", startName, abi.MarkerModule, abi.MarkerName)
	}
	b, stats, err := snapshot.Freeze(ctx, r.Original, state, &snapshot.Changes{Drop: begin.drop(x.places != nil), Resume: begin.name()})
	if err != nil {
		return nil, err
	}
	return &Result{Wasm: b, Stats: *stats, Export: begin.name(), Marker: x.places != nil, Took: x.took}, nil
}

// again runs the initialisation once more: now the calls that are under way write down what they have. It closes x.
func (x *run) again(ctx context.Context, o *Options, begin *beginning, state *snapshot.State) (*run, *snapshot.State, error) {
	digest := state.Digest()
	r, err := x.running.Spill(x.places)
	if err != nil {
		return x, nil, err
	}
	x.close()
	quiet := *o
	if o.Output != nil {
		quiet.Output = io.Discard // it has been written
	}
	quiet.Store = roomFor(o.Store)
	y, err := start(ctx, r, &quiet, begin)
	var trap *host.Trap
	switch {
	case errors.As(err, &trap):
		return x, nil, otherwise("it traps the second time")
	case err != nil:
		return x, nil, err
	case !slices.Equal(y.places, x.places):
		return y, nil, otherwise("it has called %s.%s from elsewhere", abi.MarkerModule, abi.MarkerName)
	}
	state, err = y.state(ctx)
	switch {
	case err != nil:
		return y, nil, err
	case state.Digest() != digest:
		return y, nil, otherwise("memories, tables or globals differ")
	}
	return y, state, nil
}

// otherwise is the error of a program that does something else the second time.
func otherwise(format string, args ...any) error {
	return snapshot.Errorf("the program is run twice, and does not do the same: "+format, args...)
}

// roomFor returns limits with room for what the second run has in addition.
func roomFor(o *host.StoreOptions) *host.StoreOptions {
	if o == nil {
		return nil
	}
	more := *o
	for _, limit := range []*int{&more.MaxMemories, &more.MaxTables, &more.MaxGlobals} {
		if *limit > 0 {
			*limit++
		}
	}
	return &more
}

// beginning is what is called.
type beginning struct {
	initialize bool   // _initialize, at first
	export     string // then this, if it is not empty
	run        bool   // or Options.Run
	marker     bool   // nobody has named the export: it must call the marker
}

// name returns what is called last, empty if that is Options.Run.
func (b *beginning) name() string {
	if b.export == "" && b.initialize && !b.run {
		return initializeName
	}
	return b.export
}

// drop returns the exports that a snapshot has no more.
func (b *beginning) drop(resumes bool) (names []string) {
	if b.initialize {
		names = append(names, initializeName)
	}
	if b.export != "" {
		names = append(names, b.export)
	}
	return slices.DeleteFunc(names, func(name string) bool { return resumes && name == b.name() })
}

// choose says what to call.
func choose(r *snapshot.Running, o *Options) (*beginning, error) {
	b := &beginning{initialize: exportedType(r.Original, initializeName) != nil, run: o.Run != nil}
	switch {
	case o.Run != nil:
	case o.Export != "":
		b.export = o.Export
	case r.Marker && exportedType(r.Original, startName) != nil:
		b.export, b.marker = startName, true
	case b.initialize:
	case exportedType(r.Original, startName) != nil:
		return nil, snapshot.Errorf("%s runs the program to its end, and the module does not import %s.%s, whose call says where to stop", startName, abi.MarkerModule, abi.MarkerName)
	default:
		return nil, snapshot.Errorf("the module exports neither %s nor %s; name the function that initialises it", initializeName, startName)
	}
	if b.initialize {
		if err := checkCallable(r.Original, initializeName); err != nil {
			return nil, err
		}
	}
	if b.export == initializeName && b.initialize {
		b.export = "" // it is called first anyway
	}
	if b.export != "" {
		return b, checkCallable(r.Original, b.export)
	}
	return b, nil
}

// checkCallable returns why an export cannot be called, or nil.
func checkCallable(m *wasmfront.Module, name string) error {
	t := exportedType(m, name)
	switch {
	case t == nil:
		return snapshot.Errorf("the module exports no function %q", name)
	case len(t.Params) > 0:
		return snapshot.Errorf("the function %q has parameters: %v", name, t)
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Name == name && e.Index < m.NumImportedFuncs {
			return snapshot.Errorf("the function %q is imported", name)
		}
	}
	return nil
}

// exportedType returns the type of an exported function, or nil.
func exportedType(m *wasmfront.Module, name string) *wasmfront.FuncType {
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Name == name && e.Kind == abi.ExternFunc {
			return m.FuncType(e.Index)
		}
	}
	return nil
}

// run is an instance whose initialisation has run.
type run struct {
	running *snapshot.Running
	mod     *host.Module
	store   *host.Store
	inst    *host.Instance
	system  *system
	places  []snapshot.Place // the calls that the marker has ended, the outermost first; nil if it was not called
	current string           // the export that is called
	ended   bool             // the marker has been called, or nobody is to be ended by it
	took    time.Duration
}

// errMarker ends what calls the marker.
var errMarker = errors.New("frozen")

// start runs the initialisation.
func start(ctx context.Context, r *snapshot.Running, o *Options, begin *beginning) (_ *run, err error) {
	c := o.Compile
	c.Limits.ModuleBytes, c.Limits.FunctionBytes = 0, 0 // they have been looked at
	c.Context, c.Target, c.CPU, c.OptLevel, c.Regalloc, c.ExplicitBounds, c.Fuel, c.FuelSlack = ctx, compile.HostTarget(), "", opt.O0, "", false, nil, false
	c.Deterministic = true // results are the same on all machines
	c.Control, c.Trace, c.AfterPass, c.Costs, c.NewAllocator = nil, nil, nil, nil, nil
	c.Features = r.Module.Features
	compiled, err := compile.Module(r.Wasm, c)
	if err != nil {
		return nil, err
	}
	img, err := load.Image(compiled.Object, compiled.Meta)
	if err != nil {
		return nil, err
	}
	x := &run{running: r}
	done := false
	defer func() { // a function of the caller may panic
		if !done {
			x.close()
		}
	}()
	mod, err := loaded.New(img)
	if err != nil {
		return nil, err
	}
	x.mod = (*host.Module)(mod)
	if x.system, err = newSystem(o, c.Name); err != nil {
		return nil, err
	}
	if x.store, err = host.NewStore(o.Store); err != nil {
		return nil, err
	}
	began := time.Now()
	x.inst, err = x.store.Instantiate(ctx, x.mod, x.imports(o, begin))
	if err == nil {
		err = x.call(ctx, o, begin)
	}
	x.took = time.Since(began)
	if x.system.refused != nil {
		return nil, x.system.refused // whatever the program has made of it
	}
	var exit *wasirun.ExitError
	if errors.As(err, &exit) {
		return nil, snapshot.Errorf("the program has ended with status %d before it could be frozen", exit.Code)
	}
	if err != nil && x.places == nil {
		return nil, x.inOriginal(err)
	}
	if err := x.system.left(); err != nil {
		return nil, err
	}
	done = true
	return x, nil
}

// inOriginal gives the places of a trap their offsets in the original module.
func (x *run) inOriginal(err error) error {
	var trap *host.Trap
	if errors.As(err, &trap) {
		for i := range trap.Backtrace {
			f := &trap.Backtrace[i]
			f.Offset = uint32(x.running.OriginalOffset(f.Func, int(f.Offset)))
		}
	}
	return err
}

// call calls what is to be called.
func (x *run) call(ctx context.Context, o *Options, begin *beginning) error {
	if begin.initialize {
		if err := x.export(ctx, initializeName); err != nil {
			return err
		}
	}
	if o.Run != nil {
		x.ended = true // the marker is nothing to it
		return o.Run(ctx, x.inst)
	}
	if begin.export == "" {
		return nil
	}
	return x.export(ctx, begin.export)
}

func (x *run) export(ctx context.Context, name string) error {
	x.current = name
	f, err := x.inst.Func(name)
	if err != nil {
		return err
	}
	_, err = f.Call(ctx)
	return err
}

// imports returns all that the module imports.
func (x *run) imports(o *Options, begin *beginning) host.Imports {
	all := host.Imports{}
	add := func(from host.Imports) {
		for module, funcs := range from {
			if all[module] == nil {
				all[module] = map[string]any{}
			}
			for name, f := range funcs {
				all[module][name] = f
			}
		}
	}
	m := x.running.Original
	for i := range m.Imports {
		imp := &m.Imports[i]
		t := m.FuncType(imp.Index)
		add(host.Imports{imp.Module: {imp.Name: host.RawFunc{Params: valTypes(t.Params), Results: valTypes(t.Results), Func: func(*host.Caller, []uint64, []uint64) error {
			return x.system.refuse("calls the imported function %q %q", imp.Module, imp.Name)
		}}}})
	}
	add(x.system.imports())
	add(o.Imports)
	if x.running.Marker {
		add(host.Imports{abi.MarkerModule: {abi.MarkerName: host.RawFunc{Func: func(c *host.Caller, _, _ []uint64) error { return x.marked(c, begin) }}}})
	}
	return all
}

func valTypes(list []wasmfront.ValType) []host.ValType {
	out := make([]host.ValType, len(list))
	for i, t := range list {
		out[i] = host.ValType(t)
	}
	return out
}

// marked is what the marker does.
func (x *run) marked(c *host.Caller, begin *beginning) error {
	switch {
	case x.ended:
		return nil
	case x.inst == nil:
		return x.system.refuse("calls %s.%s while it is instantiated", abi.MarkerModule, abi.MarkerName)
	case x.current != begin.name():
		return x.system.refuse("calls %s.%s in %s, which is only the first that is called", abi.MarkerModule, abi.MarkerName, x.current)
	}
	x.ended = true
	places, err := x.walk((*inproc.Caller)(c).WalkOwn)
	if err != nil {
		return err
	}
	all, err := x.walk(func(visit func(host.Frame)) {
		(*inproc.Caller)(c).SafepointWalk(func(f host.Frame, _ []uint64) { visit(f) })
	})
	switch {
	case err != nil:
		return err
	case len(places) == 0 || len(all) > len(places):
		return x.system.refuse("calls %s.%s from a Go function that it has called", abi.MarkerModule, abi.MarkerName)
	}
	x.places = places
	return errMarker
}

// walk returns the places of frames, the outermost first.
func (x *run) walk(frames func(visit func(host.Frame))) ([]snapshot.Place, error) {
	var places []snapshot.Place
	var err error
	frames(func(f host.Frame) {
		p, active, e := x.running.PlaceOf(f.Func, int(f.Offset))
		if e != nil && err == nil {
			err = e
		}
		if active {
			places = append(places, p)
		}
	})
	slices.Reverse(places)
	return places, err
}

func (x *run) close() {
	if x.store != nil {
		x.store.Close()
	}
	if x.system != nil {
		x.system.close()
	}
	if x.mod != nil {
		x.mod.Close()
	}
}

// state returns what the instance has.
func (x *run) state(ctx context.Context) (*snapshot.State, error) {
	m := x.running.Original
	s := &snapshot.State{Calls: x.system.calls(m), Globals: make([]snapshot.Value, len(m.Globals)), DroppedData: make([]bool, len(m.Data)), DroppedElems: make([]bool, len(m.Elems))}
	funcs, err := x.importedFuncs()
	if err != nil {
		return nil, err
	}
	for i := range m.Memories {
		mem, err := x.inst.Memory(x.running.MemoryName(i))
		if err != nil {
			return nil, err
		}
		s.Memories = append(s.Memories, mem.Bytes())
	}
	for i := range m.Tables {
		t, err := x.inst.Table(x.running.TableName(i))
		if err != nil {
			return nil, err
		}
		refs := make([]snapshot.Ref, t.Len())
		for k := range refs {
			if k%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v, err := t.Get(uint32(k))
			if err != nil {
				return nil, err
			}
			if refs[k], err = x.ref(v, funcs, "element %d of table %d", k, i); err != nil {
				return nil, err
			}
		}
		s.Tables = append(s.Tables, refs)
	}
	for i := range m.Globals {
		g := &m.Globals[i]
		s.Globals[i].Ref = snapshot.Null
		if !g.Mutable {
			continue
		}
		v, err := x.global(x.running.GlobalName(i))
		if err != nil {
			return nil, err
		}
		if g.Type.IsRef() {
			if s.Globals[i].Ref, err = x.ref(v.Any(), funcs, "global %d", i); err != nil {
				return nil, err
			}
			continue
		}
		s.Globals[i].Bits, s.Globals[i].High = bitsOf(v)
	}
	for i := range m.Data {
		if s.DroppedData[i] = true; m.Data[i].Mode == wasmfront.SegmentPassive {
			if s.DroppedData[i], err = x.dropped(x.running.DroppedDataName(i)); err != nil {
				return nil, err
			}
		}
	}
	for i := range m.Elems {
		if s.DroppedElems[i] = true; m.Elems[i].Mode == wasmfront.SegmentPassive {
			if s.DroppedElems[i], err = x.dropped(x.running.DroppedElemName(i)); err != nil {
				return nil, err
			}
		}
	}
	if x.places != nil && x.running.Spills() {
		s.Frames, err = x.frames(funcs)
	}
	return s, err
}

func (x *run) global(name string) (host.Value, error) {
	g, err := x.inst.Global(name)
	if err != nil {
		return host.Value{}, err
	}
	return g.Get()
}

// bitsOf returns the bits of a number or a vector.
func bitsOf(v host.Value) (low, high uint64) {
	switch x := v.Any().(type) {
	case int32:
		return uint64(uint32(x)), 0
	case int64:
		return uint64(x), 0
	case float32:
		return uint64(math.Float32bits(x)), 0
	case float64:
		return math.Float64bits(x), 0
	case [16]byte:
		return binary.LittleEndian.Uint64(x[:]), binary.LittleEndian.Uint64(x[8:])
	}
	return 0, 0
}

func (x *run) dropped(name string) (bool, error) {
	v, err := x.global(name)
	return err == nil && v.I32() != 0, err
}

// importedFuncs are the imported functions with their indices.
func (x *run) importedFuncs() (map[uint64]uint32, error) {
	all := map[uint64]uint32{}
	for i := range x.running.Original.NumImportedFuncs {
		f, err := x.inst.Func(x.running.FuncName(int(i)))
		if err != nil {
			return nil, err
		}
		all[f.Ref()] = i
	}
	return all, nil
}

// ref returns the reference that the host has as v; where it was is for errors.
func (x *run) ref(v any, imported map[uint64]uint32, where string, args ...any) (snapshot.Ref, error) {
	f, ok := v.(*host.Func)
	switch {
	case v == nil || ok && f == nil:
		return snapshot.Null, nil
	case !ok:
		return 0, snapshot.Errorf("%s is a reference to a value of the host", fmt.Sprintf(where, args...))
	}
	if inst, i := f.Place(); inst == x.inst {
		return snapshot.Ref(i), nil
	}
	if i, ok := imported[f.Ref()]; ok {
		return snapshot.Ref(i), nil
	}
	return 0, snapshot.Errorf("%s is a function that is not the module's", fmt.Sprintf(where, args...))
}

// frames returns the calls that are under way.
func (x *run) frames(funcs map[uint64]uint32) ([]snapshot.Frame, error) {
	mem, err := x.inst.Memory(x.running.RecordsName())
	if err != nil {
		return nil, err
	}
	end, err := x.global(x.running.EndName())
	if err != nil {
		return nil, err
	}
	refs, err := x.inst.Table(x.running.RefsName())
	if err != nil {
		return nil, err
	}
	frames, err := x.running.ReadFrames(mem.Bytes()[:uint32(end.I32())], func(i uint32) (snapshot.Ref, error) {
		v, err := refs.Get(i)
		if err != nil {
			return 0, err
		}
		return x.ref(v, funcs, "a local or an operand")
	})
	if err == nil && !slices.EqualFunc(frames, x.places, func(f snapshot.Frame, p snapshot.Place) bool { return f.Func == p.Func && f.Call == p.Call }) {
		err = snapshot.Errorf("calls that have been written down are no longer under way: a Go function has ended them")
	}
	return frames, err
}
