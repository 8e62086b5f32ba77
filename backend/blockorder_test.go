package backend

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// graph builds a function from a description: blocks separated by semicolons, each its successors
// separated by spaces, none for a return, "!" for a trap, "~" for a table whose entries but the first are rare. All blocks but the entry have a parameter,
// if params is set; a third edge back passes a constant for it.
func graph(desc string, params bool) *clif.Func {
	m := &clif.Module{Sigs: []clif.Signature{{Params: []clif.Type{clif.I32}}}, Funcs: make([]clif.FuncDecl, 1)}
	f := &clif.Func{Mod: m}
	b := &clif.Builder{F: f}
	rows := strings.Split(desc, ";")
	for range rows {
		b.NewBlock()
	}
	for i, row := range rows {
		blk := clif.Block(i)
		b.SwitchTo(blk)
		var v clif.Value
		if i == 0 || params {
			v = b.AddParam(blk, clif.I32)
		} else {
			v = clif.Value(f.Params(0)[0])
		}
		var ts []clif.Target
		for k, s := range strings.Fields(strings.Trim(row, " !~")) {
			var to int
			fmt.Sscan(s, &to)
			var args []clif.Value
			if params {
				args = []clif.Value{b.Iconst(clif.I32, uint64(k))}
				if to <= i && k%3 != 2 {
					args[0] = b.Unary(clif.OpClz, clif.I32, v)
				}
			}
			ts = append(ts, b.Target(clif.Block(to), args))
		}
		switch {
		case strings.Contains(row, "!"):
			b.Trap(abi.TrapUnreachable)
		case len(ts) == 0:
			b.Return(nil)
		case len(ts) == 1:
			b.Jump(ts[0])
		case len(ts) == 2:
			b.Branch(v, ts[0], ts[1])
		default:
			b.BrTable(v, ts)
			if strings.Contains(row, "~") {
				f.Insts[len(f.Insts)-1].Cond = clif.TableRare
			}
		}
	}
	return f
}

// text is the order: CLIF blocks by number, edge blocks as target with an apostrophe, tops of loops as header with a t.
func (o *BlockOrder) text(f *clif.Func) string {
	var s []string
	for _, b := range o.Blocks {
		switch {
		case b.Orig != clif.NoBlock || b.TopOf != clif.NoBlock:
			t := fmt.Sprint(uint32(b.Orig))
			if b.TopOf != clif.NoBlock {
				t = fmt.Sprint(uint32(b.TopOf), "t")
			}
			if b.Header {
				t += "h"
			}
			if b.LoopDepth > 0 {
				t += fmt.Sprintf("^%d", b.LoopDepth)
			}
			if b.Cold {
				t += "c"
			}
			s = append(s, t)
		case b.Via != clif.NoTarget:
			s = append(s, fmt.Sprint(uint32(f.Targets[b.Via].Block))+"'"+map[bool]string{true: "c"}[b.Cold])
		default:
			s = append(s, "entry")
		}
	}
	return strings.Join(s, " ")
}

// TestTableOfTwo: in a resumable function, a table with many entries leads to two blocks. It is no branch, whose operands are targets.
func TestTableOfTwo(t *testing.T) {
	f := graph("1;2 3 4~;;;", false)
	b := &clif.Builder{F: f}
	table := b.NewBlock()
	x, y := b.Target(2, nil), b.Target(3, nil)
	b.SwitchTo(table)
	b.BrTable(clif.Value(f.Params(0)[0]), append(slices.Repeat([]clif.Target{x}, 100), y))
	f.Targets[f.TargetsOf(&f.Insts[f.Terminator(1)])[0]].Block = table
	var o BlockOrder
	o.Compute(f)
	if got, want := o.text(f), "0 1 5 2 3' 3 4c 3'c"; got != want {
		t.Errorf("%s, want %s\n%v", got, want, f)
	}
}

