package cost

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

var sink []byte

// work uses the processor for at least d.
func work(d time.Duration) {
	for start := thread(); thread().CPU-start.CPU < d; {
	}
}

func names(stages []Stage) (all []string) {
	for _, s := range stages {
		all = append(all, s.Name)
	}
	return all
}

// pages is how many pages TestMeter touches, of 4 KiB or less; so much is never a huge page's part only.
const pages = 512

// TestMeter: each stage is charged with what was used since the last one ended, and a function with its stages.
func TestMeter(t *testing.T) {
	m := new(Meter)
	m.Start()
	defer m.Stop()
	m.Ended("start")
	m.Func(0)
	work(2 * time.Millisecond)
	m.Ended("first")
	sink = make([]byte, pages<<12)
	for i := range sink {
		sink[i] = 1
	}
	m.Ended("second")
	m.Func(7)
	work(time.Millisecond)
	m.Ended("first")
	m.Func(8)

	if got := names(m.Stages()); !slices.Equal(got, []string{"start", "first", "second"}) {
		t.Fatal(got)
	}
	first, second := m.Stages()[1], m.Stages()[2]
	if first.CPU < 3*time.Millisecond || first.PageFaults >= pages || runtime.GOOS == "linux" && second.PageFaults < pages {
		t.Errorf("%+v", m.Stages())
	}
	d := m.Dearest()
	if len(d) != 3 || d[0].Index != 7 || d[1].Index != 8 || d[2].Index != 0 {
		t.Fatalf("%+v", d)
	}
	if d[0].PageFaults != d[0].Stages[0].PageFaults+d[0].Stages[1].PageFaults || d[0].CPU < 2*time.Millisecond || d[0].CPU < d[0].Stages[0].CPU+d[0].Stages[1].CPU || !slices.Equal(names(d[0].Stages), []string{"first", "second"}) {
		t.Errorf("%+v", d[0])
	}
}

// TestDearest: the dearest functions are kept, each once, in order, whichever Meter had them.
func TestDearest(t *testing.T) {
	m := new(Meter)
	other := m.Another()
	for i := range uint32(100) {
		x := m
		if i%2 == 1 {
			x = other
		}
		x.insert(Func{Index: i, Use: Use{CPU: time.Duration(i * 37 % 100)}}, []Stage{{"s", Use{CPU: time.Duration(i * 37 % 100)}}})
	}
	m.Add(other)
	d := m.Dearest()
	if len(d) != Dearest {
		t.Fatalf("%d functions", len(d))
	}
	for k, f := range d {
		if want := time.Duration(99 - k); f.CPU != want || time.Duration(f.Index*37%100) != want {
			t.Errorf("place %d: %+v", k, f)
		}
	}
	last := d[Dearest-1]
	m.insert(Func{Index: last.Index, Use: Use{CPU: 50}}, []Stage{{"s", Use{CPU: 20}}, {"t", Use{CPU: 30}}})
	d = m.Dearest()
	if len(d) != Dearest || d[0].Index != last.Index || d[0].CPU != last.CPU+50 || d[0].Stages[0].CPU != last.CPU+20 || d[0].Stages[1].CPU != 30 {
		t.Errorf("%+v", d)
	}
}

// TestNil: without a Meter nothing happens, and nothing is allocated.
func TestNil(t *testing.T) {
	var m *Meter
	if n := testing.AllocsPerRun(100, func() {
		m.Start()
		m.Ended("stage")
		m.Func(1)
		m.Add(m.Another())
		m.Stop()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
