package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// counts is what a program's generated code has executed, in instructions.
type counts struct {
	Instructions uint64 `json:"instructions"`
	Loads        uint64 `json:"loads"` // a pair is one
	Stores       uint64 `json:"stores"`
	Stack        uint64 `json:"stack"`    // those of the two before that have the stack or frame pointer as the base, also unsaid
	Pairs        uint64 `json:"pairs"`    // those of them that access two registers
	Moves        uint64 `json:"moves"`    // from register to register, as they are
	Branches     uint64 `json:"branches"` // with calls and returns
	Taken        uint64 `json:"taken"`    // those that went anywhere but behind themselves
}

// translation is a run of instructions that the emulator translated at one time.
type translation struct {
	addr    uint64
	runs    uint64
	entered uint64 // runs that did not come from the instruction before
	insts   [][]byte
}

// readTranslations parses what the plugin writes; qemu/plugin.c has the format.
func readTranslations(r io.Reader) ([]translation, error) {
	var all []translation
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "end" {
			return all, nil
		}
		t, err := parseTranslation(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d of the counts: %w", len(all)+1, err)
		}
		all = append(all, t)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the counts end early: %w", io.ErrUnexpectedEOF)
}

func parseTranslation(line string) (t translation, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return t, fmt.Errorf("%d fields, not 4", len(f))
	}
	for i, p := range []*uint64{&t.addr, &t.runs, &t.entered} {
		if *p, err = strconv.ParseUint(f[i], 16, 64); err != nil {
			return t, err
		}
	}
	for _, digits := range strings.Split(f[3], ",") {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return t, err
		}
		if len(b) == 0 {
			return t, fmt.Errorf("an instruction of no bytes")
		}
		t.insts = append(t.insts, b)
	}
	return t, nil
}

// executedIn counts the instructions that translations have executed.
func (m *machine) executedIn(all []translation) counts {
	var c counts
	for i := range all {
		t := &all[i]
		c.Instructions += t.runs * uint64(len(t.insts))
		c.Taken += t.entered
		for _, code := range t.insts {
			k := m.classify(code)
			for _, x := range [...]struct {
				bit class
				n   *uint64
			}{
				{classLoad, &c.Loads}, {classStore, &c.Stores}, {classStack, &c.Stack},
				{classPair, &c.Pairs}, {classMove, &c.Moves}, {classBranch, &c.Branches},
			} {
				if k&x.bit != 0 {
					*x.n += t.runs
				}
			}
		}
	}
	return c
}

// block is a run of instructions at adjacent addresses that were executed equally often.
type block struct {
	addr  uint64
	runs  uint64 // of each instruction
	insts [][]byte
}

// weight returns how many instructions the block has executed.
func (b *block) weight() uint64 { return b.runs * uint64(len(b.insts)) }

// hottest are the n blocks that have executed most instructions. Translations overlap where
// something jumps into the middle of one, so the blocks are found anew, by instruction, and
// end at branches and at targets.
func (m *machine) hottest(all []translation, n int) []block {
	type insn struct {
		runs, entered uint64
		code          []byte
	}
	code := map[uint64]insn{}
	for i := range all {
		t := &all[i]
		at := t.addr
		for j, bytes := range t.insts {
			x := code[at]
			x.runs += t.runs
			x.code = bytes
			if j == 0 {
				x.entered += t.entered
			}
			code[at] = x
			at += uint64(len(bytes))
		}
	}
	var blocks []block
	last := uint64(0) // the address behind the last block, unless nothing may be added to it
	for _, at := range slices.Sorted(maps.Keys(code)) {
		x := code[at]
		if at != last || x.entered > 0 || x.runs != blocks[len(blocks)-1].runs {
			blocks = append(blocks, block{addr: at, runs: x.runs})
		}
		b := &blocks[len(blocks)-1]
		b.insts = append(b.insts, x.code)
		if last = at + uint64(len(x.code)); m.classify(x.code)&classBranch != 0 {
			last = 0
		}
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(b.weight(), a.weight()) })
	return blocks[:min(n, len(blocks))]
}
