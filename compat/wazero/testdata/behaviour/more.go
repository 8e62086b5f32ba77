package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// sorted are the keys of a map, in order.
func sorted[V any](m map[string]V) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// names registers modules under names that are used already, empty, or those of modules of Go functions.
func names() {
	r := runtime(wazero.NewRuntimeConfig())
	_, err := r.InstantiateWithConfig(bg, wasm("basic"), named("env"))
	say("a guest with the name of Go functions", err)
	say("whose name it is then", r.Module("env") != nil, r.Close(bg))
	r = runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	guest := must(r.InstantiateWithConfig(bg, wasm("basic"), named("guest")))
	_, err = r.NewHostModuleBuilder("guest").Instantiate(bg)
	say("Go functions with the name of a guest", err)
	_, err = r.NewHostModuleBuilder("env").Instantiate(bg)
	say("Go functions twice", err)
	saying("Go functions without a name", func() {
		_, err := r.NewHostModuleBuilder("").NewFunctionBuilder().WithFunc(func() uint32 { return 3 }).Export("f").Instantiate(bg)
		say("Go functions without a name", err)
	})
	c := must(r.NewHostModuleBuilder("first").NewFunctionBuilder().WithFunc(func() uint32 { return 3 }).WithName("own").WithResultNames("r").Export("f").
		NewFunctionBuilder().WithFunc(func() uint32 { return 4 }).Export("f").NewFunctionBuilder().WithFunc(func(context.Context, api.Module, uint64, float32) {}).WithParameterNames("a", "b").Export("g").Compile(bg))
	say("compiled", c.Name(), sorted(c.ExportedFunctions()), len(c.ImportedFunctions()), len(c.ImportedMemories()), len(c.ExportedMemories()), len(c.CustomSections()))
	for _, name := range sorted(c.ExportedFunctions()) {
		d := c.ExportedFunctions()[name]
		say("definition "+name, d.Name(), d.DebugName(), d.ModuleName(), d.Index(), d.ExportNames(), d.ParamNames(), d.ResultNames(), d.ParamTypes(), d.ResultTypes(), d.GoFunction() != nil)
	}
	for _, name := range []string{"second", "third", ""} {
		m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName(name))
		say("under another name", name, err)
		if err == nil {
			say("that has", m.Name(), m, sorted(m.ExportedFunctionDefinitions()), len(m.ExportedMemoryDefinitions()), m.ExportedGlobal("f") == nil, m.IsClosed())
		}
	}
	m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig())
	say("under its own name", err, m.Name(), r.Module("first") != nil)
	say("close Go functions", m.Close(bg), r.Module("first") == nil, c.Close(bg))
	m, err = r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName("fourth"))
	say("after they were closed", err, m == nil)
	say("close guest", guest.Close(bg), guest.Close(bg), r.Module("guest") == nil)
	_, err = r.NewHostModuleBuilder("guest").Instantiate(bg)
	say("its name for Go functions", err)
	say("no name", r.Module("") == nil, r.Module("unknown") == nil)
}

// builders makes Go functions that cannot be.
func builders() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	builds := map[string]func(wazero.HostFunctionBuilder) wazero.HostFunctionBuilder{
		"a number": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder { return b.WithFunc(5) },
		"a string": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder { return b.WithFunc(func(string) {}) },
		"a result int": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func() int { return 0 })
		},
		"an error": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func() error { return nil })
		},
		"a module only": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder { return b.WithFunc(func(api.Module) {}) },
		"two contexts": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func(context.Context, context.Context) {})
		},
		"two modules": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func(context.Context, api.Module, api.Module) {})
		},
		"too many names": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func(uint32) {}).WithParameterNames("a", "b")
		},
		"too many results": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func() uint32 { return 0 }).WithResultNames("a", "b")
		},
		"names for words": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), []api.ValueType{api.ValueTypeI32}, nil).WithParameterNames("a", "b")
		},
		"variable": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder { return b.WithFunc(func(...uint32) {}) },
		"named types": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func(time.Duration, api.CoreFeatures) {})
		},
		"a pointer as words": func(b wazero.HostFunctionBuilder) wazero.HostFunctionBuilder {
			return b.WithFunc(func(uintptr) uintptr { return 0 })
		},
	}
	for _, name := range sorted(builds) {
		saying(name, func() {
			c, err := builds[name](r.NewHostModuleBuilder("m").NewFunctionBuilder()).Export("f").Compile(bg)
			say("builder of "+name, err)
			if err == nil {
				d := c.ExportedFunctions()["f"]
				say("builder of "+name, d.ParamTypes(), d.ResultTypes(), d.ParamNames(), d.ResultNames())
			}
		})
	}
	v1 := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV1))
	defer v1.Close(bg)
	_, err := v1.NewHostModuleBuilder("m").NewFunctionBuilder().WithFunc(func() (uint32, uint32) { return 1, 2 }).Export("f").Compile(bg)
	say("two results in version 1", err)
	_, err = v1.CompileModule(bg, wasm("basic"))
	say("a guest with two results in version 1", err != nil)
}

