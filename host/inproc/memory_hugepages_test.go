//go:build linux && (amd64 || arm64)

package inproc

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// adviceAt says what the system has been advised about the mapping at an address: "hg" for huge pages, "nh" for none.
func adviceAt(t *testing.T, at uintptr) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(b)) {
		var low, high uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &low, &high); n == 2 {
			inside = low <= at && at < high
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			advice := slices.DeleteFunc(strings.Fields(flags), func(f string) bool { return f != "hg" && f != "nh" })
			return strings.Join(advice, " ")
		}
	}
	t.Fatalf("nothing is mapped at %#x", at)
	return ""
}

// needHugePages skips a test where the system has no huge pages, or, as emulators do, ignores advice about them.
func needHugePages(t *testing.T) {
	t.Helper()
	at, err := reserve(hugePage, protRW)
	if err != nil {
		t.Fatal(err)
	}
	defer munmap(at, hugePage)
	madvise(at, hugePage, madvHuge)
	if !process.hasHugePages() || adviceAt(t, at) != "hg" {
		t.Skip("the system has no huge pages of 2 MiB")
	}
}

// TestHugePages grows memories in steps. Only a large one asks for huge pages, where the store wants them, and what the
// memory has already stays as it was. The next memory at the same place gets no advice, and the mappings are given back.
func TestHugePages(t *testing.T) {
	needHugePages(t)
	const small, large = hugeGrowth/uint64(wasmPage) - 1, hugeGrowth / uint64(wasmPage)
	for _, c := range []struct {
		name   string
		config Config
		grow   uint64
		asked  bool
	}{
		{"large", Config{HugePages: true}, large, true},
		{"small", Config{HugePages: true}, small, false},
		{"not wanted", Config{}, large, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := NewStore(c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			m, err := s.NewMemory(Limits{Min: large})
			if err != nil {
				t.Fatal(err)
			}
			if m.advised {
				t.Error("a new memory asks")
			}
			before := process.mappings
			if got := m.Grow(c.grow); got != large {
				t.Fatalf("growth gives %d", got)
			}
			if m.advised != c.asked {
				t.Errorf("asked: %v", m.advised)
			}
			low, end := m.base, m.base+uintptr(m.Size())
			if got := adviceAt(t, low); got != "" {
				t.Errorf("advice %q about what there was before", got)
			}
			if got := adviceAt(t, end-1); (got != "") != c.asked {
				t.Errorf("advice %q", got)
			}
			if !c.asked && process.mappings != before || c.asked && process.mappings != before+hugeMappings {
				t.Errorf("%d mappings, then %d", before, process.mappings)
			}
			b := m.Bytes()
			if i := slices.IndexFunc(b, func(x byte) bool { return x != 0 }); i >= 0 {
				t.Errorf("byte %d of %d is not zero", i, len(b))
			}
			b[len(b)-1] = 1
			m.Grow(large)
			if process.mappings > before+hugeMappings {
				t.Error("growing again takes mappings")
			}
			s.Close()
			if process.mappings >= before {
				t.Errorf("%d mappings after closing, %d before growth", process.mappings, before)
			}
			if got := adviceAt(t, end-1) + adviceAt(t, end+hugeGrowth); got != "" {
				t.Errorf("advice %q stays after closing", got)
			}
		})
	}
}

// TestSlowHugePages: if the first huge page is not quick, the memory has none.
func TestSlowHugePages(t *testing.T) {
	needHugePages(t)
	for want, limit := range map[string]time.Duration{"nh": -1, "hg": time.Hour} {
		s, err := NewStore(Config{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.NewMemory(Limits{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		m.Grow(1024)
		m.useHugePages(uintptr(wasmPage), limit)
		if got := adviceAt(t, m.base+uintptr(m.Size())-1); got != want {
			t.Errorf("advice %q with the limit %v, want %q", got, limit, want)
		}
		s.Close()
	}
}

// TestHugePagesWithoutMappings: a memory does without advice when the process has no mappings left.
func TestHugePagesWithoutMappings(t *testing.T) {
	needHugePages(t)
	s := newStore(t)
	s.config.HugePages = true
	m, err := s.NewMemory(Limits{Min: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &process
	p.mu.Lock()
	most := p.maxMappings
	p.maxMappings = p.mappings + hugeMappings - 1
	p.mu.Unlock()
	defer func() { p.maxMappings = most }()
	if got := m.Grow(1024); got != 1 || m.advised {
		t.Errorf("growth gives %d, asked: %v", got, m.advised)
	}
}
