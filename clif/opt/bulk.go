package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// maxInlineBytes is how many bytes of memory.copy and memory.fill become loads and stores.
const maxInlineBytes = 64

// piece is a part of a block of bytes: its offset, and its size, a power of two up to 16.
type piece struct{ at, size uint64 }

// pieces divides n bytes, at most maxInlineBytes, into few pieces. The last may overlap the one before.
func pieces(n uint64) (p [maxInlineBytes/16 + 1]piece, count int) {
	if n == 0 {
		return p, 0
	}
	size := min(16, uint64(1)<<(bits.Len64(n)-1))
	for ; uint64(count+1)*size <= n; count++ {
		p[count] = piece{uint64(count) * size, size}
	}
	rest := n % size
	if rest == 0 {
		return p, count
	}
	if !isPow2(rest) {
		rest = size
	}
	p[count] = piece{n - rest, rest}
	return p, count + 1
}

// access is a load or store of the piece at an address.
func (p *piece) access(op clif.Opcode, memory uint32, addr clif.Value) clif.InstData {
	d := clif.InstData{Op: op, Type: clif.I32, Cond: uint8(clif.Full), Aux: memory, Args: [3]uint32{uint32(addr)}, Imm: p.at, Result: clif.NoValue}
	switch p.size {
	case 1:
		d.Cond = uint8(clif.U8)
	case 2:
		d.Cond = uint8(clif.U16)
	case 8:
		d.Type = clif.I64
	case 16:
		d.Type = clif.V128
	}
	return d
}

// bulk makes loads and stores of a copy or fill of few bytes, which the checks in front of it have found to be in memory. All loads
// come before all stores, since both places may overlap. Addresses fit in 32 bits, as the memory does. It reports whether it did.
func (c *folder) bulk(d *clif.InstData) bool {
	n, ok := c.constant(d.ArgC())
	rule := RuleCopySmall
	if d.Op == clif.OpMemoryFill {
		rule = RuleFillSmall
	}
	if !ok || n > maxInlineBytes || !c.may(rule) {
		return false
	}
	p, count := pieces(n)
	if count == 0 {
		return true
	}
	var values [len(p)]clif.Value
	if d.Op == clif.OpMemoryFill {
		c.fillPieces(d.ArgB(), p[:count], values[:])
	} else {
		from := c.unary(clif.OpIreduce, clif.I32, d.ArgB())
		for i := range p[:count] {
			load := p[i].access(clif.OpLoad, uint32(d.Imm), from)
			values[i] = c.make1(load, load.Type)
		}
	}
	to := c.unary(clif.OpIreduce, clif.I32, d.ArgA())
	for i := range p[:count] {
		store := p[i].access(clif.OpStore, d.Aux, to)
		store.Args[1] = uint32(values[i])
		if !c.write(&store) {
			c.place(&store)
		}
	}
	return true
}

// fillPieces sets values to the low byte of x, an i32, as often as each piece has room for it.
func (c *folder) fillPieces(x clif.Value, p []piece, values []clif.Value) {
	const t = clif.I64
	low := c.binary(clif.OpBand, t, c.unary(clif.OpUextend, t, x), c.iconst(t, 0xff))
	word := c.binary(clif.OpImul, t, low, c.iconst(t, 0x0101010101010101))
	for i := range p {
		switch p[i].size {
		case 16:
			values[i] = c.make1(clif.InstData{Op: clif.OpVsplat, Type: clif.I64x2, Args: [3]uint32{uint32(word)}}, clif.V128)
		case 8:
			values[i] = word
		default:
			values[i] = c.unary(clif.OpIreduce, clif.I32, word)
		}
	}
}