// sections looks at custom sections and at names.
func sections() {
	for _, keeps := range []bool{false, true} {
		r := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithCustomSections(keeps))
		c := must(r.CompileModule(bg, wasm("sections")))
		say("sections kept", keeps, len(c.CustomSections()))
		if !keeps {
			continue
		}
		for _, s := range c.CustomSections() {
			say("section", s.Name(), s.Data())
		}
		d := c.ExportedFunctions()["f"]
		say("module", c.Name(), d.ParamNames(), d.ResultNames(), d.Name())
		r.Close(bg)
	}
}

// globals sets globals of all types.
func globals() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	must(r.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(func() uint32 { return 11 }).Export("f").Instantiate(bg))
	m := must(r.InstantiateWithConfig(bg, wasm("unnamed"), wazero.NewModuleConfig().WithStartFunctions()))
	results, err := call(m, "")
	say("an export without a name", results, err, m.Name(), m)
	words := map[string][]uint64{"i": {1 << 63, 5}, "x": {api.EncodeF32(2.5), 7}, "y": {api.EncodeF64(1e3)}}
	for _, name := range sorted(words) {
		g := m.ExportedGlobal(name).(api.MutableGlobal)
		for _, w := range words[name] {
			g.Set(w)
			say("set "+name, g.Get(), m.ExportedGlobal(name).Get(), g.Type())
		}
	}
}

// starters counts which functions an instantiation calls.
func starters() {
	for _, list := range [][]string{nil, {}, {"also"}, {"_initialize", "_start"}, {"zz", "also", "also"}, {""}} {
		r := wazero.NewRuntime(bg)
		n := 0
		must(r.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(func() uint32 { n++; return 0 }).Export("f").Instantiate(bg))
		c := wazero.NewModuleConfig()
		if list != nil {
			c = c.WithStartFunctions(list...)
		}
		_, err := r.InstantiateWithConfig(bg, wasm("unnamed"), c)
		say("starters", list, n, err)
		r.Close(bg)
	}
	// A start function whose module is closed meanwhile, and one in a context that has ended.
	for _, minds := range []bool{false, true} {
		r := runtime(wazero.NewRuntimeConfig().WithCloseOnContextDone(minds))
		h = func(ctx context.Context, m api.Module, x uint32) uint32 { m.CloseWithExitCode(ctx, 9); return x }
		m, err := r.InstantiateWithConfig(bg, wasm("start"), named("closes"))
		say("closed by its start", err, m == nil, r.Module("closes") == nil)
		h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
		ctx, cancel := context.WithCancel(bg)
		cancel()
		m, err = r.InstantiateWithConfig(ctx, wasm("start"), named("late"))
		say("a context that has ended", minds, err, m == nil)
		r.Close(bg)
	}
}

// notified tells who is told of closing.
func notified() {
	note := func(name string) context.Context {
		return experimental.WithCloseNotifier(bg, experimental.CloseNotifyFunc(func(ctx context.Context, code uint32) { say("notified "+name, code, ctx == bg) }))
	}
	r := runtime(wazero.NewRuntimeConfig())
	wasi_snapshot_preview1.MustInstantiate(note("wasi"), r)
	a := must(r.InstantiateWithConfig(note("a"), wasm("basic"), named("a")))
	must(r.InstantiateWithConfig(note("b"), wasm("basic"), named("b")))
	say("close", a.CloseWithExitCode(bg, 3), a.Close(bg))
	_, err := r.Instantiate(note("exit3"), wasm("exit3"))
	say("exit", err)
	_, err = r.InstantiateWithConfig(note("trap"), wasm("basic"), named("trap").WithStartFunctions("unreach"))
	say("trap", err)
	_, err = r.InstantiateWithConfig(note("bad"), wasm("badimport"), named("bad"))
	say("bad", err)
	// A function that closes the runtime.
	h = func(ctx context.Context, m api.Module, x uint32) uint32 {
		say("close runtime", r.CloseWithExitCode(bg, 5))
		return x
	}
	c := must(r.InstantiateWithConfig(note("c"), wasm("caller"), named("c")))
	say("b is closed", r.Module("b").Close(bg))
	say("wasi is closed", r.Module("wasi_snapshot_preview1").Close(bg))
	results, err := call(c, "after", 1)
	say("call", results, err, c.IsClosed())
	h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
}

