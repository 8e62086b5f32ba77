package compile_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/entropy"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// FuzzCLIF: a function of the file tests, edited as the bytes say, still satisfies the verifier after each pass of the
// mid-end, and is compiled for each processor; only what is not supported is refused.
func FuzzCLIF(f *testing.F) {
	bases, machines := readBases(f), codeTargets(f)
	r := rand.NewChaCha8([32]byte{8: 'e'})
	for i := 0; i < len(bases); i += 12 {
		by := make([]byte, bytesPerEdit*(i%5))
		r.Read(by)
		f.Add(uint16(i), by)
	}
	f.Fuzz(func(t *testing.T, base uint16, by []byte) {
		if len(by) > bytesPerEdit*maxEdits {
			t.Skip("too many edits")
		}
		fuzzCLIF(t, machines, bases[int(base)%len(bases)], by)
	})
}

// TestCLIF does what FuzzCLIF does for each function, as it is and with random edits.
func TestCLIF(t *testing.T) {
	bases, machines := readBases(t), codeTargets(t)
	r := rand.NewChaCha8([32]byte{9: 'e'})
	for i, fn := range bases {
		by := make([]byte, bytesPerEdit*6)
		r.Read(by)
		machines := machines
		if !testenv.Full() {
			machines = machines[i%len(machines):][:1]
		}
		fuzzCLIF(t, machines, fn, nil)
		if fuzzCLIF(t, machines, fn, by); t.Failed() {
			t.Fatalf("base %d, %x", i, by)
		}
	}
	t.Logf("%d functions", len(bases))
	if len(bases) < 1000 {
		t.Error("too few")
	}
}

// fuzzCLIF does it for one function.
func fuzzCLIF(t *testing.T, machines []*backend.Target, base *clif.Func, by []byte) {
	e := &editor{Source: entropy.New(by), f: clone(base)}
	for range len(by) / bytesPerEdit {
		e.edit()
	}
	compileFor(t, machines, e.f, "-O0")
	o := opt.Optimizer{After: func(p *opt.Pass, f *clif.Func) error {
		if err := verify.Func(f); err != nil {
			t.Fatalf("after %s: %v\n%v", p.Name, err, f)
		}
		return nil
	}}
	if err := o.Run(e.f, opt.O1); err != nil {
		t.Fatal(err)
	}
	compileFor(t, machines, e.f, "-O1")
}

// codeTargets are the processors to compile for.
func codeTargets(t testing.TB) (machines []*backend.Target) {
	for _, m := range []struct {
		target, cpu string
		fuelled     bool
	}{{compile.TargetX64, "", false}, {compile.TargetX64, "v3", false}, {compile.TargetA64, "", false}, {compile.TargetX64, "", true}, {compile.TargetA64, "", true}} {
		target, err := compile.CodeTarget(m.target, m.cpu, m.fuelled)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, target)
	}
	return machines
}

// compileFor compiles a verified function.
func compileFor(t *testing.T, machines []*backend.Target, fn *clif.Func, level string) {
	charges := slices.ContainsFunc(fn.Insts, func(d clif.InstData) bool { return d.Op == clif.OpCharge || d.Op == clif.OpChargeBy })
	for _, m := range machines {
		if m.CountsFuel != charges {
			continue
		}
		for _, name := range compile.Allocators() {
			a, err := compile.NewAllocator(name)
			if err != nil {
				t.Fatal(err)
			}
			c := backend.New(m, instance.New(fn.Mod), fn.Mod, backend.Options{Allocator: a, Fixpoint: true, Verify: true})
			if _, err := c.Compile(fn); err != nil && !errors.Is(err, backend.ErrUnsupported) {
				t.Fatalf("%s %s, %s: %v\n%v", m.Name, level, name, err, fn)
			}
		}
	}
}

// commands are the lines of a file test that say what is tested.
var commands = regexp.MustCompile(`(?m)^test .*$`)

// maxBase bounds the functions to edit, in instructions.
const maxBase = 150

