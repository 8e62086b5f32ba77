package campaign

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// steered returns the program of some bytes. The first chooses the configuration.
func steered(by []byte) *randprog.Program {
	var kind byte
	if len(by) > 0 {
		kind, by = by[0], by[1:]
	}
	return randprog.FromGenerator(wasmgen.Steered(by, wasmgen.Config{
		Funcs: 1 + int(kind>>5)%3, NoTraps: kind&1 != 0, LateNaNs: kind&2 != 0, Vectors: kind&128 != 0, Size: []int{10, 20, 30, 60}[kind>>2&3],
	}), kind&16 != 0)
}

// images compiles modules, those in fixed once.
type images struct {
	fixed map[string]*inproc.Image
}

// engine runs what a variant compiles.
func (x *images) engine(v *Variant) *nativeengine.Engine {
	o := v.options()
	return &nativeengine.Engine{Options: o, Image: func(module []byte) (*inproc.Image, error) {
		if img, ok := x.fixed[string(module)]; ok {
			return img, nil
		}
		r, err := compile.Module(module, o)
		if err != nil {
			return nil, err
		}
		return load.Image(r.Object, r.Meta)
	}}
}

// FuzzProgram: whatever the bytes make the generator decide, the program does under the CLIF interpreter and as two of this
// machine's variants compile it what the judge says. For other targets it is compiled only.
func FuzzProgram(f *testing.F) {
	r := rand.NewChaCha8([32]byte{4: 'p'})
	for i := range 24 {
		by := make([]byte, 1+30*i)
		r.Read(by)
		by[0] = byte(11 * i)
		f.Add(by)
	}
	x := &images{map[string]*inproc.Image{}}
	variants := Variants(compile.HostTarget())
	for _, env := range [][]byte{randprog.HostEnv(false), wasmgen.Steered(nil, wasmgen.Config{}).Env} {
		r, err := compile.Module(env, compile.Options{})
		if err != nil {
			f.Fatal(err)
		}
		if x.fixed[string(env)], err = load.Image(r.Object, r.Meta); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, by []byte) {
		if len(by) > 4<<10 {
			t.Skip("more than the largest program takes")
		}
		h := fnv.New32a()
		h.Write(by)
		pick := int(h.Sum32() >> 4)
		p := steered(by)
		want, _, err := randprog.Judge(t.Context(), p)
		if err != nil {
			t.Fatalf("the judge: %v", err)
		}
		n := len(variants)
		first := pick % n
		second := (first + 1 + pick/n%(n-1)) % n
		plain := randprog.Run(&interpengine.Engine{}, p)
		if d := plain.Diff(want); d != "" {
			t.Errorf("%s: %s", Interpreter, d)
		}
		want = randprog.Reference(want, plain)
		for _, v := range []*Variant{&variants[first], &variants[second]} {
			if d := randprog.Run(x.engine(v), p).Diff(want); d != "" {
				t.Errorf("%s: %s", v.Name, d)
			}
		}
		for _, target := range compile.Targets() {
			if target == compile.HostTarget() {
				continue
			}
			o := compile.Options{Target: target, OptLevel: variants[first].Level, Verify: true, Jobs: 1}
			if object, err := hostile.Compile(p.Wasm, o); err != nil || object == nil {
				t.Errorf("%s -O%d: %v", target, o.OptLevel, err)
			}
		}
	})
}