// closing closes an instance while another goroutine is in a Go function of a call.
func closing() {
	for _, minds := range []bool{false, true} {
		r := runtime(wazero.NewRuntimeConfig().WithCloseOnContextDone(minds))
		m := must(r.Instantiate(bg, wasm("caller")))
		arrived, end := make(chan bool), make(chan bool)
		h = func(_ context.Context, _ api.Module, x uint32) uint32 { arrived <- true; <-end; return x }
		done := make(chan bool)
		go func() {
			results, err := call(m, "after", 1)
			say("its call", minds, results, err)
			done <- true
		}()
		<-arrived
		say("close", m.CloseWithExitCode(bg, 8), m.IsClosed())
		end <- true
		<-done
		r.Close(bg)
	}
	h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
}

// guest is an instance of the module wasi, and what it needs to call its functions.
type guest struct{ api.Module }

// newGuest makes one.
func newGuest(r wazero.Runtime, c wazero.ModuleConfig) (guest, error) {
	m, err := r.InstantiateWithConfig(bg, wasm("wasi"), c)
	return guest{m}, err
}

// do calls a function, and says what it answers and what it has written.
func (g guest) do(name string, out uint32, args ...uint64) uint64 {
	g.Memory().Write(out, make([]byte, 64))
	results, err := g.ExportedFunction(name).Call(bg, args...)
	if err != nil {
		say(name, err)
		return 99
	}
	b, _ := g.Memory().Read(out, 64)
	say(name, args, results, bytes.TrimRight(b, "\x00"))
	return results[0]
}

// text puts a string into the memory, and gives its place and length.
func (g guest) text(at uint32, s string) []uint64 {
	g.Memory().WriteString(at, s)
	return []uint64{uint64(at), uint64(len(s))}
}

// open opens a path below a descriptor, and gives the new one.
func (g guest) open(dir uint64, path string, flags, rights uint64) uint64 {
	const at, out = 1000, 2000
	t := g.text(at, path)
	results, err := g.ExportedFunction("path_open").Call(bg, dir, 1, t[0], t[1], flags, rights, rights, 0, out)
	fd, _ := g.Memory().ReadUint32Le(out)
	say("open", dir, path, flags, results, err, fd)
	if err != nil || results[0] != 0 {
		return 999
	}
	return uint64(fd)
}

// path calls a function of a path.
func (g guest) path(name string, dir uint64, path string, more ...uint64) {
	t := g.text(1000, path)
	results, err := g.ExportedFunction(name).Call(bg, append([]uint64{dir, t[0], t[1]}, more...)...)
	say(name, dir, path, results, err)
}

// write writes to a descriptor.
func (g guest) write(fd uint64, s string) {
	t := g.text(3000, s)
	g.Memory().WriteUint32Le(4000, uint32(t[0]))
	g.Memory().WriteUint32Le(4004, uint32(t[1]))
	g.do("fd_write", 4008, fd, 4000, 1, 4008)
}

// read reads from a descriptor.
func (g guest) read(fd uint64, n uint32) {
	g.Memory().WriteUint32Le(4000, 3000)
	g.Memory().WriteUint32Le(4004, n)
	g.Memory().Write(3000, make([]byte, 100))
	g.do("fd_read", 4008, fd, 4000, 1, 4008)
	b, _ := g.Memory().Read(3000, 100)
	say("read", string(bytes.TrimRight(b, "\x00")))
}

