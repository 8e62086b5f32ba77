//go:build linux && amd64

package host_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/waot-project/waot/host"
)

// TestFewAddresses runs itself in a process that may not have the addresses of one reservation. In an emulator, what that reserves would count.
func TestFewAddresses(t *testing.T) {
	const mark = "WAOT_FEW_ADDRESSES"
	if os.Getenv(mark) == "" {
		test := must[string](t)(os.Executable())
		cmd := exec.Command("/bin/sh", "-c", "ulimit -v 4000000 && exec "+test+" -test.run '^TestFewAddresses$' -test.count=1")
		cmd.Env = append(os.Environ(), mark+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := must[*host.Store](t)(host.NewStore(nil))
	defer s.Close()
	if _, err := s.Instantiate(bg, text(t, writes), nil); err == nil {
		t.Error("there are enough addresses for a reservation")
	}
	for range 100 {
		inst := must[*host.Instance](t)(s.Instantiate(bg, checkedText(t, writes), nil))
		got := must[[]any](t)(function(t, inst, "grow").Call(bg, int32(8)))
		must[[]any](t)(function(t, inst, "set").Call(bg, int32(9<<16), int32(7)))
		if x := must[[]any](t)(function(t, inst, "get").Call(bg, int32(9<<16))); got[0] != int32(2) || x[0] != int32(7) {
			t.Errorf("%v, %v", got, x)
		}
	}
}
