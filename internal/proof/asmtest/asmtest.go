// Package asmtest compares the encoders of the back end's machines with an independent assembler and disassembler,
// llvm-mc: with what is recorded from it, and, in CI, with itself. It is imported by tests only.
//
// Place in the pipeline: none.
//
// Input: instructions as text and as encoded.
// Output: failures of tests.
package asmtest

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Assembler is how a machine's assembler is called.
type Assembler struct {
	// Args name the machine and its syntax.
	Args []string
	// DisassembleArgs make the disassembler write that syntax.
	DisassembleArgs []string
	// Quiet demands that it warns of nothing.
	Quiet bool
	// Again is the text to assemble for what the disassembler wrote for code, if not the same.
	Again func(text string, code []byte) string
	// Line is the text for an instruction at a label, if not the instruction alone.
	Line func(label, inst string) string
}

// Run runs llvm-mc.
func (a *Assembler) Run(t *testing.T, input string, args ...string) string {
	t.Helper()
	for _, name := range []string{"llvm-mc-19", "llvm-mc"} {
		mc, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(mc, append(args, a.Args...)...)
		cmd.Stdin = strings.NewReader(input)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil || a.Quiet && stderr.Len() > 0 {
			t.Fatalf("%v\n%.4000s", err, stderr.String())
		}
		return stdout.String()
	}
	t.Fatal("llvm-mc not found")
	return ""
}

// Assemble gives the bytes of each line of text, fields for relocations being zero.
func (a *Assembler) Assemble(t *testing.T, texts []string) [][]byte {
	t.Helper()
	var src strings.Builder
	for i, s := range texts {
		label := fmt.Sprintf("x%d", i)
		if a.Line != nil {
			s = a.Line(label, s)
		}
		fmt.Fprintf(&src, "%s: %s\n", label, s)
	}
	fmt.Fprintf(&src, "x%d:\n", len(texts))
	obj := filepath.Join(t.TempDir(), "x.o")
	a.Run(t, src.String(), "--filetype=obj", "-o", obj)
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

// Disassemble reports cases that the disassembler does not read, each on its own, as one instruction, or whose text, as it
// gives it, does not assemble to the same bytes.
func (a *Assembler) Disassemble(t *testing.T, cases []Case) {
	t.Helper()
	var hexed strings.Builder
	for i := range cases {
		hexed.WriteByte('[')
		for _, b := range cases[i].Code {
			fmt.Fprintf(&hexed, "0x%02x ", b)
		}
		hexed.WriteString("]\n")
	}
	header, text, _ := strings.Cut(strings.TrimSpace(a.Run(t, hexed.String(), append(a.DisassembleArgs, "--disassemble")...)), "\n")
	lines := strings.Split(text, "\n")
	if len(lines) != len(cases) || !strings.Contains(header, ".text") {
		t.Fatalf("%d instructions, %d lines", len(cases), len(lines))
	}
	again := slices.Clone(cases)
	for i := range again {
		again[i].Row = fmt.Sprintf("%s, disassembled as %s", again[i].Row, strings.TrimSpace(lines[i]))
		if a.Again != nil {
			lines[i] = a.Again(lines[i], again[i].Code)
		}
	}
	Compare(t, again, a.Assemble(t, lines))
}

// Case is an instruction as text and as encoded.
type Case struct {
	Text string
	Code []byte
	// Longer allows that the assembler's bytes are others, one less.
	Longer bool
	// Row is the name of its row.
	Row string
}

// Texts returns the texts of the cases.
func Texts(cases []Case) []string {
	out := make([]string, len(cases))
	for i := range cases {
		out[i] = cases[i].Text
	}
	return out
}

// Compare reports cases whose encoding differs from want.
func Compare(t *testing.T, cases []Case, want [][]byte) {
	t.Helper()
	bad := 0
	for i := range cases {
		c := &cases[i]
		if bytes.Equal(c.Code, want[i]) || c.Longer && len(c.Code) == len(want[i])+1 {
			continue
		}
		if bad++; bad <= 40 {
			t.Errorf("%s: have % x, the assembler % x (%s)", c.Text, c.Code, want[i], c.Row)
		}
	}
	if bad > 40 {
		t.Errorf("and %d more", bad-40)
	}
}

// Golden compares the encoding of each case with the bytes recorded in a file from the assembler for its text; update
// records anew.
func (a *Assembler) Golden(t *testing.T, file string, cases []Case, update bool) {
	t.Helper()
	lines := Texts(cases)
	if update {
		var out bytes.Buffer
		for i, b := range a.Assemble(t, lines) {
			fmt.Fprintf(&out, "%x|%s\n", b, lines[i])
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(recorded) != len(lines) {
		t.Fatalf("%d samples, %d lines in %s: run go test -run TestGolden -update", len(lines), len(recorded), file)
	}
	want := make([][]byte, len(lines))
	for i, l := range recorded {
		h, text, _ := strings.Cut(l, "|")
		if text != lines[i] {
			t.Fatalf("line %d is for %q, the sample is %q: run go test -run TestGolden -update", i+1, text, lines[i])
		}
		if want[i], err = hex.DecodeString(h); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
	Compare(t, cases, want)
}
