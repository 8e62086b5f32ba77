package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// laneRules enters the rules of operations that move lanes into r.
func laneRules(r *[clif.NumOpcodes]rule) {
	r[clif.OpVsplat] = ruleVsplat
	r[clif.OpVextract] = ruleVextract
	r[clif.OpVextractS] = ruleVextract
	r[clif.OpVinsert] = ruleVinsert
	r[clif.OpVshuffle] = ruleVshuffle
	r[clif.OpVswizzle] = ruleVswizzle
	r[clif.OpVswizzleMod] = ruleVswizzle
}

// maskedLane returns x where v is x with bits changed that a lane of the shape t does not have.
func (c *folder) maskedLane(v clif.Value, t clif.Type) (x clif.Value, ok bool) {
	in := c.def(v)
	if in == nil || t.LaneBits() >= 32 {
		return none, false // it has all bits
	}
	width := c.scaled(uint(t.LaneBits()))
	switch in.Op {
	case clif.OpBand:
		lane := uint64(1)<<width - 1
		if k, isConst := c.constant(in.ArgB()); isConst && k&lane == lane {
			return in.ArgA(), true
		}
	case clif.OpSext8, clif.OpSext16:
		if c.extended(in.Op) >= width {
			return in.ArgA(), true
		}
	}
	return none, false
}

// ruleVsplat: only the low bits count; a lane of a vector is copied where it is.
func ruleVsplat(c *folder, d *clif.InstData) (clif.Value, bool) {
	if x, ok := c.maskedLane(d.ArgA(), d.Type); ok && c.may(RuleLaneMask) {
		d.Args[0] = uint32(x)
		return none, true
	}
	in := c.def(d.ArgA())
	if in != nil && (in.Op == clif.OpVextract || in.Op == clif.OpVextractS) && in.Type == d.Type && c.may(RuleSplatExtract) {
		size := uint8(d.Type.LaneBits() / 8)
		var lanes [16]uint8
		for i := range lanes {
			lanes[i] = in.Lane()*size + uint8(i)%size
		}
		shuffle := clif.InstData{Op: clif.OpVshuffle, Type: clif.I8x16, Args: [3]uint32{in.Args[0], in.Args[0]}}
		shuffle.SetLanes(lanes)
		return become(d, shuffle)
	}
	return ruleVector(c, d)
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
		return c.binary(clif.OpBand, clif.I32, x, c.iconst(clif.I32, 1<<c.scaled(uint(bits))-1))
	}
}

// ruleVextract: the lane is known to be a scalar, or of another vector.
func ruleVextract(c *folder, d *clif.InstData) (clif.Value, bool) {
	in := c.def(d.ArgA())
	if in == nil {
		return none, false
	}
	switch {
	case in.Op == clif.OpVsplat && in.Type == d.Type && c.may(RuleExtractSplat):
		return c.laneOf(d, in.ArgA()), false
	case in.Op == clif.OpVinsert && in.Type == d.Type && in.Lane() == d.Lane() && c.may(RuleExtractInserted):
		return c.laneOf(d, in.ArgB()), false
	case in.Op == clif.OpVinsert && in.Type == d.Type && in.Lane() != d.Lane() && c.may(RuleExtractOther):
		d.Args[0] = in.Args[0]
		return none, true
	case in.Op == clif.OpVshuffle:
		if from, lane, ok := wholeLane(in, d); ok && c.may(RuleExtractShuffle) {
			d.Args[0], d.Imm = from, uint64(lane)
			return none, true
		}
	}
	return ruleVector(c, d)
}

// wholeLane returns the operand and the lane of it that the shuffle puts where d extracts one.
func wholeLane(shuffle, d *clif.InstData) (from uint32, lane uint8, ok bool) {
	size := uint8(d.Type.LaneBits() / 8)
	lanes := shuffle.Lanes()
	bytes := lanes[d.Lane()*size:][:size]
	for i, b := range bytes {
		if b != bytes[0]+uint8(i) || bytes[0]%size != 0 {
			return 0, 0, false
		}
	}
	if bytes[0] >= 16 {
		return shuffle.Args[1], (bytes[0] - 16) / size, true
	}
	return shuffle.Args[0], bytes[0] / size, true
}

