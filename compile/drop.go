package compile

import (
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/inline"
)

// This file removes functions from the object that nothing refers to, usually because all of their calls were inlined.
// They stay in the metadata, without code, because source places name them.
//
// Only when all functions are compiled is it known whether a call remains. Functions that are likely to be removed get no code at first,
// and are compiled again if something refers to them after all. The set of needed functions does not depend on the order of compilation, and so the object does not, either.

// mayBeIdle reports whether function i, of which body is kept, gets no code at first. A Control logs the rewrites of all functions, and a
// Trace shows all of them: then each is compiled once.
func (d *driver) mayBeIdle(i uint32, body *inline.Body) bool {
	return !d.again && d.opt.Control == nil && d.opt.Trace == nil && !d.cm.Funcs[i].Addressed && (d.inlining.moves(i) || body.Slight())
}

// drop finds the functions that code refers to, from the init function and those with descriptors on, compiles those of them that have
// no code yet, and forgets the code of all others.
func (d *driver) drop() {
	needed := make([]bool, len(d.cm.Funcs))
	var reached []uint32
	reach := func(i uint32) {
		if int(i) >= d.cm.NumImportedFuncs && int(i) < len(needed) && !needed[i] {
			needed[i] = true
			reached = append(reached, i)
		}
	}
	for i := range d.cm.Funcs {
		if d.cm.Funcs[i].Addressed {
			reach(uint32(i))
		}
	}
	reach(uint32(d.cm.InitFunc()))
	d.again = true
	for !d.ended() && len(reached) > 0 {
		var later []uint32
		for len(reached) > 0 {
			i := reached[len(reached)-1]
			reached = reached[:len(reached)-1]
			r := &d.results[i]
			if r.absent() {
				later = append(later, i)
				continue
			}
			for _, rel := range r.worker.relocs.at(r.relocs) {
				d.opt.stop.Poll()
				if s := backend.SymRef(rel.Symbol); s != backend.SymInstance {
					reach(s.Func())
				}
			}
		}
		if len(later) > 0 {
			slices.Sort(later)
			d.work(later)
			reached = later
		}
	}
	for i := range d.results {
		if !needed[i] {
			d.results[i] = result{}
		}
	}
}

// absent reports whether there is no code of the function: it is imported or left out.
func (r *result) absent() bool { return r.worker == nil }
