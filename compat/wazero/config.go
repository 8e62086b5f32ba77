package wazero

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/tetratelabs/wazero/api"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/internal/mounts"
	"github.com/tetratelabs/wazero/internal/run"
	"github.com/tetratelabs/wazero/sys"
)

// RuntimeConfig is the settings of a runtime. Methods return a changed copy.
type RuntimeConfig interface {
	// WithCoreFeatures says which features modules may use. The default is api.CoreFeaturesV2.
	WithCoreFeatures(api.CoreFeatures) RuntimeConfig

	// WithMemoryLimitPages bounds each memory, in pages of 64 KiB. It panics above 65536, the default.
	WithMemoryLimitPages(memoryLimitPages uint32) RuntimeConfig

	// WithMemoryCapacityFromMax makes the most that a memory may have what an allocator is told to expect. Other memories never move anyway.
	WithMemoryCapacityFromMax(memoryCapacityFromMax bool) RuntimeConfig

	// WithDebugInfoEnabled has no effect: stack traces have names of functions, and no lines of sources.
	WithDebugInfoEnabled(bool) RuntimeConfig

	// WithCompilationCache makes the runtime share code with others.
	WithCompilationCache(CompilationCache) RuntimeConfig

	// WithCustomSections keeps custom sections for CompiledModule.CustomSections.
	WithCustomSections(bool) RuntimeConfig

	// WithCloseOnContextDone closes an instance when the context of a call ends, which ends the call, too. Without, contexts do not end
	// calls.
	WithCloseOnContextDone(bool) RuntimeConfig
}

// runtimeConfig implements RuntimeConfig.
type runtimeConfig struct{ run.Config }

// maxPages is the number of pages that a memory can have.
const maxPages = 65536

// NewRuntimeConfig returns the default settings.
func NewRuntimeConfig() RuntimeConfig {
	return &runtimeConfig{run.Config{Features: api.CoreFeaturesV2, MemoryLimitPages: maxPages}}
}

// NewRuntimeConfigCompiler is NewRuntimeConfig: waot compiles.
func NewRuntimeConfigCompiler() RuntimeConfig { return NewRuntimeConfig() }

// NewRuntimeConfigInterpreter is NewRuntimeConfig: waot has no interpreter, and compiles.
func NewRuntimeConfigInterpreter() RuntimeConfig { return NewRuntimeConfig() }

// with returns a changed copy.
func (c *runtimeConfig) with(change func(*run.Config)) RuntimeConfig {
	d := *c
	change(&d.Config)
	return &d
}

func (c *runtimeConfig) WithCoreFeatures(features api.CoreFeatures) RuntimeConfig {
	return c.with(func(c *run.Config) { c.Features = features })
}

func (c *runtimeConfig) WithMemoryLimitPages(pages uint32) RuntimeConfig {
	if pages > maxPages {
		panic(fmt.Errorf("memoryLimitPages invalid: %d > %d", pages, maxPages))
	}
	return c.with(func(c *run.Config) { c.MemoryLimitPages = pages })
}

func (c *runtimeConfig) WithMemoryCapacityFromMax(most bool) RuntimeConfig {
	return c.with(func(c *run.Config) { c.CapacityFromMax = most })
}

func (c *runtimeConfig) WithDebugInfoEnabled(bool) RuntimeConfig {
	return c.with(func(*run.Config) {})
}

func (c *runtimeConfig) WithCompilationCache(ca CompilationCache) RuntimeConfig {
	return c.with(func(c *run.Config) {
		c.Codes = nil
		if ca != nil {
			c.Codes = ca.(*cache).codes
		}
	})
}

func (c *runtimeConfig) WithCustomSections(keep bool) RuntimeConfig {
	return c.with(func(c *run.Config) { c.CustomSections = keep })
}

func (c *runtimeConfig) WithCloseOnContextDone(ensure bool) RuntimeConfig {
	return c.with(func(c *run.Config) { c.CloseOnContextDone = ensure })
}

