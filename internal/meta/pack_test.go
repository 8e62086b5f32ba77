package meta

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
)

// manySites is a module with tables that are worth packing.
func manySites() (*Module, Sizes) {
	m := sample()
	m.Traps, m.Calls = nil, nil
	f := &m.Funcs[len(m.Funcs)-1]
	f.Size = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(20000) {
		src := 100 + 7*i + r.Uint32N(20)
		if i%5 == 0 {
			src = 1<<31 | i%uint32(len(m.Inlined))
		}
		m.Traps = append(m.Traps, abi.TrapSite{Offset: f.Text + 9*i + r.Uint32N(9), Code: abi.TrapMemoryOutOfBounds, Fault: abi.FaultMemory, Src: src})
		m.Calls = append(m.Calls, abi.CallSite{Offset: f.Text + 12*i + r.Uint32N(12), Src: src})
	}
	m.StackMaps = StackMaps{}
	s := sampleSizes
	s.Text = uint64(f.Text + f.Size)
	return m, s
}

func TestPack(t *testing.T) {
	m, sizes := manySites()
	plain := Encode(m)
	packed := plain
	polls := 0
	var p Packer
	for _, x := range []*[]byte{&packed.Traps, &packed.StackMaps, &packed.Calls} {
		*x = p.Pack(*x, func() { polls++ })
	}
	if 10*len(packed.Traps) > 9*len(plain.Traps) || 10*len(packed.Calls) > 9*len(plain.Calls) || polls != 2 {
		t.Errorf("%d and %d bytes of %d and %d, %d polls", len(packed.Traps), len(packed.Calls), len(plain.Traps), len(plain.Calls), polls)
	}
	if !bytes.Equal(packed.StackMaps, plain.StackMaps) || !bytes.Equal(p.Pack(packed.Traps, func() {}), packed.Traps) {
		t.Error("a short table, or a packed one, was packed")
	}
	for _, s := range []Sections{plain, packed} {
		got, err := Decode(s, sizes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
	}
	// What repeats too much stays as it is: readers would need more memory than there are bytes in the file.
	zeros := append(bytes.Clone(plain.Traps[:headerSize+1]), make([]byte, 100<<10)...)
	if got := p.Pack(zeros, func() {}); !bytes.Equal(got, zeros) {
		t.Errorf("%d zeros have become %d bytes", 100<<10, len(got))
	}
}

// TestUnpackDamaged: streams that are no streams, or not of the size that is said.
func TestUnpackDamaged(t *testing.T) {
	m, sizes := manySites()
	good := Encode(m)
	table := good.Traps[headerSize+1:]
	var stream bytes.Buffer
	w, _ := flate.NewWriter(&stream, 9)
	w.Write(table)
	w.Close()
	with := func(size int, stream []byte) []byte {
		b := binary.AppendUvarint(bytes.Clone(good.Traps[:headerSize]), uint64(size))
		b = append(b, stream...)
		Seal(b)
		return b
	}
	whole := stream.Bytes()
	bad := bytes.Clone(whole)
	bad[0] |= 6 // a kind of block that there is not
	for _, x := range []struct {
		section []byte
		want    string
	}{
		{with(len(table), whole), ""},
		{with(len(table)-1, whole), "more than its size"},
		{with(len(table)+1, whole), "unexpected EOF"},
		{with(len(table), whole[:len(whole)-1]), "packed table:"},
		{with(len(table), append(bytes.Clone(whole), 0)), "more than its size"},
		{with(len(table), bad), "corrupt"},
		{with(maxRatio*len(whole)+maxRatio, whole), "packed table of"},
		{with(1<<40, whole), "size of a packed table"},
	} {
		s := good
		s.Traps = x.section
		_, err := Decode(s, sizes)
		var de *DecodeError
		if x.want == "" && err != nil || x.want != "" && (!errors.As(err, &de) || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("want %q: %v", x.want, err)
		}
	}
}
