//go:build linux && (amd64 || arm64)

package load_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/metaedit"
)

var edited = flag.Int("edited", 1000, "objects that TestFields makes")

// leaves appends what of v can be edited: numbers, flags, strings, and lists as a whole.
func leaves(v reflect.Value, to []reflect.Value) []reflect.Value {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			to = leaves(v.Field(i), to)
		}
	case reflect.Pointer:
		to = append(to, v)
		if !v.IsNil() {
			to = leaves(v.Elem(), to)
		}
	case reflect.Slice:
		to = append(to, v)
		for i := range v.Len() {
			to = leaves(v.Index(i), to)
		}
	case reflect.Array: // digests, which are made right again
	default:
		to = append(to, v)
	}
	return to
}

// change gives a leaf another value: one near, one far, or that of another leaf of its type.
func change(r *rand.Rand, v reflect.Value, all []reflect.Value) {
	var same []reflect.Value
	for _, x := range all {
		if x.Type() == v.Type() {
			same = append(same, x)
		}
	}
	near := []int64{-32, -16, -8, -1, 1, 8, 16, 32, 1 << 20, -1 << 30, 1 << 31}
	by := near[r.IntN(len(near))]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString([]string{"", "h", "load", "memory", same[r.IntN(len(same))].String()}[r.IntN(5)])
	case reflect.Pointer:
		v.Set(same[r.IntN(len(same))])
	case reflect.Slice:
		changeList(r, v)
	default:
		switch {
		case r.IntN(3) == 0:
			v.Set(same[r.IntN(len(same))])
		case v.CanInt():
			v.SetInt(v.Int() + by)
		default:
			v.SetUint(v.Uint() + uint64(by))
		}
	}
}

// changeList leaves an entry of a list out, doubles one, or swaps two.
func changeList(r *rand.Rand, v reflect.Value) {
	n := v.Len()
	if n == 0 {
		return
	}
	a, b := r.IntN(n), r.IntN(n)
	c := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n+1), v)
	switch r.IntN(3) {
	case 0:
		c = reflect.AppendSlice(c.Slice(0, a), v.Slice(a+1, n))
	case 1:
		c = reflect.AppendSlice(reflect.Append(c.Slice(0, a), v.Index(a)), v.Slice(a, n))
	default:
		c.Index(a).Set(v.Index(b))
		c.Index(b).Set(v.Index(a))
	}
	v.Set(c)
}

// editField is the object with one or two random edits of its metadata.
func editField(t *testing.T, good []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 4))
	o, m := decoded(t, good)
	maps := metaedit.StackMaps(m)
	m.StackMaps = meta.StackMaps{}
	for range 1 + r.IntN(3)/2 {
		all := leaves(reflect.ValueOf(&maps).Elem(), leaves(reflect.ValueOf(m).Elem(), nil))
		change(r, all[r.IntN(len(all))], all)
	}
	m.StackMaps = metaedit.Coded(maps)
	return told(t, o, m)
}

