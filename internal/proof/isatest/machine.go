package isatest

import (
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// Machine is how the tests compile and execute.
type Machine struct {
	// Name is that of the folder in testdata with the machine's file tests.
	Name string
	// Levels are the processor levels to test, as in compile.Options.CPU.
	Levels []string
	// Options are those of all compiles, but for level and mid-end.
	Options compile.Options
	// Target is the back end's target for a level.
	Target func(level string) (*backend.Target, error)
	// Unit is the number of bytes that dumps of code write as one number.
	Unit int
	// Relocs are the names of relocations in dumps; none if there is but one kind.
	Relocs map[reloc.Kind]string
	// WholeEvery is the number of calls between two comparisons of the whole memories, in suites that compare them.
	WholeEvery int

	// EndsCall reports whether code ends with an instruction that calls.
	EndsCall func(code []byte) bool
	// Walk follows the code of a function that does nothing but return. Between entry and return it gives the registers
	// other values. The error says what it does not understand.
	Walk func(code []byte, registers regalloc.PRegSet) (*Walk, error)
	// DWARF are the numbers of registers in .eh_frame.
	DWARF DWARF
	// Misalignment is the code of a function () -> i64, not more than 12 bytes, that gives the stack pointer in its caller
	// modulo 16.
	Misalignment []byte
	// Need skips or fails the test where code cannot be executed at all; nil if it always can.
	Need func(t testing.TB)
	// Prepare changes a module before it is compiled; nil if nothing is to be done.
	Prepare func(m *clif.Module)
	// Load makes a compiled module executable. Imported functions do as host says, all other imports are fresh.
	Load func(m *clif.Module, r *compile.Result, host Host) (Image, error)
	// Without reports whether a level has no code for an opcode of vectors, which then is an error; nil if all have it for all.
	Without func(level string, op clif.Opcode) bool
	// Lacks reports whether an error of Load or Start says that this processor is not of the level; nil if none does.
	Lacks func(err error) bool
}

// Host is what imported functions do.
type Host uint8

// The hosts.
const (
	// Echo is filetest.Echo.
	Echo Host = iota
	// Triple returns three times the only argument.
	Triple
)

// Image is an executable module.
type Image interface {
	// Start makes an instance. Only one is in use at a time.
	Start() (Instance, error)
	Close()
}

// Instance is an instance of an Image.
type Instance interface {
	// Call calls a function with the bits of its arguments.
	Call(fn clif.FuncIndex, args ...uint64) ([]uint64, *Trap, error)
	// Calls makes calls one after the other and passes their outcomes to answer, until it returns false. After the calls
	// for which look is true, the outcome has views of all memories: of their first bytes, or, if bytes is 0, of all bytes.
	// No call may follow Calls.
	Calls(calls []Call, bytes int, look func(n int) bool, answer func(n int, o *Outcome) bool)
	// ImportedGlobal is the bits of global i, if the host can tell.
	ImportedGlobal(i int) (bits uint64, ok bool)
	// Extern is the word of a new reference to a host value.
	Extern() uint64
	// Code is a function's code, for messages.
	Code(fn clif.FuncIndex) string
	Close()
}

// Call is a call to make.
type Call struct {
	Fn   clif.FuncIndex
	Args []uint64
	What string
}

// Outcome is what a call did.
type Outcome struct {
	Results  []uint64
	Trap     *Trap
	Err      error
	Memories []MemoryView
}

// MemoryView describes a memory.
type MemoryView interface {
	// Equal reports whether the memory, as far as it is known, is want, the whole of it.
	Equal(want []byte) bool
}

// Trap is how a call ended.
type Trap struct {
	Code abi.TrapCode
	// Src is the offset in the Wasm module, if HasSrc.
	Src    uint32
	HasSrc bool
}

// Error implements error.
func (t *Trap) Error() string { return "trap " + t.Code.String() }

// TrapCode implements filetest.Trapper.
func (t *Trap) TrapCode() abi.TrapCode { return t.Code }

// Tests runs all tests but those of files.
func (on *Machine) Tests(t *testing.T) {
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(t, on) })
	}
}

