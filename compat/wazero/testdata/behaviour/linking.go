package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/table"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// plugins links instances to one whose Go function makes them, in the middle of a call, and uses them through its table.
func plugins() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	main := must(r.Instantiate(bg, wasm("host")))
	var plugin api.Module
	h = func(ctx context.Context, m api.Module, x uint32) uint32 {
		if x == 7 {
			say("caller", m.Name(), m.Memory().Size())
			return 1000
		}
		p, err := r.InstantiateWithConfig(ctx, wasm("plugin"), named(fmt.Sprint("plugin ", x)))
		say("plugin", err, p.Name())
		results, err := call(p, "own", 4)
		say("its function", results, err)
		b, ok := m.Memory().Read(64, 17)
		say("memory", b, ok)
		plugin = p
		return x
	}
	results, err := call(main, "load", 1)
	say("load", results, err)
	for i := range uint64(5) {
		results, err := call(main, "through", i, 3)
		say("through", i, results, err)
	}
	results, err = call(plugin, "fail", 1)
	say("fail", results, err)
	results, err = call(main, "grow")
	say("grow", results, err, main.Memory().Size(), plugin.Memory().Size(), plugin.ExportedMemory("memory") == nil)
	types := []api.ValueType{api.ValueTypeI32}
	f := table.LookupFunction(plugin, 0, 2, types, types)
	results, err = f.Call(bg, 5)
	say("of the table", results, err, f.Definition().DebugName())
	say("close the plugin", plugin.Close(bg))
	results, err = call(main, "through", 2, 3)
	say("through a closed one", results, err)
	results, err = call(main, "load", 2)
	say("another one", results, err)
	say("close", main.Close(bg), plugin.IsClosed())
	results, err = call(plugin, "own", 1)
	say("own", results, err)
	h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
}

// together instantiates, calls and closes on several goroutines.
func together() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	c := must(r.CompileModule(bg, wasm("caller")))
	var mu sync.Mutex
	var wg sync.WaitGroup
	made, failed := 0, map[string]bool{} // wazero makes more than one
	for range 8 {
		wg.Go(func() {
			_, err := r.InstantiateModule(bg, c, named("one"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else {
				failed[err.Error()] = true
			}
		})
	}
	wg.Wait()
	say("made", made > 0, failed)
	m := must(r.InstantiateModule(bg, c, named("shared")))
	h = func(ctx context.Context, m api.Module, x uint32) uint32 {
		if x%3 == 0 {
			return uint32(must(m.ExportedFunction("f").Call(ctx, uint64(x+1)))[0])
		}
		return x
	}
	for n := range uint64(6) {
		wg.Go(func() {
			f := m.ExportedFunction("f")
			for range 200 {
				if results, err := f.Call(bg, n); err != nil || results[0] != n/3*3+n%3+100 && results[0] != n+201 {
					say("shared", n, results, err)
				}
			}
		})
	}
	wg.Wait()
	// Closing while others call: each call works, or says that the module is closed.
	for n := range uint64(4) {
		wg.Go(func() {
			for range 500 {
				results, err := m.ExportedFunction("f").Call(bg, 3*n+1)
				if err != nil && err.Error() == "module closed with exit_code(6)" {
					return
				}
				if err != nil || results[0] != 3*n+101 {
					say("while it closes", n, results, err)
				}
			}
		})
	}
	say("close", m.CloseWithExitCode(bg, 6))
	wg.Wait()
	h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
}

// input is a stream that says when it is read from, and waits.
type input struct{ begins, ends chan string }

func (i input) Read(b []byte) (int, error) {
	i.begins <- ""
	return copy(b, <-i.ends), nil
}

// waiting calls an instance while it waits for input.
func waiting() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	in := input{make(chan string), make(chan string)}
	g := must(newGuest(r, named("waits").WithStdin(in)))
	done := make(chan bool)
	go func() {
		g.read(0, 10)
		done <- true
	}()
	<-in.begins
	g.do("clock_time_get", 100, 1, 0, 100)
	g.do("clock_res_get", 100, 0, 100)
	in.ends <- "the input"
	<-done
	// It ends itself meanwhile.
	go func() {
		_, err := call(g, "fd_read", 0, 4000, 1, 4008)
		say("read", err)
		done <- true
	}()
	<-in.begins
	results, err := call(g, "proc_exit", 4)
	say("exit", results, err, g.IsClosed())
	in.ends <- "more"
	<-done
}

