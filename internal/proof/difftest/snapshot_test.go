package difftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/initialize"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront"
)

// TestSnapshotRandom compares random modules with their snapshots: a fresh instance that is initialised and then called, with an instance of the snapshot that is called. One half of the modules
// are frozen between two calls, the other half in the middle of one.
func TestSnapshotRandom(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](40, 60, 400))
	var next atomic.Uint64
	next.Store(*seedFlag)
	var between, within, trapped, ended, skipped, deepest atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || t.Failed() {
					return
				}
				f, err := newFreezing(seed)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				frames, err := f.compare()
				switch {
				case errors.Is(err, errSkipped):
					skipped.Add(1)
				case errors.Is(err, errTraps):
					trapped.Add(1)
				case errors.Is(err, errEnds):
					ended.Add(1)
				case err != nil:
					t.Errorf("seed %d: %v", seed, err)
				case f.marked:
					within.Add(1)
					for {
						if d := deepest.Load(); int64(frames) <= d || deepest.CompareAndSwap(d, int64(frames)) {
							break
						}
					}
				default:
					between.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d modules frozen between calls, %d within one, at most %d calls deep; %d trap before, %d end before the marker; %d were not compared, as they run out of stack or steps",
		between.Load(), within.Load(), deepest.Load(), trapped.Load(), ended.Load(), skipped.Load())
	if n := int64(count); between.Load() < n/4 || within.Load() < n/16 {
		t.Error("too few")
	}
}

var (
	errSkipped = errors.New("runs out of stack or steps")
	errTraps   = errors.New("traps before it can be frozen")
	errEnds    = errors.New("ends before the marker")
)

// freezing is a module to freeze.
type freezing struct {
	marked bool
	// fresh calls a function that does nothing where marked.wasm calls the marker; otherwise both are the same.
	fresh, wasm []byte
	program     *randprog.Program // without a module
	first       string            // the export that is called to the end, or up to the marker
	rest        []wasmgen.Call
}

// Names of what is added to random modules.
const (
	digestName = "digest"
	firstName  = "first"
)

// newFreezing makes a module that has all for itself: what random modules import is defined.
func newFreezing(seed uint64) (*freezing, error) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	p := randprog.Generate(seed + 1)
	if seed%4 == 3 {
		p = randprog.GenerateVectors(seed+1, false, false)
	}
	m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, err
	}
	f := &freezing{marked: seed%2 == 1, program: p, first: firstName}
	for i := range m.Globals {
		if g := &m.Globals[i]; g.Import != nil {
			g.Import, g.Init = nil, []wasmfront.ConstOp{{Op: wasmfront.ConstOpcode(g.Type.Type), Type: g.Type.Type}}
		}
	}
	for i := range m.Tables {
		m.Tables[i].Import = nil
	}
	for i := range m.Memories {
		m.Memories[i].Import = nil
	}
	digest := addGlobal(m, wasmfront.I64, 0)
	m.Exports = append(m.Exports, wasmedit.Export{Name: digestName, Kind: abi.ExternGlobal, Index: digest})
	left := addGlobal(m, wasmfront.I64, uint64(rnd.IntN(5)))
	insertFunc(m)
	note := &m.Funcs[1]
	note.Import = nil
	// Each note counts, the last one calls the marker, and what is noted is part of the digest.
	note.Code = append(note.Code, wasmedit.Inst{Op: wasmfront.OpLocalGet})
	note.Code = append(note.Code, mix(digest)...)
	note.Code = append(note.Code, wasmedit.Inst{Op: wasmfront.OpGlobalGet, Index: left}, wasmedit.Plain(wasmfront.OpI64Eqz), wasmedit.Inst{Op: wasmfront.OpIf},
		wasmedit.Inst{Op: wasmfront.OpCall, Index: 0}, wasmedit.Plain(wasmfront.OpEnd),
		wasmedit.Inst{Op: wasmfront.OpGlobalGet, Index: left}, wasmedit.I64(1), wasmedit.Plain(wasmfront.OpI64Sub), wasmedit.Inst{Op: wasmfront.OpGlobalSet, Index: left},
		wasmedit.Inst{Op: wasmfront.OpLocalGet}, wasmedit.Inst{Op: wasmfront.OpGlobalGet, Index: digest}, wasmedit.Plain(wasmfront.OpI64Xor), wasmedit.Plain(wasmfront.OpEnd))
	calls := p.Calls
	n := 1 + rnd.IntN(len(calls))
	if f.marked {
		n = len(calls)
	}
	f.rest = calls[n:]
	first := wasmedit.Func{}
	for i := range calls[:n] {
		first.Code = append(first.Code, codeOfCall(m, &calls[i], digest)...)
	}
	first.Code = append(first.Code, wasmedit.Plain(wasmfront.OpEnd))
	m.Funcs = append(m.Funcs, first)
	m.Exports = append(m.Exports, wasmedit.Export{Name: firstName, Kind: abi.ExternFunc, Index: uint32(len(m.Funcs) - 1)})
	// The first function is the marker, or does nothing.
	m.Funcs[0] = wasmedit.Func{Code: []wasmedit.Inst{wasmedit.Plain(wasmfront.OpEnd)}}
	if f.fresh, err = m.Encode(); err != nil {
		return nil, err
	}
	f.wasm = f.fresh
	if f.marked {
		m.Funcs[0] = wasmedit.Func{Import: &wasmedit.Import{Module: abi.MarkerModule, Name: abi.MarkerName}}
		f.wasm, err = m.Encode()
	}
	return f, err
}

