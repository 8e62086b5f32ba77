package inline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
)

// source has functions that are kept in this order and inline those before them.
const source = `
mem0 1 1
function "leaf" (i32) -> (i32, i64) {
block0(v0: i32):
    v1 = load.i32 mem0 v0 ; @0010
    v3 = memory_grow mem0, v1 ; @0011
    v2 = iconst.i64 9
    return v1, v2 ; @0012
}
function "loop" (i32) -> (i32) {
block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    v2, v3 = call fn0(v1) ; @0020
    v4 = ireduce.i32 v3
    v5 = iadd.i32 v2, v4
    br v5, block1(v5), block2
block2:
    return v5
}
function "table" (i32) -> (i32) {
block0(v0: i32):
    br_table v0, [block1, block1, block2]
block1:
    trap unreachable ; @0030
block2:
    v1 = call fn1(v0) ; @0032
    v2 = call fn2(v1) ; @0034
    return v2
}
`

// parsed returns the functions of source.
func parsed(t *testing.T) []*clif.Func {
	t.Helper()
	file, err := text.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	var out []*clif.Func
	for i := range file.Funcs {
		out = append(out, file.Funcs[i].Func)
	}
	return out
}

// inlineAll inlines each function of source in those behind it and in itself, and returns them with their bodies.
func inlineAll(t *testing.T, n *Inliner) ([]*clif.Func, []*Body) {
	t.Helper()
	funcs := parsed(t)
	bodies := make([]*Body, len(funcs))
	lookup := func(i clif.FuncIndex) *Body { return bodies[i] }
	for i, f := range funcs {
		for range 2 {
			n.Run(f, lookup)
			if err := verify.Func(f); err != nil {
				t.Fatalf("%v\n%s", err, f)
			}
			if bodies[i] == nil {
				bodies[i] = n.Keep(f, false)
			}
		}
	}
	return funcs, bodies
}