// failing is a stream that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// streams are arguments, variables, clocks, random numbers and the standard streams.
func streams() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	var stdout bytes.Buffer
	g, err := newGuest(r, named("a").WithArgs("prog", "", "x y").WithEnv("B", "1").WithEnv("A", "").WithEnv("B", "2=3").WithStdout(&stdout).WithStdin(strings.NewReader("some input")))
	say("guest", err)
	g.do("args_sizes_get", 100, 100, 104)
	g.do("args_get", 200, 100, 200)
	g.do("environ_sizes_get", 100, 100, 104)
	g.do("environ_get", 200, 100, 200)
	for clock := range uint64(4) {
		g.do("clock_time_get", 100, clock, 0, 100)
		g.do("clock_res_get", 100, clock, 100)
	}
	g.do("random_get", 100, 100, 8)
	g.do("random_get", 100, 100, 4)
	g.do("random_get", 100, 65530, 10)
	g.write(1, "to stdout")
	g.write(2, "to nothing")
	g.write(0, "to stdin")
	g.write(7, "nowhere")
	g.read(0, 4)
	g.read(0, 50)
	g.read(0, 50)
	g.read(1, 4)
	say("stdout", stdout.String())
	g.do("fd_close", 100, 1)
	g.write(1, "closed")
	g.do("fd_close", 100, 9)
	for fd := range uint64(4) {
		g.do("fd_seek", 100, fd, 0, 1, 100)
	}
	// A wait by a clock that does not exist, and by none.
	for _, clock := range []uint32{0, 1, 2, 77} {
		g.Memory().Write(500, make([]byte, 48))
		g.Memory().WriteUint64Le(500, 0x1234)
		g.Memory().WriteUint32Le(516, clock)
		g.Memory().WriteUint64Le(524, 1000)
		g.do("poll_oneoff", 600, 500, 600, 1, 700)
	}
	g.do("poll_oneoff", 600, 500, 600, 0, 700)
	for _, err := range []error{errors.New("an error"), io.ErrClosedPipe, io.ErrUnexpectedEOF} {
		g, _ := newGuest(r, named(err.Error()).WithStdin(failing{err}).WithStdout(failing{err}))
		g.read(0, 5)
		g.write(1, "x")
	}
	m, err := r.InstantiateWithConfig(bg, wasm("wasi"), named("clocks").WithWalltime(func() (int64, int32) { return 5, 6 }, 0))
	say("a resolution of 0", err, m == nil)
	m, err = r.InstantiateWithConfig(bg, wasm("wasi"), named("random").WithRandSource(failing{io.ErrUnexpectedEOF}))
	say("random", err)
	guest{m}.do("random_get", 100, 100, 8)
	for i, c := range []wazero.ModuleConfig{wazero.NewModuleConfig().WithEnv("a=b", "c"), wazero.NewModuleConfig().WithEnv("a", "b\x00"), wazero.NewModuleConfig().WithEnv("\x00", "b"), wazero.NewModuleConfig().WithArgs("ok", "\x00")} {
		_, err := r.InstantiateWithConfig(bg, wasm("wasi"), c)
		say("bad settings", i, err)
	}
	var slept int64
	g, _ = newGuest(r, named("sleeps").WithNanosleep(func(ns int64) { slept += ns }).WithNanotime(func() int64 { return 77 }, 1).WithWalltime(func() (int64, int32) { return 5, 6 }, 1000).WithOsyield(func() {}))
	g.do("clock_time_get", 100, 0, 0, 100)
	g.do("clock_time_get", 100, 1, 0, 100)
	g.do("clock_res_get", 100, 0, 100)
	g.Memory().WriteUint32Le(516, 1)
	g.Memory().WriteUint64Le(524, 123456)
	g.do("poll_oneoff", 600, 500, 600, 1, 700)
	say("slept", slept)
}

