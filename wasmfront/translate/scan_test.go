package translate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestSkips checks that the scan can pass each operator that is decoded, as all are that are translated, and that no
// other form has an entry.
func TestSkips(t *testing.T) {
	decoded := map[wasmfront.ImmKind]bool{}
	for _, op := range wasmfront.Opcodes() {
		known := wasmfront.DecodableFeatures.Has(op.Info().Feature)
		if New(nil, nil).handlerOf(op).run != nil && !known {
			t.Errorf("%s is translated, but not decoded", op)
		}
		decoded[op.Info().Imm] = decoded[op.Info().Imm] || known
	}
	for k := range wasmfront.ImmKind(wasmfront.NumImmKinds) {
		if decoded[k] != (skips[k] != nil) {
			t.Errorf("form %d: decoded is %v, but has an entry: %v", k, decoded[k], skips[k] != nil)
		}
	}
}

// TestScan scans whole bodies and compares what is noted with what the decoder says.
func TestScan(t *testing.T) {
	writes, loops := 0, 0
	for seed := range uint64(60) {
		_, m := program(seed)
		tr := New(m, Module(m, m.DecodeNames()))
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			scanBody(t, tr, i, &writes, &loops)
		}
	}
	if writes < 10000 || loops < 500 {
		t.Errorf("only %d writes and %d loops", writes, loops)
	}
}

// TestCalls: the calls that are found without a look at the rest are those that the decoder finds, also where bodies are cut off or damaged.
func TestCalls(t *testing.T) {
	total := 0
	for seed := range uint64(60) {
		_, m := program(seed)
		want := make([]CallsOf, len(m.Funcs))
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			var v validate.Func
			var op wasmfront.Operator
			var calls []uint32
			last := &CallsOf{} // what the operator before calls
			for v.Begin(m, i); v.Next(&op); {
				if op.Op == wasmfront.OpUnreachable {
					last.Cold++
				}
				last = &CallsOf{}
				if op.Op == wasmfront.OpCall {
					calls = append(calls, op.Index)
					last = &want[op.Index]
					last.All, last.Caller = last.All+1, i
				}
			}
			total += len(calls)
			if got := AppendCalls(nil, m, i); !slices.Equal(got, calls) {
				t.Errorf("seed %d, function %d: calls of %d, want %d", seed, i, got, calls)
			}
		}
		if counts := TakeSurvey(m, Module(m, m.DecodeNames()), 1, nil).Calls; !slices.Equal(counts, want) {
			t.Errorf("seed %d: calls %+v, want %+v", seed, counts, want)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			b := m.Body(i)
			b.Bytes = slices.Clone(b.Bytes[:r.IntN(len(b.Bytes)+1)])
			if len(b.Bytes) > 0 {
				b.Bytes[r.IntN(len(b.Bytes))] ^= byte(1 + r.IntN(255))
			}
		}
		TakeSurvey(m, Module(m, m.DecodeNames()), 1, nil) // does not panic
	}
	if total < 1000 {
		t.Errorf("only %d calls", total)
	}
}

func scanBody(t *testing.T, tr *Translator, i uint32, writes, loops *int) {
	body := tr.m.Body(i)
	tr.check.Begin(tr.m, i)
	s := &tr.ssa
	tr.f = new(clif.Func)
	tr.b = clif.Builder{F: tr.f}
	s.reset(tr.b.F, &tr.b, uint32(body.Offset), uint32(len(body.Bytes)))
	tr.locals = tr.check.Locals()
	s.setLocals(len(tr.locals))
	tr.scan()
	want := make([][]uint32, len(tr.locals))
	spans := []span{{s.now(), later}} // for the loop that the scan begins in
	open := []int{0}
	for tr.check.Next(&tr.op) {
		now := s.body.at(uint32(tr.op.Offset))
		switch tr.op.Op {
		case wasmfront.OpLocalSet, wasmfront.OpLocalTee:
			want[tr.op.Index] = append(want[tr.op.Index], uint32(now))
			*writes++
		case wasmfront.OpBlock, wasmfront.OpIf:
			open = append(open, -1)
		case wasmfront.OpLoop:
			open = append(open, len(spans))
			spans = append(spans, span{now, later})
			*loops++
		case wasmfront.OpEnd:
			if k := open[len(open)-1]; k >= 0 {
				spans[k].end = now
			}
			open = open[:len(open)-1]
		}
	}
	if err := tr.check.Err(); err != nil {
		t.Fatal(err)
	}
	for n, w := range want {
		var got []uint32
		if s.cur[n].writesOf == s.body.start {
			got = s.at(s.cur[n].writes)
		}
		if !slices.Equal(got, w) {
			t.Errorf("function %d, local %d: written at %d, not %d", i, n, got, w)
		}
	}
	if !slices.Equal(s.spans, spans) {
		t.Errorf("function %d: loops %v, not %v", i, s.spans, spans)
	}
}

// TestSurveyParts: a survey says the same in however many goroutines it is taken.
func TestSurveyParts(t *testing.T) {
	const funcs = 600
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("(module (import \"m\" \"f\" (func)) (memory 1) (table 1 funcref) (global (mut i32) (i32.const 0)) (global (mut i32) (i32.const 0))")
	for range funcs {
		text.WriteString("(func " + strings.Repeat("(nop)", 400))
		for range r.IntN(6) {
			fmt.Fprintf(&text, "(call %d)", 1+r.IntN(funcs))
		}
		switch r.IntN(40) {
		case 0:
			text.WriteString("(global.set 1 (i32.const 1))")
		case 1:
			text.WriteString("(i32.store (i32.const 8) (i32.const 1))")
		case 2:
			text.WriteString("(table.set 0 (i32.const 0) (ref.null func))")
		case 3:
			text.WriteString("(call 0) (unreachable)")
		}
		text.WriteString(")")
	}
	parsed, err := wat.Assemble([]byte(text.String() + ")"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := validate.Module(parsed.Wasm, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	survey := func(jobs, parts int) (*Survey, *clif.Module) {
		if ends := splitBodies(m, jobs); len(ends) != parts || int(ends[parts-1]) != len(m.Funcs) {
			t.Errorf("%d jobs: parts end at %d", jobs, ends)
		}
		cm := Module(m, m.DecodeNames())
		s := TakeSurvey(m, cm, jobs, nil)
		s.Declare(cm)
		return s, cm
	}
	if ends := splitBodies(&wasmfront.Module{Funcs: m.Funcs[:2], NumImportedFuncs: 1, Code: []wasmfront.FuncBody{{Bytes: make([]byte, 1<<20)}}}, 64); !slices.Equal(ends, []uint32{2}) {
		t.Errorf("one function: parts end at %d", ends)
	}
	want, wantModule := survey(1, 1)
	for _, jobs := range []int{2, 3, 64} {
		got, gotModule := survey(jobs, min(jobs, 3))
		if !slices.Equal(got.Calls, want.Calls) || !slices.Equal(got.callees, want.callees) || !slices.Equal(got.starts, want.starts) || !slices.Equal(got.writes, want.writes) ||
			!slices.Equal(got.globals, want.globals) || !slices.Equal(got.tables, want.tables) {
			t.Errorf("%d jobs: another survey", jobs)
		}
		for i := range gotModule.Funcs {
			if gotModule.Funcs[i].Keeps != wantModule.Funcs[i].Keeps {
				t.Errorf("%d jobs: function %d keeps %x, want %x", jobs, i, gotModule.Funcs[i].Keeps, wantModule.Funcs[i].Keeps)
			}
		}
	}
}