// readBases reads the functions of the file tests that satisfy the verifier.
func readBases(t testing.TB) (bases []*clif.Func) {
	for _, dir := range []string{"clif", "x64", "a64"} {
		files, _ := filepath.Glob("../testdata/" + dir + "/*.clif")
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := text.Parse(string(commands.ReplaceAll(b, nil)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, fn := range file.Funcs {
				if len(fn.Insts) <= maxBase && verify.Func(fn.Func) == nil {
					bases = append(bases, fn.Func)
				}
			}
		}
	}
	return bases
}

// clone copies a function, but for its module.
func clone(f *clif.Func) *clif.Func {
	c := *f
	c.Insts, c.Srcs, c.Values = slices.Clone(f.Insts), slices.Clone(f.Srcs), slices.Clone(f.Values)
	c.Blocks, c.Targets, c.Layout, c.Pool = slices.Clone(f.Blocks), slices.Clone(f.Targets), slices.Clone(f.Layout), slices.Clone(f.Pool)
	return &c
}

// editor changes a function in steps, after each of which it satisfies the verifier.
type editor struct {
	*entropy.Source
	f *clif.Func
}

// Most edits take no more bytes than bytesPerEdit. maxEdits bounds how large a function becomes.
const (
	bytesPerEdit = 6
	maxEdits     = 32
)

// edits change an instruction or put something before it, with no regard to what else the function has.
var edits = [...]func(e *editor, i clif.Inst){
	(*editor).operation, (*editor).operation, (*editor).typ, (*editor).operand, (*editor).operand, (*editor).constant,
	(*editor).constant, (*editor).field, (*editor).listed, (*editor).targets, (*editor).remove, (*editor).repeat,
	(*editor).repeat, (*editor).define, (*editor).define,
}

// edit makes a random edit and, if the verifier does not like it, unmakes it.
func (e *editor) edit() {
	before := clone(e.f)
	edits[e.IntN(len(edits))](e, clif.Inst(e.IntN(len(e.f.Insts))))
	if verify.Func(e.f) != nil {
		e.f = before
	}
}

// operation makes it another of the same format and operands, or of the same format at least.
func (e *editor) operation(i clif.Inst) {
	d := &e.f.Insts[i]
	like := func(op clif.Opcode) bool {
		a, b := d.Op.Info(), op.Info()
		return a.Format == b.Format && a.Entity == b.Entity && a.Sig == b.Sig
	}
	if e.IntN(4) == 0 {
		like = func(op clif.Opcode) bool { return d.Op.Info().Format == op.Info().Format }
	}
	var ops []clif.Opcode
	for op := range clif.NumOpcodes {
		if like(op) && op.Info().Types.Has(d.Type) && !op.IsOfHeap() {
			ops = append(ops, op)
		}
	}
	if len(ops) > 0 {
		d.Op = ops[e.IntN(len(ops))]
	}
}

// typ gives it another type, and operands and a result of that type.
func (e *editor) typ(i clif.Inst) {
	d := &e.f.Insts[i]
	was := d.Type
	d.Type = clif.Type(e.IntN(int(clif.NumTypes)))
	for k, a := range d.Operands() {
		if e.f.TypeOf(clif.Value(a)) == was {
			d.Args[k] = e.value(d.Type, i)
		}
	}
	if d.NumResults == 1 && e.f.TypeOf(d.Result) == was {
		e.f.Values[d.Result].Type = d.Type
	}
}

// value is one of type t, mostly defined before i and not long before, or else any.
func (e *editor) value(t clif.Type, i clif.Inst) uint32 {
	var vs []uint32
	for v, d := range e.f.Values {
		if d.Type == t && (d.Kind == clif.ValueResult && d.Def < uint32(i) || d.Kind == clif.ValueParam && e.f.Blocks[d.Def].Start <= i) {
			vs = append(vs, uint32(v))
		}
	}
	if len(vs) == 0 {
		return uint32(e.IntN(len(e.f.Values) + 1))
	}
	if n := e.IntN(16); n < 8 {
		return vs[max(0, len(vs)-1-n)]
	}
	return vs[e.IntN(len(vs))]
}

// operand exchanges one for another value of its type.
func (e *editor) operand(i clif.Inst) {
	d := &e.f.Insts[i]
	if args := d.Operands(); len(args) > 0 {
		a := &args[e.IntN(len(args))]
		*a = e.value(e.f.TypeOf(clif.Value(*a)), i)
	}
}

// listed exchanges a value in a list: of a call, a return, or for the parameters of a target.
func (e *editor) listed(i clif.Inst) {
	d := &e.f.Insts[i]
	list := e.f.ListOperands(d)
	if targets := e.f.TargetsOf(d); len(targets) > 0 {
		list = e.f.TargetArgs(clif.Target(targets[e.IntN(len(targets))]))
	}
	if len(list) > 0 {
		v := &list[e.IntN(len(list))]
		*v = e.value(e.f.TypeOf(clif.Value(*v)), i)
	}
}

// targets makes one target of a branch a copy of another, or makes it go to another block with the same arguments.
func (e *editor) targets(i clif.Inst) {
	d := &e.f.Insts[i]
	targets := e.f.TargetsOf(d)
	if len(targets) == 0 {
		return
	}
	t := &e.f.Targets[targets[e.IntN(len(targets))]]
	if e.IntN(3) == 0 {
		*t = e.f.Targets[e.IntN(len(e.f.Targets))]
		t.Args = e.f.CopyList(t.Args)
		return
	}
	t.Block = e.f.Layout[e.IntN(len(e.f.Layout))]
}

// constant changes Imm: a constant, an offset, or an entity.
func (e *editor) constant(i clif.Inst) {
	d := &e.f.Insts[i]
	d.Imm = e.number(d.Imm)
	if d.Type == clif.I32 || d.Type == clif.F32 {
		d.Imm = uint64(uint32(d.Imm))
	}
}

// number is near x, near a power of two or its negative, small, or anything.
func (e *editor) number(x uint64) uint64 {
	switch e.IntN(8) {
	case 0:
		return x + uint64(int8(e.IntN(256)))
	case 1:
		return x ^ 1<<e.IntN(64)
	case 2, 3:
		return 1<<e.IntN(64) + uint64(e.IntN(5)) - 2
	case 4:
		return -(1<<e.IntN(64) + uint64(e.IntN(5)) - 2)
	case 5, 6:
		return uint64(int8(e.IntN(256)))
	}
	return e.Uint64()
}

// field changes the condition, access or trap code, or what entity it is about.
func (e *editor) field(i clif.Inst) {
	d := &e.f.Insts[i]
	switch d.Op.Info().Format {
	case clif.FormatIntCmp:
		d.Cond = uint8(e.IntN(int(clif.NumIntCCs)))
	case clif.FormatFloatCmp:
		d.Cond = uint8(e.IntN(int(clif.NumFloatCCs)))
	case clif.FormatLoad, clif.FormatStore:
		if d.Cond = uint8(e.IntN(int(clif.NumAccesses))); e.IntN(4) == 0 {
			d.Aux = uint32(e.IntN(4))
		}
	case clif.FormatTrap, clif.FormatTrapIf, clif.FormatBound:
		d.Cond = uint8(e.IntN(int(abi.NumTrapCodes)))
	default:
		d.Aux = uint32(e.IntN(8))
	}
}

// remove makes it nothing; a user of its result gets something else.
func (e *editor) remove(i clif.Inst) {
	d := &e.f.Insts[i]
	for r := range uint32(d.NumResults) {
		e.replace(uint32(d.Result)+r, e.value(e.f.TypeOf(d.Result+clif.Value(r)), i))
		e.f.Values[uint32(d.Result)+r].Kind = clif.ValueDead
	}
	*d = clif.InstData{Op: clif.OpNop, Result: clif.NoValue}
}

// replace puts v into all operands that are old.
func (e *editor) replace(old, v uint32) {
	swap := func(list []uint32) {
		for k := range list {
			if list[k] == old {
				list[k] = v
			}
		}
	}
	for k := range e.f.Insts {
		d := &e.f.Insts[k]
		swap(d.Operands())
		swap(e.f.ListOperands(d))
		for _, t := range e.f.TargetsOf(d) {
			swap(e.f.TargetArgs(clif.Target(t)))
		}
	}
}

// repeat puts a copy of some instruction before i, with operands that can be there.
func (e *editor) repeat(i clif.Inst) {
	d := e.f.Insts[e.IntN(len(e.f.Insts))]
	fresh := e.IntN(2) == 0
	for k, a := range d.Operands() {
		if v := e.f.Values[a]; fresh || v.Kind == clif.ValueResult && v.Def >= uint32(i) {
			d.Args[k] = e.value(v.Type, i)
		}
	}
	if d.HasList() {
		d.Args[1] = clif.MakeList(e.f, e.f.Pool[d.Args[1]:d.Args[1]+d.Args[2]]).Off
	}
	types := make([]clif.Type, d.NumResults)
	for n := range types {
		types[n] = e.f.TypeOf(d.Result + clif.Value(n))
	}
	e.insert(i, d, types...)
}

// define puts a new instruction before i, of any operation whose operands are few.
func (e *editor) define(i clif.Inst) {
	op := clif.OpIconst + clif.Opcode(e.IntN(int(clif.OpCall-clif.OpIconst)))
	info := op.Info()
	d := clif.InstData{Op: op, Imm: e.number(0)}
	for d.Type = clif.Type(e.IntN(int(clif.NumControlTypes))); !info.Types.Has(d.Type); {
		d.Type = (d.Type + 1) % clif.NumControlTypes
	}
	operands, result, _ := strings.Cut(info.Sig, ":")
	args := [...]*uint32{&d.Args[0], &d.Args[1], &d.Args[2]}
	for k := range operands {
		*args[k] = e.value(e.typeOf(operands[k], d.Type), i)
	}
	switch info.Format {
	case clif.FormatConst, clif.FormatLoad, clif.FormatStore:
		if d.Type.Bits() == 32 {
			d.Imm = uint64(uint32(d.Imm))
		}
	case clif.FormatVconst:
		d.SetV128(e.number(0), e.number(0))
	case clif.FormatExtract, clif.FormatInsert:
		d.Imm %= uint64(d.Type.Lanes())
	case clif.FormatShuffle:
		var lanes [16]uint8
		for i := range lanes {
			lanes[i] = uint8(e.IntN(32))
		}
		d.SetLanes(lanes)
	case clif.FormatIntCmp, clif.FormatFloatCmp:
		d.Cond = uint8(e.IntN(6))
	case clif.FormatTrapIf, clif.FormatBound:
		d.Cond = 1
	}
	if info.Entity2 != clif.EntNone {
		d.Imm = 0
	}
	if result == "" || result == "." {
		e.insert(i, d)
		return
	}
	e.insert(i, d, e.typeOf(result[0], d.Type))
}

// typeOf is a type that a letter of OpInfo.Sig stands for, in an instruction of type t.
func (e *editor) typeOf(letter byte, t clif.Type) clif.Type {
	switch letter {
	case 'C':
		return t
	case 'i':
		return clif.I32
	case 'l':
		return clif.I64
	case 'F':
		return clif.FuncRef
	case 'V':
		return clif.V128
	case 'e':
		return t.LaneType()
	case 'n', 'p':
		return pick(e, clif.I32, clif.I64)
	case 'f':
		return pick(e, clif.F32, clif.F64)
	case 's':
		return clif.F32 + clif.F64 - t
	case 'b': // of the same width
		return map[clif.Type]clif.Type{clif.I32: clif.F32, clif.F32: clif.I32, clif.I64: clif.F64, clif.F64: clif.I64}[t]
	}
	return clif.Invalid
}

func pick[T any](e *editor, l ...T) T { return l[e.IntN(len(l))] }

// insert puts d before i, with results of its own. If i has an operand of the first result's type, the result mostly takes
// its place.
func (e *editor) insert(i clif.Inst, d clif.InstData, results ...clif.Type) {
	f := e.f
	// A block that ends where i starts stays as it is.
	at := slices.IndexFunc(f.Blocks, func(b clif.BlockData) bool { return b.Start <= i && i < b.End })
	if at < 0 {
		return
	}
	for k := range f.Blocks {
		if b := &f.Blocks[k]; k == at {
			b.End++
		} else if b.Start > i {
			b.Start, b.End = b.Start+1, b.End+1
		}
	}
	for k := range f.Values {
		if v := &f.Values[k]; v.Kind == clif.ValueResult && v.Def != uint32(clif.NoInst) && v.Def >= uint32(i) {
			v.Def++
		}
	}
	d.Result, d.NumResults = clif.NoValue, uint16(len(results))
	if len(results) > 0 {
		d.Result = clif.Value(len(f.Values))
	}
	for n, t := range results {
		f.Values = append(f.Values, clif.ValueData{Type: t, Kind: clif.ValueResult, Num: uint16(n), Def: uint32(i)})
	}
	f.Insts, f.Srcs = slices.Insert(f.Insts, int(i), d), slices.Insert(f.Srcs, int(i), 0)
	if len(results) == 0 || e.IntN(8) == 0 {
		return
	}
	next := &f.Insts[i+1]
	for k, a := range next.Operands() {
		if f.TypeOf(clif.Value(a)) == results[0] {
			next.Args[k] = uint32(d.Result)
			return
		}
	}
}