// nested is a stream that calls the guest, which uses its descriptors.
type nested struct{ use func(string) }

func (n *nested) Write(b []byte) (int, error) {
	n.use(string(b))
	return len(b), nil
}

// nestedSource is a source of random numbers, and of times, that calls the guest.
type nestedSource struct{ use func() }

func (n *nestedSource) Read(b []byte) (int, error) {
	n.use()
	return copy(b, "1234"), nil
}

func (n *nestedSource) now() int64 {
	n.use()
	return 7
}

func (n *nestedSource) today() (int64, int32) { return 1, int32(n.now()) }

// meanwhile uses an instance's descriptors while another call of them waits.
func meanwhile() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	in, stdout, stderr := input{make(chan string), make(chan string)}, &bytes.Buffer{}, &nested{}
	g := must(newGuest(r, named("nested").WithStdin(in).WithStdout(stdout).WithStderr(stderr)))
	stderr.use = func(s string) {
		say("a message", s, stdout.String())
		g.write(1, "written of "+s+".")
	}
	g.write(2, "a stream")
	done := make(chan bool)
	go func() {
		results, err := call(g, "fd_read", 0, 4000, 1, 4008)
		say("read", results, err)
		done <- true
	}()
	<-in.begins
	g.write(1, "Another one.")
	say("written", stdout.String())
	say("close the guest", g.Close(bg), g.IsClosed())
	in.ends <- "input"
	<-done
	// A sleep calls the guest, which sleeps.
	var sleep func(uint64)
	g = must(newGuest(r, named("sleeps").WithNanosleep(func(ns int64) {
		say("sleep", ns)
		if ns > 10 {
			sleep(uint64(ns / 2))
		}
	})))
	sleep = func(ns uint64) {
		at := uint32(1000 + 200*ns)
		g.Memory().WriteUint64Le(at, ns)
		g.Memory().WriteUint64Le(at+24, ns)
		results, err := call(g, "poll_oneoff", uint64(at), uint64(at+100), 1, uint64(at+140))
		said, _ := g.Memory().ReadUint64Le(at + 100)
		n, _ := g.Memory().ReadUint32Le(at + 140)
		say("slept", ns, results, err, said, n)
	}
	sleep(50)
	// So do other functions of the program, here by random_get, and by poll_oneoff until some time.
	source, clock := &nestedSource{}, &nestedSource{}
	g = must(newGuest(r, named("sources").WithStdout(stdout).WithRandSource(source).WithNanotime(clock.now, 1).WithWalltime(clock.today, 1)))
	stdout.Reset()
	source.use = func() { g.write(1, "r") }
	g.do("random_get", 100, 100, 4)
	say("written", stdout.String())
	for id := range uint64(2) {
		clock.use = func() { call(g, "fd_write", 1, 4000, 1, 4008) }
		g.Memory().Write(5000, make([]byte, 48))
		g.Memory().WriteByte(5016, byte(id))
		g.Memory().WriteUint64Le(5024, 5)
		g.Memory().WriteByte(5040, 1)
		g.do("poll_oneoff", 5100, 5000, 5100, 1, 5200)
	}
	say("written when asked for times", stdout.String())
	// A file waits as well.
	reader, writer, err := os.Pipe()
	say("pipe", err)
	g = must(newGuest(r, named("pipe").WithStdin(reader)))
	go func() {
		_, err := call(g, "fd_read", 0, 4000, 1, 4008)
		say("read the pipe", err)
		done <- true
	}()
	time.Sleep(20 * time.Millisecond)
	say("close the runtime", r.Close(bg), g.IsClosed())
	writer.WriteString("text")
	<-done
}
