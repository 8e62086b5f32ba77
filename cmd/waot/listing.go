package main

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/waot-project/waot/backend"
)

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
func notesOf(c *backend.Code) []note {
	var notes []note
	add := func(at uint32, format string, args ...any) {
		notes = append(notes, note{at, fmt.Sprintf(format, args...)})
	}
	for i := range c.Relocs {
		r := &c.Relocs[i]
		add(r.Offset, "%s", symbol(r.Sym, r.Addend+4))
	}
	for i := range c.Traps {
		add(c.Traps[i].Offset, "traps %s, @%04x", c.Traps[i].Code, c.Traps[i].Src)
	}
	// What holds at a return address is said at the call before it.
	for i := range c.Calls {
		add(c.Calls[i].Offset-1, "@%04x", c.Calls[i].Src)
	}
	for i := range c.StackMaps {
		add(c.StackMaps[i].Offset-1, "references at rbp%+d", c.StackMaps[i].Slots)
	}
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].at < notes[j].at })
	return notes
}

// listing disassembles machine code, with what the compiler knows about it as
// comments. Jump tables come out as bytes, or as what their bytes happen to mean.
func listing(w io.Writer, c *backend.Code) {
	fmt.Fprintf(w, "%d bytes, aligned to %d, frame of %d bytes\n", len(c.Bytes), c.Align, c.FrameBytes)
	notes := notesOf(c)
	for at := 0; at < len(c.Bytes); {
		text, n := ".byte "+fmt.Sprintf("%#02x", c.Bytes[at]), 1
		if inst, err := x86asm.Decode(c.Bytes[at:], 64); err == nil {
			text, n = strings.ToLower(x86asm.IntelSyntax(inst, uint64(at), nil)), inst.Len
		}
		var said []string
		for len(notes) > 0 && notes[0].at < uint32(at+n) {
			said, notes = append(said, notes[0].text), notes[1:]
		}
		line := fmt.Sprintf("%06x  %s", at, text)
		if len(said) > 0 {
			line = fmt.Sprintf("%-58s ; %s", line, strings.Join(said, "; "))
		}
		fmt.Fprintln(w, line)
		at += n
	}
}
