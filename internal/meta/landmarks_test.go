package meta

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
)

// TestLandmarks: whatever kinds of traps there are between calls, both are decoded as they were; and a call that always stands alike behind an
// access takes three bytes, however far it is from the one before.
func TestLandmarks(t *testing.T) {
	kinds := []abi.TrapSite{{Code: abi.TrapUnreachable}, {Code: abi.TrapMemoryOutOfBounds, Fault: abi.FaultMemory},
		{Code: abi.TrapMemoryOutOfBounds, Fault: abi.FaultMemory, Memory: 1}, {Code: abi.TrapIntegerDivideByZero, Fault: abi.FaultDivide}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		m, sizes := manySites()
		m.Traps, m.Calls = nil, nil
		f := &m.Funcs[len(m.Funcs)-1]
		src := func() uint32 {
			if r.IntN(2) == 0 {
				return abi.InlinedPlace + r.Uint32N(uint32(len(m.Inlined)))
			}
			return r.Uint32N(abi.InlinedPlace)
		}
		some := kinds[:r.IntN(len(kinds)+1)]
		for at := f.Text; len(m.Traps)+len(m.Calls) < 100; at += r.Uint32N(300) {
			if len(some) > 0 && r.IntN(3) > 0 {
				s := some[r.IntN(len(some))]
				s.Offset, s.Src = at, src()
				if n := len(m.Traps); n == 0 || m.Traps[n-1].Offset < at {
					m.Traps = append(m.Traps, s)
				}
			}
			if n := len(m.Calls); at > f.Text && r.IntN(3) == 0 && (n == 0 || m.Calls[n-1].Offset < at) { // a return address may be that of an instruction that traps
				m.Calls = append(m.Calls, abi.CallSite{Offset: at, Src: src()})
			}
		}
		got, err := Decode(Encode(m), sizes)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}

	m, _ := manySites()
	m.Traps, m.Calls, m.Inlined = nil, nil, nil
	empty := len(Encode(m).Calls)
	at := m.Funcs[len(m.Funcs)-1].Text
	for i := range uint32(100) {
		at += 1000 + 7*i
		m.Traps = append(m.Traps, abi.TrapSite{Offset: at, Code: abi.TrapMemoryOutOfBounds, Fault: abi.FaultMemory, Src: 2 * at})
		m.Calls = append(m.Calls, abi.CallSite{Offset: at + 12, Src: 2*at + 10})
	}
	if n := len(Encode(m).Calls) - empty; n != 3*len(m.Calls) {
		t.Errorf("%d bytes of %d calls", n, len(m.Calls))
	}
}

// TestWrongLandmarks: more landmarks than there are, and some that lead back, are errors.
func TestWrongLandmarks(t *testing.T) {
	m, sizes := manySites()
	m.Traps = []abi.TrapSite{{Offset: 4010, Code: abi.TrapUnreachable}, {Offset: 4020, Code: abi.TrapUnreachable}}
	m.Calls = []abi.CallSite{{Offset: 4030}, {Offset: 4040}}
	for _, x := range []struct {
		first, second byte // landmarks of the calls
		want          string
	}{{2, 0, ""}, {3, 0, "number of landmarks"}, {2, 1, "number of landmarks"}, {1, 1, "call 1 is out of order"}} {
		s := Encode(m)
		// A byte for a table that is not packed, and one for the number of calls, and then numbers of landmarks, distances and places.
		calls := s.Calls[headerSize+2:]
		if calls[0] != 2 || calls[3] != 0 {
			t.Fatalf("%x", calls)
		}
		calls[0], calls[3] = x.first, x.second
		if x.second == 1 {
			calls[1], calls[4] = 40, 0 // 4050, and then 4020
		}
		s.Calls = rehash(s.Calls)
		_, err := Decode(s, sizes)
		var decode *DecodeError
		var invalid *InvalidError
		if (err != nil) != (x.want != "") || err != nil && (!strings.Contains(err.Error(), x.want) || !errors.As(err, &decode) && !errors.As(err, &invalid)) {
			t.Errorf("%d and %d: %v, want %q", x.first, x.second, err, x.want)
		}
	}
}

// TestSteps: steps from place to place take one byte if they are small and forwards, and others are decoded as well.
func TestSteps(t *testing.T) {
	m := sample()
	places := []uint32{0, 0, 1, 112, 224, 223, 223 + steps - 1, 1<<31 - 1, 0, 1<<31 - 1, 5, abi.InlinedPlace + 2, abi.InlinedPlace, abi.InlinedPlace + 1, 5, 6}
	m.Traps = nil
	for i, p := range places {
		m.Traps = append(m.Traps, abi.TrapSite{Offset: 4000 + uint32(i), Code: abi.TrapUnreachable, Src: p})
	}
	s := Encode(m)
	got, err := Decode(s, sampleSizes)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got); d != "" {
		t.Error(d)
	}
	// A byte for a table that is not packed, the number of kinds, the kind and the number of its sites; the first distance and two places take two bytes.
	if n, want := len(s.Traps)-headerSize, 1+1+3+1+2*len(places)+1+2; n != want {
		t.Errorf("%d bytes, want %d", n, want)
	}
}
