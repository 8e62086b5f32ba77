package cruntime_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/gcheap"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// The types of scripts, by their numbers: a pair of references and a number, a structure with two words, arrays of bytes, of references and of words, an empty structure, and a subtype of the pair.
const (
	scriptPair = abi.FirstTypeNumber + iota
	scriptHolder
	scriptBytes
	scriptRefs
	scriptWords
	scriptEmpty
	scriptTriple
	scriptTypes
)

func scriptDefs() []abi.TypeDef {
	mut := func(t abi.ValType) abi.FieldType { return abi.FieldType{Type: t, Mutable: true} }
	pair := []abi.FieldType{mut(abi.EqRef), mut(abi.I64), mut(abi.StructRef)}
	return []abi.TypeDef{
		{Kind: abi.KindStruct, Fields: pair, Open: true},
		{Kind: abi.KindStruct, Fields: []abi.FieldType{mut(abi.ExternRef), mut(abi.AnyRef)}},
		{Kind: abi.KindArray, Fields: []abi.FieldType{{Type: abi.I32, Packed: 8}}},
		{Kind: abi.KindArray, Fields: []abi.FieldType{mut(abi.EqRef)}},
		{Kind: abi.KindArray, Fields: []abi.FieldType{mut(abi.AnyRef)}},
		{Kind: abi.KindStruct},
		{Kind: abi.KindStruct, Fields: append(slices.Clone(pair), mut(abi.EqRef), mut(abi.AnyRef)), HasSuper: true, Super: 0},
	}
}

// scriptHeap is a heap of package gcheap that does what a script says. Its memory and roots are the test's.
type scriptHeap struct {
	*gcheap.Heap
	memory []byte
	types  []gcheap.Type
	roots  []uint64
	script strings.Builder // of all operations
	out    bytes.Buffer    // what the program must print
	ended  bool
}

