package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/wasmfront"
)

// standIn is a function that a module imports and no engine has. What stands in for it notes its calls, and returns numbers that depend on nothing but
// its name, its arguments and how many calls there were, so that engines can be compared.
type standIn struct {
	module, name    string
	params, results []meta.ValType
}

// standInsOf returns the functions that a module imports, but for WASI's. It is an error if there is a function with two types, or anything
// else twice, or if what is imported of WASI is none of its functions.
func standInsOf(bin []byte) ([]standIn, error) {
	m, err := wasmfront.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, err
	}
	if err := noSharing(m); err != nil {
		return nil, err
	}
	var list []standIn
	types := map[[2]string]string{}
	for i := range m.Imports {
		imp := &m.Imports[i]
		if imp.Kind != abi.ExternFunc {
			continue
		}
		t := m.FuncType(imp.Index)
		s := standIn{module: imp.Module, name: imp.Name, params: t.Params, results: t.Results}
		if imp.Module == wasiModule {
			if err := s.ofWASI(); err != nil {
				return nil, err
			}
			continue
		}
		at, text := [2]string{s.module, s.name}, fmt.Sprint(s.params, s.results)
		switch before, again := types[at]; {
		case again && before != text:
			return nil, fmt.Errorf("the import %q %q has two types", imp.Module, imp.Name)
		case again:
			continue
		}
		types[at] = text
		list = append(list, s)
	}
	return list, nil
}

// ofWASI refuses what WASI does not have: nothing stands in for that, as calls under its name are WASI's own.
func (s *standIn) ofWASI() error {
	n := slices.IndexFunc(abi.WASIFunctions[:], func(f abi.WASIFunc) bool { return f.Name == s.name })
	if n < 0 {
		return fmt.Errorf("the import %q %q is no function of WASI, and has no stand-in", s.module, s.name)
	}
	if !abi.WASIFunctions[n].HasType(&meta.FuncType{Params: s.params, Results: s.results}) {
		return fmt.Errorf("the import %q %q has another type than WASI's function, and no stand-in", s.module, s.name)
	}
	return nil
}

// shownCalls is how many calls an outcome lists.
const shownCalls = 1000

// answers are what stands in for imports in one run: the calls of functions, and the rest.
type answers struct {
	lent  lent
	calls int
	first []string // up to shownCalls
	all   [sha256.Size]byte
}

// answer notes a call of s with words, and sets the words of its results.
func (a *answers) answer(s *standIn, args, results []uint64) {
	call := fmt.Sprintf("%s.%s(%s)", s.module, s.name, strings.Join(formatValues(s.params, args), ", "))
	a.calls++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", a.calls, call)
	seed := h.Sum64()
	at := 0
	for _, t := range s.results {
		for range t.Words() {
			results[at] = numberFor(t, seed)
			at++
			seed = seed*6364136223846793005 + 1442695040888963407
		}
	}
	line := call + " = " + strings.Join(formatValues(s.results, results), ", ")
	if len(a.first) < shownCalls {
		a.first = append(a.first, line)
	}
	a.all = sha256.Sum256(append(a.all[:], line...))
}

// numberFor returns a word of a type: half of the integers are small, floats are no NaNs, and references null.
func numberFor(t meta.ValType, seed uint64) uint64 {
	x := seed >> 8
	small := seed>>7&1 == 0
	switch t {
	case meta.I32:
		if small {
			return x & 0xff
		}
		return uint64(uint32(x))
	case meta.I64:
		if small {
			return x & 0xff
		}
		return x * 0x9e3779b97f4a7c15
	case meta.F32:
		return uint64(math.Float32bits(float32(int16(x)) / 8))
	case meta.F64:
		return math.Float64bits(float64(int32(x)) / 8)
	case meta.V128:
		return x * 0x9e3779b97f4a7c15
	}
	return 0
}

// note puts the calls into an outcome.
func (a *answers) note(o *execution) {
	if a.calls > 0 {
		o.Imports = fmt.Sprintf("%d calls, %s", a.calls, hex.EncodeToString(a.all[:8]))
		o.ImportCalls = a.first
	}
}

// imports adds the stand-ins for a module as compiled code, which are in the store.
func (a *answers) imports(imports host.Imports, store *host.Store, mod *host.Module) error {
	for _, d := range mod.Imports() {
		if d.Module == wasiModule && d.Type.Kind == host.KindFunc {
			continue
		}
		if imports[d.Module] == nil {
			imports[d.Module] = map[string]any{}
		}
		if d.Type.Kind != host.KindFunc {
			x, err := a.lent.add((*inproc.Store)(store), &d)
			if err != nil {
				return err
			}
			imports[d.Module][d.Name] = x
			continue
		}
		s := &standIn{module: d.Module, name: d.Name}
		for _, t := range d.Type.Func.Params {
			s.params = append(s.params, meta.ValType(t))
		}
		for _, t := range d.Type.Func.Results {
			s.results = append(s.results, meta.ValType(t))
		}
		imports[d.Module][d.Name] = host.RawFunc{Params: d.Type.Func.Params, Results: d.Type.Func.Results, Func: func(_ *host.Caller, args, results []uint64) error {
			a.answer(s, args, results)
			return nil
		}}
	}
	return nil
}

// compareImports adds the first call of a stand-in in which two outcomes differ.
func compareImports(a, b *execution, add func(what, x, y string)) {
	if a.Imports == b.Imports {
		return
	}
	for i := range max(len(a.ImportCalls), len(b.ImportCalls)) {
		call := func(o *execution) string {
			if i < len(o.ImportCalls) {
				return o.ImportCalls[i]
			}
			return "no call"
		}
		if call(a) != call(b) {
			add(fmt.Sprintf("call %d of an import", i+1), call(a), call(b))
			return
		}
	}
	add("calls of imports", a.Imports, b.Imports)
}
