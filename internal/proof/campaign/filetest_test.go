package campaign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wrongrules"
	"github.com/waot-project/waot/internal/reduce"
	"github.com/waot-project/waot/spectest/interpengine"
)

// firstCall returns the program of a seed made small, so that its first call still does what it did without a call of the host; nil if it has none.
func firstCall(t *testing.T, seed uint64) *randprog.Program {
	t.Helper()
	p := randprog.Generate(seed)
	if len(p.Calls) == 0 {
		return nil
	}
	p.Calls = p.Calls[:1]
	want, _, err := randprog.Judge(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := reduce.Module(p.Wasm, reduce.Options{MaxTries: 2000}, func(b []byte) bool {
		q := p.With(b)
		if len(q.Calls) == 0 || randprog.Run(randprog.Bounded(), q).Failed != "" {
			return false
		}
		got, _, err := randprog.Judge(t.Context(), q)
		return err == nil && len(got.Calls) == 1 && got.Calls[0].Text == want.Calls[0].Text
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.With(b)
}

// TestFileTest: a call of a module that needs nothing else becomes a filetest that passes, and does not with another result. Each has an instance of
// its own, with what segments put into it.
func TestFileTest(t *testing.T) {
	interp := &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}}
	made, traps := 0, 0
	for seed := range uint64(10) {
		p := firstCall(t, seed)
		if p == nil {
			continue
		}
		c, err := newCLIFTest(t.Context(), p, &Variant{NoSpectre: seed%2 == 1})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		made++
		text := c.String()
		if o := interp.Run([]byte(text)); len(o.Failures) > 0 || o.Calls != len(c.calls) {
			t.Errorf("seed %d: %v\n%s", seed, o.Failures, text)
		}
		before, after, ok := strings.Cut(text, "; trap: %")
		wrong := before + "; run: %" + strings.Split(after, " ==")[0]
		if ok {
			traps++
		} else {
			before, after, _ = strings.Cut(text, "; run: %")
			wrong = before + "; trap: %" + strings.Split(strings.Split(after, " ==")[0], "\n")[0] + " == unreachable\n"
		}
		if o := interp.Run([]byte(wrong)); len(o.Failures) == 0 {
			t.Errorf("seed %d: it passes with another result:\n%s", seed, wrong)
		}
	}
	t.Logf("%d filetests, %d of traps", made, traps)
	if made < 8 {
		t.Errorf("%d filetests", made)
	}
}

// TestNoFileTest: it is said why there is no filetest.
func TestNoFileTest(t *testing.T) {
	w := newWorker(&Config{})
	with := randprog.Generate(1)
	none := *with
	none.Calls = nil
	small := firstCall(t, 1)
	empty := *small
	empty.Calls = nil
	for _, c := range []struct {
		p    *randprog.Program
		v    *Variant
		sort string
		want string
	}{
		{with, nil, "different ", "the CLIF interpreter is what differs"},
		{with, optimised(), onlyPlace, "where a trap arises"},
		{with, optimised(), "different ", "it imports"},
		{&empty, optimised(), "different ", "there are no calls"},
		{small, optimised(), "different ", "no call differs in a new instance"},
	} {
		text, err := w.fileTest(t.Context(), c.p, c.v, c.sort)
		if text != "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v %s", c.want, err, text)
		}
	}
}

// Builds is the folder of what these tests build.
var Builds string

// sums is a fault, if planted: what is folded becomes the parameter.
func sums(_ *Variant, o *compile.Options) {
	o.Control = func(clif.FuncIndex) *opt.Control {
		return &opt.Control{Limit: -1, Off: map[string]bool{sumsName: true}}
	}
}

// sumsName is not the name of a rule: a Control that has it has the fault.
const sumsName = "sums"

// withSums is wrongrules.Elsewhere for tests of the fault; there it has it planted.
func withSums(t *testing.T) (elsewhere bool) {
	t.Helper()
	if wrongrules.Elsewhere(t, Builds) {
		return true
	}
	wrongrules.Set(t, func(ctl *opt.Control, r *opt.RuleInfo, f *clif.Func, _ *clif.InstData, v clif.Value) clif.Value {
		if ctl.Off[sumsName] && r.Name == "fold-int" && v != clif.NoValue {
			return clif.Value(f.Params(f.Entry())[0])
		}
		return v
	})
	return false
}

