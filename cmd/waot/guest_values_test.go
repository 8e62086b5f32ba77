package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/meta"
)

// TestValuesRoundTrip: what waot prints is read as the same bits, with the type in front and, as in JSON, without.
func TestValuesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	// One of each class of floats in each half, and random words.
	words := []uint64{0, 1, 1 << 31, 1 << 63, math.MaxUint64, 1<<32 - 1, 1<<31 - 1, 1<<63 - 1}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, math.Pi, 1e300, -1e-300, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), 1e21, 123456789} {
		words = append(words, math.Float64bits(f), uint64(math.Float32bits(float32(f))))
	}
	for _, payload := range []uint64{1, 2, 1 << 22, 1<<22 | 1, 1<<23 - 1} {
		words = append(words, 0x7f800000|payload, 0xff800000|payload, 0x7ff<<52|payload<<29, 0xfff<<52|payload<<29, 0xfff<<52|payload)
	}
	for range 2000 {
		words = append(words, r.Uint64(), uint64(r.Uint32()), 0x7ff<<52|r.Uint64()>>12, 0x7f800000|uint64(r.Uint32())>>9)
	}
	for i, w := range words {
		for _, typ := range []meta.ValType{meta.I32, meta.I64, meta.F32, meta.F64, meta.V128, meta.FuncRef} {
			bits := []uint64{w}
			switch typ {
			case meta.I32, meta.F32:
				bits[0] &= 1<<32 - 1
			case meta.V128:
				bits = append(bits, words[len(words)-1-i])
			case meta.FuncRef:
				bits[0] = 0
			}
			text := formatValue(typ, bits)
			_, bare, _ := strings.Cut(text, ":")
			for _, s := range []string{text, bare} {
				if got, err := parseValues([]meta.ValType{typ}, []string{s}); err != nil || !slices.Equal(got, bits) {
					t.Errorf("%#x is written %s, which is read as %#x: %v", bits, s, got, err)
				}
			}
		}
	}
}

// TestNaNs: each form has its bits, and others are refused.
func TestNaNs(t *testing.T) {
	for text, want := range map[string][2]uint64{
		"nan": {0x7fc00000, 0x7ff8 << 48}, "-nan": {0xffc00000, 0xfff8 << 48}, "+nan": {0x7fc00000, 0x7ff8 << 48}, "NaN": {0x7fc00000, 0x7ff8 << 48},
		"nan:canonical": {0x7fc00000, 0x7ff8 << 48}, "-nan:canonical": {0xffc00000, 0xfff8 << 48}, "nan:arithmetic": {0x7fc00000, 0x7ff8 << 48},
		"nan:0x1": {0x7f800001, 0x7ff<<52 | 1}, "-nan:0x1": {0xff800001, 0xfff<<52 | 1}, "nan:0x400000": {0x7fc00000, 0x7ff<<52 | 0x400000},
		"nan(0xffc00001)": {0xffc00001, 0}, "nan(0xfff8000000000001)": {0, 0xfff8<<48 | 1}, "nan(0x7f800000)": {}, "nan(0x7ff0000000000000)": {}, "nan(0x1)": {}, "-nan(0xffc00001)": {}, "nan(0xffc00001": {}, "nan()": {},
		"nan:": {}, "nan:0": {}, "nan:0x10000000000000": {}, "nanx": {}, "--nan": {}, "+-nan": {}, "-+nan": {}, "f32nan": {}, "nan:-1": {},
	} {
		for i, typ := range []meta.ValType{meta.F32, meta.F64} {
			got, err := parseValue(typ, text)
			if (err != nil) != (want[i] == 0) || got != want[i] {
				t.Errorf("%s as %s: %#x, %v, want %#x", text, typ, got, err, want[i])
			}
		}
	}
	if x, err := parseValue(meta.F32, "f64:1"); err == nil {
		t.Errorf("an f64 for an f32: %#x", x)
	}
}

// TestNegativeArguments: numbers are arguments, not flags, and other words with dashes stand behind --.
func TestNegativeArguments(t *testing.T) {
	setUp(t)
	const text = `(module (func (export "i") (param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1)))
  (func (export "f") (param f32) (result f32) (local.get 0)) (func (export "d") (param f64) (result f64) (local.get 0)))`
	if err := os.WriteFile("neg.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"neg.wat --invoke i -5 -0x3", 0, "i32:-2\n"},
		{"--invoke=i neg.wat -- -5 3", 0, "i32:-8\n"},
		{"neg.wat -5 --invoke i 3", 0, "i32:-8\n"},
		{"neg.wat --invoke d -.5", 0, "f64:-0.5\n"},
		{"neg.wat --invoke d -Inf", 0, "f64:-Inf\n"},
		{"neg.wat --invoke d nan", 0, "f64:nan(0x7ff8000000000000)\n"},
		{"neg.wat --invoke f nan", 0, "f32:nan(0x7fc00000)\n"},
		{"neg.wat --invoke f -nan", 0, "f32:nan(0xffc00000)\n"},
		{"neg.wat --invoke f -nan:0x1", 0, "f32:nan(0xff800001)\n"},
		{"neg.wat --invoke f f32:nan(0xff800001)", 0, "f32:nan(0xff800001)\n"},
		{"neg.wat --invoke d --5", 2, "unknown flag --5: arguments of the program stand behind --"},
		{"neg.wat --invoke d -x", 2, "unknown flag --x: arguments of the program stand behind --"},
		{"neg.wat --invok d", 2, "unknown flag --invok (did you mean --invoke?) ("},
	} {
		status, stdout, stderr := execute(append([]string{"run"}, strings.Fields(c.args)...)...)
		if out := stdout + stderr; status != c.status || c.status == 0 && out != c.want || !strings.Contains(out, c.want) {
			t.Errorf("run %s: status %d, %s", c.args, status, out)
		}
	}
	if status, _, stderr := execute("build", "neg.wat", "-5"); status != 2 || !strings.Contains(stderr, "unknown flag --5 (see") {
		t.Errorf("build: status %d, %s", status, stderr)
	}
	if got := fmt.Sprint(arrange(newApp(nil, nil, nil), []string{"run", "p.wasm", "-5", "--", "-5", "--json"})); got != "[run -- p.wasm -5 -5 --json]" {
		t.Error(got)
	}
}