// Only runs the test of that name.
func (on *Machine) Only(t *testing.T, name string) {
	for _, c := range tests {
		if c.name == name {
			c.run(t, on)
			return
		}
	}
	t.Fatalf("no test %s", name)
}

var tests = []struct {
	name string
	run  func(t *testing.T, on *Machine)
}{
	{"Smoke", testSmoke},
	{"Complete", testComplete},
	{"Rules", testRules},
	{"NearMisses", testNearMisses},
	{"Words", testWords},
	{"Guards", testGuards},
	{"Errors", testErrors},
	{"Binary", testBinary},
	{"Unary", testUnary},
	{"Compare", testCompare},
	{"CompareZero", testCompareZero},
	{"StoreConst", testStoreConst},
	{"Selected", testSelected},
	{"Both", testBoth},
	{"NarrowCompare", testNarrowCompare},
	{"Bits", testBits},
	{"Idioms", testIdioms},
	{"Divisors", testDivisors},
	{"Products", testProducts},
	{"Constants", testConstants},
	{"Fields", testFields},
	{"Insertion", testInsertion},
	{"ShiftedOperands", testShiftedOperands},
	{"LoadStore", testLoadStore},
	{"Modify", testModify},
	{"Sinking", testSinking},
	{"Mixed", testMixed},
	{"MixedFloats", testMixedFloats},
	{"Widths", testWidths},
	{"Sharing", testSharing},
	{"Scaled", testScaled},
	{"Offsets", testOffsets},
	{"Vectors", testVectors},
	{"VectorTests", testVectorTests},
	{"VectorMemory", testVectorMemory},
	{"VectorPressure", testVectorPressure},
	{"Calls", testCalls},
	{"ManyResults", testManyResults},
	{"BrTable", testBrTable},
	{"EntryLoop", testEntryLoop},
	{"DeadParams", testDeadParams},
	{"Frames", testFrames},
	{"Instance", testInstance},
	{"SizesSunk", testSizesSunk},
	{"Bounds", testBounds},
	{"Imports", testImports},
	{"References", testReferences},
	{"TrapSites", testTrapSites},
	{"AccessesInBounds", testAccessesInBounds},
	{"Entries", testEntries}, {"TailEntries", testTailEntries},
	{"Guard", testGuard},
	{"StackAlignment", testStackAlignment},
	{"SavedRegisters", testSavedRegisters},
	{"QuickWays", testQuickWays},
	{"Caught", testCaught},
	{"CaughtResults", testCaughtResults},
	{"Landings", testLandings},
	{"CallSites", testCallSites},
	{"PlantedSafepoints", testPlantedSafepoints},
	{"Far", testFar},
	{"FarBack", testFarBack},
	{"FarLatch", testFarLatch},
	{"FarLandings", testFarLandings},
	{"FarPool", testFarPool},
	{"FarInstance", testFarInstance},
}

// testComplete: every opcode has a lowering but nop and uextend, which the driver handles.
func testComplete(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		if has := target.Lower[op] != nil; has == (op == clif.OpNop || op == clif.OpUextend) {
			t.Errorf("%v: lowering %v", op, has)
		}
	}
}

// compile makes a module executable.
func (on *Machine) compile(m *clif.Module, body compile.Bodies, level string, mid opt.Level, verify bool, host Host) (Image, error) {
	o := on.Options
	o.CPU, o.OptLevel, o.Verify = level, mid, verify
	if on.Prepare != nil {
		on.Prepare(m)
	}
	if charges(m, body) {
		o.Fuel = fuel.Default()
	}
	r, err := compile.CLIF(m, body, o)
	if err != nil {
		return nil, err
	}
	return on.Load(m, r, host)
}

// charges reports whether the functions of m have charges.
func charges(m *clif.Module, body compile.Bodies) bool {
	for i := range m.Funcs {
		if m.Funcs[i].Import != nil {
			continue
		}
		f, err := body(clif.FuncIndex(i))
		if err != nil || f == nil {
			continue // compiling says why
		}
		if slices.ContainsFunc(f.Insts, func(d clif.InstData) bool { return d.Op == clif.OpCharge || d.Op == clif.OpChargeBy }) {
			return true
		}
	}
	return false
}