// files are file systems with mounts in each other.
func files() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	dir := must(os.MkdirTemp("", "behaviour"))
	defer os.RemoveAll(dir)
	for _, sub := range []string{"a", "b/deep", "ro"} {
		must(0, os.MkdirAll(filepath.Join(dir, sub), 0o777))
		must(0, os.WriteFile(filepath.Join(dir, sub, "file"), []byte("in "+sub), 0o666))
	}
	fsys := fstest.MapFS{"x.txt": {Data: []byte("mapped")}, "d/y.txt": {Data: []byte("deeper")}}
	c := wazero.NewFSConfig().WithDirMount(filepath.Join(dir, "a"), "/").WithReadOnlyDirMount(filepath.Join(dir, "ro"), "/ro").WithDirMount(filepath.Join(dir, "b"), "sub/").WithFSMount(fsys, "/fs")
	g, err := newGuest(r, named("files").WithFSConfig(c))
	say("guest", err)
	for fd := uint64(3); fd < 8; fd++ {
		if g.do("fd_prestat_get", 100, fd, 100) == 0 {
			n, _ := g.Memory().ReadUint32Le(104)
			g.do("fd_prestat_dir_name", 200, fd, 200, uint64(n))
			g.do("fd_prestat_dir_name", 200, fd, 200, uint64(n)-1)
		}
	}
	const creates, truncates, directory, exclusive = 1, 8, 2, 4
	const readRights, writeRights = 1<<1 | 1<<2 | 1<<21, 1<<6 | 1<<1 | 1<<2
	for _, o := range []struct {
		dir    uint64
		path   string
		flags  uint64
		rights uint64
	}{{3, "file", 0, readRights}, {3, "/file", 0, readRights}, {3, "ro/file", 0, readRights}, {4, "file", 0, readRights}, {4, "file", 0, writeRights}, {4, "new", creates, writeRights}, {5, "deep/file", 0, readRights}, {5, "deep/../deep/file", 0, readRights},
		{6, "x.txt", 0, readRights}, {6, "d/y.txt", 0, readRights}, {6, "x.txt", 0, writeRights}, {6, "zz", creates, writeRights}, {3, "missing", 0, readRights}, {3, "made", creates, writeRights}, {3, "made", creates | exclusive, writeRights},
		{3, "file/", 0, readRights}, {3, ".", directory, readRights}, {3, "file", directory, readRights}, {5, "deep", 0, readRights}, {5, "deep", directory, readRights}, {9, "file", 0, readRights}, {3, "file", 0, 0}, {3, "made2", creates, 0}, {6, "x.txt", 0, 0}, {3, "file", 0, 1 << 6}, {3, ".", 0, 1 << 14}, {3, "file", truncates, writeRights}, {3, "a\x00b", 0, readRights}} {
		if fd := g.open(o.dir, o.path, o.flags, o.rights); fd != 999 {
			g.read(fd, 20)
			if o.rights != readRights {
				g.write(fd, "written")
			}
			g.do("fd_close", 100, fd)
		}
	}
	for dir := uint64(3); dir < 7; dir++ {
		g.path("path_create_directory", dir, "made.d")
		g.path("path_create_directory", dir, "made.d")
		g.path("path_remove_directory", dir, "made.d")
		g.path("path_remove_directory", dir, "missing")
		g.path("path_unlink_file", dir, "missing")
		g.path("path_unlink_file", dir, "file")
		g.path("path_unlink_file", dir, "file")
	}
	g.do("fd_close", 100, 3)
	g.open(3, "made", 0, readRights)
	// Mounts that replace others, or that are nothing.
	for i, c := range []wazero.FSConfig{
		wazero.NewFSConfig().WithFSMount(fsys, "/").WithDirMount(dir, ""),
		wazero.NewFSConfig().WithFSMount(fsys, "."),
		wazero.NewFSConfig().WithFSMount(fsys, "/a/b/"),
		wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(sysfs.DirFS(dir), "/y"),
		wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(&sysfs.ReadFS{FS: sysfs.DirFS(dir)}, "/z"),
	} {
		g, err := newGuest(r, named(fmt.Sprint("mounts ", i)).WithFSConfig(c))
		say("mounts", i, err)
		g.do("fd_prestat_get", 100, 3, 100)
		g.do("fd_prestat_dir_name", 200, 3, 200, 1)
		g.open(3, "x.txt", 0, readRights)
		g.open(3, "ro/file", 0, readRights)
		g.open(3, "new", creates, writeRights)
	}
	g, err = newGuest(r, named("fs").WithFS(fsys))
	say("WithFS", err)
	fd := g.open(3, "d/y.txt", 0, readRights)
	g.read(fd, 3)
	g.do("fd_seek", 100, fd, 1, 0, 100)
	g.read(fd, 30)
	d := g.open(3, "d", directory, readRights|1<<14)
	results, err := g.ExportedFunction("fd_readdir").Call(bg, d, 200, 60, 0, 100)
	n, _ := g.Memory().ReadUint32Le(100)
	say("entries", results, err, n)
}

