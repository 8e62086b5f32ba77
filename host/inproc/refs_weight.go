package inproc

// Weighed is a host value of which code can make as many as it likes, so that what they take counts: about how many bytes, always the same number. It is comparable.
type Weighed interface{ Weight() uint64 }

const (
	// leastWeight is what the values take at least that are made between two collections which look at what they take.
	leastWeight = 16 << 20
	// heavy is the weight from which on a value counts once, however many handles are of it.
	heavy = 4 << 10
)

// Weigh says that a value with a weight gets a handle. The error is a *LimitError if all values that have handles would take more than a limit, also after a collection.
func (s *Store) Weigh(weight, limit uint64, what string) error {
	r := &s.refs
	if r.hostWeight+weight > min(limit, max(r.nextWeighing, leastWeight)) {
		s.collectRefs()
		r.nextWeighing = 2 * r.hostWeight
	}
	if want := r.hostWeight + weight; want > limit {
		return &LimitError{What: what, Want: want, Limit: limit}
	}
	r.hostWeight += weight
	return nil
}

// weighHost finds out what the values that have handles take.
func (r *references) weighHost() {
	if r.hostWeight == 0 {
		return
	}
	r.hostWeight = 0
	seen := map[Weighed]bool{}
	for _, i := range r.inUse {
		v, ok := r.slots[i].value.(Weighed)
		if !ok {
			continue
		}
		w := v.Weight()
		if w >= heavy {
			if seen[v] {
				continue
			}
			seen[v] = true
		}
		r.hostWeight += w
	}
}
