//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
)

// sited is the code of a function with the places of its calls.
type sited struct {
	code  code
	sites []int // in code
	whole []byte
}

// call adds the code of operands, then that of an operator, which calls.
func (s *sited) call(operands, operator code) {
	s.code = append(s.code, operands...)
	s.sites = append(s.sites, len(s.code))
	s.code = append(s.code, operator...)
}

// at are the places in the module.
func (s *sited) at(wasm []byte) (out []uint32) {
	start := bytes.Index(wasm, s.whole) + len(s.whole) - len(s.code) - len(end)
	for _, n := range s.sites {
		out = append(out, uint32(start+n))
	}
	return out
}

// TestCallOffsets: each frame of a backtrace, and each call that the metadata lists, has exactly the offset of the operator
// that calls: an import, a function, both through a table, growth; the first operator of a function, the last, neighbours.
func TestCallOffsets(t *testing.T) {
	const imp, inner, outer = 0, 1, 2
	var in, out sited
	in.call(nil, calls(imp))
	indirect := func(n int) (operands, operator code) { return num(n), code{0x11, 0, 0} }
	out.call(nil, calls(imp)) // the first
	out.call(nil, calls(imp)) // directly behind
	out.code = append(out.code, 0x01, 0x01)
	out.call(nil, calls(inner))
	out.call(indirect(0))
	out.call(indirect(1))
	out.call(num(0), code{0x40, 0})
	out.code = append(out.code, drop...)
	out.call(cat(null, num(0)), code{0xFC, 15, 1})
	out.code = append(out.code, drop...)
	out.code = append(out.code, 0x02, 0x40) // block
	out.call(nil, calls(inner))
	out.code = append(out.code, end...)
	out.call(nil, calls(imp)) // the last
	in.whole, out.whole = bodyOf([]byte{0}, in.code), bodyOf([]byte{0}, out.code)
	wasm := module(
		sectionOf(1, typeOf(meta.FuncType{})),
		sectionOf(2, cat(name("host"), name("look"), []byte{0, 0})),
		sectionOf(3, []byte{0}, []byte{0}),
		sectionOf(4, []byte{0x70, 0, 2}, []byte{0x6F, 0, 1}),
		sectionOf(5, []byte{0, 1}),
		sectionOf(7, exportOf("f", 0, outer)),
		sectionOf(9, cat([]byte{0}, num(0), end, vec([]byte{imp}, []byte{inner}))),
		sectionOf(10, in.whole, out.whole))
	inAt, outAt := in.at(wasm), out.at(wasm)
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		r, err := compile.Module(wasm, compile.Options{OptLevel: level, Verify: true, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		var listed []uint32
		for _, c := range r.Meta.Calls {
			listed = append(listed, c.Src)
		}
		// The init function makes no call.
		if want := slices.Concat(inAt, outAt); !slices.Equal(listed, want) {
			t.Errorf("O%d: calls at %d, want %d", level, listed, want)
		}
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(err)
		}
		s, err := inproc.NewStore(inproc.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m, err := s.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		look, err := s.NewHostFunc(meta.FuncType{}, func(c *inproc.Caller, _, _ []uint64) error {
			text := ""
			for _, f := range c.Backtrace() {
				text += fmt.Sprintf(" %d@%d", f.Func, f.Offset)
			}
			got = append(got, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(m, func(string, string) inproc.Extern { return look })
		if err != nil {
			t.Fatal(err)
		}
		f, err := i.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Call(nil, nil); err != nil {
			t.Fatal(err)
		}
		from := func(k int) string { return fmt.Sprintf(" %d@%d", outer, outAt[k]) }
		through := func(k int) string { return fmt.Sprintf(" %d@%d", inner, inAt[0]) + from(k) }
		want := []string{from(0), from(1), through(2), from(3), through(4), through(7), from(8)}
		if !slices.Equal(got, want) {
			t.Errorf("O%d: backtraces %q, want %q", level, got, want)
		}
	}
}
