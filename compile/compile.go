package compile

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/fuel"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Options say how to compile. The zero value is valid, but for OptLevel it is
// opt.O0.
type Options struct {
	// Context ends the compilation when it ends, with a *CancelError; nil stands for one that never does. No
	// goroutine of the compilation is left then.
	Context context.Context
	// Jobs is the number of workers; 0 or less means as many as there are processors.
	Jobs int
	// OptLevel is the effort of the mid-end.
	OptLevel opt.Level
	// Target is the machine and system to compile for, TargetX64 or TargetA64. Empty means HostTarget().
	Target string
	// CPU is the level of processor: "x86-64-v2", "x86-64-v3", or without "x86-64-"; for AArch64 "armv8.0-a", "armv8.2-a+dotprod".
	// Empty means the floor, the first of these.
	CPU string
	// Name becomes the prefix of the object's symbols, after mangling. Empty means "module".
	Name string
	// Limits bound what the compilation may take.
	Limits Limits
	// Features are the accepted features; 0 means wasmfront.DefaultFeatures.
	Features wasmfront.Features
	// SkipChecker leaves out the check of each register allocation.
	SkipChecker bool
	// Fixpoint makes the checker compute what it otherwise verifies.
	Fixpoint bool
	// NoSpectre leaves out what keeps misspeculation from taking indices that are out of bounds, of tables and of
	// br_table (docs/security.md).
	NoSpectre bool
	// ExplicitBounds makes code compare addresses with the sizes of memories, which then need no reservations and may move.
	ExplicitBounds bool
	// Fuel, if not nil, says what operators cost: code counts what is left, and traps where that is too little (docs/fuel.md). With FuelSlack it
	// does not trap, so the host has to look.
	Fuel      *fuel.Costs
	FuelSlack bool
	// Deterministic gives results that do not depend on the machine: the deterministic profile of the specification,
	// with canonical NaNs.
	Deterministic bool
	// EagerInlining inlines whatever budgets allow, for tests: it makes code larger, and not faster.
	EagerInlining bool
	// Verify checks CLIF after translation and after each pass, and VCode.
	Verify bool
	// Regalloc names the register allocator: "linear", "ssa" or "local". Empty means "local" at opt.O0, else "linear".
	Regalloc string
	// NewAllocator, if not nil, makes the register allocator of a worker, whatever Regalloc says.
	NewAllocator func() backend.Allocator
	// Progress, if not nil, is called after each function; never twice at once.
	Progress func(done, total int)
	// Crash, if not nil, is called for each function that cannot be compiled though it
	// is valid, with all there is to reproduce it; never twice at once.
	Crash func(*Crash)
	// Trace receives dumps of the back end. Its functions are called by all workers: set
	// Jobs to 1 where that matters.
	Trace *backend.Trace
	// Control, if not nil, says which rewrites of the mid-end and of lowering happen in function i, for debugging;
	// nil stands for all. It is called by all workers.
	Control func(i clif.FuncIndex) *opt.Control
	// Collect runs the garbage collector before a large module is linked. This bounds the memory of a process that collects garbage seldom.
	Collect bool
	// Costs, if not nil, measures where processor time and memory go. The goroutine that compiles must have started it.
	Costs *cost.Meter
	// AfterPass, if not nil, is called after translation (with an empty name) and
	// after each pass of the mid-end, by all workers.
	AfterPass func(pass string, f *clif.Func)

	// generator replaces the back end in tests.
	generator func(*clif.Module, *instance.Layout) generate
	// callReach, if not 0, replaces the machine's in tests.
	callReach int64
	// stop is polled by all stages; nil if there is no context.
	stop *stop.Flag
}

// Fingerprint returns a text that differs whenever options differ in what code may come of a module, in which modules are
// refused, or in what is checked. It is the same for others, such as the number of workers. It is empty if o has functions that take part,
// which have no text.
func (o Options) Fingerprint() string {
	if o.NewAllocator != nil || o.Control != nil || o.AfterPass != nil || o.Trace != nil || o.generator != nil || o.callReach != 0 {
		return ""
	}
	o.setDefaults()
	if o.Target == "" {
		o.Target = HostTarget()
	}
	return fmt.Sprintf("level %d, target %q, cpu %q, name %q, limits %+v, features %d, checker %t, fixpoint %t, spectre %t, explicit %t, deterministic %t, eager %t, verify %t, regalloc %q%s",
		o.OptLevel, o.Target, o.CPU, o.Name, o.Limits, o.Features, !o.SkipChecker, o.Fixpoint, !o.NoSpectre, o.ExplicitBounds, o.Deterministic, o.EagerInlining, o.Verify, o.Regalloc, o.fuelText())
}

