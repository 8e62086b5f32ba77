package translate

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestHandlers checks that there is a handler for each operator of the
// accepted features, and for nothing else, that its effects are known, and that those of uniform
// operators agree with the operators' signatures.
func TestHandlers(t *testing.T) {
	types := map[byte]clif.Type{'i': clif.I32, 'l': clif.I64, 'f': clif.F32, 'd': clif.F64, 'v': clif.V128}
	tr := New(nil, nil)
	known := map[wasmfront.Opcode]bool{}
	for _, op := range wasmfront.Opcodes() {
		known[op] = true
		info, h := op.Info(), tr.handlerOf(op)
		if want := info.Feature&^wasmfront.DefaultFeatures == 0; want != (h.run != nil) {
			t.Errorf("%v (%v): has a handler: %v", op, info.Feature, !want)
		}
		if (h.run != nil) != (info.Effects != effect.Unknown) {
			t.Errorf("%v has a handler: %v, and effects %b", op, h.run != nil, info.Effects)
		}
		in, out, ok := strings.Cut(info.Sig, ":")
		if h.run == nil || !ok || h.code == clif.OpNop || len(out) != 1 {
			continue
		}
		sig := h.code.Info().Sig
		if len(in) != strings.IndexByte(sig, ':') || h.code.ResultType(h.typ) != types[out[0]] {
			t.Errorf("%v: %s is translated to %v.%v with %s", op, info.Sig, h.code, h.typ, sig)
		}
	}
	for op := range wasmfront.Opcode(0x100) {
		if tr.handlerOf(op).run != nil && !known[op] {
			t.Errorf("%#x: there is no such operator", op)
		}
	}
	if tr.handlerOf(0xFD9A).run != nil || tr.handlerOf(0xFF14).run != nil || tr.handlerOf(0xFC1F).run != nil {
		t.Error("operators that are not supported have handlers")
	}
}

func program(seed uint64) ([]byte, *wasmfront.Module) {
	p := wasmgen.Generate(seed, wasmgen.Config{Funcs: 6, Size: 800})
	m, err := validate.Module(p.Wasm, validate.Config{})
	if err != nil {
		panic(err)
	}
	return p.Wasm, m
}

// TestAllocations checks that translation allocates nothing once its buffers
// have grown.
func TestAllocations(t *testing.T) {
	_, m := program(1)
	tr := New(m, Module(m, m.DecodeNames()))
	var f clif.Func
	run := func() {
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			if err := tr.Func(&f, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFunc(b *testing.B) {
	_, m := program(1)
	tr := New(m, Module(m, m.DecodeNames()))
	var f clif.Func
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n = 0
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			if err := tr.Func(&f, i); err != nil {
				b.Fatal(err)
			}
			n += len(f.Insts)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/inst")
}

// TestVectorLocals checks that locals of type v128 begin as zeros and are merged.
func TestVectorLocals(t *testing.T) {
	for _, body := range [][]byte{
		{1, 1, 0x7B, 0x20, 0, 0x1A, 0x0B},                                         // a local that was not written
		{0, 0xFD, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1A, 0x0B}, // v128.const
		{1, 1, 0x7B, 0x41, 0, 0x04, 0x40, 0xFD, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0x0B, 0x20, 0, 0x1A, 0x0B},
	} {
		code := append([]byte{1, byte(len(body))}, body...)
		wasm := append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, byte(len(code))}, code...)
		m, err := validate.Module(wasm, validate.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var f clif.Func
		if err := New(m, Module(m, m.DecodeNames())).Func(&f, 0); err != nil {
			t.Fatal(err)
		}
		if err := verify.Func(&f); err != nil {
			t.Errorf("% x: %v", body, err)
		}
	}
}