func addGlobal(m *wasmedit.Module, t wasmfront.ValType, bits uint64) uint32 {
	m.Globals = append(m.Globals, wasmedit.Global{Type: wasmfront.GlobalType{Type: t, Mutable: true}, Init: []wasmfront.ConstOp{{Op: wasmfront.ConstOpcode(t), Bits: bits}}})
	return uint32(len(m.Globals) - 1)
}

// insertFunc puts a function in front of all others.
func insertFunc(m *wasmedit.Module) {
	m.Funcs = append([]wasmedit.Func{{}}, m.Funcs...)
	consts := func(ops []wasmfront.ConstOp) {
		for i := range ops {
			if ops[i].Op == wasmfront.OpRefFunc {
				ops[i].Index++
			}
		}
	}
	for i := range m.Funcs {
		for k := range m.Funcs[i].Code {
			if in := &m.Funcs[i].Code[k]; in.Imm() == wasmfront.ImmFunc {
				in.Index++
			}
		}
	}
	for i := range m.Exports {
		if m.Exports[i].Kind == abi.ExternFunc {
			m.Exports[i].Index++
		}
	}
	for i := range m.Globals {
		consts(m.Globals[i].Init)
	}
	for i := range m.Elems {
		for _, item := range m.Elems[i].Items {
			consts(item)
		}
	}
	if m.Start >= 0 {
		m.Start++
	}
}

// mix is code that makes a number on the stack part of a digest.
func mix(digest uint32) []wasmedit.Inst {
	return []wasmedit.Inst{{Op: wasmfront.OpGlobalGet, Index: digest}, wasmedit.I64(5), wasmedit.Plain(wasmfront.OpI64Rotl), wasmedit.Plain(wasmfront.OpI64Xor), {Op: wasmfront.OpGlobalSet, Index: digest}}
}

// codeOfCall is code that makes a call, and its numeric results part of the digest. A NaN counts as a 1.
func codeOfCall(m *wasmedit.Module, c *wasmgen.Call, digest uint32) (code []wasmedit.Inst) {
	call := func(name string) {
		for _, e := range m.Exports {
			if e.Name == name {
				code = append(code, wasmedit.Inst{Op: wasmfront.OpCall, Index: e.Index})
			}
		}
	}
	call("reset")
	words := c.Args
	for _, t := range []byte(c.Params) {
		op := wasmfront.ConstOp{Op: map[byte]wasmfront.Opcode{'i': wasmfront.OpI32Const, 'l': wasmfront.OpI64Const, 'f': wasmfront.OpF32Const, 'd': wasmfront.OpF64Const, 'v': wasmfront.OpV128Const}[t], Bits: words[0]}
		if words = words[1:]; t == 'v' {
			op.High, words = words[0], words[1:]
		}
		code = append(code, wasmedit.Constant([]wasmfront.ConstOp{op})...)
	}
	call(c.Export)
	results := []byte(c.Results)
	for i := len(results) - 1; i >= 0; i-- {
		switch results[i] {
		case 'i':
			code = append(append(code, wasmedit.Plain(wasmfront.OpI64ExtendI32U)), mix(digest)...)
		case 'l':
			code = append(code, mix(digest)...)
		default:
			code = append(code, wasmedit.Plain(wasmfront.OpDrop))
		}
	}
	return code
}

// with returns the program to run with a module.
func (f *freezing) with(wasm []byte, calls []wasmgen.Call) *randprog.Program {
	p := *f.program
	p.Calls, p.Globals = calls, append([]string{digestName}, p.Globals...)
	q := p.With(wasm)
	q.AnyNaN = p.AnyNaN
	return q
}

