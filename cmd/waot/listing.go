package main

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/waot-project/waot/backend"
)

// listing writes machine code in hexadecimal, broken at the places that the
// compiler knows something about: relocations, traps and return addresses.
func listing(w io.Writer, c *backend.Code) {
	notes := map[uint32][]string{}
	add := func(at uint32, format string, args ...any) {
		notes[at] = append(notes[at], fmt.Sprintf(format, args...))
	}
	for i := range c.Relocs {
		r := &c.Relocs[i]
		kind := "address"
		if r.Kind == backend.RelocCall32 {
			kind = "call"
		}
		add(r.Offset, "%s of symbol %v%+d", kind, r.Sym, r.Addend)
	}
	for i := range c.Traps {
		t := &c.Traps[i]
		add(t.Offset, "may trap: %s, from offset 0x%x", t.Code, t.Src)
	}
	for i := range c.Calls {
		add(c.Calls[i].Offset, "returns here: call at offset 0x%x", c.Calls[i].Src)
	}
	for i := range c.StackMaps {
		add(c.StackMaps[i].Offset, "live references at frame%+d", c.StackMaps[i].Slots)
	}
	at := make([]uint32, 0, len(notes))
	for o := range notes {
		at = append(at, o)
	}
	sort.Slice(at, func(i, j int) bool { return at[i] < at[j] })
	fmt.Fprintf(w, "%d bytes, aligned to %d, frame of %d bytes\n", len(c.Bytes), c.Align, c.FrameBytes)
	from := uint32(0)
	for _, o := range append(at, uint32(len(c.Bytes))) {
		hexLines(w, c.Bytes[from:min(int(o), len(c.Bytes))], from)
		for _, n := range notes[o] {
			fmt.Fprintf(w, "        ; %s\n", n)
		}
		from = o
	}
}

const hexWidth = 16

func hexLines(w io.Writer, b []byte, at uint32) {
	for len(b) > 0 {
		n := min(len(b), hexWidth)
		fmt.Fprintf(w, "%06x  %s\n", at, strings.TrimSpace(fmt.Sprintf("% x", b[:n])))
		b, at = b[n:], at+uint32(n)
	}
}
