package main

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/inspect"
)

// disassembler shows the machine code of a target.
type disassembler struct {
	// decode is the text and length of the instruction that code, at offset at, begins with; the length is 0 if it
	// is none.
	decode func(code []byte, at uint64) (text string, n int)
	// unit is the least length of an instruction, and what else is shown at once; directive says so.
	unit      int
	directive string
	// bias is what addends of relocations have too little; fp is the frame pointer.
	bias int64
	fp   string
}

var disassemblers = map[string]*disassembler{
	compile.TargetX64: {decodeX64, 1, ".byte", 4, "rbp"},
	compile.TargetA64: {decodeA64, 4, ".word", 0, "x29"},
}

// decodeX64 leaves VEX instructions, which x86asm does not know, to the table that they were encoded by.
func decodeX64(code []byte, at uint64) (string, int) {
	if code[0] == 0xc4 || code[0] == 0xc5 {
		return asm.DecodeVex(code)
	}
	if bytes.HasPrefix(code, asm.Endbr64[:]) { // x86asm does not know it
		return "endbr64", len(asm.Endbr64)
	}
	if code[0] == asm.NoTrack && len(code) > 1 { // for x86asm it is the prefix of a segment
		if inst, err := x86asm.Decode(code[1:], 64); err == nil && inst.Op == x86asm.JMP {
			return "notrack " + strings.ToLower(x86asm.IntelSyntax(inst, at+1, nil)), 1 + inst.Len
		}
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil {
		return "", 0
	}
	return signed(strings.ToLower(x86asm.IntelSyntax(inst, at, nil))), inst.Len
}

// signed writes a negative displacement of 32 bits as one: x86asm writes it as if it had no sign.
func signed(text string) string {
	end := strings.IndexByte(text, ']')
	at := strings.LastIndex(text[:max(end, 0)], "+0x")
	if at < 0 {
		return text
	}
	disp, err := strconv.ParseUint(text[at+len("+0x"):end], 16, 32)
	if err != nil || disp < 1<<31 {
		return text
	}
	return fmt.Sprintf("%s-%#x%s", text[:at], 1<<32-disp, text[end:])
}

// decodeA64 shows where branches and addresses lead as distances.
func decodeA64(code []byte, _ uint64) (string, int) {
	inst, err := arm64asm.Decode(code)
	if err != nil {
		return "", 0
	}
	return arm64asm.GNUSyntax(inst), 4
}

// note is what the compiler knows of a place in machine code.
type note struct {
	at   uint32
	text string
}

// symbol is s in words.
func symbol(s backend.SymRef, offset int64) string {
	if s == backend.SymInstance {
		return fmt.Sprintf("instance%+d", offset)
	}
	return fmt.Sprintf("fn%d", s.Func())
}

// notesOf collects relocations, trap sites, return addresses and stack maps, by offset.
func (d *disassembler) notesOf(c *backend.Code) []note {
	var notes []note
	add := func(at uint32, format string, args ...any) {
		notes = append(notes, note{at, fmt.Sprintf(format, args...)})
	}
	for i := range c.Relocs {
		r := &c.Relocs[i]
		add(r.Offset, "%s", symbol(backend.SymRef(r.Symbol), r.Addend+d.bias))
	}
	f := clif.Func{Inlined: c.Inlined}
	for i := range c.Traps {
		add(c.Traps[i].Offset, "traps %s, %s", c.Traps[i].Code, f.PlaceText(c.Traps[i].Src))
	}
	// Facts about a return address are listed at the call before it.
	for i := range c.Calls {
		add(c.Calls[i].Offset-1, "%s", f.PlaceText(c.Calls[i].Src))
	}
	for i := range c.StackMaps {
		add(c.StackMaps[i].Offset-1, "references at %s%+d", d.fp, c.StackMaps[i].Slots)
	}
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].at < notes[j].at })
	return notes
}

// lines disassembles machine code, with what the compiler knows about it as notes. Jump tables come out as numbers, or as what their
// bytes happen to mean.
func (d *disassembler) lines(c *backend.Code) (lines []inspect.Line) {
	notes := d.notesOf(c)
	for at := 0; at < len(c.Bytes); {
		text, n := d.decode(c.Bytes[at:], uint64(at))
		if n == 0 {
			n = min(d.unit, len(c.Bytes)-at)
			text = d.directive + " 0x"
			for i := n - 1; i >= 0; i-- {
				text += fmt.Sprintf("%02x", c.Bytes[at+i])
			}
		}
		var said []string
		for len(notes) > 0 && notes[0].at < uint32(at+n) {
			said, notes = append(said, notes[0].text), notes[1:]
		}
		lines = append(lines, inspect.Line{Offset: at, Len: n, Text: text, Notes: strings.Join(said, "; ")})
		at += n
	}
	return lines
}

// listing shows the lines of machine code.
func (d *disassembler) listing(w io.Writer, c *backend.Code) {
	fmt.Fprintf(w, "%d bytes, aligned to %d, frame of %d bytes\n", len(c.Bytes), c.Align, c.FrameBytes)
	for _, l := range d.lines(c) {
		line := fmt.Sprintf("%06x  %s", l.Offset, l.Text)
		if l.Notes != "" {
			line = fmt.Sprintf("%-58s ; %s", line, l.Notes)
		}
		fmt.Fprintln(w, line)
	}
}
