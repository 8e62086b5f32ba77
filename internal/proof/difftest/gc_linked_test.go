package difftest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
)

// split divides a module in two: a library that has its globals, tables, memories, tags and some of its functions, and the rest, which imports them. Both have all types, as types of their own.
type split struct {
	m     *wasmedit.Module
	moved struct{ funcs, globals []bool }
}

// newSplit chooses what is moved: no function that has to do with segments, or refers to a function that is not moved.
func newSplit(m *wasmedit.Module, r *rand.Rand) *split {
	x := &split{m: m}
	x.moved.funcs, x.moved.globals = make([]bool, len(m.Funcs)), make([]bool, len(m.Globals))
	for i := range m.Funcs {
		x.moved.funcs[i] = m.Funcs[i].Import != nil || r.IntN(5) > 0
	}
	for changed := true; changed; {
		changed = false
		for i := range m.Globals {
			x.moved.globals[i] = m.Globals[i].Import != nil || x.mayMove(m.Globals[i].Init)
		}
		for i := range m.Funcs {
			if f := &m.Funcs[i]; x.moved.funcs[i] && f.Import == nil && !x.mayMoveCode(f.Code) {
				x.moved.funcs[i], changed = false, true
			}
		}
	}
	return x
}

// mayMove reports whether what a constant expression refers to is moved.
func (x *split) mayMove(ops []wasmfront.ConstOp) bool {
	for i := range ops {
		switch op := &ops[i]; op.Op.Info().Imm {
		case wasmfront.ImmFunc:
			if !x.moved.funcs[op.Index] {
				return false
			}
		case wasmfront.ImmGlobal:
			if !x.moved.globals[op.Index] {
				return false
			}
		}
	}
	return true
}

// mayMoveCode is mayMove for a body.
func (x *split) mayMoveCode(code []wasmedit.Inst) bool {
	for i := range code {
		switch in := &code[i]; in.Imm() {
		case wasmfront.ImmFunc:
			if !x.moved.funcs[in.Index] {
				return false
			}
		case wasmfront.ImmGlobal:
			if !x.moved.globals[in.Index] {
				return false
			}
		case wasmfront.ImmData, wasmfront.ImmDataMem, wasmfront.ImmElem, wasmfront.ImmElemTable, wasmfront.ImmTypeData, wasmfront.ImmTypeElem:
			return false
		}
	}
	return true
}

// modules returns the library and the rest, and how many functions, and globals of references, are moved; ok is false if a table cannot be.
func (x *split) modules() (lib, rest *wasmedit.Module, funcs, globals int, ok bool) {
	lib, rest = x.m.Clone(), x.m.Clone()
	lib.Exports, lib.Start, lib.Counted = nil, -1, false
	move := func(kind abi.ExternKind, i int, imp **wasmedit.Import) {
		if *imp == nil {
			name := fmt.Sprint(kind, i)
			lib.Exports = append(lib.Exports, wasmedit.Export{Name: name, Kind: kind, Index: uint32(i)})
			*imp = &wasmedit.Import{Module: randprog.LibName, Name: name}
		}
	}
	for i := range rest.Funcs {
		switch f := &rest.Funcs[i]; {
		case !x.moved.funcs[i]:
			lib.Funcs[i].Dead = true
		case f.Import == nil:
			funcs++
			move(abi.ExternFunc, i, &f.Import)
		}
	}
	for i := range rest.Globals {
		switch g := &rest.Globals[i]; {
		case !x.moved.globals[i]:
			lib.Globals[i].Dead = true
		case g.Import == nil:
			if g.Type.Type.IsInternal() {
				globals++
			}
			move(abi.ExternGlobal, i, &g.Import)
		}
	}
	for i := range rest.Tables {
		if !x.mayMove(rest.Tables[i].Init) {
			return nil, nil, 0, 0, false
		}
		rest.Tables[i].Init = nil
		move(abi.ExternTable, i, &rest.Tables[i].Import)
	}
	for i := range rest.Memories {
		move(abi.ExternMemory, i, &rest.Memories[i].Import)
	}
	for i := range rest.Tags {
		move(abi.ExternTag, i, &rest.Tags[i].Import)
	}
	for i := range lib.Elems {
		lib.Elems[i].Dead = true
	}
	declared := wasmedit.Elem{Mode: wasmfront.SegmentDeclarative, Type: wasmfront.FuncRef}
	for i := range lib.Funcs {
		if x.moved.funcs[i] {
			declared.Items = append(declared.Items, []wasmfront.ConstOp{{Op: wasmfront.OpRefFunc, Index: uint32(i)}})
		}
	}
	lib.Elems = append(lib.Elems, declared)
	for i := range lib.Data {
		lib.Data[i].Dead = true
	}
	return lib, rest, funcs, globals, true
}

// TestRandomGCLinked: random modules with garbage collection do the same where they are divided in two, so that objects go from one instance to another one in arguments, results, globals, tables and exceptions, and
// are cast there.
func TestRandomGCLinked(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](6, 12, 300))
	all := gcEngines()
	var modules, funcs, globals int
	for seed := *seedFlag; seed < *seedFlag+count; seed++ {
		p := randprog.GenerateGC(seed, seed%2 == 1, false)
		want := randprog.Run(&interpengine.Engine{Options: gcLimits}, p)
		if want.TooLong() {
			continue
		}
		slow := randprog.Run(&interpengine.Engine{Options: gcLimitsIfSlow}, p).TooLong()
		m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
		if err != nil {
			t.Fatal(err)
		}
		lib, rest, f, g, ok := newSplit(m, rand.New(rand.NewPCG(seed, 9))).modules()
		if !ok {
			continue
		}
		q := *p
		if q.Lib, err = lib.Encode(); err == nil {
			q.Wasm, err = rest.Encode()
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		modules, funcs, globals = modules+1, funcs+f, globals+g
		list := append([]gcEngine{{Engine: &interpengine.Engine{}}}, all...)
		if !testenv.Full() && *countFlag == 0 { // the interpreter, O0 and O1 with collections, and one that takes turns
			list = []gcEngine{list[0], all[1], all[3], all[4+seed%uint64(len(all)-5)]}
		}
		for _, e := range list {
			if slow && e.slow {
				continue
			}
			if d := randprog.Run(e, &q).WithoutPlaces().Diff(want.WithoutPlaces()); d != "" {
				t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
				save(t, seed, &q)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d modules; %d functions and %d globals with objects are in the other one", modules, funcs, globals)
	if modules < int(count)/2 || funcs < 2*modules || globals < modules {
		t.Error("too few are moved")
	}
}
