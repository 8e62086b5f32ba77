package compile

import (
	"sync"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
)

// maxInlinedBytes is the largest size of a body in the module that may become small enough to be inlined, maxOnceBytes that of a
// function with one use, maxEagerBytes that where none need be small.
const maxInlinedBytes, maxOnceBytes, maxEagerBytes = 160, 400, 600

// maxInlinable is how many functions are kept to be inlined. It bounds the memory that bodies take.
const maxInlinable = 20_000

// inlining decides who may inline whom, and keeps the bodies. Functions with small bodies are candidates. They are compiled
// first, callees before callers: the ranks are that order. A function may inline candidates of a lower rank, whose bodies it waits for. So what it
// inlines does not depend on the workers, and nobody waits for a function that nobody has begun.
type inlining struct {
	order []uint32 // the candidates by rank
	rank  []uint32 // by function: the rank plus 1, 0 if it is no candidate
	calls []translate.CallsOf
	once  []bool // by function: nothing refers to it but one call, which returns as far as can be seen

	mu     sync.Mutex
	change sync.Cond
	done   []bool         // by rank
	bodies []*inline.Body // by rank, nil if the function is not inlined
}

// newInlining finds the candidates; calls are those of the module.
func newInlining(m *wasmfront.Module, calls []translate.CallsOf, eager bool, end *stop.Flag) *inlining {
	if m.HasStart {
		calls[m.Start].All += 2 // the init function inlines nothing
	}
	n := &inlining{rank: make([]uint32, len(m.Funcs)+1), calls: calls, once: make([]bool, len(m.Funcs)+1)}
	n.change.L = &n.mu
	small := 0
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)) && small < maxInlinable; i++ {
		end.PollAt(int(i))
		c := &n.calls[i]
		n.once[i] = c.All == 1 && c.Cold == 0 && !m.IsDeclared(i)
		most := maxInlinedBytes
		switch {
		case eager:
			most = maxEagerBytes
		case n.once[i]:
			most = maxOnceBytes
		}
		if c.All > 0 && len(m.Body(i).Bytes) <= most {
			n.rank[i] = unranked
			small++
		}
	}
	g := callGraph{n: n, m: m, stop: end}
	for i := range uint32(len(m.Funcs)) {
		if n.rank[i] == unranked {
			g.visit(i)
		}
	}
	n.done, n.bodies = make([]bool, len(n.order)), make([]*inline.Body, len(n.order))
	return n
}

// unranked and visiting are ranks of candidates that have none yet.
const (
	unranked = ^uint32(0)
	visiting = unranked - 1
)

// callGraph is a search through the calls among candidates.
type callGraph struct {
	n     *inlining
	m     *wasmfront.Module
	stop  *stop.Flag
	calls []uint32
	path  []pathEntry
}

// pathEntry is a function on the path of the search; its calls that are left are calls[at:end].
type pathEntry struct{ fn, start, at uint32 }

// visit ranks candidate i and those that it leads to, callees first. In a cycle the call that closes it is left out.
func (g *callGraph) visit(i uint32) {
	g.enter(i)
	for len(g.path) > 0 {
		g.stop.Poll()
		top := &g.path[len(g.path)-1]
		if top.at < uint32(len(g.calls)) {
			callee := g.calls[top.at]
			top.at++
			if callee < uint32(len(g.n.rank)) && g.n.rank[callee] == unranked {
				g.enter(callee)
			}
			continue
		}
		g.n.order = append(g.n.order, top.fn)
		g.n.rank[top.fn] = uint32(len(g.n.order))
		g.calls = g.calls[:top.start]
		g.path = g.path[:len(g.path)-1]
	}
}

func (g *callGraph) enter(i uint32) {
	start := uint32(len(g.calls))
	g.n.rank[i] = visiting
	g.calls = translate.AppendCalls(g.calls, g.m, i)
	g.path = append(g.path, pathEntry{i, start, start})
}

// candidate returns the rank of function i.
func (n *inlining) candidate(i uint32) (rank uint32, ok bool) {
	if n == nil || n.rank[i] == 0 {
		return 0, false
	}
	return n.rank[i] - 1, true
}

