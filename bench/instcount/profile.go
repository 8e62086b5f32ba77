package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
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
	Stack        uint64 `json:"stack"`    // those of the two before that have sp or x29 as the base
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
	words   []uint32
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
	b, err := hex.DecodeString(f[3])
	if err != nil {
		return t, err
	}
	if len(b)%4 != 0 {
		return t, fmt.Errorf("%d bytes are no whole instructions", len(b))
	}
	for ; len(b) > 0; b = b[4:] {
		t.words = append(t.words, binary.LittleEndian.Uint32(b))
	}
	return t, nil
}

// executedIn counts the instructions that translations have executed.
func executedIn(all []translation) counts {
	var c counts
	for i := range all {
		t := &all[i]
		c.Instructions += t.runs * uint64(len(t.words))
		c.Taken += t.entered
		for _, w := range t.words {
			k := classify(w)
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
	words []uint32
}

// weight returns how many instructions the block has executed.
func (b *block) weight() uint64 { return b.runs * uint64(len(b.words)) }

// hottest are the n blocks that have executed most instructions. Translations overlap where
// something jumps into the middle of one, so the blocks are found anew, by instruction, and
// end at branches and at targets.
func hottest(all []translation, n int) []block {
	type insn struct {
		runs, entered uint64
		word          uint32
	}
	code := map[uint64]insn{}
	for i := range all {
		t := &all[i]
		for j, w := range t.words {
			at := t.addr + 4*uint64(j)
			x := code[at]
			x.runs += t.runs
			x.word = w
			if j == 0 {
				x.entered += t.entered
			}
			code[at] = x
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
		b.words = append(b.words, x.word)
		if last = at + 4; classify(x.word)&classBranch != 0 {
			last = 0
		}
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(b.weight(), a.weight()) })
	return blocks[:min(n, len(blocks))]
}
