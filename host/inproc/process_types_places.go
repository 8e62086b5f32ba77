package inproc

import (
	"cmp"
	"slices"

	"github.com/waot-project/waot/internal/abi"
)

// typePlaces are the places of rows in a table: words of which the lowest is the number of the row.
type typePlaces struct {
	// next is the end of the highest row that there was, and limit what it may be.
	next, limit uint32
	// free are the places below next that no row has, by their sizes: no row needs more than the largest.
	free [abi.MaxTypeDepth + 2][]uint32
	// freed is how many words were given back since places were last joined.
	freed uint32
}

// take returns a place for a row of a size. The process often makes types like those that it has forgotten, so a place of the same size is best, and a part of a larger one is what is tried last.
func (p *typePlaces) take(size uint32) (number uint32, ok bool) {
	if number, ok = p.pop(size); ok {
		return number, true
	}
	if p.next+size <= p.limit {
		number, p.next = p.next, p.next+size
		return number, true
	}
	for have := size + 1; have < uint32(len(p.free)); have++ {
		if number, ok = p.pop(have); ok {
			p.push(number+size, have-size)
			return number, true
		}
	}
	return 0, false
}

func (p *typePlaces) pop(size uint32) (number uint32, ok bool) {
	list := &p.free[size]
	n := len(*list) - 1
	if n < 0 {
		return 0, false
	}
	number, *list = (*list)[n], (*list)[:n]
	return number, true
}

func (p *typePlaces) push(number, size uint32) { p.free[size] = append(p.free[size], number) }

// give takes back the place of a row.
func (p *typePlaces) give(n typeNumber) {
	p.push(n.number, n.size())
	p.freed += n.size()
}

// worthJoining reports whether so much was given back that to join places takes little time for each word of it.
func (p *typePlaces) worthJoining() bool { return p.freed >= p.limit/8 }

// join makes places next to each other one, as far as that is of use, given the rows that there are.
func (p *typePlaces) join(rows []typeNumber) {
	slices.SortFunc(rows, func(a, b typeNumber) int { return cmp.Compare(a.number, b.number) })
	*p = typePlaces{next: abi.FirstTypeNumber, limit: p.limit}
	for _, n := range rows {
		for gap := n.number - p.next; gap > 0; gap = n.number - p.next {
			size := min(gap, uint32(len(p.free)-1))
			p.push(p.next, size)
			p.next += size
		}
		p.next += n.size()
	}
}
