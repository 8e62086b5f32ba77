package cruntime_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// quoted is the rule of names, in units that a line has whole or not at all.
func quoted(name string) (units []string) {
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		unit := name[:n]
		switch {
		case r == utf8.RuneError && n == 1, r < 0x20, r == 0x7f:
			unit = fmt.Sprintf(`\x%02x`, name[0])
		case r >= 0x80 && r <= 0x9f, r == 0x61c, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff,
			r >= 0xfff9 && r <= 0xfffb, r == 0xfffe, r == 0xffff, r >= 0xe0000 && r <= 0xe0fff:
			unit = fmt.Sprintf(`\u{%x}`, r)
		}
		units, name = append(units, unit), name[n:]
	}
	return units
}

// hostileNames are all bytes, all characters, whatever looks like one, and mixtures.
func hostileNames() []string {
	names := []string{"", "plain", `back\slash`, "\u202e\u202d", strings.Repeat("é\x1b", 500), "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe0\x80\x80", "\xf0\x8f\xbf\xbf", "\xf8\x88\x80\x80\x80", "\xe2\x80", "\xf0\x9f\x98"}
	for b := range 256 {
		names = append(names, string([]byte{byte(b)}), string([]byte{'a', byte(b), 'b'}))
		for _, c := range []byte{0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff} {
			names = append(names, string([]byte{byte(b), c}), string([]byte{byte(b), c, 0x80}), string([]byte{byte(b), c, 0x80, 0xbf}), string([]byte{byte(b), c, 0xbf, 0x80, 'x'}))
		}
	}
	const together = 64
	for r := rune(0); r <= utf8.MaxRune; r += together {
		var s strings.Builder
		for i := range rune(together) {
			if utf8.ValidRune(r + i) {
				s.WriteRune(r + i)
			}
		}
		names = append(names, s.String())
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		b := make([]byte, rng.IntN(40))
		for i := range b {
			b[i] = []byte{byte(rng.Uint32()), 0x80 | byte(rng.Uint32())&0x3f, 0xe2, 0xef}[rng.IntN(4)]
		}
		names = append(names, string(b))
	}
	return names
}

// TestQuote compares how the runtime writes names with the rule, written independently.
func TestQuote(t *testing.T) {
	c := &toolchains[0]
	if tool := c.missing(); tool != "" {
		testenv.Missing(t, "no "+tool)
	}
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/quote.c")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "quote.c", text)
	tool(t, dir, slices.Concat(c.compiler, c.language, c.flags, []string{"quote.c", "-o", "quote"})...)
	program := filepath.Join(dir, "quote")
	names := hostileNames()
	var in []byte
	for _, n := range names {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(n))), n...)
	}
	for _, room := range []int{0, 1, 2, 8, 64} {
		cmd := exec.Command(program)
		if room > 0 {
			cmd.Args = append(cmd.Args, strconv.Itoa(room))
		}
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			want := ""
			for _, u := range quoted(n) {
				if room > 0 && len(want)+len(u) >= room {
					break
				}
				want += u
			}
			size := 4 + int(binary.LittleEndian.Uint32(out))
			if got := string(out[4:size]); got != want {
				t.Fatalf("%+q in %d bytes: %+q, want %+q", n, room, got, want)
			}
			out = out[size:]
		}
		if len(out) > 0 {
			t.Errorf("%d bytes more", len(out))
		}
	}
}