// compare freezes the module, and compares. It returns how many calls were under way.
func (f *freezing) compare() (frames int, err error) {
	first := []wasmgen.Call{{Export: f.first}}
	whole := f.with(f.fresh, append(first, f.rest...))
	whole.Reset = false // it would trap, and the functions do it themselves or need not
	if o := randprog.Run(randprog.Bounded(), whole); o.TooLong() || o.Overflow != nil {
		return 0, errSkipped
	}
	want, _, err := randprog.Judge(context.Background(), whole)
	if err != nil || want.Overflow != nil {
		return 0, cmp.Or(err, errSkipped)
	}
	trap := len(want.Calls) > 0 && want.Calls[0].Trapped()
	r, err := initialize.Snapshot(context.Background(), f.wasm, &initialize.Options{Export: f.first, Compile: compile.Options{Jobs: 1}})
	var trapped *host.Trap
	switch {
	case errors.As(err, &trapped):
		if !want.Start.Trapped() && !trap {
			return 0, fmt.Errorf("the initialisation traps: %w", err)
		}
		return 0, errTraps
	case err != nil:
		return 0, err
	case want.Start.Trapped():
		return 0, errors.New("the initialisation does not trap")
	case f.marked && !r.Marker:
		return 0, errEnds
	case !f.marked && trap:
		return 0, errors.New("the initialisation does not trap")
	}
	calls := f.rest
	if f.marked {
		calls = append(first, f.rest...)
	} else {
		want.Calls = want.Calls[1:]
	}
	frozen := f.with(r.Wasm, calls)
	frozen.Reset = false
	got, _, err := randprog.Judge(context.Background(), frozen)
	if err != nil {
		return 0, err
	}
	if d := got.Diff(want); d != "" {
		return 0, fmt.Errorf("under the judge: %s", d)
	}
	for _, e := range snapshotEngines {
		got := randprog.Run(e, frozen)
		for i := range got.Calls {
			got.Calls[i].Place = nil
		}
		if d := got.Diff(want); d != "" {
			return 0, fmt.Errorf("under %s: %s", e.Name(), d)
		}
	}
	if !f.marked {
		got := randprog.Run(f.imageEngine(), frozen)
		for i := range got.Calls {
			got.Calls[i].Place = nil
		}
		if d := got.Diff(want); d != "" {
			return 0, fmt.Errorf("from an image of the instance: %s", d)
		}
	}
	before, _ := wasmfront.Decode(f.wasm, wasmfront.DefaultFeatures)
	after, _ := wasmfront.Decode(r.Wasm, wasmfront.DefaultFeatures)
	return len(after.Code) - len(before.Code) - 1, nil // the marker has become a function
}

// imageEngine makes images of an instance of the module that has been initialised, whatever the module is.
func (f *freezing) imageEngine() spectest.Engine {
	e := &nativeengine.Engine{Options: compile.Options{OptLevel: opt.O1, Jobs: 1}}
	compiled := *e
	env := true // the first module
	e.Image = func(module []byte) (img *inproc.Image, err error) {
		r, err := compile.Module(module, compiled.Options)
		if err != nil {
			return nil, err
		}
		first, err := load.Image(r.Object, r.Meta)
		if err != nil || env {
			env = false
			return first, err
		}
		if r, err = compile.Module(f.fresh, compiled.Options); err != nil {
			return nil, err
		}
		if first, err = load.Image(r.Object, r.Meta); err != nil {
			return nil, err
		}
		mod, err := inproc.Load(first)
		if err != nil {
			return nil, err
		}
		defer mod.Close()
		s, err := inproc.NewStore(inproc.Config{})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		inst, err := s.Instantiate(mod, nil)
		if err != nil {
			return nil, err
		}
		init, err := inst.Func(f.first)
		if err != nil {
			return nil, err
		}
		if err := init.Call(nil, nil); err != nil {
			return nil, err
		}
		err = inst.Snapshot(func(x *inproc.Image) error {
			file, err := image.Parse(image.Append(nil, x), false)
			if err != nil {
				return err
			}
			if file.Meta, err = file.Sites(); err == nil {
				img = &file.Image
			}
			return err
		})
		return img, err
	}
	return e
}

// snapshotEngines run snapshots.
var snapshotEngines = []spectest.Engine{
	&interpengine.Engine{},
	&nativeengine.Engine{Options: compile.Options{OptLevel: opt.O1, Verify: true, Jobs: 1}},
	&nativeengine.Engine{Options: compile.Options{OptLevel: opt.O0, Jobs: 1, ExplicitBounds: true}},
}
