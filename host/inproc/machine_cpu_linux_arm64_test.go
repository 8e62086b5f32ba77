package inproc

import (
	"encoding/binary"
	"testing"
)

// TestHwcap reads features from auxiliary vectors.
func TestHwcap(t *testing.T) {
	vector := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	const all = uint64(dotProductHwcap)
	for _, c := range []struct {
		vector []byte
		want   level
	}{
		{nil, 1},
		{vector(0, 0), 1},
		{vector(3, all, 16, 0xff, 0, 0), 1},
		{vector(3, 1, 16, all|3, 0, 0), 2},
		{vector(3, 1, 16, all), 2},
		{vector(16, all&^(1<<20)), 1},
		{vector(16, all&^(1<<8)), 1},
		{vector(16, all)[:15], 1},
	} {
		if got := levelOf(hwcap(c.vector)); got != c.want {
			t.Errorf("%x: level %d, want %d", c.vector, got, c.want)
		}
	}
}
