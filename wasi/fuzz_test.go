//go:build linux

package wasi

import (
	"encoding/binary"
	"errors"
	"github.com/waot-project/waot/internal/proof/wasisuite"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fuzzPaths lie one after another at the start of the guest's memory.
var fuzzPaths = []string{
	"file", "a", "a/b", "..", "../out", "../out/canary", "canary", "chain1", "slash/", "up/", ".", "new", "a/../..",
	"x", "y/", "a/b/../file", "../..", "/", "loop",
}

// fuzzInput reads a sequence of calls from bytes; at the end all are zero.
type fuzzInput struct{ b []byte }

func (in *fuzzInput) byte() byte {
	if len(in.b) == 0 {
		return 0
	}
	b := in.b[0]
	in.b = in.b[1:]
	return b
}

// word is an argument: often small, a path, or an extreme, sometimes any.
func (in *fuzzInput) word() uint64 {
	extremes := [...]uint64{
		0, guestMem - 1, guestMem, guestMem - 8, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<32 - 8, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1,
		uint64(rightsAll), uint64(rightsRW), 1<<16 - 48, 1 << 20,
	}
	switch k := in.byte(); k >> 6 {
	case 0:
		return uint64(k & 15)
	case 1:
		return extremes[k&15]
	case 2:
		return uint64(k&63) * 16
	}
	var b [8]byte
	for i := range b[:1+in.byte()&7] {
		b[i] = in.byte()
	}
	return binary.LittleEndian.Uint64(b[:])
}

// Where the memory of fuzzCalls has iovecs and subscriptions.
const (
	fuzzIovecs        = 512
	fuzzSubscriptions = 4096
)

// arguments are those of one call: one in sixteen is anything.
func (in *fuzzInput) arguments(f *Func) []uint64 {
	args := make([]uint64, 0, len(f.Params)+1)
	for _, kind := range wasisuite.Arguments()[f.Name] {
		k := uint64(in.byte())
		at := len(args)
		switch kind {
		case 'd':
			args = append(args, k%16)
			if k%4 == 0 {
				args[at] = 3 + k/4%4 // a directory or the socket
			}
		case 'v':
			args = append(args, fuzzIovecs+k%8*8)
		case 'n':
			args = append(args, k%8)
		case 'r':
			args = append(args, 8192+k*64)
		case 'p':
			which, ptr := int(k)%len(fuzzPaths), 0
			for _, p := range fuzzPaths[:which] {
				ptr += len(p)
			}
			args = append(args, uint64(ptr), uint64(len(fuzzPaths[which])))
		case 'b':
			args = append(args, 32768+k*64)
		case 'z':
			args = append(args, k*8)
		case 'o':
			args = append(args, k%16*(k>>4%2))
		case 'w':
			args = append(args, k)
		case 'R':
			args = append(args, []uint64{uint64(rightsAll), uint64(rightFdRead), uint64(rightsRW), uint64(in.byte()) << (k % 24)}[k%4])
		case 's':
			args = append(args, fuzzSubscriptions+k%32*subscriptionSize)
		}
		if in.byte()%16 == 0 {
			args[at] = in.word()
		}
	}
	if k := in.byte(); k%8 != 0 && (f.Name == "fd_close" || f.Name == "fd_renumber") {
		for i := range args { // mostly not what the guest began with
			args[i] = 7 + uint64(k>>(4*i))%16
		}
	}
	if f.Name == "fd_allocate" { // which would fill the disk
		args[1] &= 1<<20 - 1
		args[2] &= 1<<20 - 1
	}
	return args
}

// fuzzCalls runs the calls that data describes with all functions, on real
// descriptors, and checks that none panics, none gives another error than it may,
// nothing waits, nothing leaks and the outside stays as it is.
func fuzzCalls(t *testing.T, data []byte) {
	in := &fuzzInput{data}
	mode := in.byte()
	const inMemory = "/dev/shm" // where syncing costs nothing
	if st, err := os.Stat(inMemory); err == nil && st.IsDir() {
		t.Setenv("TMPDIR", inMemory)
	}
	box, out := escapeTree(t)
	r, w := blockingPipe(t)
	sock, peer := socketPair(t)
	if _, err := peer.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	mapped := fstest.MapFS{"file": &fstest.MapFile{Data: []byte("12345")}, "a/b/x": &fstest.MapFile{}, "x": &fstest.MapFile{}}
	before, fds := snapshot(t, out), hostFds(t)
	c, err := New(&Options{
		Args: []string{"prog", "x"}, Env: []string{"K=V"}, Stdin: r, Stdout: w, MaxOpen: 30,
		Preopens:  []Preopen{{Guest: "/", Host: box}, {Guest: "/ro", Host: box + "/a", ReadOnly: true}, {Guest: "/fs", FS: mapped}},
		Sockets:   []*os.File{sock},
		Nanosleep: func(time.Duration) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.noOpenat2 = c.noOpenat2 || mode&1 != 0
	done := make(chan struct{}) // so that no call waits for long
	if mode&2 == 0 {
		close(done)
	} else {
		defer time.AfterFunc(3*time.Millisecond, func() { close(done) }).Stop()
	}
	c.SetInterrupt(done)
	mem := make([]byte, guestMem)
	copy(mem, strings.Join(fuzzPaths, ""))
	copy(mem[1024:], data)
	for i := range 16 {
		binary.LittleEndian.PutUint32(mem[fuzzIovecs+8*i:], uint32(2048+100*i))
		binary.LittleEndian.PutUint32(mem[fuzzIovecs+8*i+4:], uint32(i*3))
	}
	for i := range 40 {
		b := mem[fuzzSubscriptions+subscriptionSize*i:]
		b[8], b[16], b[24] = byte(i%3), byte(i%8), byte(i)
	}
	fns := Functions()
	for n := 0; len(in.b) != 0 && n < 150; n++ {
		f := &fns[int(in.byte())%len(fns)]
		args := in.arguments(f)
		e, err := f.Call(c, mem, args)
		var exit *ExitError
		if err != nil && err != ErrInterrupted && (!errors.As(err, &exit) || !strings.HasPrefix(f.Name, "proc_")) {
			t.Fatalf("%s%v: %v", f.Name, args, err)
		}
		if e > uint32(ErrnoNotCapable) {
			t.Fatalf("%s%v: errno %d", f.Name, args, e)
		}
	}
	if err := c.Close(); err != nil {
		t.Log(err) // such as what a pipe reports
	}
	if n := hostFds(t); n != fds {
		t.Errorf("%d host descriptors, before %d", n, fds)
	}
	if d := cmp.Diff(before, snapshot(t, out)); d != "" {
		t.Errorf("the outside changed:\n%s", d)
	}
}

func FuzzCalls(f *testing.F) {
	openAt := byte(0)
	for i := range rows {
		if rows[i].name == "path_open" {
			openAt = byte(i)
		}
	}
	for i := range rows {
		open := []byte{byte(i & 1), openAt, 4, 1, 0, 1, byte(i), 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1} // "file" and others
		f.Add(append(open, byte(i), 7, 1, 0, 1, 2, 1, 0, 1, 4, 1, 0, 1, 6, 1, byte(i), 8, 1, 3, 1, 0x84, 1, 0x41, 1, 0x88, 1))
	}
	f.Fuzz(fuzzCalls)
}

// TestRandomCalls is a fixed piece of what FuzzCalls does.
func TestRandomCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		data := make([]byte, 2500)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		if !t.Run("", func(t *testing.T) { fuzzCalls(t, data) }) {
			return
		}
	}
}
