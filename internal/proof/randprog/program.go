package randprog

import (
	"bytes"
	"slices"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
)

// Program is a program to run.
type Program struct {
	Wasm, Env []byte
	// Lib is a module that imports what Wasm does, and that Wasm imports as LibName, or nil.
	Lib     []byte
	Calls   []wasmgen.Call
	Globals []string
	Reset   bool // it has that export
	AnyNaN  bool // results and globals that are NaNs may be any
	// Counter is an exported global of type i64 that says how much fuel is left, where the store does not know. The host does not write it.
	Counter string
	// Counters are exported globals of type i64 that Outcome.Counts has.
	Counters []string
	// CollectAlways is for engines that can collect garbage whenever code makes an object.
	CollectAlways bool
}

// LibName is the name under which Program.Lib is imported.
const LibName = "lib"

// Generate makes the program of a seed; configurations take turns.
func Generate(seed uint64) *Program {
	return FromGenerator(wasmgen.Generate(seed, wasmgen.Config{
		NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1, Size: []int{20, 60, 120, 120, 250}[seed/3%5], Small: seed%5 == 2,
	}), seed%2 == 1)
}

// GenerateVectors makes the program of a seed with vectors. The judge knows all their operators but the relaxed ones. torn is
// wasmgen.Config.TornStores.
func GenerateVectors(seed uint64, relaxed, torn bool) *Program {
	return FromGenerator(wasmgen.Generate(seed, wasmgen.Config{Vectors: true, Relaxed: relaxed, TornStores: torn,
		NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1, Size: []int{20, 60, 120, 120, 250}[seed/3%5], Small: seed%5 == 2,
	}), seed%2 == 1)
}

// GenerateTyped makes the program of a seed with typed function references. The judge knows them, but not all that may be done with them.
func GenerateTyped(seed uint64, all bool) *Program {
	return FromGenerator(wasmgen.Generate(seed, wasmgen.Config{TypedRefs: true, TypedAll: all,
		NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1, Size: []int{20, 60, 120, 120, 250}[seed/3%5], Small: seed%5 == 2,
	}), seed%2 == 1)
}

// GenerateTails makes the program of a seed with tail calls, and some with vectors or typed function references. The judge knows them.
func GenerateTails(seed uint64) *Program {
	return FromGenerator(wasmgen.Generate(seed, wasmgen.Config{Tails: true, Vectors: seed%4 == 1, TypedRefs: seed%4 == 2,
		NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1, Size: []int{20, 60, 120, 120, 250}[seed/3%5], Small: seed%5 < 3,
	}), seed%2 == 1)
}

// GenerateOwnExceptions is GenerateExceptions of modules that share no tags with their environment, where nothing throws.
func GenerateOwnExceptions(seed uint64, legacy, vectors bool) *Program {
	return FromGenerator(wasmgen.Generate(seed, exceptions(seed, legacy, vectors, true)), seed%2 == 1)
}

// GenerateExceptions makes the program of a seed with exceptions, which the judge knows if legacy is not set: then some are of the legacy proposal, and some of both. vectors says that there are vectors too.
func GenerateExceptions(seed uint64, legacy, vectors bool) *Program {
	return FromGenerator(wasmgen.Generate(seed, exceptions(seed, legacy, vectors, false)), seed%2 == 1)
}

// GenerateGC makes the program of a seed with structures and arrays, which the judge does not know. host says that its environment is the host's; counts is
// wasmgen.Config.Counts.
func GenerateGC(seed uint64, host, counts bool) *Program {
	return generateGC(seed, host, counts, []int{60, 200, 400, 400, 800})
}

// GenerateSmallGC is GenerateGC of smaller programs.
func GenerateSmallGC(seed uint64, host, counts bool) *Program {
	return generateGC(seed, host, counts, []int{60, 60, 100, 200, 400})
}

func generateGC(seed uint64, host, counts bool, sizes []int) *Program {
	return FromGenerator(wasmgen.Generate(seed, wasmgen.Config{GC: true, Counts: counts,
		Vectors: seed%4 == 1, Exceptions: seed%5 > 2, Tails: seed%7 > 4, TypedRefs: seed%7 == 2, TypedAll: true, Small: seed%2 > 0,
		NoTraps: seed%3 != 0, Size: sizes[seed/3%5], Classes: seed%11 < 7, Closed: seed%13 < 7,
	}), host)
}

func exceptions(seed uint64, legacy, vectors, own bool) wasmgen.Config {
	return wasmgen.Config{Exceptions: !legacy || seed%4 > 1, Legacy: legacy, Vectors: vectors, OwnTags: own, Tails: seed%7 > 4,
		NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1, Size: []int{20, 60, 120, 120, 250}[seed/3%5], Small: seed%5 > 2}
}

// FromGenerator returns a generated program, with its own environment or that of the host.
func FromGenerator(g *wasmgen.Program, host bool) *Program {
	p := &Program{Wasm: g.Wasm, Env: g.Env, Calls: g.Calls, Globals: g.Globals, AnyNaN: g.AnyNaN, Counters: g.Counters}
	if host {
		p.Env = HostEnv(g.Tags)
	}
	return p.With(p.Wasm)
}

// With returns the program with a changed module, which may have fewer exports and may make any NaNs.
func (p *Program) With(wasm []byte) *Program {
	q := *p
	q.Wasm = wasm
	q.AnyNaN = p.AnyNaN || !bytes.Equal(wasm, p.Wasm)
	has := map[string]bool{}
	m, err := wasmfront.Decode(wasm, wasmfront.DefaultFeatures|wasmfront.FeatureGC)
	if err == nil {
		for i := range m.Exports {
			has[m.Exports[i].Name] = true
		}
	}
	q.Reset = has["reset"]
	q.Calls = slices.DeleteFunc(slices.Clone(p.Calls), func(c wasmgen.Call) bool { return !has[c.Export] })
	q.Globals = slices.DeleteFunc(slices.Clone(p.Globals), func(g string) bool { return !has[g] })
	return &q
}

// HostEnv returns the environment of generated modules with its function from the host; tags says that what throws belongs to it.
func HostEnv(tags bool) []byte {
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	section := func(id byte, parts ...[]byte) []byte {
		b := slices.Concat(parts...)
		return append([]byte{id, byte(len(b))}, b...)
	}
	vec := func(items [][]byte) []byte { return append([]byte{byte(len(items))}, slices.Concat(items...)...) }
	types := [][]byte{{0x60, 1, 0x7E, 1, 0x7E}}
	exports := [][]byte{append(name("note"), 0, 0), append(name("g0"), 3, 0), append(name("g1"), 3, 0),
		append(name("memory"), 2, 0), append(name("table"), 1, 0)}
	var funcs, tagSection, codes []byte
	if tags {
		e := wasmgen.EnvExceptions(len(types), 1)
		types, exports = append(types, e.Types...), append(exports, e.Exports...)
		funcs, tagSection, codes = section(3, []byte{1, 0}), e.Section, section(10, []byte{1}, e.Code)
	}
	return slices.Concat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, vec(types)),
		section(2, []byte{1}, name("host"), name("note"), []byte{0, 0}), funcs,
		section(4, []byte{1, 0x70, 1, 10, 20}),
		section(5, []byte{1, 1, 1, 4}), tagSection,
		section(6, []byte{1, 0x7E, 1, 0x42, 7, 0x0B}),
		section(7, vec(exports)), codes)
}