// ModuleConfig is the settings of an instance. Methods return a changed copy.
type ModuleConfig interface {
	// WithArgs sets the arguments of the program, its name first.
	WithArgs(...string) ModuleConfig

	// WithEnv sets a variable of the environment.
	WithEnv(key, value string) ModuleConfig

	// WithFS mounts a file system at /, to be read only.
	WithFS(fs.FS) ModuleConfig

	// WithFSConfig mounts file systems.
	WithFSConfig(FSConfig) ModuleConfig

	// WithName names the instance; empty for an instance that others cannot import from. The default is the module's name.
	WithName(string) ModuleConfig

	// WithStartFunctions says which exported functions to call at once. The default is _start.
	WithStartFunctions(...string) ModuleConfig

	// WithStderr sets where standard error goes. The default is nowhere.
	WithStderr(io.Writer) ModuleConfig

	// WithStdin sets what standard input reads. The default is nothing.
	WithStdin(io.Reader) ModuleConfig

	// WithStdout sets where standard output goes. The default is nowhere.
	WithStdout(io.Writer) ModuleConfig

	// WithWalltime sets the clock. The default one begins with 2022, and advances by a millisecond at each reading.
	WithWalltime(sys.Walltime, sys.ClockResolution) ModuleConfig

	// WithSysWalltime sets the clock of the system.
	WithSysWalltime() ModuleConfig

	// WithNanotime sets the monotonic clock. The default one begins with 0, and advances by a millisecond at each reading.
	WithNanotime(sys.Nanotime, sys.ClockResolution) ModuleConfig

	// WithSysNanotime sets the monotonic clock of the system.
	WithSysNanotime() ModuleConfig

	// WithNanosleep sets how to wait. The default is not to.
	WithNanosleep(sys.Nanosleep) ModuleConfig

	// WithOsyield sets what sched_yield does. The default is nothing.
	WithOsyield(sys.Osyield) ModuleConfig

	// WithSysNanosleep makes the system wait.
	WithSysNanosleep() ModuleConfig

	// WithRandSource sets the source of random bytes. The default one gives the same bytes in each run.
	WithRandSource(io.Reader) ModuleConfig
}

// moduleConfig implements ModuleConfig.
type moduleConfig struct {
	name    string
	nameSet bool
	start   []string
	system  run.SystemConfig
}

// NewModuleConfig returns the default settings.
func NewModuleConfig() ModuleConfig { return &moduleConfig{start: []string{"_start"}} }

// instance are the settings as package run has them.
func (c *moduleConfig) instance() run.InstanceConfig {
	system := c.system
	return run.InstanceConfig{Name: c.name, NameSet: c.nameSet, Start: c.start, System: &system}
}

// with returns a changed copy.
func (c *moduleConfig) with(change func(*moduleConfig)) ModuleConfig {
	d := *c
	d.system.Env, d.system.Mounts = slices.Clone(c.system.Env), slices.Clone(c.system.Mounts)
	change(&d)
	return &d
}

func (c *moduleConfig) WithArgs(args ...string) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Args = slices.Clone(args) })
}

func (c *moduleConfig) WithEnv(key, value string) ModuleConfig {
	return c.with(func(c *moduleConfig) {
		if i := slices.IndexFunc(c.system.Env, func(e [2]string) bool { return e[0] == key }); i >= 0 {
			c.system.Env[i][1] = value
		} else {
			c.system.Env = append(c.system.Env, [2]string{key, value})
		}
	})
}

func (c *moduleConfig) WithFS(fsys fs.FS) ModuleConfig {
	if fsys == nil {
		return c.WithFSConfig(nil)
	}
	return c.WithFSConfig(NewFSConfig().WithFSMount(fsys, ""))
}

func (c *moduleConfig) WithFSConfig(config FSConfig) ModuleConfig {
	return c.with(func(c *moduleConfig) {
		c.system.Mounts = nil
		if f, ok := config.(*fsConfig); ok {
			c.system.Mounts = f.mounts
		}
	})
}

func (c *moduleConfig) WithName(name string) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.name, c.nameSet = name, true })
}

