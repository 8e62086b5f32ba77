package translate_test

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
)

// withLoops is a module all of whose functions begin with n loops, one in the other, that
// do nothing.
func withLoops(t *testing.T, wasm []byte, n int) []byte {
	m, err := wasmfront.Decode(wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	code := leb(uint64(len(m.Code)))
	for i := range m.Code {
		r := wasmfront.Reader{Buf: m.Code[i].Bytes, End: len(m.Code[i].Bytes)}
		for k := r.U32(); k > 0; k-- {
			r.U32()
			r.Byte()
		}
		code = append(code, sized(join(r.Buf[:r.Pos], rep(n, loop...), rep(n, end...), r.Buf[r.Pos:]))...)
	}
	out := append([]byte(nil), wasm[:8]...)
	for r := (wasmfront.Reader{Buf: wasm, Pos: 8, End: len(wasm)}); r.More(); {
		id := r.Byte()
		section := r.Bytes(int(r.U32()))
		if id == 10 {
			section = code
		}
		out = append(append(out, id), sized(section)...)
	}
	return out
}

// numParams is the number of block parameters in a module.
func numParams(c *compiled) (n int) {
	for _, f := range c.funcs {
		if f == nil {
			continue
		}
		for _, b := range f.Blocks {
			n += int(b.Params.Len)
		}
	}
	return n
}

// TestScannedDifferential is TestDifferential where the writes of all locals are known
// from the start, as they are in functions with many nested loops. The merges are the same.
func TestScannedDifferential(t *testing.T) {
	var o opt.Optimizer
	params := 0
	for seed := range uint64(120) {
		p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0, Size: 60 + 300*int(seed%3)})
		want := runWazero(t, p)
		plain := numParams(compile(t, p.Wasm, nil))
		params += plain
		scanned := *p
		scanned.Wasm = withLoops(t, p.Wasm, 10)
		if n := numParams(compile(t, scanned.Wasm, nil)); n != plain {
			t.Errorf("seed %d: %d block parameters, and %d without the scan", seed, n, plain)
		}
		compareOutcomes(t, "O0", seed, p, runInterp(t, &scanned, nil), want)
		compareOutcomes(t, "O1", seed, p, runInterp(t, &scanned, &o), want)
	}
	t.Logf("%d block parameters", params)
	if params < 10000 {
		t.Error("there is little to merge")
	}
}