func TestBlockOrder(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"straight", "1;2;", "0 1 2"},
		{"unreachable block", "2;2;", "0 2"},
		{"diamond", "1 2;3;3;", "0 1 2 3"},
		{"skip", "2 1;2;", "0 2' 1 2"},
		{"skip to a block that nothing falls into", "3 1;2;;", "0 1 2 3"},
		{"loop", "1;1 2;", "0 1h^1 1' 2"},
		{"loop exit inside the body moves out", "1;2 3;1;", "0 1h^1 2^1 3"},
		{"exit placed early in the layout", "2;;3 1;2", "0 2h^1 3^1 1"},
		{"nested loops", "1;2;2 3;1 4;", "0 1h^1 2h^2 2' 3^1 1' 4"},
		{"cold block last", "2 1;!;", "0 2 1c"},
		{"what leads to a trap only is cold", "3 1;2;!;", "0 3 1c 2c"},
		{"cold loop exit", "1;3 2;!;1", "0 1h^1 3^1 2c"},
		{"same target twice", "1 1;", "0 1"},
		{"table", "1 2 1 2 3;3;3;", "0 3' 1 2 3"},
		{"table of rare entries", "1 2 1 2 3~;3;3;", "0 1 3 2c 3'c"},
		{"rare ways into a loop", "1 2 3~;2;3;1 4;", "0 1' 1h^1 2^1 3^1 1' 4 2'c 3'c"},
		{"rare ways into nested loops", "1 2 3 4~;2;3;2 4;1 5;", "0 1' 1h^1 2h^2 3^2 2' 4' 4^1 1' 5 2'c 3'c 4'c"},
		{"a loop that only rare ways lead to", "1 2 3~;;3;2 1;", "0 1' 1 2'c 2h^1c 3'c 3^1c 2'c 1'c"},
		{"the same without rare ways", "1 2 3;2;3;1 4;", "0 1' 2' 3' 3h^1 1' 1^1 2^1 4"},
		{"entry in a loop", "0 1;", "entry 0h^1 0' 1"},
	} {
		f := graph(c.in, false)
		var o BlockOrder
		o.Compute(f)
		if got := o.text(f); got != c.want {
			t.Errorf("%s: %s = %s, want %s", c.name, c.in, got, c.want)
		}
	}
}

// TestBlockOrderParams: edges with different arguments stay apart, and are critical. A loop with parameters has a top if a
// conditional branch leads back.
func TestBlockOrderParams(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"same target twice", "1 1;", "0 1' 1' 1"},
		{"loop", "1;1 2;", "0 1th^1 1^1 1' 2"},
		{"loop that ends in a jump", "1;2 3;1;", "0 1h^1 2^1 3"},
		{"two ways back", "1;1 2;1 3;", "0 1th^1 1^1 1' 2^1 1' 3"},
		{"loop in a loop", "1;2;2 3;1 4;", "0 1h^1 2th^2 2^2 2' 3^1 1' 4"},
		{"a constant", "1;3 2 1;;", "0 1h^1 1' 3 2"},
		{"entry in a loop", "0 1;", "entry 0th^1 0^1 0' 1"},
		{"cold loop", "1;1 2;!", "0c 1h^1c 1'c 2c"},
		{"critical way in", "3 1;1 2;;", "0 1' 1th^1 1^1 1' 2 3"},
	} {
		f := graph(c.in, true)
		var o BlockOrder
		o.Compute(f)
		if got := o.text(f); got != c.want {
			t.Errorf("%s: %s = %s, want %s", c.name, c.in, got, c.want)
		}
	}
}

// TestBlockOrderRandom checks what the order promises on random graphs.
func TestBlockOrderRandom(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	var o BlockOrder
	for range 3000 {
		n := 1 + rng.Intn(20)
		var rows []string
		for range n {
			var s []string
			for range rng.Intn(4) {
				s = append(s, fmt.Sprint(rng.Intn(n)))
			}
			if len(s) == 0 && rng.Intn(2) == 0 {
				s = []string{"!"}
			}
			if len(s) > 2 && rng.Intn(2) == 0 {
				s = append(s, "~")
			}
			rows = append(rows, strings.Join(s, " "))
		}
		desc := strings.Join(rows, ";")
		f := graph(desc, len(desc)%2 == 0)
		o.Compute(f)
		checkOrder(t, desc, &o)
		checkCold(t, desc, f, &o)
	}
}

