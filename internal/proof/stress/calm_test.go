//go:build linux && (amd64 || arm64)

package stress

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/stress/guest"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// skip skips a test for a reason that must not arise in CI.
func skip(t testing.TB, why any) {
	t.Helper()
	testenv.Missing(t, fmt.Sprint(why))
}

// newTestWorld is newWorld for a test, which is skipped where nothing can run.
func newTestWorld(t testing.TB, instances int) *world {
	t.Helper()
	w, err := newWorld(inproc.Config{}, instances)
	if errors.Is(err, inproc.ErrUnsupported) {
		skip(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestGuest checks the module of the tests itself, with nothing else going on.
func TestGuest(t *testing.T) {
	w := newTestWorld(t, 1)
	for _, c := range computations() {
		for _, n := range []uint64{1, 2, 100} {
			if err := w.expect(nil, 0, c.name, c.mirror(n, 12345), n, 12345); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.expect(nil, 0, "callhook", 4*7+1, 7); err != nil {
		t.Error(err)
	}
	for _, c := range guest.Traps() {
		_, err := w.call(nil, 0, c.Export)
		if err := isTrap(err, c); err != nil {
			t.Error(err)
		}
	}
	if err := w.sound(0); err != nil {
		t.Error(err)
	}
}

// computation is a function with a known result, n times around a loop.
type computation struct {
	name   string
	scale  uint64 // how often it goes around in about 10 ms
	mirror func(n, seed uint64) uint64
}

func computations() []computation {
	return []computation{
		{"ints", 1_500_000, guest.Ints},
		{"floats", 800_000, guest.Floats},
		{"vectors", 300_000, guest.Vectors},
		{"flags", 2_000_000, guest.Flags},
		{"bytes", 400, guest.Bytes},
		{"entries", 1200, guest.Entries},
		{"hosts", 50_000, guest.Hosts},
	}
}
