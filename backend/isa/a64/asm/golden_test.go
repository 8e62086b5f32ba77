package asm

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/asmtest"
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
	if os.Getenv("CI") != "true" {
		t.Skip("only with CI=true")
	}
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]sample, 20000)
	for i := range samples {
		samples[i] = randomSample(r)
	}
	all := cases(samples)
	asmtest.Compare(t, all, assembler.Assemble(t, asmtest.Texts(all)))

	samples = append(samples, goldenSamples()...)
	var code []byte
	var hexed strings.Builder
	for i := range samples {
		code, _ = Append(code, &samples[i].inst, samples[i].allocs, &testFrame)
	}
	for _, b := range code {
		fmt.Fprintf(&hexed, "0x%02x ", b)
	}
	lines := strings.Split(strings.TrimSpace(assembler.Run(t, hexed.String(), "--disassemble")), "\n")
	if len(lines) != len(code)/WordBytes+1 || !strings.Contains(lines[0], ".text") {
		t.Fatalf("%d words, %d lines", len(code)/WordBytes, len(lines))
	}
	bad := 0
	for i, b := range assembler.Assemble(t, lines[1:]) {
		if !bytes.Equal(b, code[WordBytes*i:][:WordBytes]) {
			if bad++; bad < 20 {
				t.Errorf("% x is disassembled as %s, which is % x", code[WordBytes*i:][:WordBytes], lines[i+1], b)
			}
		}
	}
}
