package flow

import (
	"math/bits"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

const (
	// EntryFreq is how often the entry runs, in units of the rarest block.
	EntryFreq = 1 << 9
	// A loop's header runs 1<<loopShift times as often as what enters the loop.
	loopShift = 3
	// maxDepth is the greatest loop depth that is distinguished.
	maxDepth = 7
	maxFreq  = EntryFreq << (loopShift * maxDepth)
	// Code is rare beside other code of the same loop if it runs at most 1/(1<<rareShift) as often.
	rareShift = 1
)

// frequencies are estimates of how often blocks run, and what follows from them for splitting.
type frequencies struct {
	Freq []uint32 // by block, from 1
	// Rejoins is, by block, the next one in the layout beside which it is rare: control that has left the usual way through a
	// loop is back on it there. It is none if there is no such block, or it is in no loop.
	Rejoins []uint32
	// Headers is, by block, the header of the innermost loop around it, as far as the layout shows, or none.
	Headers  []uint32
	HasLoops bool // else rejoins and headers are not there
}

// estimate fills the frequencies.
func (fn *function) estimate() {
	fn.flow()
	if fn.HasLoops {
		fn.findRejoins()
		fn.findHeaders()
	}
}

// Frequencies returns estimates of how often the blocks of in run, which are those that allocators decide by, in units of which the entry has EntryFreq.
func Frequencies(in *regalloc.Input) []uint32 {
	fn := function{In: in}
	fn.flow()
	return fn.Freq
}

// flow fills freq by how control divides: ways out of a block are equally likely, except that loops go on, and that cold
// blocks do not count.
func (fn *function) flow() {
	in := fn.In
	fn.Freq, fn.HasLoops = stop.Zeroed(in.Stop, fn.Freq, len(in.Blocks)), false
	fn.Freq[0] = EntryFreq
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		info := &in.Blocks[b]
		fn.HasLoops = fn.HasLoops || info.LoopDepth > 0
		switch {
		case info.Cold:
			fn.Freq[b] = 1
			continue
		case fn.Freq[b] == 0: // nothing in front of it leads there
			fn.Freq[b] = EntryFreq << (loopShift * fn.loopDepth(b))
		}
		fn.divide(b)
	}
}

// loopDepth returns the loop depth of b, as far as it is distinguished.
func (fn *function) loopDepth(b uint32) uint16 { return min(fn.In.Blocks[b].LoopDepth, maxDepth) }

// divide passes on how often b runs to the blocks behind it that follow it.
func (fn *function) divide(b uint32) {
	in := fn.In
	succs, depth, f := in.SuccsOf(regalloc.Block(b)), fn.loopDepth(b), fn.Freq[b]
	each := f // for those that stay in the loop
	if len(succs) > 1 {
		each = f / max(fn.countStaying(succs, depth), 1)
	}
	for k := range succs {
		in.Stop.Poll()
		to := uint32(succs[k].To)
		if to <= b {
			continue
		}
		info := &in.Blocks[to]
		if info.Cold {
			continue
		}
		g := each
		if d := min(info.LoopDepth, maxDepth); d < depth {
			g = f >> (loopShift * (depth - d))
		} else if d > depth {
			shift := loopShift * (d - depth)
			g = min(each, maxFreq>>shift) << shift
		}
		fn.Freq[to] = min(fn.Freq[to]+max(g, 1), maxFreq)
	}
}

// countStaying returns how many of the edges out of a block of the given loop depth stay in the loop and do not count as cold.
func (fn *function) countStaying(succs []regalloc.Edge, depth uint16) (n uint32) {
	in := fn.In
	for k := range succs {
		in.Stop.Poll()
		if to := &in.Blocks[succs[k].To]; !to.Cold && min(to.LoopDepth, maxDepth) >= depth {
			n++
		}
	}
	return n
}

// findRejoins fills rejoins, from the end. What counts is how often a block runs in each iteration of the loops around it.
func (fn *function) findRejoins() {
	in := fn.In
	fn.Rejoins = stop.Resize(in.Stop, fn.Rejoins, len(fn.Freq))
	var nearest [32]uint32 // by logarithm of frequency: the nearest block that runs at least so often
	for k := range nearest {
		nearest[k] = None
	}
	for b := len(fn.Freq) - 1; b >= 0; b-- {
		in.Stop.PollAt(b)
		log := bits.Len32(fn.Freq[b] >> (loopShift * fn.loopDepth(uint32(b))))
		fn.Rejoins[b] = nearest[min(log+rareShift, len(nearest)-1)]
		if n := fn.Rejoins[b]; n != None && in.Blocks[n].LoopDepth == 0 {
			fn.Rejoins[b] = None
		}
		for k := range nearest[:log+1] {
			nearest[k] = uint32(b)
		}
	}
}

// findHeaders fills headers. Between the blocks of a loop there may be others, of loops around it.
func (fn *function) findHeaders() {
	in := fn.In
	fn.Headers = stop.Resize(in.Stop, fn.Headers, len(in.Blocks))
	var latest [maxDepth + 1]uint32 // by loop depth
	for d := range latest {
		latest[d] = None
	}
	for b := range uint32(len(in.Blocks)) {
		in.Stop.PollAt(int(b))
		depth := fn.loopDepth(b)
		if depth > 0 {
			for _, p := range in.PredsOf(regalloc.Block(b)) {
				in.Stop.Poll()
				if uint32(p) >= b {
					latest[depth] = b
				}
			}
		}
		fn.Headers[b] = latest[depth]
	}
}

// FreqAt returns how often the code at a position runs.
func (fn *function) FreqAt(pos uint32) uint32 { return fn.Freq[fn.InstBlock[InstOf(pos)]] }

// Rarer reports whether the code at p is rare beside that at q.
func (fn *function) Rarer(p, q uint32) bool { return fn.FreqAt(p)<<rareShift <= fn.FreqAt(q) }
