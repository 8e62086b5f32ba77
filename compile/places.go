package compile

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// placeTable renumbers the entries of a function's table of places that its sites need.
type placeTable struct {
	used []bool
	now  []uint32 // the places by old entry
	kept []abi.Inlined
}

// keepPlaces copies the entries that the sites of c, which r has, refer to, and makes the sites refer to the copies.
func (w *worker) keepPlaces(r *result, c *backend.Code) {
	end, t := w.d.opt.stop, &w.places
	t.used = stop.Zeroed(end, t.used, len(c.Inlined))
	t.now = stop.Resize(end, t.now, len(c.Inlined))
	traps, calls := w.traps.at(r.traps), w.calls.at(r.calls)
	for i := range traps {
		end.PollAt(i)
		t.need(traps[i].Src)
	}
	for i := range calls {
		end.PollAt(i)
		t.need(calls[i].Src)
	}
	for i := len(c.Inlined) - 1; i >= 0; i-- { // callers come before
		end.PollAt(i)
		if t.used[i] {
			t.need(c.Inlined[i].Caller)
		}
	}
	t.kept = t.kept[:0]
	for i := range c.Inlined {
		end.PollAt(i)
		if !t.used[i] {
			continue
		}
		t.now[i] = abi.InlinedPlace + uint32(len(t.kept))
		p := c.Inlined[i]
		p.Caller = t.renamed(p.Caller)
		t.kept = append(stop.Room(end, t.kept), p)
	}
	r.inlined = w.inlined.keep(t.kept)
	for i := range traps {
		end.PollAt(i)
		traps[i].Src = t.renamed(traps[i].Src)
	}
	for i := range calls {
		end.PollAt(i)
		calls[i].Src = t.renamed(calls[i].Src)
	}
}

func (t *placeTable) need(place uint32) {
	if place >= abi.InlinedPlace {
		t.used[place-abi.InlinedPlace] = true
	}
}

func (t *placeTable) renamed(place uint32) uint32 {
	if place >= abi.InlinedPlace {
		return t.now[place-abi.InlinedPlace]
	}
	return place
}

// moved is a place whose table has been put behind n entries of another.
func moved(place uint32, n int) uint32 {
	if place >= abi.InlinedPlace {
		return place + uint32(n)
	}
	return place
}

// addPlaces adds the table of a function to the metadata.
func (l *linker) addPlaces(r *result) {
	base := len(l.m.Inlined)
	for i, p := range r.worker.inlined.at(r.inlined) {
		l.opt.stop.PollAt(i)
		p.Caller = moved(p.Caller, base)
		l.m.Inlined = append(l.m.Inlined, p)
	}
}
