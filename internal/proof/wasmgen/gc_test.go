package wasmgen_test

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestGC: modules with garbage collection are valid, the same for the same seed, and have all its operators. Counting changes nothing else. The text format has them as they are.
func TestGC(t *testing.T) {
	const features = wasmfront.DefaultFeatures | wasmfront.FeatureGC
	used := map[wasmfront.Opcode]bool{}
	deepest, twins, groups := 0, 0, 0
	for seed := range uint64(90) {
		cfg := wasmgen.Config{GC: true, NoTraps: seed%3 > 0, Vectors: seed%4 == 1, Exceptions: seed%5 > 2, Legacy: seed%10 == 9, Tails: seed%7 > 4,
			TypedRefs: seed%7 == 2, TypedAll: true, Small: seed%2 > 0, Size: []int{20, 60, 120, 250}[seed%4], Counts: seed%3 == 1, Classes: seed%11 < 7, Closed: seed%13 < 7}
		p := wasmgen.Generate(seed, cfg)
		if again := wasmgen.Generate(seed, cfg); string(again.Wasm) != string(p.Wasm) {
			t.Fatalf("seed %d: not deterministic", seed)
		}
		m, err := validate.Module(p.Wasm, validate.Config{Features: features})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if cfg.Closed {
			closedModule(t, seed, m)
		}
		for i := range m.Types {
			deepest = max(deepest, int(m.Types[i].Depth))
			if m.Types[i].Place == 1 {
				groups++
			}
		}
		twins += sameTypes(m)
		var v validate.Func
		var op wasmfront.Operator
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			for v.Begin(m, i); v.Next(&op); {
				used[op.Op] = true
			}
			if err := v.Err(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		text, err := printer.String(p.Wasm)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, err := wat.Assemble([]byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if second, err := printer.String(again.Wasm); err != nil || second != text {
			t.Fatalf("seed %d: another text, %v", seed, err)
		}
	}
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Feature == wasmfront.FeatureGC && !used[op] {
			t.Errorf("%v is never generated", op)
		}
	}
	if deepest < 4 || twins < 20 || groups < 100 {
		t.Errorf("types are at most %d deep; %d are the same as others, and %d groups have several", deepest, twins, groups)
	}
}

// closedModule checks that no reference enters or leaves a module.
func closedModule(t *testing.T, seed uint64, m *wasmfront.Module) {
	isRef := func(v wasmfront.ValType) bool {
		return !slices.Contains([]wasmfront.ValType{wasmfront.I32, wasmfront.I64, wasmfront.F32, wasmfront.F64, wasmfront.V128}, v)
	}
	crosses := func(kind abi.ExternKind, index uint32) bool {
		switch kind {
		case abi.ExternFunc:
			s := m.FuncType(index)
			return slices.ContainsFunc(s.Params, isRef) || slices.ContainsFunc(s.Results, isRef)
		case abi.ExternGlobal:
			return isRef(m.GlobalType(index).Type)
		case abi.ExternMemory:
			return false
		}
		return true
	}
	for i := range m.Exports {
		if x := &m.Exports[i]; crosses(x.Kind, x.Index) {
			t.Errorf("seed %d: export %q lets references out", seed, x.Name)
		}
	}
	for i := range m.Imports {
		if x := &m.Imports[i]; crosses(x.Kind, x.Index) {
			t.Errorf("seed %d: import %q lets references in", seed, x.Name)
		}
	}
}

// sameTypes returns how many structures and arrays of a module are the same as one before.
func sameTypes(m *wasmfront.Module) (n int) {
	for i := range uint32(len(m.Types)) {
		for j := range i {
			if m.Types[i].Kind != 0 && m.IsSubType(i, j) && m.IsSubType(j, i) {
				n++
				break
			}
		}
	}
	return n
}