// fuelText is what Fingerprint says of fuel: nothing where code does not count it.
func (o *Options) fuelText() string {
	switch {
	case o.Fuel != nil:
		return fmt.Sprintf(", fuel, slack %t, costs %q", o.FuelSlack, o.Fuel)
	case o.FuelSlack:
		return ", slack without fuel"
	}
	return ""
}

// generate compiles one function; the Code is valid until the next call.
type generate func(*clif.Func) (*backend.Code, error)

// Crash is a function that could not be compiled.
type Crash struct {
	Error *FuncError
	// CLIF is the function at the time, perhaps incomplete; valid during the call.
	CLIF *clif.Func
}

// FuncError is a valid function that cannot be compiled: it needs something that
// is not supported (backend.ErrUnsupported), or a bug was caught.
type FuncError struct {
	Func  uint32 // index in the module; that of the init function is the number of functions
	Name  string // may be empty
	Stage string // "translate", "verify", "opt", or a stage of the back end
	// Offset is that of the function's body in the module, in bytes; 0 for the init function, and for a module given as CLIF.
	Offset int
	Err    error
}

func (e *FuncError) Error() string {
	at, name := "", ""
	if e.Offset != 0 {
		at = fmt.Sprintf("offset %#x: ", e.Offset)
	}
	if e.Name != "" {
		name = fmt.Sprintf(" (%s)", quote.Name(e.Name))
	}
	return fmt.Sprintf("%sfunction %d%s: %s: %v", at, e.Func, name, e.Stage, e.Err)
}

// Unwrap returns e.Err.
func (e *FuncError) Unwrap() error { return e.Err }

// Stats are figures about a compilation.
type Stats struct {
	Funcs                                int // compiled functions, the init function included
	WasmBytes, Text, Rodata, Data, Types int // bytes; Types counts type records
	// Memory is how many bytes the compiler holds, as it counts them, with one worker: 8 MiB for any module; the module and what is made
	// of its declarations; three times the code of all functions with its relocations, traps, calls and stack maps; and the
	// tables of the largest function, of which each further worker has its own. It depends on the module only. The peak of memory is
	// at most three times as much.
	Memory int64
}

// Result is a compiled module.
type Result struct {
	Object *objfile.Object
	// Meta is the contents of the object's metadata sections.
	Meta  *meta.Module
	Stats Stats

	parallel bool // two goroutines may take part in making a file
	loose    bool // files have their tables unpacked
}

// WriteELF writes the object as an ELF file. It fails, with an *objfile.Error, if
// exports and imports of the module would have the same symbol.
func (r *Result) WriteELF(w io.Writer) error { return r.packed(r.Object.Stop).WriteELF(w) }

// ELF returns the object as an ELF file, unless ctx ends before, and then a *CancelError. It fails as WriteELF does.
func (r *Result) ELF(ctx context.Context) (file []byte, err error) {
	err = cancellable(ctx, func(flag *stop.Flag) error {
		file, err = r.packed(flag).AppendELF(nil)
		return err
	})
	return file, err
}

// File is ELF without the file being built in memory.
func (r *Result) File(ctx context.Context) (file *objfile.File, err error) {
	err = cancellable(ctx, func(flag *stop.Flag) error {
		o := r.packed(flag)
		file, err = o.ELF()
		o.Stop = nil // the file outlives this
		return err
	})
	return file, err
}

// packed returns the object with tables that are packed, for a file, unless nothing is optimised: packing takes 2 % of the time then.
func (r *Result) packed(flag *stop.Flag) *objfile.Object {
	o, m := *r.Object, *r.Meta
	o.Stop = flag
	o.Sections, m.Digests = slices.Clone(o.Sections), slices.Clone(m.Digests)
	if r.loose {
		return &o
	}
	pack := func(sections ...objfile.SectionIndex) {
		var p meta.Packer
		for _, n := range sections {
			s := &o.Sections[n]
			b := p.Pack(s.Data, flag.Poll)
			if len(b) == len(s.Data) {
				continue
			}
			s.Data = b
			i := slices.IndexFunc(m.Digests, func(d meta.SectionDigest) bool { return d.Section == s.Name })
			m.Digests[i].Digest = o.Digest(n)
		}
	}
	// Trap sites are most of it.
	if r.parallel && meta.Packs(o.Sections[secTraps].Data) {
		var g stop.Group
		defer g.Wait() // if a poll ends the other part
		g.Go(func() { pack(secStackMaps, secCalls) })
		pack(secTraps)
		g.Wait()
	} else {
		pack(secTraps, secStackMaps, secCalls)
	}
	if !slices.Equal(m.Digests, r.Meta.Digests) {
		o.Sections[secMeta].Data = meta.EncodeMeta(&m)
	}
	return &o
}

