package guestfuzz

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// Places in the memory of the WASI program.
const (
	atSubscription, atEvents, atCount, atVector, atFile, atName, atBuffer = 0, 64, 96, 128, 148, 512, 1024
	bufferSize                                                            = 64
)

// wasiProgram returns a module whose functions make one WASI call each.
func wasiProgram() []byte {
	var m guest.Module
	const wasi = "wasi_snapshot_preview1"
	m.Import(wasi, "poll_oneoff", "iiii:i")
	m.Import(wasi, "fd_read", "iiii:i")
	m.Import(wasi, "fd_write", "iiii:i")
	m.Import(wasi, "path_open", "iiiiillii:i")
	m.Import(wasi, "fd_close", "i:i")
	m.Memory(1, 1)
	m.Func("wait", ":i", "", "i32.const 0 i32.const 64 i32.const 1 i32.const 96 call poll_oneoff")
	m.Func("read", "i:i", "", "local.get 0 i32.const 128 i32.const 1 i32.const 144 call fd_read")
	m.Func("write", "i:i", "", "local.get 0 i32.const 128 i32.const 1 i32.const 144 call fd_write")
	m.Func("open", "i:i", "", "i32.const 3 i32.const 0 i32.const 512 local.get 0 i32.const 0 i64.const 2 i64.const 2 i32.const 0 i32.const 148 call path_open")
	m.Func("close", "i:i", "", "local.get 0 call fd_close")
	return m.Bytes()
}

// wasiWorld is a WASI program that runs.
type wasiWorld struct {
	w           *world
	inst        *host.Instance
	memory      *host.Memory
	input, feed *os.File // the program's input, a pipe, and its other end
	output      bytes.Buffer
}

// useWASI runs a WASI program in a store of its own: it reads, writes, and waits until its context ends.
func (w *world) useWASI() {
	p, x := w.runner.wasi, &wasiWorld{w: w}
	var err error
	x.input, x.feed, err = os.Pipe()
	w.must(err, "Pipe")
	defer x.input.Close()
	defer x.feed.Close()
	system, err := waot.NewWASI(&waot.WASIOptions{Stdin: x.input, Stdout: &x.output, Dirs: []waot.Dir{{Host: p.dir, Guest: "/"}}})
	w.must(err, "NewWASI")
	defer func() { w.must(system.Close(), "WASI.Close") }()
	store, err := host.NewStore(&host.StoreOptions{MaxStack: 1, MaxMemoryPages: 1})
	w.must(err, "NewStore")
	defer func() { w.must(store.Close(), "Close") }()
	x.inst, err = store.Instantiate(nil, p.module, system.Imports())
	w.must(err, "Instantiate")
	x.memory, err = x.inst.Memory("memory")
	w.must(err, "Instance.Memory")
	for range 1 + w.r.IntN(4) {
		[]func(){x.sleep, x.waitInVain, x.readInVain, x.readInput, x.readFile, x.write}[w.r.IntN(6)]()
	}
}

// call returns the error number that a function returns.
func (x *wasiWorld) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f, err := x.inst.Func(name)
	x.w.must(err, "Instance.Func")
	stack := append(args, 0)
	err = f.CallRaw(ctx, stack)
	return stack[0], err
}

// expect fails if a call fails or returns another error number.
func (x *wasiWorld) expect(errno uint64, name string, args ...uint64) {
	if n, err := x.call(nil, name, args...); err != nil || n != errno {
		x.w.fail("WASI %s: error %v, number %d, want %d", name, err, n, errno)
	}
}

// soon returns a context that ends while the program waits.
func (x *wasiWorld) soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(x.w.r.IntN(2_000_000)))
}

// ended fails if the error is not that of the end of a context.
func (x *wasiWorld) ended(what string, err error) {
	if !errors.Is(err, host.ErrCancelled) && !errors.Is(err, context.DeadlineExceeded) {
		x.w.fail("WASI %s: %v, want the end of the context", what, err)
	}
	x.w.count("ends of waiting WASI programs")
}

// subscribe has wait take a time.
func (x *wasiWorld) subscribe(d time.Duration) {
	var b [48]byte
	binary.LittleEndian.PutUint32(b[16:], 1) // the monotonic clock
	binary.LittleEndian.PutUint64(b[24:], uint64(d))
	x.memory.Write(atSubscription, b[:])
}

func (x *wasiWorld) sleep() {
	x.subscribe(time.Duration(x.w.r.IntN(100_000)))
	x.expect(0, "wait")
	if n, _ := x.memory.ReadUint32(atCount); n != 1 {
		x.w.fail("WASI wait: %d events", n)
	}
}

func (x *wasiWorld) waitInVain() {
	x.subscribe(time.Hour)
	ctx, cancel := x.soon()
	defer cancel()
	_, err := x.call(ctx, "wait")
	x.ended("wait", err)
}

// vector is where read and write find their bytes.
func (x *wasiWorld) vector(n uint32) {
	x.memory.WriteUint32(atVector, atBuffer)
	x.memory.WriteUint32(atVector+4, n)
}

func (x *wasiWorld) readInVain() {
	x.vector(bufferSize)
	ctx, cancel := x.soon()
	defer cancel()
	_, err := x.call(ctx, "read", 0)
	x.ended("read", err)
}

// got fails unless the bytes read are want.
func (x *wasiWorld) got(want []byte) {
	n, _ := x.memory.ReadUint32(atVector + 16)
	if b, ok := x.memory.Read(atBuffer, n); !ok || !bytes.Equal(b, want) {
		x.w.fail("WASI read: %q, want %q", b, want)
	}
}

func (x *wasiWorld) readInput() {
	text := make([]byte, 1+x.w.r.IntN(bufferSize))
	for i := range text {
		text[i] = byte(x.w.r.Uint32())
	}
	_, err := x.feed.Write(text)
	x.w.must(err, "Write")
	x.vector(bufferSize)
	x.expect(0, "read", 0)
	x.got(text)
}

// wasiText is the content of a WASI program's file "text".
const wasiText = "some text in a file"

func (x *wasiWorld) readFile() {
	if x.w.r.IntN(3) == 0 {
		x.memory.WriteString(atName, "none")
		x.expect(44, "open", 4) // noent
		return
	}
	x.memory.WriteString(atName, "text")
	x.expect(0, "open", 4)
	file, _ := x.memory.ReadUint32(atFile)
	x.vector(bufferSize)
	x.expect(0, "read", uint64(file))
	x.got([]byte(wasiText))
	if x.w.r.IntN(2) == 0 { // or the system closes it
		x.expect(0, "close", uint64(file))
		x.expect(8, "close", uint64(file)) // badf
	}
}

func (x *wasiWorld) write() {
	before := x.output.Len()
	x.memory.WriteString(atBuffer, wasiText)
	x.vector(uint32(len(wasiText)))
	x.expect(0, "write", 1)
	if s := x.output.String()[before:]; s != wasiText {
		x.w.fail("WASI write: %q", s)
	}
}

// wasiShared is shared by the WASI programs of a campaign.
type wasiShared struct {
	module *host.Module
	dir    string
}

func newWASIShared() (*wasiShared, error) {
	s := &wasiShared{}
	var err error
	if s.module, err = waot.Compile(wasiProgram(), nil); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "waot-guestfuzz-"); err != nil {
		return nil, err
	}
	return s, os.WriteFile(filepath.Join(s.dir, "text"), []byte(wasiText), 0o600)
}

func (s *wasiShared) close() error {
	return errors.Join(s.module.Close(), os.RemoveAll(s.dir))
}
