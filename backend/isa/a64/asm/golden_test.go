package asm

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/proof/asmtest"
	"github.com/waot-project/waot/internal/proof/testenv"
)

var update = flag.Bool("update", false, "record the assembler's bytes again")

var assembler = asmtest.Assembler{Args: []string{"--triple=aarch64", "--mattr=+v8.5a"}, Quiet: true}

func cases(samples []sample) []asmtest.Case {
	out := make([]asmtest.Case, len(samples))
	for i := range samples {
		s := &samples[i]
		code, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		out[i] = asmtest.Case{Text: s.text(), Code: code, Row: s.String()}
	}
	return out
}

// TestGolden compares the encoding of each sample with the bytes recorded from
// llvm-mc for the text that we print for it.
func TestGolden(t *testing.T) {
	samples := goldenSamples()
	assembler.Golden(t, "testdata/enc.txt", cases(samples), *update)
	have := map[backend.Op]bool{}
	for i := range samples {
		have[samples[i].inst.Op] = true
	}
	for op := Invalid + 1; op < NumOps; op++ {
		if !have[op] {
			t.Errorf("row %d, %s, has no golden", op, RowOf(op).Name)
		}
	}
}

// TestAssembler assembles random instructions, where the assembler is to be
// there, and disassembles them: the text it gives must assemble to the same again.
func TestAssembler(t *testing.T) {
	if !testenv.CI() {
		t.Skip("only with CI=true")
	}
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]sample, 20000)
	for i := range samples {
		samples[i] = randomSample(r)
	}
	all := cases(samples)
	asmtest.Compare(t, all, assembler.Assemble(t, asmtest.Texts(all)))

	var words []asmtest.Case
	for _, c := range cases(append(samples, goldenSamples()...)) {
		for i := 0; i < len(c.Code); i += WordBytes {
			words = append(words, asmtest.Case{Text: c.Text, Code: c.Code[i:][:WordBytes], Row: c.Row})
		}
	}
	assembler.Disassemble(t, words)
}
