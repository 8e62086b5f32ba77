package asm

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
)

var update = flag.Bool("update", false, "record testdata/enc.txt with llvm-mc")

const goldenFile = "testdata/enc.txt"

// exception says why the assembler's bytes for a sample are not ours, "" if
// they must be.
func exception(s *sample) string {
	switch {
	case s.inst.Op == Xchg && s.inst.Size != 1 && (s.allocs[0].Reg() == RAX || s.allocs[1].Reg() == RAX):
		return "the assembler has 90+r, a byte shorter; only edits exchange registers, and rarely"
	case s.inst.Op == Vandp, s.inst.Op == Vorp, s.inst.Op == Vxorp:
		return "the assembler exchanges the sources where that saves a VEX byte; here lowering decides on their order"
	}
	return ""
}

// findAssembler is the path of llvm-mc, or "".
func findAssembler() string {
	for _, name := range []string{"llvm-mc-19", "llvm-mc"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

// assemble gives the bytes of each line of text.
func assemble(t *testing.T, texts []string) [][]byte {
	t.Helper()
	mc := findAssembler()
	if mc == "" {
		t.Fatal("llvm-mc not found")
	}
	var src strings.Builder
	for i, s := range texts {
		// The assembler's Intel syntax has no name for the current address.
		label := fmt.Sprintf("x%d", i)
		if !strings.HasPrefix(s, ".") {
			s = strings.Replace(s, " .", " "+label, 1)
		}
		fmt.Fprintf(&src, "%s: %s\n", label, s)
	}
	fmt.Fprintf(&src, "x%d:\n", len(texts))
	obj := filepath.Join(t.TempDir(), "x.o")
	cmd := exec.Command(mc, "--triple=x86_64", "--x86-asm-syntax=intel", "--filetype=obj", "-o", obj,
		"--mattr=+sse4.2,+popcnt,+lzcnt,+bmi,+bmi2,+avx,+fma")
	cmd.Stdin = strings.NewReader(src.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	f, err := elf.Open(obj)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	at := make([]uint64, len(texts)+1)
	for _, s := range syms {
		var i int
		if _, err := fmt.Sscanf(s.Name, "x%d", &i); err == nil {
			at[i] = s.Value
		}
	}
	out := make([][]byte, len(texts))
	for i := range out {
		out[i] = data[at[i]:at[i+1]]
	}
	return out
}

// compare reports samples whose encoding differs from want.
func compare(t *testing.T, samples []sample, want [][]byte) {
	t.Helper()
	bad := 0
	for i := range samples {
		s := &samples[i]
		got, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		differs := !bytes.Equal(got, want[i])
		if why := exception(s); why != "" {
			if len(got) == len(want[i])+1 && differs {
				continue
			}
		}
		if !differs {
			continue
		}
		if bad++; bad <= 40 {
			t.Errorf("%s: have % x, the assembler % x (%v)", s.text(), got, want[i], s)
		}
	}
	if bad > 40 {
		t.Errorf("and %d more", bad-40)
	}
}

func texts(samples []sample) []string {
	out := make([]string, len(samples))
	for i := range samples {
		out[i] = samples[i].text()
	}
	return out
}

// TestGolden compares the encoding of each sample with the bytes recorded from
// llvm-mc for the text that we print for it.
func TestGolden(t *testing.T) {
	samples := goldenSamples()
	lines := texts(samples)
	if *update {
		var out bytes.Buffer
		for i, b := range assemble(t, lines) {
			fmt.Fprintf(&out, "%x|%s\n", b, lines[i])
		}
		if err := os.WriteFile(goldenFile, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(recorded) != len(lines) {
		t.Fatalf("%d samples, %d lines in %s: run go test -run TestGolden -update", len(lines), len(recorded), goldenFile)
	}
	want := make([][]byte, len(lines))
	have := map[backend.Op]bool{}
	for i, l := range recorded {
		h, text, _ := strings.Cut(l, "|")
		if text != lines[i] {
			t.Fatalf("line %d is for %q, the sample is %q: run go test -run TestGolden -update", i+1, text, lines[i])
		}
		if want[i], err = hex.DecodeString(h); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		have[samples[i].inst.Op] = true
	}
	compare(t, samples, want)
	for op := Invalid + 1; op < NumOps; op++ {
		if !have[op] {
			t.Errorf("row %d, %s, has no golden", op, RowOf(op).Name)
		}
	}
}

// TestAssembler assembles random instructions, where the assembler is to be
// there.
func TestAssembler(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("only with CI=true")
	}
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]sample, 20000)
	for i := range samples {
		samples[i] = randomSample(r)
	}
	compare(t, samples, assemble(t, texts(samples)))
}
