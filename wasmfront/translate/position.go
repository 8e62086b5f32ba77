package translate

// A position is a place in the bodies of all functions that a Translator has translated,
// one body behind the other. Positions only grow, so that what an earlier function has
// left behind is older than the one that is being translated, and need not be cleared.
type position uint32

const (
	// never is before all positions: that of the last write where there is none.
	never position = 0
	// later is behind all positions: the end of what has not ended, the next write where none is known.
	later = ^position(0)
)

// body is where the function being translated lies among the positions.
type body struct {
	// start is before the first operator; the parameters are written there.
	start position
	end   position
	// shift is what makes a position of an offset in the module, modulo 2^32.
	shift position
}

// reset makes b the function behind this one, whose body has that many bytes from offset
// on. It reports false, and begins again at the first position, if positions were about to run out.
func (b *body) reset(offset, size uint32) (ok bool) {
	if ok = b.end <= 1<<31; !ok {
		b.end = never
	}
	b.start = b.end + 1
	b.end = b.start + position(size) + 1
	b.shift = b.start + 1 - position(offset)
	return ok
}

// at returns the position of the operator at an offset in the module.
func (b *body) at(offset uint32) position { return b.shift + position(offset) }

// span is where a loop begins and ends; the end is later if it is not known.
type span struct{ start, end position }

// A chain is the number of a row of blocks, each of which has the one before it as its
// only predecessor: what is known of a local in one is known in those after it. Chains
// are numbered from 1 on, through all functions.
type chain uint32
