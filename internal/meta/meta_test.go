package meta

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
)

var sampleSizes = Sizes{Text: 4096, Data: 512}

func sample() *Module {
	return &Module{
		ABI: abi.Version, Arch: "x86-64", CPU: "x86-64-v2", Name: "mod", InstanceSize: 512, Helpers: 16, TypeSlots: 64,
		SlotTypes: []uint32{0, 1},
		Types:     []FuncType{{}, {Params: []ValType{I32, I64, F32, F64}, Results: []ValType{FuncRef, ExternRef, V128}}},
		Memories:  []Memory{{Slot: 56, Min: 1, Max: 65536}, {Slot: 64, Min: 1, Max: 2, HasMax: true, Import: &ImportName{"env", "mem"}}},
		Tables:    []Table{{Slot: 72, Elem: FuncRef, Min: 3, Max: 1<<32 - 1, HasMax: true}, {Slot: 80, Elem: ExternRef, Import: &ImportName{"", "ü"}}},
		Globals:   []Global{{Offset: 88, Type: I32, Mutable: true}, {Offset: 496, Type: V128}, {Offset: 96, Type: F64, Import: &ImportName{"a", "b"}}},
		Elems:     []Elem{{Pair: 144, Array: 176, Len: 2}, {Pair: 160, Array: 504, Len: 1}},
		Datas:     []Data{{Pair: 192, Offset: 65000, Rodata: 32, Len: 536}, {Pair: 208, Len: 1}},
		Funcs: []Func{{Type: 1, Import: &ImportName{"env", "f"}, Slot: 112}, {Type: 1, Name: "g", Text: 16, Size: 100, Desc: 128, HasDesc: true},
			{Type: 0, Name: "init", Text: 4000, Size: 96}},
		Exports:   []Export{{"g", 0, 1}, {"t", 1, 1}, {"m", 2, 0}, {"", 3, 2}},
		Traps:     []Trap{{0, abi.TrapUnreachable, abi.FaultUndefined, 0, 77}, {4095, abi.TrapMemoryOutOfBounds, abi.FaultMemory, 1, 1 << 31}},
		Calls:     []Call{{5, 6}, {4096, 0}},
		StackMaps: []StackMap{{5, []int32{-8, -1 << 20}}, {300, nil}},
		Digests:   []SectionDigest{{".text", [DigestSize]byte{1, 2, 3}}},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, m := range []*Module{sample(), {ABI: abi.Version, InstanceSize: 512, Types: []FuncType{{}}, Funcs: []Func{{Size: 1}}}} {
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
	}
}

// TestInvalid: each change must be noticed though the hash is right.
func TestInvalid(t *testing.T) {
	tests := map[string]func(*Module){
		"binary interface version 9": func(m *Module) { m.ABI = 9 },
		"instance data has":          func(m *Module) { m.InstanceSize = 500 },
		"helper slots":               func(m *Module) { m.Helpers = 480 },
		"type slots":                 func(m *Module) { m.TypeSlots = 504 },
		"of a slot":                  func(m *Module) { m.SlotTypes[1] = 2 },
		"value type":                 func(m *Module) { m.Types[1].Params[0] = 0x60 },
		"memory slot":                func(m *Module) { m.Memories[0].Slot = 57 },
		"maximum below":              func(m *Module) { m.Memories[1].Min = 3 },
		"table slot":                 func(m *Module) { m.Tables[0].Slot = 1 << 20 },
		"element type":               func(m *Module) { m.Tables[0].Elem = I32 },
		"global is outside":          func(m *Module) { m.Globals[1].Offset = 504 },
		"element segment is":         func(m *Module) { m.Elems[0].Pair = 504 },
		"elements of a segment are":  func(m *Module) { m.Elems[1].Len = 2 },
		"data segment is":            func(m *Module) { m.Datas[0].Pair = 508 },
		"data segment is outside":    func(m *Module) { m.Datas[0].Len = 537 },
		"memory of a data segment":   func(m *Module) { m.Datas[1].Memory = 2 },
		"outside of its memory":      func(m *Module) { m.Datas[1].Memory = 1 },
		"type of a function":         func(m *Module) { m.Funcs[1].Type = 2 },
		"slot of a function":         func(m *Module) { m.Funcs[0].Slot = 504 },
		"after defined":              func(m *Module) { m.Funcs[0], m.Funcs[1] = m.Funcs[1], m.Funcs[0] },
		"outside of the text":        func(m *Module) { m.Funcs[1].Size = 4090 },
		"descriptor":                 func(m *Module) { m.Funcs[1].Desc = 500 },
		"type of the init":           func(m *Module) { m.Funcs[2].Type = 1 },
		"no init":                    func(m *Module) { m.Funcs = m.Funcs[:1] },
		"kind of an export":          func(m *Module) { m.Exports[0].Kind = 4 },
		"index of an export":         func(m *Module) { m.Exports[0].Index = 3 },
		"trap outside":               func(m *Module) { m.Traps[1].Offset = 4096 },
		"trap code":                  func(m *Module) { m.Traps[1].Code = abi.NumTrapCodes },
		"memory 2 of a trap":         func(m *Module) { m.Traps[1].Memory = 2 },
		"calls+0x18: offset":         func(m *Module) { m.Calls[1].Offset = 5 },
		"stackmaps+0x1d: offset":     func(m *Module) { m.StackMaps[1].Offset = 4097 },
		"slot of a stack map":        func(m *Module) { m.StackMaps[0].Slots[0] = 3 },
	}
	for want, change := range tests {
		m := sample()
		change(m)
		if _, err := Decode(Encode(m), sampleSizes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestDamage: each flipped bit is noticed.
func TestDamage(t *testing.T) {
	s := Encode(sample())
	for n, p := range []*[]byte{&s.Meta, &s.Traps, &s.StackMaps, &s.Calls} {
		whole := *p
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			*p = b
			var de *DecodeError
			var ve *VersionError
			if _, err := Decode(s, sampleSizes); !errors.As(err, &de) && !errors.As(err, &ve) {
				t.Errorf("section %d, byte %d: %v", n, i, err)
			}
			*p = whole[:i]
			if _, err := Decode(s, sampleSizes); err == nil {
				t.Errorf("section %d cut at %d", n, i)
			}
		}
		*p = whole
	}
}

// TestLongString: a string that claims one byte more than the section has.
func TestLongString(t *testing.T) {
	s := Encode(&Module{ABI: abi.Version, InstanceSize: 512, Types: []FuncType{{}}, Funcs: []Func{{Size: 1}}})
	for n := range byte(40) {
		b := append(bytes.Clone(s.Meta[:headerSize+1]), n) // the version, then the architecture
		for cut := range 40 {
			s.Meta = rehash(append(b[:headerSize+2:headerSize+2], make([]byte, cut)...))
			if _, err := Decode(s, sampleSizes); err == nil {
				t.Error(n, cut)
			}
		}
	}
}

// rehash makes the header fit the payload, so that fuzzing gets past it.
func rehash(b []byte) []byte {
	b = bytes.Clone(b)
	Seal(b)
	return b
}

// TestMutated changes random bytes of the payloads: Decode answers, and what it accepts
// survives another round.
func TestMutated(t *testing.T) {
	s := Encode(sample())
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 20000 {
		parts := [4][]byte{s.Meta, s.Traps, s.StackMaps, s.Calls}
		p := &parts[r.IntN(4)]
		*p = bytes.Clone(*p)
		for range 1 + r.IntN(3) {
			(*p)[headerSize+r.IntN(len(*p)-headerSize)] = byte(r.Uint32())
		}
		*p = rehash(*p)
		m, err := Decode(Sections{parts[0], parts[1], parts[2], parts[3]}, sampleSizes)
		if err != nil {
			continue
		}
		accepted++
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil || !reflect.DeepEqual(m, got) {
			t.Fatal(err, cmp.Diff(m, got))
		}
	}
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

func FuzzDecode(f *testing.F) {
	s := Encode(sample())
	f.Add(s.Meta, s.Traps, s.StackMaps, s.Calls)
	f.Fuzz(func(t *testing.T, a, b, c, d []byte) {
		m, err := Decode(Sections{rehash(a), rehash(b), rehash(c), rehash(d)}, sampleSizes)
		if err != nil {
			return
		}
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
	})
}
