package cost

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const printPeak = "WAOT_TEST_PRINT_PEAK"

func TestMain(m *testing.M) {
	if os.Getenv(printPeak) != "" {
		fmt.Print(Read().Peak)
		return
	}
	os.Exit(m.Run())
}

// TestPeak: a process has its own peak, not that of the larger one that has started it.
func TestPeak(t *testing.T) {
	sink = make([]byte, 128<<20)
	for i := 0; i < len(sink); i += 4096 {
		sink[i] = 1
	}
	own := Read().Peak
	sink = nil
	if own < 128<<20 {
		t.Errorf("peak of %d bytes, with a table of %d", own, 128<<20)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), printPeak+"=1")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var child int64
	if _, err := fmt.Sscan(string(out), &child); err != nil || child < 1<<20 || child > 64<<20 {
		t.Errorf("a small process has a peak of %q", out)
	}
}