func (c *moduleConfig) WithStartFunctions(names ...string) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.start = slices.Clone(names) })
}

func (c *moduleConfig) WithStderr(w io.Writer) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Stderr = w })
}

func (c *moduleConfig) WithStdin(r io.Reader) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Stdin = r })
}

func (c *moduleConfig) WithStdout(w io.Writer) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Stdout = w })
}

func (c *moduleConfig) WithWalltime(clock sys.Walltime, resolution sys.ClockResolution) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Walltime, c.system.WalltimeResolution = clock, resolution })
}

func (c *moduleConfig) WithSysWalltime() ModuleConfig {
	return c.WithWalltime(func() (int64, int32) {
		t := time.Now()
		return t.Unix(), int32(t.Nanosecond())
	}, sys.ClockResolution(time.Microsecond))
}

func (c *moduleConfig) WithNanotime(clock sys.Nanotime, resolution sys.ClockResolution) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Nanotime, c.system.NanotimeResolution = clock, resolution })
}

func (c *moduleConfig) WithSysNanotime() ModuleConfig {
	began := time.Now()
	return c.WithNanotime(func() int64 { return int64(time.Since(began)) }, 1)
}

func (c *moduleConfig) WithNanosleep(sleep sys.Nanosleep) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Nanosleep = sleep })
}

func (c *moduleConfig) WithSysNanosleep() ModuleConfig {
	return c.WithNanosleep(func(ns int64) { time.Sleep(time.Duration(ns)) })
}

func (c *moduleConfig) WithOsyield(yield sys.Osyield) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Osyield = yield })
}

func (c *moduleConfig) WithRandSource(r io.Reader) ModuleConfig {
	return c.with(func(c *moduleConfig) { c.system.Rand = r })
}

// FSConfig is the file systems of an instance. Methods return a changed copy. A mount at the same place as another one replaces it.
type FSConfig interface {
	// WithDirMount mounts a directory. The program cannot leave it.
	WithDirMount(dir, guestPath string) FSConfig

	// WithReadOnlyDirMount is WithDirMount without changes.
	WithReadOnlyDirMount(dir, guestPath string) FSConfig

	// WithFSMount mounts a file system, to be read only.
	WithFSMount(fs fs.FS, guestPath string) FSConfig
}

// fsConfig implements FSConfig and sysfs.FSConfig.
type fsConfig struct{ mounts []run.Mount }

// NewFSConfig returns settings without file systems.
func NewFSConfig() FSConfig { return &fsConfig{} }

func (c *fsConfig) WithDirMount(dir, guestPath string) FSConfig {
	return c.WithSysFSMount(mounts.DirFS(dir), guestPath)
}

func (c *fsConfig) WithReadOnlyDirMount(dir, guestPath string) FSConfig {
	return c.WithSysFSMount(&mounts.ReadFS{FS: mounts.DirFS(dir)}, guestPath)
}

func (c *fsConfig) WithFSMount(fsys fs.FS, guestPath string) FSConfig {
	if fsys == nil {
		return c.WithSysFSMount(nil, guestPath)
	}
	return c.WithSysFSMount(&mounts.AdaptFS{FS: fsys}, guestPath)
}

// WithSysFSMount implements sysfs.FSConfig.
func (c *fsConfig) WithSysFSMount(fsys experimentalsys.FS, guestPath string) FSConfig {
	if _, ok := fsys.(experimentalsys.UnimplementedFS); ok {
		return c
	}
	d := &fsConfig{slices.Clone(c.mounts)}
	place := run.CleanGuestPath(guestPath)
	i := slices.IndexFunc(d.mounts, func(m run.Mount) bool { return run.CleanGuestPath(m.Guest) == place })
	switch m := (run.Mount{FS: fsys, Guest: guestPath}); {
	case i >= 0 && fsys == nil:
		d.mounts = slices.Delete(d.mounts, i, i+1)
	case i >= 0:
		d.mounts[i] = m
	case fsys != nil:
		d.mounts = append(d.mounts, m)
	}
	return d
}
