package gen

// makeGraph makes a random graph whose blocks are all reachable: a tree of
// forward edges, and edges to anywhere but the entry.
func (g *gen) makeGraph() {
	n := 1 + g.IntN(max(g.cfg.Blocks, 1))
	if g.chance(0.5) { // most functions are of ordinary size
		n = g.cfg.Blocks/2 + g.IntN(g.cfg.Blocks/2+1)
	}
	n = max(n, 1)
	g.blocks = make([]block, n)
	for b := 1; b < n; b++ {
		from := b - 1
		if g.chance(0.4) {
			from = max(0, b-1-g.IntN(6))
		}
		g.connect(from, b)
	}
	if g.chance(g.cfg.NestRate) {
		for k := 1; k < n-1-k; k++ {
			g.connect(n-1-k, k)
		}
	}
	for b := range n {
		if b+2 < n && g.chance(0.35) {
			g.connect(b, b+1+g.IntN(min(n-b-1, 8)))
		}
		if b > 0 && g.chance(g.cfg.LoopRate) {
			g.connect(b, 1+max(0, b-1-g.IntN(12)))
		}
		if n > 1 && g.chance(g.cfg.IrreducibleRate) {
			g.connect(b, 1+g.IntN(n-1))
		}
		g.blocks[b].cold = g.chance(0.08)
	}
	if n > 4 && g.chance(g.cfg.ThrowRate) {
		g.shareHandler(n/2 + g.IntN(n/2))
	}
}

// shareHandler makes h the second way out of many blocks in front of it, as handlers of loops and of whole functions are.
func (g *gen) shareHandler(h int) {
	for b := range h {
		if len(g.blocks[b].succs) == 1 && g.chance(0.4) {
			g.connect(b, h)
		}
	}
}

func (g *gen) connect(from, to int) {
	g.blocks[from].succs = append(g.blocks[from].succs, edge{to: to})
}

// splitCritical puts blocks on critical edges and fills in predecessors.
func (g *gen) splitCritical() {
	preds := make([]int, len(g.blocks))
	for b := range g.blocks {
		for _, e := range g.blocks[b].succs {
			preds[e.to]++
		}
	}
	for b, n := 0, len(g.blocks); b < n; b++ {
		if len(g.blocks[b].succs) < 2 {
			continue
		}
		for k := range g.blocks[b].succs {
			to := g.blocks[b].succs[k].to
			if preds[to] < 2 {
				continue
			}
			g.blocks[b].succs[k].to = len(g.blocks)
			g.blocks = append(g.blocks, block{succs: []edge{{to: to}}})
		}
	}
	for b := range g.blocks {
		for _, e := range g.blocks[b].succs {
			g.blocks[e.to].preds = append(g.blocks[e.to].preds, b)
		}
	}
}

// dominators computes the reverse post-order and the dominator tree (Cooper,
// Harvey and Kennedy).
func (g *gen) dominators() {
	num := g.postorder()
	for b := range g.blocks {
		g.blocks[b].idom = -1
	}
	g.blocks[0].idom = 0
	for changed := true; changed; {
		changed = false
		for _, b := range g.rpo[1:] {
			idom := -1
			for _, p := range g.blocks[b].preds {
				if g.blocks[p].idom < 0 {
					continue
				}
				if idom < 0 {
					idom = p
					continue
				}
				for x := p; x != idom; {
					for num[x] < num[idom] {
						x = g.blocks[x].idom
					}
					for num[idom] < num[x] {
						idom = g.blocks[idom].idom
					}
				}
			}
			if g.blocks[b].idom != idom {
				g.blocks[b].idom = idom
				changed = true
			}
		}
	}
	for _, b := range g.rpo[1:] {
		d := g.blocks[b].idom
		g.blocks[d].kids = append(g.blocks[d].kids, b)
	}
}

// postorder sets g.rpo and returns each block's number in post-order.
func (g *gen) postorder() []int {
	num := make([]int, len(g.blocks))
	next := make([]int, len(g.blocks))
	stack := []int{0}
	next[0] = 1
	count := 0
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		if k := next[b] - 1; k < len(g.blocks[b].succs) {
			next[b]++
			if to := g.blocks[b].succs[k].to; next[to] == 0 {
				next[to] = 1
				stack = append(stack, to)
			}
			continue
		}
		num[b] = count
		count++
		g.rpo = append(g.rpo, b)
		stack = stack[:len(stack)-1]
	}
	for i, j := 0, len(g.rpo)-1; i < j; i, j = i+1, j-1 {
		g.rpo[i], g.rpo[j] = g.rpo[j], g.rpo[i]
	}
	return num
}

// loopDepths counts the natural loops around each block.
func (g *gen) loopDepths() {
	seen := make([]int, len(g.blocks))
	for i := range seen {
		seen[i] = -1
	}
	var work []int
	for latch := range g.blocks {
		for _, e := range g.blocks[latch].succs {
			if e.to == 0 || !g.dominates(e.to, latch) {
				continue
			}
			head := e.to
			work = append(work[:0], latch)
			for len(work) > 0 {
				b := work[len(work)-1]
				work = work[:len(work)-1]
				if seen[b] == latch {
					continue
				}
				seen[b] = latch
				g.blocks[b].depth++
				if b != head {
					work = append(work, g.blocks[b].preds...)
				}
			}
		}
	}
}

func (g *gen) dominates(a, b int) bool {
	for b != a && b != 0 {
		b = g.blocks[b].idom
	}
	return a == b
}
