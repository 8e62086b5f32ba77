package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
)

// countedLoop holds facts about a loop when its header is entered. The bounds of the values that the loop defines are not yet known then.
type countedLoop struct {
	header clif.Block
	back   clif.Target
	// guard holds where the edge back is taken.
	guard guard
	// most is how often the edge back is taken at most, if counted.
	most    uint64
	counted bool
}

// start is what a parameter of a header is when the loop begins: at most upper, and just that if exact.
type start struct {
	upper uint64
	exact bool
	bound uint64 // of the parameter, as far as edges were seen
}

// guardOn is what holds on the edge e; its left side is NoValue if that is nothing.
func (b *upperBounds) guardOn(e analysis.Edge) guard {
	d := &b.f.Insts[b.f.Terminator(e.From)]
	if d.Op != clif.OpBranch || d.Args[1] == d.Args[2] {
		return guard{x: clif.NoValue, y: clif.NoValue}
	}
	return b.guardOf(d.ArgA(), clif.Target(d.Args[1]) == e.Target)
}

// stepOf returns what next, the argument for parameter v on the edge back, adds to v: a constant.
func (b *upperBounds) stepOf(v, next clif.Value) (step uint64, ok bool) {
	i := b.f.DefInst(next)
	if i == clif.NoInst {
		return 0, false
	}
	d := &b.f.Insts[i]
	if d.Op != clif.OpIadd || d.ArgA() != v {
		return 0, false
	}
	return b.constant(d.ArgB())
}

// count finds how often the edge back is taken, from the parameter whose value the guard compares before or after it
// changes.
func (l *countedLoop) count(b *upperBounds, starts []start) {
	args := b.f.TargetArgs(l.back)
	for n, p := range b.f.Params(l.header) {
		b.f.Stop.PollAt(n)
		v, next := clif.Value(p), clif.Value(args[n])
		step, ok := b.stepOf(v, next)
		if !ok {
			continue
		}
		for _, g := range [...]guard{l.guard, l.guard.swapped()} {
			if g.x != v && g.x != next {
				continue
			}
			if l.most, l.counted = b.taken(g, v, step, starts[n]); l.counted && g.x == v {
				l.most++ // it was compared before it changed, so the first value counts, too
			}
			if l.counted {
				return
			}
		}
	}
}

// taken returns how often in a row g holds of the numbers s+step, s+2*step and so on, where s is the start, if that has a bound.
func (b *upperBounds) taken(g guard, v clif.Value, step uint64, s start) (n uint64, ok bool) {
	y, exact := b.right(g)
	ones := b.ones(v)
	down := -step & ones
	switch g.cc {
	case clif.Ne:
		// The numbers meet y, or go past it.
		distance, size := (y-s.upper)&ones, step
		if step > ones>>1 {
			distance, size = (s.upper-y)&ones, down
		}
		if exact && s.exact && distance > 0 && size > 0 && distance%size == 0 {
			return distance/size - 1, true
		}
	case clif.Ult, clif.Ule, clif.Slt, clif.Sle:
		// They grow, and end before they wrap or become negative: each that follows one for which g holds is at most y+step.
		limit := ones
		if g.cc == clif.Slt || g.cc == clif.Sle {
			limit >>= 1
		}
		if step > 0 && step <= limit && y <= limit-step && s.upper <= limit-step {
			return y / step, true
		}
	case clif.Sgt, clif.Sge:
		// They fall. What follows the last that is not below 0 is negative, and g does not hold for it.
		if down > 0 && down <= ones>>1 && (y <= ones>>1 || g.cc == clif.Sgt && exact && y == ones) {
			return s.upper / down, true
		}
	}
	return 0, false
}

// param returns a bound of parameter n of the header, from its start and what the edge back brings.
func (l *countedLoop) param(b *upperBounds, n int, s start) uint64 {
	v, next := clif.Value(b.f.Params(l.header)[n]), clif.Value(b.f.TargetArgs(l.back)[n])
	if next == v {
		return s.upper
	}
	upper := b.under(l.guard, next)
	if step, ok := b.stepOf(v, next); ok && l.counted {
		upper = min(upper, l.last(b, v, step, s))
	}
	return max(s.upper, upper)
}

// last returns a bound of a parameter that gains step whenever the edge back is taken: it wraps neither up nor down.
func (l *countedLoop) last(b *upperBounds, v clif.Value, step uint64, s start) uint64 {
	ones := b.ones(v)
	if down := -step & ones; step > ones>>1 {
		if s.exact && mulUp(down, l.most) <= s.upper {
			return s.upper
		}
		return ones
	}
	return min(ones, addUp(s.upper, mulUp(step, l.most)))
}
