package compile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
)

// TestLimits: each limit lets through what is at it, and refuses what is one above, with a *LimitError that names it.
func TestLimits(t *testing.T) {
	wasm, err := os.ReadFile("../testdata/wasm/many.wasm")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Module(wasm, Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	code, longestBody := uint64(0), uint64(0)
	for i := range r.Meta.Funcs {
		code += uint64(r.Meta.Funcs[i].Size)
	}
	tables := uint64(0)
	for _, i := range []objfile.SectionIndex{secTraps, secStackMaps, secCalls} {
		tables += uint64(len(r.Object.Sections[i].Data))
	}
	m, err := wasmfront.Decode(wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Code {
		longestBody = max(longestBody, uint64(len(m.Code[i].Bytes)))
	}
	for _, c := range []struct {
		name string
		at   uint64
		set  func(l *Limits, n uint64)
	}{
		{"module", uint64(len(wasm)), func(l *Limits, n uint64) { l.ModuleBytes = n }},
		{"functions", uint64(len(m.Funcs)), func(l *Limits, n uint64) { l.Functions = n }},
		{"function", longestBody, func(l *Limits, n uint64) { l.FunctionBytes = n }},
		{"code", code + tables, func(l *Limits, n uint64) { l.CodeBytes = n }},
		{"memory", uint64(r.Stats.Memory), func(l *Limits, n uint64) { l.Memory = n }},
	} {
		for _, n := range []uint64{0, math.MaxUint64, c.at} {
			o := Options{Jobs: 1}
			c.set(&o.Limits, n)
			if _, err := Module(wasm, o); err != nil {
				t.Errorf("%s, %d: %v", c.name, n, err)
			}
		}
		text := ""
		for jobs := 1; jobs <= 4; jobs += testenv.Cases(3, 3, 1) {
			o := Options{Jobs: jobs}
			c.set(&o.Limits, c.at-1)
			_, err := Module(wasm, o)
			var l *LimitError
			if !errors.As(err, &l) || l.Limit != c.at-1 || l.What == "" || l.Want != 0 && l.Want != c.at {
				t.Errorf("%s: %v", c.name, err)
			}
			if text == "" {
				text = fmt.Sprint(err)
			} else if text != fmt.Sprint(err) {
				t.Errorf("%s, %d workers: %v, and %s with one", c.name, jobs, err, text)
			}
		}
	}
}

// passing is a module whose functions, of type () -> 1000 results, call themselves; those that are named are invalid.
func passing(functions int, invalid ...int) []byte {
	thousand := append([]byte("\x60\x00\xe8\x07"), bytes.Repeat([]byte{0x7f}, 1000)...)
	vec := func(n int, items []byte) []byte { return append(binary.AppendUvarint(nil, uint64(n)), items...) }
	bad := map[int]bool{}
	for _, i := range invalid {
		bad[i] = true
	}
	var bodies []byte
	for i := range functions {
		if bad[i] {
			bodies = append(bodies, "\x03\x00\x1a\x0b"...)
		} else {
			bodies = append(bodies, "\x04\x00\x10\x00\x0b"...)
		}
	}
	m := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id byte
		b  []byte
	}{{1, vec(1, thousand)}, {3, vec(functions, make([]byte, functions))}, {10, vec(functions, bodies)}} {
		m = append(append(m, s.id), vec(len(s.b), s.b)...)
	}
	return m
}

// TestValuesPassed: one limit holds for the values that all functions of a module pass. The error is of the first place beyond
// the limit, or of an invalid body in front of it, for any number of workers.
func TestValuesPassed(t *testing.T) {
	for _, c := range []struct {
		name    string
		wasm    []byte
		limit   bool
		invalid int // which function the error is about, if it is none of a limit
	}{
		{"few", passing(100), false, -1},
		{"many", passing(2000), true, 0},
		{"invalid in front", passing(2000, 3, 1900), false, 3},
		{"invalid behind", passing(2000, 1900), true, 0},
	} {
		text := ""
		for jobs := 1; jobs <= 4; jobs += testenv.Cases(3, 3, 1) {
			_, err := Module(c.wasm, Options{Jobs: jobs})
			var invalid *wasmfront.Error
			var l *LimitError
			switch {
			case errors.As(err, &l) != c.limit:
				t.Errorf("%s: %v", c.name, err)
			case c.limit && (l.Limit < 1<<20 || l.Want <= l.Limit || l.Want > l.Limit+1000):
				t.Errorf("%s: %d, limit %d", c.name, l.Want, l.Limit)
			case !c.limit && (c.invalid >= 0) != errors.As(err, &invalid):
				t.Errorf("%s: %v", c.name, err)
			case !c.limit && c.invalid >= 0 && invalid.Func != c.invalid:
				t.Errorf("%s: %v", c.name, err)
			}
			if jobs == 1 {
				text = fmt.Sprint(err)
			} else if text != fmt.Sprint(err) {
				t.Errorf("%s, %d workers: %v, and %s with one", c.name, jobs, err, text)
			}
		}
		t.Log(c.name, text)
	}
}

// TestMemoryCount: what the compiler counts does not depend on workers.
func TestMemoryCount(t *testing.T) {
	wasm := hugeModule(20_000, pieces...)
	one, err := Module(wasm, Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	three, err := Module(wasm, Options{Jobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := one.Stats.Memory, three.Stats.Memory; a != b || a < int64(len(wasm)) {
		t.Errorf("%d bytes, %d with three workers", a, b)
	}
}

// TestDeclarationsCount: what is made of declarations counts, too: a module of few bytes may have many.
func TestDeclarationsCount(t *testing.T) {
	const n = 10_000
	count := binary.AppendUvarint(nil, n)
	section := func(id byte, head string, item func(i int) string) string {
		b := append([]byte(head), count...)
		for i := range n {
			b = append(b, item(i)...)
		}
		return string(binary.AppendUvarint([]byte{id}, uint64(len(b)))) + string(b)
	}
	const magic, types = "\x00asm\x01\x00\x00\x00", "\x01\x04\x01\x60\x00\x00"
	const function, body = "\x03\x02\x01\x00", "\x0a\x04\x01\x02\x00\x0b"
	export := func(i int) string { return fmt.Sprintf("\x05%05d\x00\x00", i) }
	for name, c := range map[string]struct {
		wasm string
		each int64 // at least, in bytes: a third of what memory grows by
	}{
		"exports":  {magic + types + function + section(7, "", export) + body, 600},
		"imports":  {magic + types + section(2, "", func(int) string { return "\x00\x00\x00\x00" }), 300},
		"elements": {magic + types + function + "\x04\x05\x01\x70\x00\x90\x4e" + section(9, "\x01\x00\x41\x00\x0b", func(int) string { return "\x00" }) + body, 60},
		"segments": {magic + "\x05\x03\x01\x00\x01" + section(11, "", func(int) string { return "\x01\x00" }), 150},
		"globals":  {magic + section(6, "", func(int) string { return "\x7e\x00\x42\x00\x0b" }), 150},
	} {
		r, err := Module([]byte(c.wasm), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Stats.Memory < c.each*n {
			t.Errorf("%s: %d bytes for %d", name, r.Stats.Memory, n)
		}
		var l *LimitError
		if _, err := Module([]byte(c.wasm), Options{Limits: Limits{Memory: uint64(c.each * n)}}); !errors.As(err, &l) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