// TestLong: a program that takes too many steps to be made small has a file, too, if it differs, and none if it does not.
func TestLong(t *testing.T) {
	if withSums(t) {
		return
	}
	// (func (export "f") (param i32) (result i32) (local i32)
	//   loop local.get 1 i32.const 1 i32.add local.tee 1 i32.const 400000 i32.lt_u br_if 0 end
	//   i32.const 3 i32.const 4 i32.add)
	wasm := slices.Concat(emptyModule, []byte("\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x00\x0a\x1c\x01\x1a\x01\x01\x7f"+
		"\x03\x40\x20\x01\x41\x01\x6a\x22\x01\x41\x80\xb5\x18\x49\x0d\x00\x0b\x41\x03\x41\x04\x6a\x0b"))
	p := &randprog.Program{Wasm: wasm, Env: emptyModule, Calls: []wasmgen.Call{{Export: "f", Params: "i", Results: "i", Args: []uint64{0}}}}
	for _, spoil := range []func(*Variant, *compile.Options){nil, sums} {
		w := newWorker(&Config{Spoil: spoil, ReduceFor: time.Second})
		var x Failure
		w.investigate(t.Context(), p, optimised(), &x)
		if x.Reduced != nil || x.NoFileTest != "it is not made small" || x.FileTest != "" || !strings.Contains(x.Small, "runs out of steps") {
			t.Errorf("%+v", x)
		}
		if spoil == nil {
			if x.File != nil || x.NoFile != "it does not differ as a file in the way that was found: nothing differs" {
				t.Errorf("%s %s", x.NoFile, x.File)
			}
			continue
		}
		f, err := ParseFile(x.File)
		if err != nil {
			t.Fatal(err, x.NoFile)
		}
		if _, d, err := Check(t.Context(), Config{Spoil: spoil}, f); err != nil || len(d[0]) != 1 || d[0][0].Variant != optimised().Name {
			t.Error(d, err)
		}
	}
}

// TestOutOfSteps: tries that do not end while a program is made small are counted, and are no difference.
func TestOutOfSteps(t *testing.T) {
	if withSums(t) {
		return
	}
	// (global (mut i32) (i32.const 0))
	// (func (export "f") (param i32) (result i32)
	//   i32.const 1 global.set 0  loop i32.const 3 i32.const 4 i32.add local.set 0 global.get 0 i32.eqz br_if 0 end  local.get 0)
	wasm := slices.Concat(emptyModule, []byte("\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x06\x06\x01\x7f\x01\x41\x00\x0b\x07\x05\x01\x01f\x00\x00\x0a\x19\x01\x17\x00"+
		"\x41\x01\x24\x00\x03\x40\x41\x03\x41\x04\x6a\x21\x00\x23\x00\x45\x0d\x00\x0b\x20\x00\x0b"))
	p := &randprog.Program{Wasm: wasm, Env: emptyModule, Calls: []wasmgen.Call{{Export: "f", Params: "i", Results: "i", Args: []uint64{0}}}}
	w := newWorker(&Config{Spoil: sums, ReduceFor: time.Minute})
	var x Failure
	w.investigate(t.Context(), p, optimised(), &x)
	if x.Reduced == nil || x.OutOfSteps == 0 || x.OutOfSteps >= x.Tries || strings.Contains(x.Small, "steps") {
		t.Errorf("%d of %d tries ran out of steps; %s", x.OutOfSteps, x.Tries, x.Small)
	}
}

