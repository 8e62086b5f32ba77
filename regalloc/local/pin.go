package local

import "github.com/waot-project/waot/regalloc"

const (
	// maxPinned is the most values of a class that have registers of their own, spare how many registers the others have at least.
	maxPinned, spare = 8, 6
	// pinWeight is the least weight of a value with a callee-saved register of its own, which has to be saved and restored; freeWeight with another one.
	pinWeight, freeWeight = 12, 3
)

// pin gives values with many uses registers of their own: of those that no instruction names or clobbers.
func (a *Allocator) pin() {
	a.base = noValues
	a.own = 0
	for c := range a.needs {
		a.pinClass(regalloc.Class(c))
	}
	for c := range a.avail {
		a.avail[c] = a.env.Allocatable.OfClass(regalloc.Class(c)) &^ a.own
	}
}

func (a *Allocator) pinClass(c regalloc.Class) {
	all := a.env.Allocatable.OfClass(c)
	able := all &^ a.named
	n := min(maxPinned, able.Len(), all.Len()-max(a.needs[c], a.needs[regalloc.Int], spare))
	if n <= 0 {
		return
	}
	best := a.heaviest(c, n)
	for _, v := range best {
		// Registers that need no saving come first.
		r, least := able, uint32(freeWeight)
		if free := able &^ a.env.CalleeSaved; free != 0 {
			r = free
		} else {
			least = pinWeight
		}
		x := &a.values[v]
		if x.weight < least {
			return
		}
		p := r.First()
		able = able.Remove(p)
		x.home = regalloc.InReg(p)
		x.where = p
		a.base[p] = v
		a.own = a.own.Add(p)
		a.out.Used = a.out.Used.Add(p)
	}
}

// heaviest returns the n values of class c with the most weight that may have registers of their own, the heaviest first; fewer if there are not so many.
func (a *Allocator) heaviest(c regalloc.Class, n int) []uint32 {
	best := a.best[:0]
	for k, v := range a.globals {
		a.in.Stop.PollAt(k)
		x := &a.values[v]
		if x.class() != c || x.flags&(isWide|noPin) != 0 || x.weight < freeWeight {
			continue
		}
		if len(best) == n {
			if a.values[best[n-1]].weight >= x.weight {
				continue
			}
			best = best[:n-1]
		}
		best = append(best, v)
		for j := len(best) - 1; j > 0 && a.values[best[j-1]].weight < x.weight; j-- {
			best[j-1], best[j] = best[j], best[j-1]
		}
	}
	return best
}
