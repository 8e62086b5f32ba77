package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is how many instructions of a block are listed at most.
const listed = 100

// printHottest lists the n functions, where they are known, and the n blocks that have executed most
// instructions. dir is for a file.
func (m *machine) printHottest(w io.Writer, dir string, all []translation, symbols []symbol, n int) error {
	total := float64(m.executedIn(all).Instructions)
	if len(symbols) > 0 {
		fmt.Fprintln(w)
		for _, f := range hottestFunctions(symbols, all, n) {
			fmt.Fprintf(w, "%5.1f %%  %s\n", 100*float64(f.instructions)/total, f.name)
		}
	}
	for _, b := range m.hottest(all, n) {
		fmt.Fprintf(w, "\n%s: %d times %d instructions, %.1f %% of all\n", place(symbols, b.addr), b.runs, len(b.insts),
			100*float64(b.weight())/total)
		lines, err := m.disassemble(dir, &b)
		if err != nil {
			return err
		}
		for _, l := range lines[:min(listed, len(lines))] {
			fmt.Fprintln(w, "  "+l)
		}
		if len(lines) > listed {
			fmt.Fprintf(w, "  and %d more\n", len(lines)-listed)
		}
	}
	return nil
}

// disassemble returns a line for each instruction of a block.
func (m *machine) disassemble(dir string, b *block) ([]string, error) {
	file := filepath.Join(dir, "block")
	if err := os.WriteFile(file, bytes.Join(b.insts, nil), 0o644); err != nil {
		return nil, err
	}
	disassembler := m.tool("objdump")
	out, err := exec.Command(disassembler, "-D", "-b", "binary", "-m", m.objdump, "-z", "--insn-width=15",
		fmt.Sprintf("--adjust-vma=%#x", b.addr), file).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", disassembler, err)
	}
	var lines []string
	for _, l := range strings.Split(string(out), "\n") {
		// "   1000:\t8b010000 \tadd\tx0, x0, x1"
		if f := strings.SplitN(l, "\t", 3); len(f) == 3 {
			lines = append(lines, strings.TrimSpace(f[0])+"  "+strings.ReplaceAll(f[2], "\t", " "))
		}
	}
	if len(lines) != len(b.insts) {
		return nil, fmt.Errorf("%s gives %d lines for %d instructions", disassembler, len(lines), len(b.insts))
	}
	return lines, nil
}