// TestText: what becomes of calls, and the places of what is inlined.
func TestText(t *testing.T) {
	funcs, _ := inlineAll(t, &Inliner{Eager: true})
	const loop = `block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    jump block3(v1) ; @0020
block3(v6: i32):
    v7 = load.i32 mem0 v6+0 ; @0010 called at @0020
    v8 = memory_grow mem0, v7 ; @0011 called at @0020
    v9 = iconst.i64 9
    jump block4(v7, v9) ; @0012
block4(v2: i32, v3: i64):
    v4 = ireduce.i32 v3
    v5 = iadd.i32 v2, v4
    br v5, block1(v5), block2
block2:
    return v5
`
	if got := regexp.MustCompile(" +;").ReplaceAllString(funcs[1].String(), " ;"); !strings.Contains(got, loop) {
		t.Errorf("got\n%s", got)
	}
	got := funcs[2].String()
	for _, want := range []string{"; @0010 called at @0020 called at @0032\n", "; @0010 called at @0020 called at @0032 called at @0034\n",
		"; @0030 called at @0034\n", "call fn2", "; @0034 called at @0034\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestControl: a limit says how many calls are inlined, and the rule can be off, or the pass.
func TestControl(t *testing.T) {
	ctl := &rewrite.Control{Limit: -1, Trace: true}
	inlineAll(t, &Inliner{Eager: true, Control: ctl})
	all := len(ctl.Log)
	if all != 3 || ctl.Log[0].Src != 0x20 || ctl.Log[0].Before != "v2, v3 = call fn0(v1)" || len(ctl.Log[0].After) != 1 {
		t.Errorf("%+v", ctl.Log)
	}
	for limit := range all {
		ctl := &rewrite.Control{Limit: limit}
		inlineAll(t, &Inliner{Eager: true, Control: ctl})
		if len(ctl.Log) != limit {
			t.Errorf("%d of %d", len(ctl.Log), limit)
		}
	}
	for _, off := range []string{rule.Name, Pass} {
		ctl := &rewrite.Control{Limit: -1, Off: map[string]bool{off: true}}
		inlineAll(t, &Inliner{Eager: true, Control: ctl})
		if len(ctl.Log) != 0 {
			t.Errorf("without %s: %d", off, len(ctl.Log))
		}
	}
}

// TestResultControl: a limit, or the rule, turns off that constants decide the branch behind a call, and the log says what has become of it.
func TestResultControl(t *testing.T) {
	const source = `
function "callee" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1, block2
block1:
    v1 = iconst.i32 1
    return v1
block2:
    v2 = iconst.i32 0
    return v2
}
function "caller" (i32) -> () {
block0(v0: i32):
    v1 = call fn0(v0) ; @0020
    br v1, block1, block2
block1:
    trap unreachable
block2:
    return
}
`
	for _, c := range []struct {
		ctl     rewrite.Control
		decided bool
	}{
		{rewrite.Control{Limit: -1, Trace: true}, true},
		{rewrite.Control{Limit: 2}, true},
		{rewrite.Control{Limit: 1}, false},
		{rewrite.Control{Limit: -1, Off: map[string]bool{ruleResults.Name: true}}, false},
	} {
		file, err := text.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		n := &Inliner{Control: &c.ctl}
		body, f := n.Keep(file.Funcs[0].Func, false), file.Funcs[1].Func
		if n.Run(f, func(clif.FuncIndex) *Body { return body }); verify.Func(f) != nil {
			t.Errorf("%v\n%v", verify.Func(f), f)
		}
		if decided := !strings.Contains(f.String(), "br v1,"); decided != c.decided || decided != (len(c.ctl.Log) == 2) {
			t.Errorf("decided: %v, want %v; %d rewrites\n%v", decided, c.decided, len(c.ctl.Log), f)
		}
		if e := c.ctl.Log[len(c.ctl.Log)-1]; c.ctl.Trace && (e.Rule != &ruleResults || e.Src != 0x20 || e.Before != "a branch to block1 or block2 behind the call") {
			t.Errorf("%+v", e)
		}
	}
}

// TestPolicy: the same body is inlined or not by how many loops are around the call.
func TestPolicy(t *testing.T) {
	file := func(weight, loops int, behind bool) string {
		var b strings.Builder
		b.WriteString("mem0 1 1\nfunction \"small\" () -> () {\nblock0:\n    v0 = iconst.i32 1\n")
		for range weight {
			b.WriteString("    store.i32 mem0 v0, v0\n")
		}
		b.WriteString("    return\n}\nfunction \"caller\" (i32) -> () {\nblock0(v0: i32):\n    jump block1\n")
		for n := range loops {
			fmt.Fprintf(&b, "block%d:\n    jump block%d\n", n+1, n+2)
		}
		fmt.Fprintf(&b, "block%d:\n    call fn0()\n    jump block%d\n", loops+1, loops+2)
		for n := range loops {
			fmt.Fprintf(&b, "block%d:\n    br v0, block%d, block%d\n", loops+2+n, loops-n, loops+3+n)
		}
		fmt.Fprintf(&b, "block%d:\n", 2*loops+2)
		if behind {
			b.WriteString("    call fn0()\n")
		}
		b.WriteString("    return\n}\n")
		return b.String()
	}
	for _, objects := range []bool{false, true} {
		limits := limits
		if objects {
			limits = objectLimits
		}
		for loops, limit := range []int{limits[0], limits[1], limits[2], limits[2]} {
			for _, weight := range []int{1, limit, limit + 1} {
				for _, behind := range []bool{false, true} {
					f, err := text.Parse(file(weight, loops, behind))
					if err != nil {
						t.Fatal(err)
					}
					ctl := &rewrite.Control{Limit: -1}
					n := Inliner{Control: ctl, Objects: objects}
					body := n.Keep(f.Funcs[0].Func, false)
					n.Run(f.Funcs[1].Func, func(clif.FuncIndex) *Body { return body })
					want := 0
					if weight <= limit {
						want++
					}
					if behind && weight <= limits[0] {
						want++
					}
					if len(ctl.Log) != want {
						t.Errorf("objects %v, weight %d in %d loops, behind them too %v: %d inlined, want %d", objects, weight, loops, behind, len(ctl.Log), want)
					}
				}
			}
		}
	}
}

// TestBounded: chains of functions that are inlined in each other end, and with them the places of each function; a function that calls
// the one before it twice does not grow without end. What is inlined last, from f0, is not deep.
func TestBounded(t *testing.T) {
	for _, before := range [][]int{{1}, {1, 1}, {1, 1000}} { // how far before a function those are that it calls
		const count = 300
		var b strings.Builder
		b.WriteString("mem0 1 1\nfunction \"f0\" (i32) -> (i32) {\nblock0(v0: i32):\n    v1 = load.i32 mem0 v0 ; @0010\n    return v1\n}\n")
		for k := 1; k < count; k++ {
			fmt.Fprintf(&b, "function \"f%d\" (i32) -> (i32) {\nblock0(v0: i32):\n", k)
			for c, far := range before {
				fmt.Fprintf(&b, "    v%d = call fn%d(v%d) ; @%04x\n", c+1, max(k-far, 0), c, 100+2*k)
			}
			fmt.Fprintf(&b, "    return v%d\n}\n", len(before))
		}
		file, err := text.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		n := Inliner{Eager: true}
		bodies := make([]*Body, count)
		most := 0
		for k := range bodies {
			f := file.Funcs[k].Func
			n.Run(f, func(i clif.FuncIndex) *Body { return bodies[i] })
			bodies[k] = n.Keep(f, false)
			if len(f.Insts) > budget(&clif.Func{})+10 || len(f.Inlined) > 2*maxDepth*len(f.Insts) {
				t.Fatalf("f%d has %d instructions, %d places", k, len(f.Insts), len(f.Inlined))
			}
			most = max(most, deepest(f))
		}
		if !slices.Equal(before, []int{1, 1}) && most != maxDepth {
			t.Errorf("%d: calls are inlined %d deep, want %d", before, most, maxDepth)
		}
	}
}

// deepest returns how deep calls are inlined in f.
func deepest(f *clif.Func) (most int) {
	for i := range f.Inlined {
		depth := -1
		abi.Activations(f.Inlined, uint32(f.Index), abi.InlinedPlace+uint32(i), func(abi.Activation) bool { depth++; return true })
		most = max(most, depth)
	}
	return most
}

// TestRecursion: a function that calls itself by way of others, which are inlined, repeats these on each level. The more they are, the fewer levels there are.
func TestRecursion(t *testing.T) {
	for between := range maxDepth + 1 {
		var b strings.Builder
		b.WriteString("mem0 1 1\n")
		for k := range between + 1 {
			callee := (k + between) % (between + 1) // the function before; of the first one the last
			fmt.Fprintf(&b, "function \"f%d\" (i32) -> (i32) {\nblock0(v0: i32):\n    v1 = load.i32 mem0 v0 ; @%04x\n    br v1, block1, block2\nblock1:\n    v2 = call fn%d(v1) ; @%04x\n    return v2\nblock2:\n    return v0\n}\n",
				k, 0x10*k+1, callee, 0x10*k+2)
		}
		file, err := text.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		var n Inliner
		bodies := make([]*Body, between+1)
		for k := range bodies {
			f := file.Funcs[k].Func
			n.Run(f, func(i clif.FuncIndex) *Body { return bodies[i] })
			bodies[k] = n.Keep(f, k < between)
		}
		f, own := file.Funcs[between].Func, bodies[between]
		if between == maxDepth { // nobody inlines what is as deep
			if own != nil {
				t.Errorf("%d functions between are inlined in a body", between)
			}
			continue
		}
		recursive := n.RunRecursion(f, own)
		if err := verify.Func(f); err != nil {
			t.Fatalf("%v\n%s", err, f)
		}
		if got, want := deepest(f), between+(maxDepth-between)*(between+1); !recursive || got != want {
			t.Errorf("%d functions between: inlined %v, %d deep, want %d", between, recursive, got, want)
		}
	}
}

// TestRecursionSize: a function with few instructions but many parameters inlines itself on fewer levels.
func TestRecursionSize(t *testing.T) {
	const params = 300
	types, values, args := strings.Repeat("i32, ", params-1)+"i32", "v0: i32", "v0"
	for k := range params - 1 {
		values += fmt.Sprintf(", v%d: i32", k+1)
		args += fmt.Sprintf(", v%d", k+1)
	}
	file, err := text.Parse(fmt.Sprintf("function \"f\" (%s) -> () {\nblock0(%s):\n    br v0, block1, block2\nblock1:\n    call fn0(%s)\n    return\nblock2:\n    return\n}\n", types, values, args))
	if err != nil {
		t.Fatal(err)
	}
	var n Inliner
	f := file.Funcs[0].Func
	body := n.Keep(f, false)
	if !n.RunRecursion(f, body) || sizeOf(f) > maxSize || sizeOf(f) < maxSize/2 {
		t.Errorf("the size is %d, of at most %d", sizeOf(f), maxSize)
	}
}

// TestBudget: a function with many calls gets no more than its budget.
func TestBudget(t *testing.T) {
	for _, calls := range []int{10, 1000, 10_000} {
		var b strings.Builder
		b.WriteString("mem0 1 1\nfunction \"small\" () -> () {\nblock0:\n    v0 = iconst.i32 1\n    store.i32 mem0 v0, v0\n    store.i32 mem0 v0, v0\n    return\n}\n")
		b.WriteString("function \"caller\" () -> () {\nblock0:\n" + strings.Repeat("    call fn0()\n", calls) + "    return\n}\n")
		file, err := text.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		ctl := &rewrite.Control{Limit: -1}
		n := Inliner{Control: ctl}
		body, f := n.Keep(file.Funcs[0].Func, false), file.Funcs[1].Func
		most := 200 + len(f.Insts)
		n.Run(f, func(clif.FuncIndex) *Body { return body })
		if got, want := len(ctl.Log), min(calls, most/body.size); got != want {
			t.Errorf("%d of %d calls are inlined, want %d", got, calls, want)
		}
	}
}

// tailSource is functions that tail calls lead through: "loop" and "again" call each other and end, "leaf" loads, "caller" calls "loop" and goes on with its results.
const tailSource = `
mem0 1 1
global0 i32 mut = 0
function "leaf" (i32, i64) -> (i32, i64) {
block0(v0: i32, v1: i64):
    v2 = load.i32 mem0 v0 ; @0010
    return v2, v1 ; @0012
}
function "loop" (i32, i64) -> (i32, i64) {
block0(v0: i32, v1: i64):
    br v0, block1, block2
block1:
    v2 = iconst.i32 1
    v3 = isub.i32 v0, v2
    v4 = iadd.i64 v1, v1
    return_call fn2(v3, v4) ; @0020
block2:
    return_call fn0(v0, v1) ; @0022
}
function "again" (i32, i64) -> (i32, i64) {
block0(v0: i32, v1: i64):
    v2 = iconst.i64 1
    v3 = iadd.i64 v1, v2
    global_set.i32 global0, v0 ; @0030
    return_call fn1(v0, v3) ; @0032
}
function "caller" (i32) -> (i64) {
block0(v0: i32):
    v1 = iconst.i64 3
    v2, v3 = call fn1(v0, v1) ; @0040
    v4 = uextend.i64 v2
    v5 = iadd.i64 v3, v4
    return v5
}
function "last" (i32, i64) -> (i32, i64) {
block0(v0: i32, v1: i64):
    return_call fn0(v0, v1) ; @0050
}
function "init" () -> () {
block0:
    return
}
`

// TestTails: in the place of a tail call stand the callee's returns and tail calls as they are, in that of a call its tail calls as calls. Places say that what
// has ended is not active, and results, effects and the depth of the stack are the same as before.
func TestTails(t *testing.T) {
	source, file := parse(t, tailSource), parse(t, tailSource)
	bodies := make([]*Body, len(file.Funcs))
	n := &Inliner{Eager: true}
	for _, i := range []int{0, 4, 2, 1, 3} { // callees first, as far as they do not call each other
		f := file.Funcs[i].Func
		n.Run(f, func(k clif.FuncIndex) *Body { return bodies[k] })
		if err := verify.Func(f); err != nil {
			t.Fatalf("%v\n%v", err, f)
		}
		bodies[i] = n.Keep(f, false)
	}
	for i, want := range map[int][]string{
		1: {"load.i32 mem0 v", "; @0010\n", "global_set.i32 global0, v", "; @0030\n", "return_call fn1("},
		3: {"; @0010 called at @0040\n", "; @0030 called at @0040\n", ") ; @0040\n"},
		4: {"; @0010\n"},
	} {
		got := regexp.MustCompile(" +;").ReplaceAllString(file.Funcs[i].Func.String(), " ;")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("no %q in\n%s", w, got)
			}
		}
		for _, w := range []string{"return_call fn0", "return_call fn2", "@0010 called at @0022", "@0020 called"} {
			if strings.Contains(got, w) || i == 3 && strings.Contains(got, "return_call") {
				t.Errorf("%q or a tail call in\n%s", w, got)
			}
		}
	}
	if got := file.Funcs[3].Func.String(); !regexp.MustCompile(`= call fn1\(.*\) +; @0040\n`).MatchString(got) {
		t.Errorf("no call where the caller has one in\n%s", got)
	}
	run := func(file *text.File, x uint64) string {
		store := interp.NewStore(interp.Options{MaxDepth: 2})
		in, err := store.Instantiate(file.Funcs[0].Func.Mod, func(i clif.FuncIndex) (*clif.Func, error) { return file.Funcs[i].Func, nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Func(3).Call([]uint64{x})
		return fmt.Sprint(out, err)
	}
	for _, x := range []uint64{0, 1, 2, 3, 10, 1000} {
		if before, after := run(source, x), run(file, x); before != after || !strings.HasSuffix(before, "<nil>") {
			t.Errorf("%d: %s, then %s", x, before, after)
		}
	}
}
