package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// This file says where the words of rows about shuffles and lanes find lanes: they fill in found.

// ofOne reports whether all lanes of a shuffle come from one operand, unless that is both operands already.
func ofOne(m *match) bool {
	lanes := m.d.Lanes()
	if !m.fromOne(m.x(), m.y(), lanes) {
		return false
	}
	return m.d.Args[0] != m.d.Args[1] || m.found.lanes != lanes
}

// fromOne finds out the operand that all lanes of the shuffle of x and y come from, and which of it they are.
func (m *match) fromOne(x, y clif.Value, lanes [16]uint8) bool {
	var parts [2]bool
	for i, l := range lanes {
		parts[l/16] = true
		m.found.lanes[i] = l % 16
	}
	if m.found.v = x; !parts[0] {
		m.found.v = y
	}
	return x == y || !parts[0] || !parts[1]
}

// ofOneInside is ofOne for a shuffle, of y and z, that another one shuffles.
func ofOneInside(c *folder, m *match) bool {
	lanes, inner := m.d.Lanes(), c.def(m.x()).Lanes()
	for i, l := range lanes {
		lanes[i] = inner[l%16]
	}
	return m.fromOne(m.y(), m.z(), lanes)
}

// inPlace reports whether a shuffle of twice x leaves all as it is.
func inPlace(c *folder, m *match) bool {
	size := uint8(16) // of lanes that are all the same in x
	if in := c.defOp(m.x(), clif.OpVsplat); in != nil {
		size = uint8(in.Type.LaneBits() / 8)
	}
	for i, l := range m.d.Lanes() {
		if l%size != uint8(i)%size {
			return false
		}
	}
	return true
}

// oneLane reports whether what is extracted from a shuffle of x and y is a lane of one of them.
func oneLane(c *folder, m *match) bool {
	size := uint8(m.d.Type.LaneBits() / 8)
	lanes := c.def(m.d.ArgA()).Lanes()
	bytes := lanes[m.d.Lane()*size:][:size]
	for i, b := range bytes {
		if b != bytes[0]+uint8(i) || bytes[0]%size != 0 {
			return false
		}
	}
	if m.found.v = m.x(); bytes[0] >= 16 {
		m.found.v = m.y()
	}
	m.found.lanes[0] = bytes[0] % 16 / size
	return true
}

// laneOfShuffled extracts the lane that oneLane has found.
func laneOfShuffled(_ *folder, d *clif.InstData, m *match) (clif.Value, bool) {
	d.Args[0], d.Imm = uint32(m.found.v), uint64(m.found.lanes[0])
	return none, true
}

// allLanes reports whether a swizzle by the constant k takes a lane of x everywhere.
func allLanes(c *folder, m *match) bool {
	k, _ := c.vector(m.d.ArgB())
	for i := range m.found.lanes {
		l := arith.Lane(clif.I8x16, c.shrink, k, uint(i))
		if l >= 16 || m.d.Op == clif.OpVswizzleMod && l>>(c.scaled(8)-1) != 0 {
			return false
		}
		m.found.lanes[i] = uint8(l)
	}
	m.found.v = m.x()
	return true
}

// shuffleOfLane puts the lane that is extracted inside of the whole everywhere.
func shuffleOfLane(_ *folder, d *clif.InstData, m *match) (clif.Value, bool) {
	size := uint8(d.Type.LaneBits() / 8)
	for i := range m.found.lanes {
		m.found.lanes[i] = m.lane*size + uint8(i)%size
	}
	return shuffled(d, m.x(), &m.found.lanes)
}

// shuffled makes d a shuffle of lanes of x.
func shuffled(d *clif.InstData, x clif.Value, lanes *[16]uint8) (clif.Value, bool) {
	shuffle := clif.InstData{Op: clif.OpVshuffle, Type: clif.I8x16, Args: [3]uint32{uint32(x), uint32(x)}}
	shuffle.SetLanes(*lanes)
	return become(d, shuffle)
}

// laneOf returns what an extraction gives of a lane that holds the low bits of x.
func (c *folder) laneOf(d *clif.InstData, x clif.Value) clif.Value {
	switch bits := d.Type.LaneBits(); {
	case bits >= 32:
		return x
	case d.Op == clif.OpVextractS && bits == 8:
		return c.unary(clif.OpSext8, clif.I32, x)
	case d.Op == clif.OpVextractS:
		return c.unary(clif.OpSext16, clif.I32, x)
	default:
		return c.binary(clif.OpBand, clif.I32, x, c.iconst(clif.I32, c.allOnes(d.Type)))
	}
}
