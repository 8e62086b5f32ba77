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

// findAssembler is the path of llvm-mc, or "".
func findAssembler() string {
	for _, name := range []string{"llvm-mc-19", "llvm-mc"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

// runAssembler runs llvm-mc.
func runAssembler(t *testing.T, input string, args ...string) string {
	t.Helper()
	mc := findAssembler()
	if mc == "" {
		t.Fatal("llvm-mc not found")
	}
	cmd := exec.Command(mc, append(args, "--triple=aarch64", "--mattr=+v8.5a")...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%.4000s", err, stderr.String())
	}
	return stdout.String()
}

// assemble gives the bytes of each line of text, fields for relocations being zero.
func assemble(t *testing.T, texts []string) [][]byte {
	t.Helper()
	var src strings.Builder
	for i, s := range texts {
		fmt.Fprintf(&src, "x%d: %s\n", i, s)
	}
	fmt.Fprintf(&src, "x%d:\n", len(texts))
	obj := filepath.Join(t.TempDir(), "x.o")
	runAssembler(t, src.String(), "--filetype=obj", "-o", obj)
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
		if bytes.Equal(got, want[i]) {
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
	compare(t, samples, assemble(t, texts(samples)))

	samples = append(samples, goldenSamples()...)
	var all []byte
	var hexed strings.Builder
	for i := range samples {
		all, _ = Append(all, &samples[i].inst, samples[i].allocs, &testFrame)
	}
	for _, b := range all {
		fmt.Fprintf(&hexed, "0x%02x ", b)
	}
	lines := strings.Split(strings.TrimSpace(runAssembler(t, hexed.String(), "--disassemble")), "\n")
	if len(lines) != len(all)/WordBytes+1 || !strings.Contains(lines[0], ".text") {
		t.Fatalf("%d words, %d lines", len(all)/WordBytes, len(lines))
	}
	bad := 0
	for i, b := range assemble(t, lines[1:]) {
		if !bytes.Equal(b, all[WordBytes*i:][:WordBytes]) {
			if bad++; bad < 20 {
				t.Errorf("% x is disassembled as %s, which is % x", all[WordBytes*i:][:WordBytes], lines[i+1], b)
			}
		}
	}
}
