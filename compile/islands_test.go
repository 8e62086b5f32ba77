package compile

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/machbuffer"
)

// site is a call in generated code: where, of which function, and whether it is a tail call.
type site struct {
	at, callee uint32
	tail       bool
}

// opcode is that of the instruction.
func (s site) opcode() uint32 {
	if s.tail {
		return 0x14000000
	}
	return 0x94000000
}

// branch is the opcode of AArch64's b and bl without the offset; distance its offset in bytes.
func branch(word uint32) (opcode uint32, distance int64) {
	return word &^ (1<<26 - 1), int64(int32(word<<6)>>6) * 4
}

// follow goes from a call in the text through veneers to a function, checks that no branch goes farther than
// reach, and gives the number of veneers.
func follow(t *testing.T, r *Result, text []byte, reach int64, i uint32, call site) (veneers int) {
	t.Helper()
	at := int64(r.Meta.Funcs[i].Text + call.at)
	for want := call.opcode(); ; want = 0x14000000 {
		opcode, distance := branch(binary.LittleEndian.Uint32(text[at:]))
		if opcode != want || distance >= reach || distance < -reach {
			t.Fatalf("function %d: %#x over %d bytes at %#x on the way to function %d", i, opcode, distance, at, call.callee)
		}
		at += distance
		if at == int64(r.Meta.Funcs[call.callee].Text) {
			return veneers
		}
		for j := range r.Meta.Funcs {
			if f := &r.Meta.Funcs[j]; at >= int64(f.Text) && at < int64(f.Text+f.Size) {
				t.Fatalf("function %d: the call of function %d leads into function %d", i, call.callee, j)
			}
		}
		if veneers++; veneers > 100 {
			t.Fatal("veneers without end")
		}
	}
}

// buildCalls compiles a module of functions that have the sizes and calls given.
func buildCalls(t *testing.T, sizes []uint32, calls [][]site, reach int64) (*Result, error) {
	t.Helper()
	return Module(manyFuncs(len(sizes)-1), Options{Target: TargetA64, callReach: reach, Jobs: 2,
		generator: func(*clif.Module, *instance.Layout) generate {
			return func(f *clif.Func) (*backend.Code, error) {
				c := &backend.Code{Bytes: make([]byte, sizes[f.Index]), Align: 4}
				for _, s := range calls[f.Index] {
					binary.LittleEndian.PutUint32(c.Bytes[s.at:], s.opcode())
					kind := reloc.Call26
					if s.tail {
						kind = reloc.Jump26
					}
					c.Relocs = append(c.Relocs, machbuffer.Reloc{Offset: s.at, Kind: kind, Symbol: uint32(backend.SymFunc(s.callee))})
				}
				return c, nil
			}
		}})
}

// TestIslands: each call of random functions leads to the function that it calls, over branches that reach.
func TestIslands(t *testing.T) {
	calls, far, most := 0, 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		const reach = 1 << 14
		sizes := make([]uint32, 2+r.IntN(40))
		sites := make([][]site, len(sizes))
		for i := range sizes {
			sizes[i] = 4 * uint32(1+r.IntN(1+r.IntN(1500)))
			for at := uint32(0); at < sizes[i]; at += 4 * uint32(1+r.IntN(200)) {
				sites[i] = append(sites[i], site{at, uint32(r.IntN(len(sizes))), r.IntN(2) == 0})
			}
		}
		res, err := buildCalls(t, sizes, sites, reach)
		if err != nil {
			t.Fatal(seed, err)
		}
		text := res.Object.Sections[secText].Data
		for i := range sites {
			for _, s := range sites[i] {
				n := follow(t, res, text, reach, uint32(i), s)
				calls++
				most = max(most, n)
				if n > 0 {
					far++
				}
			}
		}
	}
	t.Logf("%d calls, %d by veneers, at most %d", calls, far, most)
	if far < 1000 || most < 5 {
		t.Error("too few")
	}
}

// TestIslandsModules is the same of compiled modules.
func TestIslandsModules(t *testing.T) {
	dir := testenv.OptionalMaterial(t, testenv.EnvBench)
	if dir == "" {
		dir = "../testdata/wasm"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "benchmark.wasm"))
	more, _ := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if files = append(files, more...); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	far := 0
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Module(wasm, Options{Target: TargetA64})
		if err != nil {
			t.Log(err) // an unsupported feature
			continue
		}
		const reach = 1 << 17
		cut, err := Module(wasm, Options{Target: TargetA64, callReach: reach})
		if err != nil {
			t.Fatal(file, err)
		}
		a, b := whole.Object.Sections[secText].Data, cut.Object.Sections[secText].Data
		for i := range whole.Meta.Funcs {
			f, g := &whole.Meta.Funcs[i], &cut.Meta.Funcs[i]
			for at := uint32(0); at+4 <= f.Size; at += 4 {
				word := binary.LittleEndian.Uint32(a[f.Text+at:])
				opcode, distance := branch(word)
				if opcode != 0x94000000 {
					if word != binary.LittleEndian.Uint32(b[g.Text+at:]) {
						t.Fatalf("%s: function %d differs at %#x", file, i, at)
					}
					continue
				}
				for j := range whole.Meta.Funcs {
					if callee := &whole.Meta.Funcs[j]; callee.Size != 0 && int64(callee.Text) == int64(f.Text+at)+distance {
						if follow(t, cut, b, reach, uint32(i), site{at, uint32(j), false}) > 0 {
							far++
						}
					}
				}
			}
		}
	}
	t.Logf("%d calls by veneers", far)
	if os.Getenv(testenv.EnvBench) != "" && far < 100 {
		t.Error("too few")
	}
}

// TestIslandsFullSize: calls over the true reach, and what does not reach an island.
func TestIslandsFullSize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 500 MB")
	}
	const reach = 1 << 27
	sizes := []uint32{30 << 20, 30 << 20, 30 << 20, 30 << 20, 30 << 20, 1 << 10}
	calls := make([][]site, len(sizes))
	calls[0], calls[5] = []site{{0, 5, false}, {30<<20 - 4, 0, true}}, []site{{4, 0, true}, {8, 4, false}}
	r, err := buildCalls(t, sizes, calls, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		for _, s := range calls[i] {
			follow(t, r, r.Object.Sections[secText].Data, reach, uint32(i), s)
		}
	}
	sizes[0] = 140 << 20
	if _, err := buildCalls(t, sizes, calls, 0); err == nil || !strings.Contains(err.Error(), "over such a distance") {
		t.Error(err)
	}
}
