package asm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/proof/asmtest"
	"github.com/waot-project/waot/internal/proof/testenv"
)

var update = flag.Bool("update", false, "record the assembler's bytes again")

var assembler = asmtest.Assembler{
	Args:            []string{"--triple=x86_64", "--x86-asm-syntax=intel", "--mattr=+sse4.2,+popcnt,+lzcnt,+bmi,+bmi2,+avx,+avx2,+fma"},
	DisassembleArgs: []string{"--output-asm-variant=1"},
	Again:           reassembled,
	// The assembler's Intel syntax has no name for the current address.
	Line: func(label, inst string) string {
		if strings.HasPrefix(inst, ".") {
			return inst
		}
		return strings.Replace(inst, " .", " "+label, 1)
	},
}

// reassembled returns text that assembles to code, for what the disassembler wrote: a branch counts from its start, not its end; the
// assembler has one length for a nop that does nothing but to fill.
func reassembled(text string, code []byte) string {
	f := strings.Fields(text)
	d, err := strconv.Atoi(f[len(f)-1])
	switch {
	case len(f) == 2 && err == nil && (f[0][0] == 'j' || f[0] == "call"):
		return fmt.Sprintf("%s . + (%d)", f[0], d+len(code))
	case f[0] == "nop":
		return ".byte " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(code)), ","), "[]")
	}
	return text
}

// longer says why the assembler may have a shorter encoding of a sample, "" if it must have ours.
func longer(s *sample) string {
	switch {
	case s.inst.Op == Xchg && s.inst.Size != 1 && (s.allocs[0].Reg() == RAX || s.allocs[1].Reg() == RAX):
		return "the assembler has 90+r, a byte shorter; only edits exchange registers, and rarely"
	case s.inst.Op == Vex(MergeLow):
		return "the assembler exchanges reg and rm, with another opcode, where that saves a VEX byte"
	case s.inst.Op == Vex(Cmpp), s.inst.Op >= firstVex && RowOf(s.inst.Op).Flags&Commutes != 0:
		return "the assembler exchanges the sources where that saves a VEX byte; here lowering decides on their order"
	}
	return ""
}

func cases(samples []sample) []asmtest.Case {
	out := make([]asmtest.Case, len(samples))
	for i := range samples {
		s := &samples[i]
		code, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		out[i] = asmtest.Case{Text: s.text(), Code: code, Longer: longer(s) != "", Row: s.String()}
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
// there.
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
	assembler.Disassemble(t, cases(append(samples, goldenSamples()...)))
}