// Module compiles a module. See the package comment for errors.
func Module(wasm []byte, o Options) (*Result, error) {
	o.setDefaults()
	return o.cancellable(func() (*Result, error) { return o.module(wasm) })
}

// cancellable runs work, which polls o.stop, until o.Context ends.
func (o *Options) cancellable(work func() (*Result, error)) (r *Result, err error) {
	err = cancellable(o.Context, func(flag *stop.Flag) error {
		if flag != nil {
			o.stop = flag
		}
		r, err = work()
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// features returns the features that are accepted and that translation knows.
func (o *Options) features() wasmfront.Features {
	if o.Features == 0 {
		return wasmfront.DefaultFeatures
	}
	return o.Features
}

func (o *Options) module(wasm []byte) (*Result, error) {
	if err := o.Limits.CheckSize(wasm); err != nil {
		return nil, err
	}
	cfg := validate.Config{Features: o.features(), Stop: o.stop, Price: o.Limits.price(wasm)}
	wm, err := validate.Module(wasm, cfg)
	if err != nil {
		if overMemory(err) {
			return nil, err
		}
		// Bodies before the error count too.
		if _, all := validate.All(wasm, cfg); all != nil {
			err = all
		}
		return nil, validate.ReasonWith(wasm, err, cfg)
	}
	if err := o.Limits.CheckModule(wm); err != nil {
		return nil, err
	}
	target, err := o.machine()
	if err != nil {
		return nil, err
	}
	if o.callReach != 0 {
		target.callReach = o.callReach
	}
	newAllocator, err := allocatorFor(o.Regalloc)
	if err != nil {
		return nil, err
	}
	d := &driver{newAllocator: newAllocator, account: account{module: moduleBytes(wasm) + wm.Cost}, opt: *o, target: target, wm: wm, cm: translate.ModuleUntil(wm, wm.DecodeNamesUntil(o.stop), o.stop)}
	o.Costs.Ended("decode")
	r, err := d.module()
	if err != nil {
		return nil, validate.ReasonWith(wasm, err, cfg)
	}
	return r, nil
}

func (o *Options) setDefaults() {
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Name == "" {
		o.Name = "module"
	}
	if o.Regalloc == "" {
		o.Regalloc = DefaultAllocator(o.OptLevel)
	}
}

// Bodies provides the bodies of a module's defined functions, including the init function.
type Bodies func(clif.FuncIndex) (*clif.Func, error)

// CLIF compiles a module that is given as CLIF, whose functions satisfy the verifier. The mid-end
// changes the bodies, unless OptLevel is opt.O0. Options.Jobs workers call body.
func CLIF(m *clif.Module, body Bodies, o Options) (*Result, error) {
	o.setDefaults()
	target, err := o.machine()
	if err != nil {
		return nil, err
	}
	newAllocator, err := allocatorFor(o.Regalloc)
	if err != nil {
		return nil, err
	}
	return o.cancellable(func() (*Result, error) {
		d := &driver{newAllocator: newAllocator, opt: o, target: target, body: body, cm: m}
		return d.module()
	})
}

// module compiles all functions and links them.
func (d *driver) module() (*Result, error) {
	if err := checkSizes(d.cm); err != nil {
		return nil, err
	}
	if d.opt.ExplicitBounds {
		for i := range d.cm.Memories {
			d.cm.Memories[i].Checked = true
		}
	}
	d.layout = instance.New(d.cm)
	if err := d.run(); err != nil {
		return nil, err
	}
	return d.link()
}

// checkSizes makes sure that instance data and constants stay below abi.MaxSectionBytes.
func checkSizes(m *clif.Module) error {
	words := 64 + 3*len(m.Memories) + 3*len(m.Tables) + 3*len(m.Sigs) + 4*len(m.Funcs) + 3*len(m.Globals) +
		2*len(m.Datas) + 2*len(m.Elems)
	for i := range m.Elems {
		words += len(m.Elems[i].Funcs)
	}
	constants := 0
	for i := range m.Datas {
		constants += len(m.Datas[i].Bytes) + dataAlign
	}
	if words > abi.MaxSectionBytes/8 || constants > abi.MaxSectionBytes {
		return &LimitError{What: "bytes of data", Limit: abi.MaxSectionBytes}
	}
	return nil
}
