package difftest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestCalls passes random values through random signatures: from Go to compiled code, from
// there to the host or to another module, directly and through a table, and back.
// Arguments and results arrive as they were, i32 and f32 zero-extended for the host.
func TestCalls(t *testing.T) {
	count := testenv.Cases[uint64](50, 100, 300)
	for seed := *seedFlag; seed < *seedFlag+count; seed++ {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if err := callThrough(seed, level); err != nil {
				t.Fatalf("seed %d O%d: %v", seed, level, err)
			}
		}
	}
}

var callTypes = []meta.ValType{meta.I32, meta.I64, meta.F32, meta.F64, meta.ExternRef}

func randomTypes(r *rand.Rand) []meta.ValType {
	out := make([]meta.ValType, r.IntN([]int{3, 8, 14, 30}[r.IntN(4)]))
	only := r.IntN(3 * len(callTypes))
	for i := range out {
		out[i] = callTypes[r.IntN(len(callTypes))]
		if only < len(callTypes) && r.IntN(4) > 0 {
			out[i] = callTypes[only]
		}
	}
	return out
}

func randomBits(r *rand.Rand, types []meta.ValType, refs []uint64) []uint64 {
	out := make([]uint64, len(types))
	for i, t := range types {
		switch t {
		case meta.I32, meta.F32:
			out[i] = uint64(r.Uint32())
		case meta.ExternRef:
			out[i] = refs[r.IntN(len(refs))]
		default:
			out[i] = r.Uint64()
		}
	}
	return out
}

// forwarder is a module that imports "f" and exports "direct" and "indirect" of the
// same type, which call it; the second through a table.
func forwarder(params, results []meta.ValType) []byte {
	cat := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	section := func(id byte, parts ...[]byte) []byte {
		b := cat(parts...)
		return cat([]byte{id}, uleb(len(b)), b)
	}
	types := func(ts []meta.ValType) []byte {
		b := uleb(len(ts))
		for _, t := range ts {
			b = append(b, t.Code())
		}
		return b
	}
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	var args []byte
	for i := range params {
		args = cat(args, []byte{0x20}, uleb(i))
	}
	direct := cat([]byte{0}, args, []byte{0x10, 0, 0x0B})
	indirect := cat([]byte{0}, args, []byte{0x41, 1, 0x11, 0, 0, 0x0B})
	return cat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, []byte{1, 0x60}, types(params), types(results)),
		section(2, []byte{1}, name("m"), name("f"), []byte{0, 0}),
		section(3, []byte{2, 0, 0}),
		section(4, []byte{1, 0x70, 0, 2}),
		section(7, []byte{2}, name("direct"), []byte{0, 1}, name("indirect"), []byte{0, 2}),
		section(9, []byte{1, 0, 0x41, 1, 0x0B, 1, 0}),
		section(10, []byte{2}, uleb(len(direct)), direct, uleb(len(indirect)), indirect))
}

func callThrough(seed uint64, level opt.Level) error {
	r := rand.New(rand.NewPCG(seed, 11))
	typ := meta.FuncType{Params: randomTypes(r), Results: randomTypes(r)}
	res, err := compile.Module(forwarder(typ.Params, typ.Results), compile.Options{OptLevel: level, Verify: true, Jobs: 1})
	if err != nil {
		return err
	}
	img, err := load.Image(res.Object, res.Meta)
	if err != nil {
		return err
	}
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := s.Load(img)
	if err != nil {
		return err
	}
	refs := []uint64{0, s.ExternRef("a"), s.ExternRef("b")}
	var got, answer []uint64
	f, err := s.NewHostFunc(typ, func(_ *inproc.Caller, args, results []uint64) error {
		got = slices.Clone(args)
		copy(results, answer)
		return nil
	})
	if err != nil {
		return err
	}
	// The second instance imports from the first.
	for range 2 {
		inst, err := s.Instantiate(m, func(string, string) inproc.Extern { return f })
		if err != nil {
			return err
		}
		for _, name := range []string{"direct", "indirect"} {
			if f, err = inst.Func(name); err != nil {
				return err
			}
			args, results := randomBits(r, typ.Params, refs), make([]uint64, len(typ.Results))
			answer = randomBits(r, typ.Results, refs)
			if err := f.Call(args, results); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if !slices.Equal(got, args) {
				return fmt.Errorf("%s %v: the host got %x, want %x", name, typ, got, args)
			}
			if !slices.Equal(results, answer) {
				return fmt.Errorf("%s %v: results %x, want %x", name, typ, results, answer)
			}
		}
	}
	return nil
}
