//go:build linux && (amd64 || arm64)

package inproc

import "testing"

// TestPreemptionOff: GODEBUG says whether Go preempts by signals; its last word on that counts.
func TestPreemptionOff(t *testing.T) {
	t.Setenv("GODEBUG", "")
	_ = Preemption() // sets up the process
	on := whyNoPreemption()
	if on == ErrPreemptionOff {
		t.Fatal(on)
	}
	for setting, off := range map[string]bool{
		"asyncpreemptoff=1": true, "asyncpreemptoff=0": false, "asyncpreemptoff=1,asyncpreemptoff=0": false, "asyncpreemptoff=0,asyncpreemptoff=1": true,
		"gctrace=1": false, "gctrace=1,asyncpreemptoff=1": true, "asyncpreemptoff=1,gctrace=0": true, "asyncpreemptoff": false,
	} {
		t.Setenv("GODEBUG", setting)
		if err := whyNoPreemption(); (err == ErrPreemptionOff) != off || !off && err != on {
			t.Errorf("GODEBUG=%s: %v", setting, err)
		}
	}
}