// need is Need.
func (on *Machine) need(t testing.TB) {
	t.Helper()
	if on.Need != nil {
		on.Need(t)
	}
}

// Module builds functions for a test.
type Module struct {
	clif.Module
	Defined []*clif.Func // the functions that are not imported
}

// Fn adds a function; build fills it and gets its parameters.
func (m *Module) Fn(params, results []clif.Type, build func(b *clif.Builder, p []clif.Value)) clif.FuncIndex {
	m.Sigs = append(m.Sigs, clif.Signature{Params: params, Results: results})
	sig := clif.SigIndex(len(m.Sigs) - 1)
	m.Funcs = append(m.Funcs, clif.FuncDecl{Sig: sig, Addressed: true})
	f := &clif.Func{Mod: &m.Module, Sig: sig, Index: clif.FuncIndex(len(m.Funcs) - 1)}
	m.Defined = append(m.Defined, f)
	b := &clif.Builder{F: f}
	blk := b.NewBlock()
	b.SwitchTo(blk)
	var vs []clif.Value
	for _, t := range params {
		vs = append(vs, b.AddParam(blk, t))
	}
	build(b, vs)
	return f.Index
}

// Body implements compile.Bodies.
func (m *Module) Body(i clif.FuncIndex) (*clif.Func, error) {
	return m.Defined[int(i)-int(m.NumImportedFuncs)], nil
}

// AddInit adds the init function, which does nothing. No function can be added then.
func (m *Module) AddInit() {
	m.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	m.Funcs[len(m.Funcs)-1].Addressed = false
}

// module is a Module for a machine.
type module struct {
	Module
	on       *Machine
	noVerify bool
	// anyLevel says that the code differs little between levels of the processor: one is enough below the full level of the tests.
	anyLevel bool
}

// levels returns the levels that a test tries: below the full level of the tests, one, which depends on the test's name.
func (m *module) levels(name string) []string {
	n := len(m.on.Levels)
	switch {
	case testenv.Full():
		return m.on.Levels
	case m.anyLevel:
		return m.on.Levels[:1]
	}
	k := crc32.ChecksumIEEE([]byte(name)) % uint32(n)
	return m.on.Levels[k:][:1]
}

// compiler returns a compiler of the functions for the first level.
func (m *module) compiler(t *testing.T) *backend.Compiler {
	t.Helper()
	target, err := m.on.Target(m.on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	return backend.New(target, instance.New(&m.Module.Module), &m.Module.Module, backend.Options{Allocator: linear.New()})
}

// start makes an instance of m, whose last function is its init function, without changing the functions; nil if
// this processor cannot run it.
func (m *module) start(t testing.TB, level string) (Image, Instance) {
	t.Helper()
	// As optimised code is: the allocator of -O0 makes no quick ways, and stores what others keep in registers.
	on := *m.on
	on.Options.Regalloc = "linear"
	im, err := on.compile(&m.Module.Module, m.Body, level, opt.O0, !m.noVerify, Triple)
	var in Instance
	if err == nil {
		in, err = im.Start()
	}
	if err != nil && m.on.Lacks != nil && m.on.Lacks(err) {
		t.Log(err)
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return im, in
}

// each runs f on an instance for each level that this processor has. The init function is added first.
func (m *module) each(t *testing.T, f func(t *testing.T, level string, in Instance)) {
	t.Helper()
	m.on.need(t)
	m.AddInit()
	for _, level := range m.levels(t.Name()) {
		im, in := m.start(t, level)
		if im == nil {
			continue
		}
		f(t, level, in)
		in.Close()
		im.Close()
	}
}

// outcome returns the text of a call's outcome.
func outcome(in Instance, fn clif.FuncIndex, args ...uint64) string {
	return Describe(in.Call(fn, args...))
}

// Describe returns the text of an outcome.
func Describe(res []uint64, t *Trap, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case t != nil:
		return t.Error()
	}
	return fmt.Sprintf("%#x", res)
}
