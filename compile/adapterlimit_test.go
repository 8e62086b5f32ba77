package compile

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
)

// TestAdapterLimit: a module that needs more adapters than branches reach is refused.
func TestAdapterLimit(t *testing.T) {
	section := func(id byte, items ...[]byte) []byte {
		b := append([]byte{byte(len(items))}, slices.Concat(items...)...)
		return append([]byte{id, byte(len(b)) | 0x80, byte(len(b) >> 7)}, b...)
	}
	// Function i has that many parameters, more than registers, and is exported.
	wasm := func(n int) []byte {
		var types, funcs, exports, bodies [][]byte
		for i := range n {
			params := 20 + i
			types = append(types, slices.Concat([]byte{0x60, byte(params)}, bytes.Repeat([]byte{0x7e}, params), []byte{0}))
			funcs = append(funcs, []byte{byte(i)})
			exports = append(exports, []byte{1, byte('0' + i), 0, byte(i)})
			bodies = append(bodies, []byte{3, 0, 0, 0x0b})
		}
		return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, types...), section(3, funcs...), section(7, exports...), section(10, bodies...))
	}
	const reach = 1 << 12
	fits, refused := 0, 0
	for n := 1; n <= 64; n++ {
		r, err := Module(wasm(n), Options{Target: TargetA64, callReach: reach})
		switch {
		case err == nil:
			fits = n
			if size := len(r.Object.Section(".text.waot").Data); size > reach || refused > 0 {
				t.Errorf("%d functions have %d bytes of adapters, and %d are refused", n, size, refused)
			}
		case !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), "bytes of adapters"):
			t.Fatalf("%d functions: %v", n, err)
		case refused == 0:
			refused = n
		}
	}
	if fits < 10 || refused != fits+1 {
		t.Errorf("%d functions fit, %d are refused", fits, refused)
	}
}