// caches keeps code in a folder that several caches share.
func caches() {
	dir := must(os.MkdirTemp("", "behaviour"))
	defer os.RemoveAll(dir)
	for i := range 3 {
		cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "new", "folder"))
		say("cache", i, err)
		for range 2 {
			r := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithCompilationCache(cache))
			m := must(r.Instantiate(bg, wasm("basic")))
			results, err := call(m, "add", 1, 2)
			say("cached", results, err, m.Close(bg))
			must(r.Instantiate(bg, wasm("basic")))
			say("close", r.Close(bg))
		}
		say("close", cache.Close(bg))
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new", "folder"))
	say("entries", len(entries) > 0, err)
	file := filepath.Join(dir, "file")
	must(0, os.WriteFile(file, nil, 0o666))
	_, err = wazero.NewCompilationCacheWithDir(file)
	say("a file", strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"))
	_, err = wazero.NewCompilationCacheWithDir(filepath.Join(file, "below"))
	say("below a file", err != nil)
}

// memories looks at memories of several modules and runtimes.
func memories() {
	for _, pages := range []uint32{0, 1, 65536} {
		saying(fmt.Sprint("limit ", pages), func() {
			r := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithMemoryLimitPages(pages))
			defer r.Close(bg)
			m, err := r.Instantiate(bg, wasm("basic"))
			say(fmt.Sprint("limit ", pages), err)
			if err == nil {
				before, ok := m.Memory().Grow(1)
				most, declared := m.Memory().Definition().Max()
				say("growth", before, ok, m.Memory().Size(), most, declared)
			}
		})
	}
	r := runtime(wazero.NewRuntimeConfig().WithMemoryCapacityFromMax(true))
	defer r.Close(bg)
	m := must(r.Instantiate(bg, wasm("basic")))
	for name, d := range m.ExportedMemoryDefinitions() {
		most, declared := d.Max()
		say("definition", name, d.Min(), most, declared, d.ExportNames())
	}
	mem := m.Memory()
	say("the same", mem == m.ExportedMemory("memory"))
	for _, at := range []uint32{65532, 65533, 65535, 65536, 1<<32 - 1} {
		a, ok1 := mem.ReadUint16Le(at)
		b, ok2 := mem.ReadUint64Le(at)
		c, ok3 := mem.ReadFloat64Le(at)
		d, ok4 := mem.ReadByte(at)
		say("reads", at, a, ok1, b, ok2, c, ok3, d, ok4, mem.WriteByte(at, 1), mem.WriteUint16Le(at, 2), mem.WriteUint32Le(at, 3), mem.WriteUint64Le(at, 4), mem.WriteFloat32Le(at, 5), mem.WriteFloat64Le(at, 6), mem.WriteString(at, "abc"), mem.Write(at, []byte("ab")))
	}
	b, _ := mem.Read(65530, 6)
	say("bytes", b, len(b), binary.LittleEndian.Uint16(b))
	_, ok := mem.Read(65530, 1<<32-1)
	say("too many", ok)
	c := must(r.CompileModule(bg, wasm("consumer")))
	for _, d := range c.ImportedMemories() {
		module, name, imported := d.Import()
		most, declared := d.Max()
		say("imported memory", module, name, imported, d.Min(), most, declared, d.ModuleName(), d.Index(), d.ExportNames())
	}
	for _, d := range c.ImportedFunctions() {
		module, name, imported := d.Import()
		say("imported function", module, name, imported, d.ModuleName(), d.Index(), d.ExportNames(), d.Name(), d.DebugName())
	}
	for _, name := range sorted(c.ExportedFunctions()) {
		d := c.ExportedFunctions()[name]
		module, from, imported := d.Import()
		say("exported function", name, module, from, imported, d.Index(), d.ExportNames(), d.Name())
	}
	_, err := r.Instantiate(bg, wasm("consumer"))
	say("without its provider", err)
	var exit *sys.ExitError
	say("exit error", errors.As(error(sys.NewExitError(3)), &exit), sys.NewExitError(sys.ExitCodeContextCanceled), sys.NewExitError(sys.ExitCodeDeadlineExceeded), sys.NewExitError(3), errors.Is(sys.NewExitError(sys.ExitCodeContextCanceled), context.Canceled))
}
