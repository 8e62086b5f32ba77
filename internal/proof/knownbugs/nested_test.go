package knownbugs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// nest makes the text of loops in loops, more of them open at once than the front end keeps apart without knowing the rest of the
// body, with locals that are written anywhere in them, in code that is dead, too.
type nest struct {
	strings.Builder
	r      *rand.Rand
	labels []bool // the open ones: may be branched to
	depth  int    // of loops
}

// Locals 0 to nestVars-1 are numbers, the first two parameters; a counter for each loop around follows.
const nestVars, nestDepth = 7, 14

func (n *nest) variable() int { return n.r.IntN(nestVars) }

func (n *nest) condition() string {
	return fmt.Sprintf("(i32.%s (local.get %d) (i32.const %d))", []string{"eq", "and", "lt_s"}[n.r.IntN(3)], n.variable(), n.r.IntN(4))
}

// branch is a branch by op to a label that may be left by, or nothing.
func (n *nest) branch(op, condition string) {
	if k := n.r.IntN(len(n.labels)); n.labels[k] {
		fmt.Fprintf(n, "(%s %d %s)", op, len(n.labels)-1-k, condition)
	}
}

func (n *nest) open(s string, leave bool) { n.WriteString(s); n.labels = append(n.labels, leave) }
func (n *nest) close()                    { n.WriteString(")"); n.labels = n.labels[:len(n.labels)-1] }

func (n *nest) statements(count, depth int) {
	for range n.r.IntN(count + 1) {
		switch k := n.r.IntN(12); {
		case k < 2:
			fmt.Fprintf(n, "(local.set %d (i32.const %d))", n.variable(), n.r.IntN(4))
		case k < 4:
			fmt.Fprintf(n, "(local.set %d (local.get %d))", n.variable(), n.variable())
		case k < 6:
			fmt.Fprintf(n, "(local.set %d (i32.add (local.tee %d (i32.mul (local.get %d) (i32.const 3))) (local.get %d)))", n.variable(), n.variable(), n.variable(), n.variable())
		case k < 8:
			n.branch("br_if", n.condition())
		case depth == 0:
		case k < 10:
			n.open("(if "+n.condition()+" (then ", true)
			n.statements(3, depth-1)
			if n.r.IntN(2) == 0 {
				n.branch("br", "")
				n.statements(2, depth-1)
			}
			n.WriteString(") (else ")
			n.statements(2, depth-1)
			n.WriteString(")")
			n.close()
		case n.depth < nestDepth:
			n.loop(depth-1, false)
		}
	}
}

// loop runs once or twice; with inner there are loops inside until nestDepth are open.
func (n *nest) loop(depth int, inner bool) {
	counter := nestVars + n.depth
	fmt.Fprintf(n, "(local.set %d (i32.const %d))", counter, 1+n.r.IntN(2))
	n.open("(block ", true)
	n.open("(loop ", false)
	n.depth++
	n.statements(3, depth)
	if inner && n.depth < nestDepth-2 {
		n.loop(depth, true)
	}
	n.statements(3, depth)
	fmt.Fprintf(n, "(br_if 0 (local.tee %d (i32.sub (local.get %[1]d) (i32.const 1))))", counter)
	n.depth--
	n.close()
	n.close()
	n.statements(2, depth)
}

// TestNestedLoops runs random loops in many others: a local has the value that was written last, whichever way led there.
func TestNestedLoops(t *testing.T) {
	for part := range 4 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for i := range 60 {
				if !cases.Has(i, 5) {
					continue
				}
				n := nest{r: rand.New(rand.NewPCG(uint64(part), uint64(i)))}
				fmt.Fprint(&n, wat.Types("local", strings.Repeat("i", nestVars-2+nestDepth)))
				n.open("(block ", true)
				n.statements(3, 1)
				n.loop(1, true)
				n.loop(1, i%3 == 0)
				n.close()
				for v := range nestVars {
					n.WriteString(wat.Get(v))
				}
				b.Add("ii", strings.Repeat("i", nestVars), n.String(), compare.Product([]uint64{0, 1, 5}, []uint64{0, 2})...)
			}
			check(t, compare.Single("(module "+b.String()+")", b.Calls...))
		})
	}
}
