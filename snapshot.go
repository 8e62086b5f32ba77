package waot

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/initialize"
	"github.com/waot-project/waot/internal/snapshot"
)

// SnapshotOptions say what runs before a module is compiled, and what it has: see CompileOptions.Snapshot. What the program reads of these becomes part of the module.
type SnapshotOptions struct {
	// Export is the exported function that initialises the module; it has no parameters. If the module exports _initialize, that is called first. The default is _start if the module
	// imports the function "waot" "snapshot", and otherwise nothing but _initialize. Where the program calls "waot" "snapshot", it is frozen; the export then goes on from there, each time
	// that it is called. Otherwise the exports that were called are gone.
	Export string
	// Run, if not nil, is called in the place of Export, with an instance that belongs to it until it returns: it calls functions and writes to the memory as it likes. What it changes that is
	// not the instance's, such as files, is not part of the snapshot.
	Run func(ctx context.Context, inst *Instance) error
	// Args are the program's arguments, its name first; the default is the name of the module alone. Env has "KEY=VALUE".
	Args, Env []string
	// Dirs are directories that the program has. It must be given as many, by the same names and in the same order, where it runs later.
	Dirs []Dir
	// Output gets what the program writes to its standard streams; nil refuses that.
	Output io.Writer
	// Time is what clocks say at first. Each look at a clock takes a microsecond, and waiting takes no time at all. The zero Time refuses to look, and to wait.
	Time time.Time
	// Seed is what random numbers come of; they are the same in each instance, if the program keeps them. Empty refuses them.
	Seed string
	// Imports are functions that the module imports beside WASI's. A call of one that is missing is refused. If the program is frozen while it runs, it runs twice and must do the same
	// both times, so these functions must answer the same, too.
	Imports Imports
	// Store bounds what the instance may take.
	Store *StoreOptions
}

// SnapshotStats say what became of a module.
type SnapshotStats struct {
	// Export is the function that was called last, empty if SnapshotOptions.Run was called. Marker says that it was frozen while it ran.
	Export string
	Marker bool
	// Funcs is how many functions the module has of its own, DeadFuncs how many of them can no longer be called: they are only traps now.
	Funcs, DeadFuncs int
	// CodeBytes is the size of the functions' bodies before, DeadBytes the size of those that can no longer be called.
	CodeBytes, DeadBytes int
	// MemoryBytes is the size of the memories, DataBytes that of what is in them, as far as it is not zero.
	MemoryBytes, DataBytes int
	// Took is how long the code ran.
	Took time.Duration
}

// SnapshotModule runs what o.Snapshot says, and returns a module in the binary format whose instances begin in the state that was reached: it compiles and runs anywhere. The same module and options
// give the same bytes, on all machines. Functions and all else keep their indices, but those behind the import "waot" "snapshot", which is gone. o may be nil. The errors are *SnapshotError, those of
// CompileContext, and those of instances: a *Trap, for example.
func SnapshotModule(ctx context.Context, wasm []byte, o *CompileOptions) ([]byte, *SnapshotStats, error) {
	c, err := compileOptions(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	var s *SnapshotOptions
	if o != nil {
		s = o.Snapshot
	}
	r, err := takeSnapshot(ctx, wasm, &c, cmp.Or(s, new(SnapshotOptions)))
	if err != nil {
		return nil, nil, err
	}
	x := &r.Stats
	return r.Wasm, &SnapshotStats{Export: r.Export, Marker: r.Marker, Funcs: x.Funcs, DeadFuncs: x.Dead, CodeBytes: x.Bytes, DeadBytes: x.DeadBytes, MemoryBytes: x.Memory, DataBytes: x.Data, Took: r.Took}, nil
}

func takeSnapshot(ctx context.Context, wasm []byte, c *compile.Options, s *SnapshotOptions) (*initialize.Result, error) {
	r, err := initialize.Snapshot(ctx, wasm, &initialize.Options{Export: s.Export, Run: s.Run, Args: s.Args, Env: s.Env, Dirs: s.Dirs, Output: s.Output, Time: s.Time, Seed: s.Seed, Imports: s.Imports, Store: s.Store,
		Compile: *c})
	var refused *snapshot.Error
	if errors.As(err, &refused) {
		return nil, &SnapshotError{Reason: refused.Reason}
	}
	return r, compileError(err)
}

// frozen returns the module to compile: wasm itself, or its snapshot.
func (o *CompileOptions) frozen(ctx context.Context, wasm []byte, c *compile.Options) ([]byte, error) {
	if o == nil || o.Snapshot == nil {
		return wasm, nil
	}
	r, err := takeSnapshot(ctx, wasm, c, o.Snapshot)
	if err != nil {
		return nil, err
	}
	return r.Wasm, nil
}
