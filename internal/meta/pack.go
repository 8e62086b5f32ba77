package meta

import (
	"bytes"
	"compress/flate"
	"io"
	"slices"
)

// This file packs tables, which are long and seldom read: the payload begins with the size of the table and continues with a DEFLATE stream
// (RFC 1951). If the size is 0, the table itself follows.

const (
	// minPacked is the least size of tables for which packing is worth while, in bytes: a packer touches some 50 pages, which
	// costs more than a small module's functions.
	minPacked = 16 << 10
	// maxRatio is how many times as long as the stream a table may be: readers need memory in proportion to files.
	maxRatio = 32
	// packLevel is the effort. Tables are 9 % shorter than with flate.BestSpeed, which is 0.7 % of the code, and packing takes 1.2 times as
	// long. At level 6 they are 2 % shorter again, and it takes 2 times as long.
	packLevel = 4
)

// newTable returns an encoder of a section whose table is not packed.
func newTable(kind byte, room int) *encoder {
	e := newEncoder(kind, room+1)
	e.count(0)
	return e
}

// Packer packs tables, one after the other. The zero value is ready.
type Packer struct{ w *flate.Writer }

// Packs reports whether a table of EncodeTables is long enough to be packed.
func Packs(section []byte) bool {
	return len(section) >= headerSize+1+minPacked && section[headerSize] == 0
}

// Pack returns a table of EncodeTables as a section that is packed, or the same one if that is no shorter. It calls poll every megabyte.
func (p *Packer) Pack(section []byte, poll func()) []byte {
	if !Packs(section) {
		return section
	}
	table := section[headerSize+1:]
	e := &encoder{b: slices.Clone(section[:headerSize])}
	e.count(len(table))
	start := len(e.b)
	out := bytes.NewBuffer(e.b)
	if p.w == nil {
		p.w, _ = flate.NewWriter(nil, packLevel) // the level exists
	}
	p.w.Reset(out)
	for part := range slices.Chunk(table, 1<<20) {
		poll()
		p.w.Write(part) // to a Buffer, which takes all
	}
	p.w.Close()
	e.b = out.Bytes()
	if n := len(e.b) - start; len(e.b) >= len(section) || n*maxRatio < len(table) {
		return section
	}
	return e.finish()
}

// unpack makes d read the table of its section.
func (d *decoder) unpack() {
	size := d.num((1<<31)-1, "size of a packed table")
	if d.err != nil || size == 0 {
		return
	}
	stream := d.b[d.at:]
	if size > maxRatio*uint64(len(stream)) {
		d.fail("packed table of %d bytes", size)
		return
	}
	table := make([]byte, size)
	r := bytes.NewReader(stream)
	f := flate.NewReader(r)
	if _, err := io.ReadFull(f, table); err != nil {
		d.fail("packed table: %v", err)
		return
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF || r.Len() != 0 {
		d.fail("packed table: more than its size")
		return
	}
	d.b, d.at = table, 0
}