func newScriptHeap(t *testing.T, limit uint64, torture bool) *scriptHeap {
	b, err := syscall.Mmap(-1, 0, gcheap.Size, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	s := &scriptHeap{memory: b, types: make([]gcheap.Type, scriptTypes)}
	s.Heap = gcheap.New(gcheap.Memory{
		Bytes:  b,
		Commit: func(from, to uint64) error { return syscall.Mprotect(b[from:to], syscall.PROT_READ|syscall.PROT_WRITE) },
		Release: func(from, to uint64) error {
			return errors.Join(syscall.Madvise(b[from:to], syscall.MADV_DONTNEED), syscall.Mprotect(b[from:to], syscall.PROT_NONE))
		},
		Clear: func(from, to uint64) error { return syscall.Madvise(b[from:to], syscall.MADV_DONTNEED) },
	}, new(gcheap.State), limit)
	s.Torture = torture
	index, layouts := make([]uint32, scriptTypes), make([]*abi.ObjectLayout, scriptTypes)
	for i, d := range scriptDefs() {
		n := abi.FirstTypeNumber + i
		var super *abi.ObjectLayout
		if d.HasSuper {
			super = layouts[abi.FirstTypeNumber+d.Super]
		}
		layouts[n] = d.ObjectLayout(super)
		s.types[n], index[n] = gcheap.TypeOf(&d, layouts[n]), uint32(n)
	}
	s.SetTypes(gcheap.Types{Index: index, List: s.types})
	on := 0
	if torture {
		on = 1
	}
	fmt.Fprintln(&s.script, limit, on)
	return s
}

func (s *scriptHeap) at(at uint64) unsafe.Pointer { return unsafe.Pointer(&s.memory[at]) }
func (s *scriptHeap) u32(at uint64) uint32        { return *(*uint32)(s.at(at)) }
func (s *scriptHeap) u64(at uint64) uint64        { return *(*uint64)(s.at(at)) }

func (s *scriptHeap) visit() gcheap.Roots {
	return gcheap.Roots{Each: func(visit func(*uint64)) int {
		for i := range s.roots {
			visit(&s.roots[i])
		}
		return 0 // the collector in C does not count them
	}}
}

// failed notes what an operation has given.
func (s *scriptHeap) failed(err error) {
	var corrupt *gcheap.CorruptError
	switch {
	case err == nil:
	case errors.Is(err, gcheap.ErrFull):
		fmt.Fprintln(&s.out, "full")
	case errors.As(err, &corrupt):
		fmt.Fprintln(&s.out, "corrupt")
		s.ended = true
	default:
		fmt.Fprintln(&s.out, "refused")
	}
}

func (s *scriptHeap) make(typ, length int) {
	fmt.Fprintln(&s.script, "n", typ, length)
	r, err := s.Alloc(uint32(typ), uint32(length), s.visit())
	if s.failed(err); err == nil {
		s.roots = append(s.roots, uint64(r))
	}
}

func (s *scriptHeap) drop(i int) {
	fmt.Fprintln(&s.script, "d", i)
	last := len(s.roots) - 1
	s.roots[i] = s.roots[last]
	s.roots = s.roots[:last]
}

func (s *scriptHeap) put(i int, off int32, x uint32) {
	fmt.Fprintln(&s.script, "w", i, uint32(off), x)
	*(*uint32)(s.at(s.roots[i] + uint64(int64(off)))) = x
}

func (s *scriptHeap) refer(i int, off uint32, to int, wide bool) {
	if wide {
		fmt.Fprintln(&s.script, "R", i, off, to)
		*(*uint64)(s.at(s.roots[i] + uint64(off))) = s.roots[to]
		return
	}
	fmt.Fprintln(&s.script, "r", i, off, to)
	*(*uint32)(s.at(s.roots[i] + uint64(off))) = uint32(s.roots[to])
}

func (s *scriptHeap) set(i int, x uint64) {
	fmt.Fprintln(&s.script, "s", i, x)
	s.roots[i] = x
}

func (s *scriptHeap) add(i int, x uint64) {
	fmt.Fprintln(&s.script, "+", i, x)
	s.roots = append(s.roots, s.roots[i]+x)
}

func (s *scriptHeap) collect() {
	fmt.Fprintln(&s.script, "c")
	s.failed(s.Collect(s.visit()))
}

// print is print of testdata/heapscript.c.
func (s *scriptHeap) print() {
	fmt.Fprintln(&s.script, "p")
	ids := map[uint64]int{}
	var queue []uint64
	word := func(w uint64) {
		if w == 0 || w&1 != 0 || w >= gcheap.Size {
			fmt.Fprintf(&s.out, " %x", w)
			return
		}
		if ids[w] == 0 {
			queue = append(queue, w)
			ids[w] = len(queue)
		}
		fmt.Fprintf(&s.out, " #%d", ids[w])
	}
	s.out.WriteString("roots")
	for _, r := range s.roots {
		word(r)
	}
	for n := 0; n < len(queue); n++ {
		at := queue[n]
		number := s.TypeOf(uint32(at))
		t, length, count := &s.types[number], uint32(0), uint32(1)
		if t.Elem != 0 {
			length = s.u32(at)
			count = length
		}
		fmt.Fprintf(&s.out, "\n%d %d:", number, length)
		for i := range count {
			for _, off := range t.Refs {
				word(uint64(s.u32(at + uint64(i*t.Elem+off))))
			}
			for _, off := range t.Words {
				word(s.u64(at + uint64(i*t.Elem+off)))
			}
		}
		hash := uint32(2166136261)
		size := (t.Fixed + t.Elem*length + gcheap.Align - 1) &^ (gcheap.Align - 1)
		for k := uint32(0); k+4 < size; k += 4 {
			within := func(off, bytes uint32) bool { return k >= off && (t.Elem != 0 || k < off+bytes) }
			if !slices.ContainsFunc(t.Refs, func(off uint32) bool { return within(off, 4) }) && !slices.ContainsFunc(t.Words, func(off uint32) bool { return within(off, 8) }) {
				hash = (hash ^ s.u32(at+uint64(k))) * 16777619
			}
		}
		fmt.Fprintf(&s.out, " %x", hash)
	}
	s.out.WriteString("\n")
}

// slots returns where an object has references, and which of these are words.
func (s *scriptHeap) slots(i int) (offsets []uint32, wide []bool) {
	at := s.roots[i]
	t, count := &s.types[s.TypeOf(uint32(at))], uint32(1)
	if t.Elem != 0 {
		count = min(s.u32(at), 1000) // the first ones
	}
	for e := range count {
		for _, off := range t.Refs {
			offsets, wide = append(offsets, e*t.Elem+off), append(wide, false)
		}
		for _, off := range t.Words {
			offsets, wide = append(offsets, e*t.Elem+off), append(wide, true)
		}
	}
	return offsets, wide
}

// mutate does something random with the objects.
func (s *scriptHeap) mutate(r *rand.Rand) {
	typ, n := scriptPair+r.IntN(scriptTypes-scriptPair), 0
	if typ == scriptBytes || typ == scriptRefs || typ == scriptWords {
		if n = r.IntN(20); r.IntN(50) == 0 {
			n = r.IntN(200_000)
		}
	}
	s.make(typ, n)
	for range 3 {
		i, to := r.IntN(len(s.roots)), r.IntN(len(s.roots)+1)
		offsets, wide := s.slots(i)
		if len(offsets) == 0 {
			if s.u32(s.roots[i]) > 4 && s.TypeOf(uint32(s.roots[i])) == scriptBytes {
				s.put(i, 4, r.Uint32())
			}
			continue
		}
		switch k := r.IntN(len(offsets)); {
		case to < len(s.roots):
			s.refer(i, offsets[k], to, wide[k])
		case wide[k]:
			s.put(i, int32(offsets[k]), r.Uint32()&^7|2) // a word of the host
			s.put(i, int32(offsets[k])+4, 1+r.Uint32N(100))
		default:
			s.put(i, int32(offsets[k]), r.Uint32()|1)
		}
	}
	for len(s.roots) > 60 {
		s.drop(r.IntN(len(s.roots)))
	}
}

// TestHeapScript: the heap of C programs does what that of Go programs does, which tests prove by itself, with what random scripts make, when there is no room, and with what is no object.
func TestHeapScript(t *testing.T) {
	scripts := map[string]*scriptHeap{}
	steps := testenv.Cases(300, 500, 5000)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScriptHeap(t, cmp.Or(uint64(r.IntN(2))*(64<<20), 2<<20), seed%3 == 0)
		for step := range steps {
			if s.mutate(r); r.IntN(100) == 0 {
				s.collect()
			}
			if step%100 == 0 {
				s.print()
			}
		}
		s.print()
		scripts[fmt.Sprintf("seed %d", seed)] = s
	}
	full := newScriptHeap(t, 1<<20, false)
	for n := range 40 {
		full.make(scriptRefs, 10_000)
		full.make(scriptBytes, 5000*n)
		for len(full.roots) > 30 && n > 30 {
			full.drop(n % len(full.roots))
		}
	}
	full.make(scriptBytes, 2<<20)
	full.print()
	if n := strings.Count(full.out.String(), "full"); n < 10 {
		t.Errorf("full %d times", n)
	}
	scripts["full"] = full
	pair := newScriptHeap(t, 1<<20, false).types[scriptPair]
	for name, spoil := range map[string]func(s *scriptHeap){
		"nothing":                      func(s *scriptHeap) {},
		"a root into the guard":        func(s *scriptHeap) { s.set(0, 16) },
		"a root that is not aligned":   func(s *scriptHeap) { s.add(0, 4) },
		"a root behind all objects":    func(s *scriptHeap) { s.add(1, 24) },
		"a root to the other space":    func(s *scriptHeap) { s.set(0, 1<<30) },
		"a root to no large object":    func(s *scriptHeap) { s.set(0, 2<<30) },
		"a root into a large object":   func(s *scriptHeap) { s.set(0, 2<<30+16) },
		"a field":                      func(s *scriptHeap) { s.put(0, int32(pair.Refs[0]), 8) },
		"a type":                       func(s *scriptHeap) { s.put(0, abi.ObjectType, scriptTypes) },
		"no type":                      func(s *scriptHeap) { s.put(0, abi.ObjectType, 0) },
		"the length of an array":       func(s *scriptHeap) { s.put(1, 0, 1<<30) },
		"a length that wraps":          func(s *scriptHeap) { s.put(1, 0, 1<<32-1) },
		"the length of a large object": func(s *scriptHeap) { s.put(2, 0, 1<<29) },
		"a type of a large object":     func(s *scriptHeap) { s.put(2, abi.ObjectType, scriptTypes) },
		"more than there was": func(s *scriptHeap) { // objects within each other
			s.make(scriptBytes, 60_000)
			for at := range int32(100) {
				s.put(3, 1000+8*at+abi.ObjectType, scriptBytes)
				s.put(3, 1000+8*at, 50_000)
				s.add(3, 1000+8*uint64(at))
			}
		},
		"an object as two": func(s *scriptHeap) { s.put(0, abi.ObjectType, scriptBytes); s.put(0, 0, 1000) },
	} {
		s := newScriptHeap(t, 2<<20, false)
		s.make(scriptPair, 0)
		s.make(scriptBytes, 5)
		s.make(scriptRefs, 100_000)
		s.drop(2)
		s.make(scriptRefs, 100_000)
		spoil(s)
		if s.collect(); s.ended == (name == "nothing") {
			t.Errorf("%s: %q", name, &s.out)
		}
		scripts[name] = s
	}
	c := toolchains[0]
	if tool := c.missing(); tool != "" {
		testenv.Missing(t, "no "+tool)
	}
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/heapscript.c")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "script.c", text)
	write(t, dir, "c_heap.c", cruntime.Part("heap.c"))
	write(t, dir, cruntime.HeaderFile, cruntime.Header())
	tool(t, dir, slices.Concat(c.compiler, c.language, warnings, []string{"-O1", "-g", "-fsanitize=undefined", "-fno-sanitize-recover=all", "script.c", "-o", "script"})...)
	m := meta.Module{Heap: &meta.Heap{Defs: scriptDefs()}, Types: make([]meta.FuncType, len(scriptDefs()))}
	write(t, dir, "types", binary.LittleEndian.AppendUint32(m.HeapTypes(nil), 0))
	for name, s := range scripts {
		cmd := exec.Command(filepath.Join(dir, "script"), filepath.Join(dir, "types"))
		cmd.Stdin = strings.NewReader(s.script.String())
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || !bytes.Equal(out, s.out.Bytes()) {
			t.Errorf("%s: %v, %s: %s", name, err, &errs, firstDifference(out, s.out.Bytes()))
		}
	}
}

// firstDifference tells the first line that differs.
func firstDifference(a, b []byte) string {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return fmt.Sprintf("line %d: %.200q, want %.200q", i, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(as), len(bs))
}