// checkCold: what only rare edges lead to is cold. A block that is cold for another reason ends in a trap or leads to cold blocks only.
func checkCold(t *testing.T, desc string, f *clif.Func, o *BlockOrder) {
	warm := map[clif.Block]bool{f.Entry(): true}
	for grows := true; grows; {
		grows = false
		for b := range f.Blocks {
			d := &f.Insts[f.Terminator(clif.Block(b))]
			for k, via := range f.TargetsOf(d) {
				rare := d.Op == clif.OpBrTable && d.Cond == clif.TableRare && f.Targets[via].Block != f.Targets[f.TargetsOf(d)[0]].Block
				if to := f.Targets[via].Block; warm[clif.Block(b)] && !warm[to] && (k == 0 || !rare) {
					warm[to], grows = true, true
				}
			}
		}
	}
	for i, lb := range o.Blocks {
		if lb.Orig == clif.NoBlock {
			continue
		}
		trap := f.Insts[f.Terminator(lb.Orig)].Op == clif.OpTrap || len(o.SuccsOf(i)) > 0
		for _, s := range o.SuccsOf(i) {
			trap = trap && o.Blocks[s.To].Cold
		}
		if !warm[lb.Orig] && !lb.Cold || lb.Cold && warm[lb.Orig] && !trap {
			t.Fatalf("%s: block %d: cold is %v: %s", desc, lb.Orig, lb.Cold, o.text(f))
		}
	}
}

func checkOrder(t *testing.T, desc string, o *BlockOrder) {
	preds := make([]int, len(o.Blocks))
	for b := range o.Blocks {
		for _, s := range o.SuccsOf(b) {
			preds[s.To]++
		}
	}
	if preds[0] != 0 {
		t.Fatalf("%s: the entry has predecessors", desc)
	}
	reached := make([]bool, len(o.Blocks))
	reached[0] = true
	work := []int{0}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range o.SuccsOf(b) {
			if !reached[s.To] {
				reached[s.To] = true
				work = append(work, int(s.To))
			}
		}
	}
	for b := range o.Blocks {
		if !reached[b] {
			t.Fatalf("%s: block %d is not reachable", desc, b)
		}
		for _, s := range o.SuccsOf(b) {
			if len(o.SuccsOf(b)) > 1 && preds[s.To] > 1 {
				t.Fatalf("%s: edge from %d to %d is critical: %s", desc, b, s.To, o.text(nil))
			}
		}
	}
	checkDominance(t, desc, o, preds)
}

// checkDominance: a block that is on all paths to another comes before it. Naive: without block d,
// what is no longer reachable is dominated.
func checkDominance(t *testing.T, desc string, o *BlockOrder, preds []int) {
	for d := 1; d < len(o.Blocks); d++ {
		seen := make([]bool, len(o.Blocks))
		seen[0], seen[d] = true, true
		work := []int{0}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, s := range o.SuccsOf(b) {
				if !seen[s.To] {
					seen[s.To] = true
					work = append(work, int(s.To))
				}
			}
		}
		for b := range d {
			if !seen[b] {
				t.Fatalf("%s: block %d dominates block %d but comes after it", desc, d, b)
			}
		}
	}
}

// TestDeep: long chains and deep nests are no problem for the stack.
func TestDeep(t *testing.T) {
	const n = 50000
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprint(i+1))
	}
	for i := range n { // closes the loop around block n-1-i
		rows = append(rows, fmt.Sprintf("%d %d", n-1-i+b2i(i == n-1), n+i+1))
	}
	rows = append(rows, "")
	f := graph(strings.Join(rows, ";"), false)
	var o BlockOrder
	o.Compute(f)
	if o.NumBlocks() < 2*n {
		t.Error(o.NumBlocks())
	}
}

func TestSizes(t *testing.T) {
	if s := unsafe.Sizeof(Inst{}); s > 32 {
		t.Errorf("Inst is %d bytes", s)
	}
}