// runEdited loads an object and does with it what can be done, in compiled code and by the host. It reports whether the
// object was instantiated.
func runEdited(t *testing.T, file []byte, seed uint64) bool {
	img, err := load.ELF(file)
	if err != nil {
		return false
	}
	mod, err := inproc.Load(img)
	if err != nil {
		return false
	}
	defer mod.Close()
	s, err := inproc.NewStore(inproc.Config{MaxMemoryPages: 16, MaxTableElements: 1000, CollectAlways: seed%2 == 0})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := cputime.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	refs := []meta.ValType{meta.ExternRef}
	h, err := s.NewHostFunc(meta.FuncType{Params: refs, Results: refs}, func(c *inproc.Caller, args, results []uint64) error {
		for range 1500 { // enough for a collection
			results[0] = s.ExternRef(seed)
		}
		c.SafepointWalk(func(inproc.Frame, []uint64) {})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.NewGlobal(meta.I32, false, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.InstantiateContext(ctx, mod, func(_, name string) inproc.Extern {
		if name == "g" {
			return g
		}
		return h
	})
	if err != nil {
		return false
	}
	for _, x := range img.Meta.Exports {
		e, err := i.Export(x.Name)
		if err != nil {
			t.Fatal(x.Name, err)
		}
		switch e := e.(type) {
		case *inproc.Func:
			ty := e.Type()
			for k := range uint64(2) {
				args := make([]uint64, len(ty.Params))
				for n, p := range ty.Params {
					if args[n] = k * 1 << 31; p == meta.ExternRef {
						args[n] = s.ExternRef(n)
					} else if p == meta.FuncRef {
						args[n] = 0
					}
				}
				e.CallContext(ctx, args, make([]uint64, len(ty.Results)))
			}
		case *inproc.Table:
			for n := range e.Len() {
				v, _ := e.Get(n)
				s.FuncOf(v)
				s.Extern(v)
			}
			e.Grow(1, 0)
		case *inproc.Memory:
			clear(e.Bytes())
			e.Grow(1)
		case *inproc.Global:
			s.FuncOf(e.Get())
			s.Extern(e.Get())
		}
	}
	if err := s.CollectRefs(); err != nil {
		t.Fatal(err)
	}
	return true
}

// again runs this test binary for one test with a variable set.
func again(test, variable, value string) (string, error) {
	run := func(program ...string) ([]byte, error) {
		cmd := exec.Command(program[0], append(program[1:], "-test.run=^"+test+"$", fmt.Sprintf("-edited=%d", *edited))...)
		cmd.Env = append(os.Environ(), variable+"="+value)
		return cmd.CombinedOutput()
	}
	out, err := run(os.Args[0])
	if errors.Is(err, syscall.ENOEXEC) { // this process runs in an emulator
		out, err = run("qemu-aarch64", "-cpu", "max", os.Args[0])
	}
	return string(out), err
}

// TestFields edits fields of metadata at random, with all hashes right again, in processes of their own. Each object is
// refused, or what it does stays in native memory: no fault in Go code, no panic, no hang. A process may end itself with
// a line that says what is wrong.
func TestFields(t *testing.T) {
	const variable = "LOAD_TEST_FIELDS"
	if first := os.Getenv(variable); first != "" {
		good := everythingObject(t)
		from := 0
		fmt.Sscan(first, &from)
		for seed := from; seed < *edited; seed++ {
			fmt.Printf("seed %d\n", seed)
			if runEdited(t, editField(t, good, uint64(seed)), uint64(seed)) {
				fmt.Println("ran")
			}
		}
		return
	}
	ran, ended := 0, map[string]int{}
	for from := 0; from < *edited; {
		out, err := again("TestFields", variable, fmt.Sprint(from))
		ran += strings.Count(out, "\nran\n")
		if err == nil {
			break
		}
		at := strings.LastIndex(out, "seed ")
		seed := -1
		if at >= 0 {
			fmt.Sscan(out[at+len("seed "):], &seed)
		}
		_, fatal, ok := strings.Cut(out, "waot: fatal: ")
		if seed < from || !ok {
			t.Fatalf("seed %d: %v\n%s", seed, err, out[max(0, at):])
		}
		line, _, _ := strings.Cut(fatal, "\n")
		ended[line]++
		from = seed + 1
	}
	if ran == 0 {
		t.Error("nothing was accepted")
	}
	t.Logf("%d objects, %d ran, others ended their process: %v", *edited, ran, ended)
}

// TestFrameTooLarge: a stack slot below a frame that the metadata makes larger than it is ends the process when a
// collection comes there, before it is read.
func TestFrameTooLarge(t *testing.T) {
	const variable = "LOAD_TEST_FRAME"
	if os.Getenv(variable) != "" {
		o, m := decoded(t, everythingObject(t))
		m.Funcs[3].Frame += 1 << 20
		maps := metaedit.StackMaps(m)
		maps[0].Slots = []int32{-int32(m.Funcs[3].Frame)}
		m.StackMaps = metaedit.Coded(maps)
		file := told(t, o, m)
		if img, err := hostile.Load(file); img == nil {
			t.Fatal("refused:", err)
		}
		runEdited(t, file, 1)
		return
	}
	out, err := again("TestFrameTooLarge", variable, "1")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, "waot: fatal: slot -") || !strings.Contains(out, "is outside of the frame") {
		t.Errorf("%v\n%s", err, out)
	}
}
