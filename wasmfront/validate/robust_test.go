package validate_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// checkInput validates b with everything accepted and checks what must hold
// for any input: no panic, an error of one line whose offset is in the module,
// memory in proportion to the input, printable operators and names.
func checkInput(t *testing.T, b []byte) {
	t.Helper()
	cfg := validate.Config{Features: wasmfront.DecodableFeatures}
	m, err := validate.All(b, cfg)
	if err != nil {
		var e *wasmfront.Error
		if !errors.As(err, &e) {
			t.Fatalf("%x: error of type %T: %v", b, err, err)
		}
		if msg := e.Error(); e.Offset < 0 || e.Offset > len(b) || e.Msg == "" || strings.ContainsAny(msg, "\n\r") {
			t.Fatalf("%x: error %+v", b, e)
		}
		_, outer := validate.Module(b, cfg)
		if outer != nil && outer.(*wasmfront.Error).Offset < e.Offset {
			t.Fatalf("%x: %v comes before %v", b, outer, e)
		}
	}
	m.DecodeNames()
}

// corpus calls f with the modules of core, bulk-memory and exceptions that are at most max
// bytes long, every step-th of them.
func corpus(t testing.TB, limit, step int, f func(b []byte)) {
	s, err := script.Locate()
	if err != nil {
		noSuite(t, err)
	}
	n := 0
	for _, group := range []string{"core", "bulk-memory", "exceptions", "legacy-exceptions", "v2"} {
		if !slices.Contains(s.Groups(), group) {
			continue
		}
		suitetest.Modules(t, s, group, func(_ *script.Script, _ *script.Command, b []byte) {
			if len(b) > limit {
				return
			}
			if n++; n%step == 0 {
				f(b)
			}
		})
	}
}

// robustness is how much of the corpus TestTruncated and TestFlipped use: a
// sample, or at the full level all of it.
func robustness() (limit, step int) {
	if testenv.Full() {
		return 1 << 20, 1
	}
	return 2000, 19
}

// TestTruncated cuts modules off at every byte.
func TestTruncated(t *testing.T) {
	limit, step := robustness()
	corpus(t, limit, step, func(b []byte) {
		for n := range b {
			checkInput(t, b[:n:n])
		}
	})
}

// TestFlipped changes every byte of modules in five ways; at the full level, which has all modules, in two of them by turns.
func TestFlipped(t *testing.T) {
	flips := [...]byte{0x01, 0x10, 0x40, 0x80, 0xFF}
	ways := testenv.Cases(len(flips), len(flips), 2)
	limit, step := robustness()
	corpus(t, limit, step, func(b []byte) {
		m := append([]byte(nil), b...)
		for i := range m {
			for k := range ways {
				m[i] = b[i] ^ flips[(ways*i+k)%len(flips)]
				checkInput(t, m)
			}
			m[i] = b[i]
		}
	})
}

// TestMemory checks that no declared count makes the decoder allocate more
// than in proportion to the input.
func TestMemory(t *testing.T) {
	const big = "\xff\xff\xff\xff\x0f"
	header := "\x00asm\x01\x00\x00\x00"
	pad := strings.Repeat("\x00", 100)
	for id := byte(0); id <= 13; id++ {
		b := []byte(header + string(id) + string(byte(len(big)+len(pad))) + big + pad)
		if n := allocated(func() { checkInput(t, b) }); n > 100_000 {
			t.Errorf("section %d: %d bytes allocated for %d", id, n, len(b))
		}
	}
	// A function that calls one with many results, again and again.
	results := make([]wasmfront.ValType, 0)
	for range wasmfront.MaxResults {
		results = append(results, wasmfront.I32)
	}
	b := module(
		section(1, vec(funcType(nil, results), funcType(nil, nil))),
		section(3, vec("\x00", "\x01")),
		section(10, vec(sized("\x00\x00\x0b"), sized("\x00"+strings.Repeat("\x10\x00", 100_000)+"\x0b"))),
	)
	var err error
	// A stack that grows to the limit is copied to larger ones on the way: that sums up to some five times its size.
	const most = 6 * wasmfront.MaxOperands * int64(unsafe.Sizeof(wasmfront.I32))
	if n := allocated(func() { _, err = validate.All(b, validate.Config{}) }); int64(n) > most {
		t.Errorf("%d bytes allocated for operands", n)
	}
	wantError(t, err, "too many operands", "operands")
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDeep nests as many blocks as a body can hold.
func TestDeep(t *testing.T) {
	const n = 1_000_000
	body := "\x00" + strings.Repeat("\x02\x40", n) + strings.Repeat("\x0b", n) + "\x0b"
	b := module(section(1, vec(funcType(nil, nil))), section(3, vec("\x00")), section(10, vec(sized(body))))
	if _, err := validate.All(b, validate.Config{}); err != nil {
		t.Error(err)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add(module(section(1, vec(funcType(nil, []wasmfront.ValType{wasmfront.I32}))), section(3, vec("\x00")),
		section(7, vec("\x01f\x00\x00")), section(10, vec(sized("\x00\x41\x05\x0b")))))
	if _, err := script.Locate(); err == nil {
		corpus(f, 1000, 29, func(b []byte) { f.Add(b) })
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkInput(t, b)
		printAll(b)
	})
}

// printAll prints every operator of the bodies.
func printAll(b []byte) {
	m, err := validate.Module(b, validate.Config{Features: wasmfront.DecodableFeatures})
	if err != nil {
		return
	}
	var f validate.Func
	var op wasmfront.Operator
	for i := range m.Code {
		for f.Begin(m, m.NumImportedFuncs+uint32(i)); f.Next(&op); {
			_ = op.String()
		}
	}
}
