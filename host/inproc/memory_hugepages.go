package inproc

import (
	"time"

	"github.com/waot-project/waot/internal/abi"
)

// A memory that the guest makes much larger in one step is about to be filled, and most of the time of that is the system's, which provides
// pages of 4 KiB one fault at a time. Huge pages take a fraction of it, unless the system has to look for them (it compacts memory) or its
// own host has to provide what is behind them. So the first one is touched here, and the others follow only if that was quick.
const (
	// hugeGrowth is by how many bytes a memory must grow at once. What it has from the start is often never used.
	hugeGrowth = 4 << 20
	// quickHugePage is what clearing 2 MiB takes with time to spare, and less than 512 faults may take.
	quickHugePage = 500 * time.Microsecond
	// hugeMappings are the mappings by which advice about a part of a memory divides it.
	hugeMappings = 2
)

// useHugePages advises the system to use huge pages for what is above the first used bytes of the memory. They must be accessible as far as
// a huge page goes, and unused. It keeps to that if the first one takes at most limit. Only the first call for a memory counts.
func (m *Memory) useHugePages(used uintptr, limit time.Duration) {
	if m.advised || !process.hasHugePages() || process.takeMappings(hugeMappings) != nil {
		return
	}
	m.advised = true
	low := alignUp(m.base+used, hugePage)
	size := m.base + bytes64(abi.MemoryReservation) - low
	madvise(low, size, madvHuge)
	start := time.Now()
	store64(low, 0)
	if time.Since(start) > limit {
		madvise(low, size, madvNoHuge)
	}
}

// hasHugePages reports whether the system has huge pages of the size hugePage for those who ask.
func (p *processState) hasHugePages() bool {
	p.hugeOnce.Do(func() { p.huge = hugePageSize() == hugePage })
	return p.huge
}