// ruleVinsert: only the low bits count; a lane that is there already, or is written again.
func ruleVinsert(c *folder, d *clif.InstData) (clif.Value, bool) {
	if x, ok := c.maskedLane(d.ArgB(), d.Type); ok && c.may(RuleLaneMask) {
		d.Args[1] = uint32(x)
		return none, true
	}
	y := c.def(d.ArgB())
	if y != nil && (y.Op == clif.OpVextract || y.Op == clif.OpVextractS) && y.Type == d.Type && y.Args[0] == d.Args[0] && y.Lane() == d.Lane() && c.may(RuleInsertExtracted) {
		return d.ArgA(), false
	}
	if x := c.defOp(d.ArgA(), clif.OpVinsert); x != nil && x.Type == d.Type && x.Lane() == d.Lane() && c.may(RuleInsertTwice) {
		d.Args[0] = x.Args[0]
		return none, true
	}
	return ruleVector(c, d)
}

// ruleVshuffle: shuffles that move nothing, or lanes of one operand, perhaps of another shuffle.
func ruleVshuffle(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v := c.foldVector(d); v != none {
		return v, false
	}
	lanes := d.Lanes()
	var first, second bool // lanes of which operand there are
	for i, l := range lanes {
		if d.Args[0] == d.Args[1] {
			lanes[i] = l % 16
		}
		first, second = first || lanes[i] < 16, second || lanes[i] >= 16
	}
	if first && second {
		return none, false
	}
	from := d.Args[0]
	if second {
		from = d.Args[1]
	}
	for i := range lanes {
		lanes[i] %= 16
	}
	if d.Args[0] != d.Args[1] || lanes != d.Lanes() {
		if c.may(RuleShuffleOne) {
			d.Args[0], d.Args[1] = from, from
			d.SetLanes(lanes)
			return none, true
		}
		return none, false
	}
	return shuffleOne(c, d, lanes)
}

// shuffleOne: a shuffle of one operand.
func shuffleOne(c *folder, d *clif.InstData, lanes [16]uint8) (clif.Value, bool) {
	size := uint8(16) // of lanes that are all the same in the operand
	in := c.def(d.ArgA())
	if in != nil && in.Op == clif.OpVsplat {
		size = uint8(in.Type.LaneBits() / 8)
	}
	stays := true
	for i, l := range lanes {
		stays = stays && l%size == uint8(i)%size
	}
	switch {
	case stays && c.may(RuleShuffleStays):
		return d.ArgA(), false
	case in == nil || in.Op != clif.OpVshuffle:
		return none, false
	}
	// Two shuffles are one if the lanes are all of one operand.
	inner := in.Lanes()
	var parts [2]bool
	for i, l := range lanes {
		lanes[i] = inner[l]
		parts[lanes[i]/16] = true
	}
	if in.Args[0] != in.Args[1] && parts[0] && parts[1] || !c.may(RuleShuffleTwice) {
		return none, false
	}
	d.Args[0], d.Args[1] = in.Args[0], in.Args[1]
	d.SetLanes(lanes)
	return none, true
}

// ruleVswizzle: a swizzle by constants below 16 is a shuffle.
func ruleVswizzle(c *folder, d *clif.InstData) (clif.Value, bool) {
	k, ok := c.vector(d.ArgB())
	if !ok {
		return ruleVector(c, d)
	}
	var lanes [16]uint8
	for i := range lanes {
		l := arith.Lane(clif.I8x16, c.shrink, k, uint(i))
		if l >= 16 || d.Op == clif.OpVswizzleMod && l>>(c.scaled(8)-1) != 0 {
			return ruleVector(c, d)
		}
		lanes[i] = uint8(l)
	}
	if v := c.foldVector(d); v != none || !c.may(RuleSwizzleConst) {
		return v, false
	}
	shuffle := clif.InstData{Op: clif.OpVshuffle, Type: clif.I8x16, Args: [3]uint32{d.Args[0], d.Args[0]}}
	shuffle.SetLanes(lanes)
	return become(d, shuffle)
}
