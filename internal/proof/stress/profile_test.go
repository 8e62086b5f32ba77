//go:build linux && (amd64 || arm64)

package stress

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/cputime"
)

// spendTime, of the processor, is what the profile must show.
//
//go:noinline
func spendTime(w *world, d time.Duration) error {
	ctx, cancel := cputime.WithTimeout(context.Background(), d)
	defer cancel()
	_, err := w.call(ctx, 0, "spinfib")
	return isCancelled(err, context.DeadlineExceeded)
}

// TestProfileAttribution checks that a profile shows time in native code as that of
// the Go function that called it, with the whole stack.
func TestProfileAttribution(t *testing.T) {
	w := newTestWorld(t, 1)
	if err := inproc.Preemption(); err != nil {
		skip(t, err)
	}
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		skip(t, err)
	}
	err := spendTime(w, 800*time.Millisecond)
	pprof.StopCPUProfile()
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := readProfile(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	total, found, external := int64(0), int64(0), int64(0)
	for _, s := range stacks {
		total += s.count
		switch {
		case strings.Contains(s.names, "stress.spendTime"):
			found += s.count
		case strings.Contains(s.names, "_ExternalCode"):
			external += s.count
		}
	}
	t.Logf("%d samples, %d below spendTime, %d in unknown code", total, found, external)
	if total < 10 {
		skip(t, "too few samples")
	}
	if found*100 < total*80 {
		t.Errorf("only %d of %d samples are those of the caller", found, total)
		for _, s := range stacks {
			t.Logf("%d %s", s.count, s.names)
		}
	}
}

// sampled is a stack of a profile: names of functions, separated by spaces.
type sampled struct {
	names string
	count int64
}

var errProfile = errors.New("profile cannot be read")

// readProfile reads the part of a profile that tells which functions were sampled how often.
func readProfile(b []byte) (stacks []sampled, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if b, err = io.ReadAll(z); err != nil {
		return nil, err
	}
	top, err := parseMessage(b)
	if err != nil {
		return nil, err
	}
	var names []string
	functions := map[uint64]uint64{} // name by function
	locations := map[uint64][]uint64{}
	var samples []message
	for _, f := range top {
		sub, _ := parseMessage(f.bytes)
		switch f.number {
		case 2:
			samples = append(samples, sub)
		case 4:
			for _, line := range sub {
				if line.number == 4 {
					l, _ := parseMessage(line.bytes)
					locations[sub.value(1)] = append(locations[sub.value(1)], l.value(1))
				}
			}
		case 5:
			functions[sub.value(1)] = sub.value(2)
		case 6:
			names = append(names, string(f.bytes))
		}
	}
	for _, m := range samples {
		s := sampled{}
		for _, loc := range m.packed(1) {
			for _, f := range locations[loc] {
				if functions[f] >= uint64(len(names)) {
					return nil, errProfile
				}
				s.names += names[functions[f]] + " "
			}
		}
		if v := m.packed(2); len(v) > 0 {
			s.count = int64(v[0])
		}
		stacks = append(stacks, s)
	}
	return stacks, nil
}

// message is the fields of a protocol buffer.
type message []field

type field struct {
	number uint64
	value  uint64
	bytes  []byte
}

func parseMessage(b []byte) (m message, err error) {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errProfile
		}
		v, k := binary.Uvarint(b[n:])
		if k <= 0 {
			return nil, errProfile
		}
		b = b[n+k:]
		f := field{number: key >> 3, value: v}
		switch key & 7 {
		case 0:
		case 2:
			if v > uint64(len(b)) {
				return nil, errProfile
			}
			f.bytes, b = b[:v], b[v:]
		default:
			return nil, errProfile
		}
		m = append(m, f)
	}
	return m, nil
}

func (m message) value(number uint64) uint64 {
	for _, f := range m {
		if f.number == number {
			return f.value
		}
	}
	return 0
}

// packed is the values of a repeated field.
func (m message) packed(number uint64) (out []uint64) {
	for _, f := range m {
		if f.number != number {
			continue
		}
		if f.bytes == nil {
			out = append(out, f.value)
		}
		for b := f.bytes; len(b) > 0; {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				break
			}
			out, b = append(out, v), b[n:]
		}
	}
	return out
}