// TestFile: a file holds all of a program and its outcome.
func TestFile(t *testing.T) {
	calls, hosts := 0, 0
	for seed := range uint64(20) {
		p := randprog.Generate(seed)
		want, _, err := randprog.Judge(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		want = randprog.Reference(want, randprog.Run(&interpengine.Engine{}, p))
		f := parsed(t, p, want)
		if d := f.Want.Diff(want); d != "" || f.Want.Places(want) != want.Places(want) {
			t.Errorf("seed %d: %d places of %d: %s", seed, f.Want.Places(want), want.Places(want), d)
		}
		if names, d, err := Check(t.Context(), Config{}, f); err != nil || len(d[0]) > 0 || len(names) != 3 {
			t.Errorf("seed %d: %v %v %v", seed, names, d, err)
		}
		calls += len(want.Calls)
		hosts += len(want.Host)
	}
	if calls == 0 || hosts == 0 {
		t.Errorf("%d calls, %d of the host", calls, hosts)
	}
}

// TestFileStart: a file of a module whose instantiation traps has calls and globals that are never made or read.
func TestFileStart(t *testing.T) {
	// (func (export "f") unreachable) (memory 1) (global (export "g") i32 (i32.const 0)) (start 0)
	wasm := slices.Concat(emptyModule, []byte("\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x05\x03\x01\x00\x01\x06\x06\x01\x7f\x00\x41\x00\x0b"+
		"\x07\x09\x02\x01f\x00\x00\x01g\x03\x00\x08\x01\x00\x0a\x05\x01\x03\x00\x00\x0b"))
	p := &randprog.Program{Wasm: wasm, Env: emptyModule, Calls: []wasmgen.Call{{Export: "f"}}, Globals: []string{"g"}}
	want, _, err := randprog.Judge(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want = randprog.Reference(want, randprog.Run(&interpengine.Engine{}, p))
	f := parsed(t, p, want)
	if f.Want.Start.Text != "trap: unreachable" || f.Want.Diff(want) != "" || len(f.Program.Calls) != 1 || len(f.Program.Globals) != 1 {
		t.Errorf("%+v", f)
	}
	if _, d, err := Check(t.Context(), Config{}, f); err != nil || len(d[0]) > 0 {
		t.Error(d, err)
	}
	f.Want.Start.Text = "trap: integer overflow"
	if _, d, err := Check(t.Context(), Config{}, f); err != nil || len(d[0]) != 3 {
		t.Error(d, err)
	}
}

// parsed returns a file that was written and read.
func parsed(t *testing.T, p *randprog.Program, want *randprog.Outcome) *File {
	t.Helper()
	f, err := NewFile([]string{"note"}, p, want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Format()
	if err != nil {
		t.Fatal(err)
	}
	f, err = ParseFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCheck: whatever is different in an outcome is found, by all that know it.
func TestCheck(t *testing.T) {
	found := map[string]bool{}
	for seed := range uint64(20) {
		p := randprog.Generate(seed)
		want, _, err := randprog.Judge(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		want = randprog.Reference(want, randprog.Run(&interpengine.Engine{}, p))
		f := parsed(t, p, want)
		for what, n := range map[string]int{"call": len(want.Calls), "place": want.Places(want), "host": len(want.Host), "again": len(want.Again),
			"global": len(want.Globals), "memory": len(want.Memory), "size": 1, "start": 1 - len(want.Start.Text)} {
			if n <= 0 || found[what] {
				continue
			}
			found[what] = true
			g := parsed(t, p, want)
			engines := 3
			switch what {
			case "call":
				g.Want.Calls[n-1].Text += "1"
			case "place":
				engines = 2 // the judge does not know it
				for i := range g.Want.Calls {
					if place := g.Want.Calls[i].Place; place != nil {
						place.Offset++
						break
					}
				}
			case "host":
				g.Want.Host[n-1]++
			case "again":
				g.Want.Again[n-1].Text += "1"
			case "global":
				g.Want.Globals[n-1] ^= 1
			case "memory":
				g.Want.Memory[n-1] ^= 1
			case "size":
				g.Want.Memory = append(g.Want.Memory, 0)
			case "start":
				g.Want.Start.Text = randprog.TrapPrefix + "unreachable"
			}
			_, d, err := Check(t.Context(), Config{}, f, g)
			if err != nil || len(d[0]) > 0 || len(d[1]) != engines {
				t.Errorf("seed %d, %s: %v (%v)", seed, what, d, err)
			}
		}
	}
	if len(found) != 8 {
		t.Errorf("only %v", found)
	}
}

// TestParseFile: what is not a file is an error.
func TestParseFile(t *testing.T) {
	for _, s := range []string{"", "{}{}", `{"nothing": 1}`, `{"bytes": -1}`, `{"bytes": 4, "memory": ["0x4 ff"]}`, `{"bytes": 4, "memory": ["0 f"]}`,
		`{"bytes": 4, "memory": ["x"]}`, `{"host": ["g"]}`, `{"host": [1]}`, `{"calls": [{"give": ""}]}`} {
		if _, err := ParseFile([]byte(s)); err == nil {
			t.Errorf("%q is a file", s)
		}
	}
	if _, err := ParseFile([]byte(`{"bytes": 4, "memory": ["0x3 ff"], "host": ["0x1"], "calls": [{"gives": ""}]}`)); err != nil {
		t.Error(err)
	}
}
