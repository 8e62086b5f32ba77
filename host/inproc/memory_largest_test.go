//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// TestLargestMemory: what compiled code relies on. A memory that states no maximum ends below 4 GiB, also one that another
// module or the host may have as large as it wants, from the moment on that it is imported.
func TestLargestMemory(t *testing.T) {
	const largest = abi.DefaultMemoryPages
	s := newStore(t)
	memory := func(l Limits) *Memory {
		m, err := s.NewMemory(l)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	grows := func(name string, m *Memory, to uint64) {
		t.Helper()
		old := m.Size() / abi.PageSize
		if got := m.Grow(to + 1 - old); got != growFailed {
			t.Errorf("%s grows from %d to %d pages", name, old, to+1)
		}
		if got := m.Grow(to - old); got != old {
			t.Errorf("%s does not grow from %d to %d pages", name, old, to)
		}
	}
	grows("a memory without a maximum", memory(Limits{Min: 1}), largest)
	grows("a memory with the largest minimum", memory(Limits{Min: largest}), largest)
	grows("a memory with a larger minimum", memory(Limits{Min: largest + 1}), abi.MaxMemoryPages)
	grows("a memory with a maximum", memory(Limits{Min: 1, Max: abi.MaxMemoryPages, HasMax: true}), abi.MaxMemoryPages)

	s = newStore(t)
	imported := func(min, max uint64, has bool, m *Memory) error {
		b := newBuilder().memory(meta.Memory{Min: min, Max: max, HasMax: has, Import: &meta.ImportName{Module: "m", Name: "n"}})
		module, err := s.Load(b.image("init"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Instantiate(module, one(m))
		return err
	}
	open := memory(Limits{Min: 1, Max: abi.MaxMemoryPages, HasMax: true})
	var link *LinkError
	if err := imported(2, largest, false, open); !errors.As(err, &link) {
		t.Error(err)
	}
	if got := open.Grow(largest); got != 1 {
		t.Errorf("a memory that was not imported after all does not grow: %d", got)
	}
	if err := imported(1, largest, false, open); !errors.As(err, &link) || link.Name != "n" {
		t.Errorf("a memory of %d pages was imported: %v", open.Size()/abi.PageSize, err)
	}
	if err := imported(1, abi.MaxMemoryPages, false, open); err != nil {
		t.Error(err)
	}
	open = memory(Limits{Min: 1, Max: abi.MaxMemoryPages, HasMax: true})
	if err := imported(1, largest, false, open); err != nil {
		t.Error(err)
	}
	grows("an imported memory", open, largest)
}
