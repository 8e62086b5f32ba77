// Package cost measures where the processor time and the memory of a compilation go.
//
// Place in the pipeline: beside it; package compile tells a Meter what has ended, and the command prints what it has.
//
// Input: the names of stages, each when it has ended; numbers of functions.
// Output: the processor time of the thread and its page faults, by stage, and for the functions that took longest. Page faults
// tell where memory goes: nearly each is a page that is touched for the first time.
//
// Without a Meter nothing is measured, and no clock is read: its methods do nothing if it is nil.
package cost

import (
	"cmp"
	"runtime"
	"slices"
	"time"
)

// Dearest is how many functions a Meter remembers.
const Dearest = 10

// Use is what something has taken.
type Use struct {
	// CPU is the time of the thread, in its own code and the kernel's. What the collector does in other threads is not in it.
	CPU time.Duration
	// PageFaults is 0 where the system does not tell.
	PageFaults int64
}

func (u *Use) add(v Use) {
	u.CPU += v.CPU
	u.PageFaults += v.PageFaults
}

// Stage is what a stage has taken.
type Stage struct {
	Name string
	Use
}

// Func is what a function has taken, and each of its stages.
type Func struct {
	Index uint32
	Use
	Stages []Stage
}

// Meter measures one goroutine. The zero value is ready for Start.
type Meter struct {
	last    Use     // the readings at the end of the last stage
	stages  []Stage // in the order in which they first ended
	fn      []Stage // the same of the function at hand
	dearest []Func  // at most Dearest, the dearest first
	// measuring is what measuring has taken, which no stage is charged with.
	measuring time.Duration
}

// Another returns a Meter for another goroutine, nil if m is.
func (m *Meter) Another() *Meter {
	if m == nil {
		return nil
	}
	return new(Meter)
}

// Start ties the goroutine to its thread, whose clock is read, and begins the first stage. What was charged before is of no function. Stop must
// be called, once for each Start.
func (m *Meter) Start() {
	if m == nil {
		return
	}
	runtime.LockOSThread()
	m.fn = m.fn[:0]
	m.last = thread()
}

// Stop ends what Start began.
func (m *Meter) Stop() {
	if m != nil {
		runtime.UnlockOSThread()
	}
}

// Ended charges all that was used since the last stage ended to the named one.
func (m *Meter) Ended(stage string) {
	if m != nil {
		m.ended(stage)
	}
}

func (m *Meter) ended(stage string) {
	now := thread()
	u := Use{now.CPU - m.last.CPU, now.PageFaults - m.last.PageFaults}
	find(&m.stages, stage).add(u)
	find(&m.fn, stage).add(u)
	m.last = thread()
	m.measuring += m.last.CPU - now.CPU
}

// find returns the use of the named stage, which it adds if it is not there.
func find(stages *[]Stage, name string) *Use {
	for i := range *stages {
		if (*stages)[i].Name == name {
			return &(*stages)[i].Use
		}
	}
	*stages = append(*stages, Stage{Name: name})
	return &(*stages)[len(*stages)-1].Use
}

// Func says that the stages since the last call were those of function i.
func (m *Meter) Func(i uint32) {
	if m == nil {
		return
	}
	f := Func{Index: i}
	for _, s := range m.fn {
		f.add(s.Use)
	}
	m.insert(f, m.fn)
	m.fn = m.fn[:0]
}

// insert remembers a function, or what more one has taken that is remembered, if it is among the dearest.
func (m *Meter) insert(f Func, stages []Stage) {
	if k := slices.IndexFunc(m.dearest, func(g Func) bool { return g.Index == f.Index }); k >= 0 {
		old := m.dearest[k]
		m.dearest = slices.Delete(m.dearest, k, k+1)
		for _, s := range stages {
			find(&old.Stages, s.Name).add(s.Use)
		}
		f.add(old.Use)
		stages = old.Stages
	}
	k, _ := slices.BinarySearchFunc(m.dearest, f, func(a, b Func) int { return cmp.Compare(b.CPU, a.CPU) })
	if k == Dearest {
		return
	}
	f.Stages = slices.Clone(stages)
	m.dearest = slices.Insert(m.dearest, k, f)
	m.dearest = m.dearest[:min(len(m.dearest), Dearest)]
}

// Add adds what another Meter has measured, which must not be in use.
func (m *Meter) Add(other *Meter) {
	if m == nil {
		return
	}
	for _, s := range other.stages {
		find(&m.stages, s.Name).add(s.Use)
	}
	for _, f := range other.dearest {
		m.insert(f, f.Stages)
	}
	m.measuring += other.measuring
	m.fn = m.fn[:0]
}

// Measuring returns the processor time that measuring has taken.
func (m *Meter) Measuring() time.Duration { return m.measuring }

// Stages returns what each stage has taken, in the order in which they first ended.
func (m *Meter) Stages() []Stage { return m.stages }

// Dearest returns the functions that took the most time, the dearest first.
func (m *Meter) Dearest() []Func { return m.dearest }

// Process is what a process has taken so far.
type Process struct {
	CPU        time.Duration // of all threads, in its own code and the kernel's
	Peak       int64         // memory, in bytes
	PageFaults int64
}
