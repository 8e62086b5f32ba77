package guestfuzz

import (
	"errors"
	"slices"

	"github.com/waot-project/waot/host"
)

// reset resets an instance: from now on it is in the model what it was when it was new. It is refused inside, where other instances need what has grown, and
// of what has been closed.
func (w *world) reset() {
	i := live(w, w.instances, func(i *instance) bool { return i.real != nil })
	if i == nil || w.stop {
		return
	}
	kept := w.runner.pool.keep(i.entry)
	if kept {
		defer w.runner.pool.put(i.entry)
	}
	if w.inside() || i.closed || !kept || w.relied(i) {
		w.refusesReset(i, kept)
		return
	}
	w.renew(i)
	ctx := w.newContext()
	defer ctx.always()
	a := &activation{init: i}
	a.ctx = ctx
	err := w.enter(a, func() error { return i.real.Reset(ctx.ctx) })
	w.finish(a, err, nil)
	w.count("instances reset")
	if errors.Is(err, host.ErrCancelled) {
		// Somewhere between two segments, and which have been dropped is not to be seen.
		w.inexact, w.stop = true, true
	}
}

// refusesReset fails unless a reset is refused, for the first reason that there is.
func (w *world) refusesReset(i *instance, kept bool) {
	err := i.real.Reset(nil)
	var link *host.LinkError
	switch {
	case w.inside() && (!i.closed && errors.Is(err, host.ErrBusy) || i.closed && errors.Is(err, host.ErrClosed)):
	case !w.inside() && (i.closed || !kept) && errors.Is(err, host.ErrClosed):
	case !w.inside() && !i.closed && kept && errors.As(err, &link):
	default:
		w.fail("a reset inside (%v), of what is closed (%v, %v), or has grown and is imported: %v", w.inside(), i.closed, !kept, err)
	}
	w.count("resets refused")
}

// relied reports whether an instance imports a memory or table of i, which has grown, and needs it larger than it was.
func (w *world) relied(i *instance) bool {
	return slices.ContainsFunc(w.instances, func(x *instance) bool {
		if x.prog.memory.imported && !i.prog.memory.imported && x.mem == i.mem && x.prog.memory.min > i.mem.limits.Min {
			return true
		}
		for n, d := range x.prog.tables {
			if k := slices.Index(i.tables, x.tables[n]); d.imported && k >= 0 && !i.prog.tables[k].imported && d.min > x.tables[n].limits.Min {
				return true
			}
		}
		return false
	})
}

// renew makes what an instance owns in the model what it is before the init function.
func (w *world) renew(i *instance) {
	p := i.prog
	if !p.memory.imported {
		i.mem.data = make([]byte, i.mem.limits.Min*wasmPage)
	}
	for n, d := range p.tables {
		if !d.imported {
			i.tables[n].elems = make([]value, d.min)
		}
	}
	for n, d := range p.globals {
		if !d.imported {
			i.globals[n].v = value{}
		}
	}
	i.elems, i.datas = make([][]value, len(p.elems)), make([][]byte, len(p.datas))
}