// lean reports whether function i should stay small, as it may be inlined in more than one place.
func (n *inlining) lean(i uint32) bool { return n.rank[i] != 0 && !n.once[i] }

// moves reports whether the code of function i is likely to be in the place of its only call.
func (n *inlining) moves(i uint32) bool {
	return n.once[i] && n.rank[i] != 0 && !n.lean(n.calls[i].Caller)
}

// finish notes that function i is compiled as far as it will be.
func (n *inlining) finish(i uint32) {
	if rank, ok := n.candidate(i); ok {
		n.mu.Lock()
		n.done[rank] = true
		n.mu.Unlock()
		n.change.Broadcast()
	}
}

// bodyFor returns what function by may inline for a call of function i.
func (n *inlining) bodyFor(by uint32, i clif.FuncIndex) *inline.Body {
	rank, ok := n.candidate(uint32(i))
	if own, small := n.candidate(by); !ok || small && own <= rank {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.done[rank] {
		n.change.Wait()
	}
	return n.bodies[rank]
}

// keep notes the body of function i.
func (n *inlining) keep(i uint32, b *inline.Body) {
	rank, _ := n.candidate(i)
	n.mu.Lock()
	n.bodies[rank] = b
	n.mu.Unlock()
	n.finish(i)
}

// midEnd inlines and optimises w.f, which is function i. It reports whether there is no need for code, unless it turns out that a call
// of the function has not been inlined.
func (w *worker) midEnd(i uint32) (idle bool, err error) {
	n := w.d.inlining
	if err := w.opt.Begin(&w.f, w.d.opt.OptLevel); err != nil {
		return false, err
	}
	if n == nil || clif.FuncIndex(i) == w.d.cm.InitFunc() { // it runs once, and immutable globals change in it
		return false, w.opt.Run(&w.f, w.d.opt.OptLevel)
	}
	values, pool := len(w.f.Values), len(w.f.Pool)
	_, candidate := n.candidate(i)
	w.inline.Control, w.inline.Eager, w.inline.Lean = w.opt.Control, w.d.opt.EagerInlining, n.lean(i)
	bodies := func(callee clif.FuncIndex) *inline.Body { return n.bodyFor(i, callee) }
	if _, err := w.inlineCalls(func() bool { return w.inline.Run(&w.f, bodies) }); err != nil {
		return false, err
	}
	w.d.account.function(w.tr.Bytes() + translate.GrownBytes(len(w.f.Values)-values, len(w.f.Pool)-pool))
	var own *inline.Body
	if n.moves(i) { // the mid-end comes to it in its caller
		if own = w.keepBody(i); own != nil && w.d.mayBeIdle(i, own) {
			return true, nil
		}
	}
	if err := w.opt.Run(&w.f, w.d.opt.OptLevel); err != nil || !candidate || own != nil {
		return false, err
	}
	if own = w.keepBody(i); own == nil {
		return false, nil
	}
	if w.d.mayBeIdle(i, own) {
		return true, nil
	}
	// A recursive function inlines itself as it is so far. Others inline it as it is so far, too.
	recursive, err := w.inlineCalls(func() bool { return w.inline.RunRecursion(&w.f, own) })
	if err == nil && recursive {
		err = w.opt.Run(&w.f, w.d.opt.OptLevel)
	}
	return false, err
}

// keepBody keeps w.f, which is function i, for those who inline it. It returns nil if nobody does.
func (w *worker) keepBody(i uint32) *inline.Body {
	body := w.inline.Keep(&w.f, w.d.inlining.once[i])
	if body != nil && !w.d.again {
		w.d.account.bodies.Add(body.Bytes())
		w.d.inlining.keep(i, body)
	}
	w.costs.Ended(inline.Pass)
	return body
}

// inlineCalls calls run, which inlines in w.f and reports whether it has, and reports the same.
func (w *worker) inlineCalls(run func() bool) (changed bool, err error) {
	changed = run()
	w.costs.Ended(inline.Pass)
	if changed {
		err = w.after(inline.Pass)
	}
	return changed, err
}
