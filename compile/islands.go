package compile

import (
	"cmp"
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// islands are the veneers of a text that is longer than a call reaches. An island stands between two
// functions, the next one about a quarter of the reach behind it. A veneer in it is one branch, to a
// function or to the veneer for that function in the next island on the way: it needs no register and, as
// the branch is direct, no landing pad where it leads.
//
// What needs a veneer is decided by where the functions would be without islands: each branch over more
// than half of the reach. So islands do not move the decision while all of them are shorter than the other half;
// a branch that does not reach all the same is an error.
type islands struct {
	reach int64
	plain []uint32 // by function, and behind the last one: offset in the text without islands
	list  []island
}

// island is one of them.
type island struct {
	before  uint32   // the function that it stands in front of
	at      uint32   // offset in the text
	targets []uint32 // the functions that it has veneers for, in ascending order
}

// size returns the island's size in bytes.
func (x *island) size() int { return veneerSize * len(x.targets) }

// settle puts the targets in order.
func (x *island) settle() {
	slices.Sort(x.targets)
	x.targets = slices.Compact(x.targets)
}

// veneerSize is the size of a veneer in bytes.
const veneerSize = 4

// findIslands decides which islands the text needs; plain is the field.
func (l *linker) findIslands(plain []uint32) *islands {
	s := &islands{reach: l.target.callReach, plain: plain}
	first, n := uint32(l.cm.NumImportedFuncs), uint32(len(l.cm.Funcs))
	if s.reach == 0 || int64(plain[n]) <= s.reach/2 {
		return s
	}
	begin := plain[first]
	for i := first + 1; i < n; i++ {
		if int64(plain[i+1]-begin) > s.reach/4 {
			s.list = append(s.list, island{before: i})
			begin = plain[i]
		}
	}
	add := func(k int, t uint32) {
		if k >= 0 {
			s.list[k].targets = append(s.list[k].targets, t)
		}
	}
	for i := first; i < n; i++ {
		l.opt.stop.Poll()
		r := &l.results[i]
		if r.absent() {
			continue
		}
		for _, rel := range r.worker.relocs.at(r.relocs) {
			if t := backend.SymRef(rel.Symbol).Func(); (rel.Kind == reloc.Call26 || rel.Kind == reloc.Jump26) && t >= first && t < n {
				add(s.first(i, rel.Offset, t), t)
			}
		}
	}
	// Veneers that lead to others: those to the end first, then those to the beginning.
	for k := range s.list {
		s.list[k].settle()
		for _, t := range s.list[k].targets {
			if next := s.next(k, t); next > k {
				add(next, t)
			}
		}
	}
	for k := len(s.list) - 1; k >= 0; k-- {
		s.list[k].settle()
		for _, t := range s.list[k].targets {
			if next := s.next(k, t); next < k {
				add(next, t)
			}
		}
	}
	return s
}

// find returns the first island that does not stand in front of an earlier function than i; ok says that it stands in front of i.
func (s *islands) find(i uint32) (k int, ok bool) {
	return slices.BinarySearchFunc(s.list, i, func(x island, i uint32) int { return cmp.Compare(x.before, i) })
}

// first returns the island whose veneer a call goes to, -1 if it goes to its function: the call is in function i, at an
// offset there, and t is what it calls.
func (s *islands) first(i, offset, t uint32) int {
	if !s.far(s.plain[i]+offset, s.plain[t]) {
		return -1
	}
	k, _ := s.find(i + 1)
	if i < t {
		return s.ahead(k, t)
	}
	return s.behind(k-1, t)
}

// next returns the island whose veneer the one for function t in island k leads to, -1 if it leads to the function.
func (s *islands) next(k int, t uint32) int {
	from := s.list[k].before
	switch {
	case !s.far(s.plain[from], s.plain[t]):
		return -1
	case from <= t:
		return s.ahead(k+1, t)
	}
	return s.behind(k-1, t)
}

// far reports whether a branch between two places of the text without islands needs a veneer.
func (s *islands) far(from, to uint32) bool {
	return s.reach != 0 && int64(max(from, to)-min(from, to)) > s.reach/2
}

// ahead is island k, if it stands in front of function t or an earlier one, else -1.
func (s *islands) ahead(k int, t uint32) int {
	if k < len(s.list) && s.list[k].before <= t {
		return k
	}
	return -1
}

// behind is island k, if it stands behind function t, else -1.
func (s *islands) behind(k int, t uint32) int {
	if k >= 0 && s.list[k].before > t {
		return k
	}
	return -1
}

// address returns where the veneer for function t in island k is.
func (s *islands) address(k int, t uint32) uint32 {
	j, _ := slices.BinarySearch(s.list[k].targets, t)
	return s.list[k].at + uint32(veneerSize*j)
}

// target returns where the call of function t in function i leads, at an offset there; at are the offsets of the functions.
func (s *islands) target(i, offset, t uint32, at []uint32) uint32 {
	if k := s.first(i, offset, t); k >= 0 {
		return s.address(k, t)
	}
	return at[t]
}

// emit writes the veneers into the text. It reports whether each reaches where it leads.
func (s *islands) emit(text []byte, m *machine, at []uint32) bool {
	for k := range s.list {
		for _, t := range s.list[k].targets {
			to := at[t]
			if next := s.next(k, t); next >= 0 {
				to = s.address(next, t)
			}
			rel := objfile.Reloc{Offset: uint64(s.address(k, t)), Kind: reloc.Call26}
			copy(text[rel.Offset:], m.veneer)
			if !rel.Apply(text, 0, uint64(to)) {
				return false
			}
		}
	}
	return true
}
