package a64_test

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/objfile"
)

// This file executes compiled code under qemu's user emulation, or natively on a machine that can: it links objects
// to fixed addresses and talks to a driver, testdata/a64/driver, that maps the result and makes calls.

// Where things are. Each of the objects has its part of text, constants and data; what the instructions reach of
// each other is less than 4 GiB apart.
const (
	textBase = 0x50_0000_0000
	roBase   = 0x50_4000_0000
	dataBase = 0x50_8000_0000
	partSize = 0x0800_0000

	globalBase, globalStride = 0x60_0000_0000, 0x1_0000
	stackBase, stackSize     = 0x61_0000_0000, 0x10_0000
	hiddenBase               = 0x62_0000_0000
	tableBase, tableStride   = 0x80_0000_0000, 0x1000_0000
	memBase, memStride       = 0x100_0000_0000, 0x4_0000_0000
	guardSize                = 0x1_0000
)

// emulator is the driver's program with what runs it.
type emulator struct {
	argv []string
	dir  string
	err  error
}

// emulate builds the driver, once.
var emulate = sync.OnceValue(func() (e emulator) {
	need := []string{"aarch64-linux-gnu-gcc", "qemu-aarch64"}
	native := runtime.GOOS == "linux" && runtime.GOARCH == "arm64"
	if native {
		need = []string{"gcc"}
	}
	for _, n := range need {
		if _, err := exec.LookPath(n); err != nil {
			return emulator{err: err}
		}
	}
	if e.dir, e.err = os.MkdirTemp("", "waot-a64-"); e.err != nil {
		return e
	}
	driverDir.Store(&e.dir)
	prog := filepath.Join(e.dir, "driver")
	cmd := exec.Command(need[0], "-static", "-O2", "-U_FORTIFY_SOURCE", "-o", prog, "../../../testdata/a64/driver/driver.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		e.err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		return e
	}
	e.argv = []string{prog}
	if !native {
		e.argv = []string{"qemu-aarch64", "-cpu", "max,sve=off", prog} // with SVE the driver's C library copies by it, which emulation makes slow
	}
	return e
})

func TestMain(m *testing.M) {
	code := m.Run()
	for _, p := range idle.list {
		p.kill()
	}
	if dir := driverDir.Load(); dir != nil {
		os.RemoveAll(*dir)
	}
	os.Exit(code)
}

// driverDir is where emulate has put its files, once it has.
var driverDir atomic.Pointer[string]

// warn says once that tests are skipped, on a test run without -v, too.
var warn = sync.OnceFunc(func() {
	fmt.Fprintf(os.Stderr, "WARNING: tests that execute AArch64 code are skipped: %v\n", emulate().err)
})

// needEmulator skips the test where AArch64 code cannot be executed, or fails it if that must not be.
func needEmulator(t testing.TB) {
	t.Helper()
	err := emulate().err
	if err != nil {
		warn()
		testenv.Missing(t, fmt.Sprintf("AArch64 code cannot be executed: %v", err))
	}
}

// linker gives objects addresses.
type linker struct {
	parts int
	types map[string]uint64 // type records by symbol
	out   []byte            // segments in the form that the driver reads
	segs  int
}

// linked is an object with addresses.
type linked struct {
	meta       *meta.Module
	text, data uint64
	image      []byte // of the data
}

func (l *linker) add(base uint64, write bool, b []byte) {
	w := uint64(0)
	if write {
		w = 1
	}
	for _, x := range []uint64{base, w, uint64(len(b))} {
		l.out = binary.LittleEndian.AppendUint64(l.out, x)
	}
	l.out = append(l.out, b...)
	l.segs++
}

// link places an object and applies its relocations. Symbols that are not in text, data or constants are what slots
// says of a word of the data that holds them, or 0: helpers, whose slots the driver fills. The data is not in the
// image yet.
func (l *linker) link(r *compile.Result, slots map[uint64]uint64) (*linked, error) {
	o := r.Object
	off := uint64(l.parts * partSize)
	l.parts++
	k := &linked{meta: r.Meta, text: textBase + off, data: dataBase + off}
	at := make([]uint64, len(o.Sections))
	var ro []byte
	for i := range o.Sections {
		s := &o.Sections[i]
		switch {
		case s.Name == ".text":
			at[i] = k.text
		case s.Name == ".data":
			at[i] = k.data
		case s.Name == ".rodata" || strings.HasPrefix(s.Name, ".rodata.waot.type."):
			for len(ro)%16 != 0 {
				ro = append(ro, 0)
			}
			at[i] = roBase + off + uint64(len(ro))
			ro = append(ro, s.Data...)
		}
	}
	imported := map[objfile.SymbolIndex]uint64{}
	for _, rel := range o.Sections[o.SectionIndex(".data")].Relocs {
		if a, ok := slots[rel.Offset]; ok {
			imported[rel.Symbol] = a
		}
	}
	address := func(n objfile.SymbolIndex) uint64 {
		if a, ok := imported[n]; ok {
			return a
		}
		s := &o.Symbols[n]
		if s.Section == objfile.Undefined || at[s.Section] == 0 {
			return 0
		}
		a := at[s.Section] + s.Value
		if strings.HasPrefix(s.Name, "waot.type.") {
			if first, ok := l.types[s.Name]; ok {
				return first
			}
			l.types[s.Name] = a
		}
		return a
	}
	l.add(roBase+off, false, ro)
	for _, name := range []string{".text", ".data"} {
		s := &o.Sections[o.SectionIndex(name)]
		b := append([]byte(nil), s.Data...)
		for n := range s.Relocs {
			rel := &s.Relocs[n]
			to := address(rel.Symbol)
			if to == 0 && name == ".text" {
				return nil, fmt.Errorf("text refers to %q", o.Symbols[rel.Symbol].Name)
			}
			if !rel.Apply(b, at[o.SectionIndex(name)], to) {
				return nil, fmt.Errorf("relocation %d of %s", n, name)
			}
		}
		if name == ".text" {
			l.add(k.text, false, b)
		} else {
			k.image = b
		}
	}
	return k, nil
}

// hosted is what imports do: the body of a function of the given type.
type hosted func(b *clif.Builder, sig *clif.Signature, args []clif.Value)

// echo is filetest.Echo.
func echo(b *clif.Builder, sig *clif.Signature, args []clif.Value) {
	var results []clif.Value
	for _, t := range sig.Results {
		r := clif.NoValue
		for k, p := range sig.Params {
			if p == t {
				r = args[k]
			}
		}
		if r == clif.NoValue {
			switch {
			case t.IsFloat():
				r = b.Fconst(t, 0)
			case t.IsRef():
				r = b.RefNull(t)
			default:
				r = b.Iconst(t, 0)
			}
		}
		results = append(results, r)
	}
	b.Return(results)
}

// triple returns three times the argument.
func triple(b *clif.Builder, sig *clif.Signature, args []clif.Value) {
	t := sig.Results[0]
	b.Return([]clif.Value{b.Binary(clif.OpImul, t, args[0], b.Iconst(t, 3))})
}

// image is a linked module that a driver executes; it has one instance at a time.
type image struct {
	mod    *clif.Module
	result *compile.Result
	main   *linked
	mems   []uint64 // base by memory
	file   []byte
	proc   *process
}

// newImage links compiled code; imported functions do as host says, all other imports are fresh.
func newImage(m *clif.Module, r *compile.Result, host hosted) (*image, error) {
	l := &linker{types: map[string]uint64{}}
	im := &image{mod: m, result: r}
	env := &isatest.Module{}
	for i := range m.NumImportedFuncs {
		sig := m.FuncSig(clif.FuncIndex(i))
		env.Fn(sig.Params, sig.Results, func(b *clif.Builder, p []clif.Value) { host(b, sig, p) })
	}
	env.AddInit()
	er, err := compile.CLIF(&env.Module, env.Body, options)
	if err != nil {
		return nil, err
	}
	hostPart, err := l.link(er, nil)
	if err != nil {
		return nil, err
	}
	slots := map[uint64]uint64{}
	for i := range m.NumImportedFuncs {
		slot, f := uint64(r.Meta.Funcs[i].Slot), &er.Meta.Funcs[i]
		slots[slot+abi.DescCode] = hostPart.text + uint64(f.Text)
		slots[slot+8] = hostPart.data + uint64(f.Desc)
	}
	if im.main, err = l.link(r, slots); err != nil {
		return nil, err
	}
	l.add(im.main.data, true, im.main.image)
	l.add(hostPart.data, true, hostPart.image)
	im.file = binary.LittleEndian.AppendUint64(nil, uint64(l.segs))
	im.file = append(im.file, l.out...)
	im.describe()
	return im, nil
}

// describe appends what the driver must know besides the segments. Imports of one name are one thing.
func (im *image) describe() {
	d, mt := im.main.data, im.main.meta
	w := func(xs ...uint64) {
		for _, x := range xs {
			im.file = binary.LittleEndian.AppendUint64(im.file, x)
		}
	}
	w(uint64(len(mt.Memories)))
	byName := map[meta.ImportName]uint64{}
	place := func(n *meta.ImportName, at uint64) uint64 {
		if n != nil {
			if first, ok := byName[*n]; ok {
				return first
			}
			byName[*n] = at
		}
		return at
	}
	for i := range mt.Memories {
		x := &mt.Memories[i]
		im.mems = append(im.mems, place(x.Import, memBase+uint64(i)*memStride))
		w(d+uint64(x.Slot), im.mems[i], x.Min, x.Max)
	}
	w(uint64(len(mt.Tables)))
	for i := range mt.Tables {
		x := &mt.Tables[i]
		w(d+uint64(x.Slot), place(x.Import, tableBase+uint64(i)*tableStride), x.Min, x.Max)
	}
	n := uint64(0)
	for i := range mt.Globals {
		if mt.Globals[i].Import != nil {
			n++
		}
	}
	w(n)
	for i := range mt.Globals {
		if x := &mt.Globals[i]; x.Import != nil {
			w(d+uint64(x.Offset), place(x.Import, globalBase+uint64(i)*globalStride))
		}
	}
	init := im.main.text + uint64(mt.Funcs[len(mt.Funcs)-1].Text)
	w(d+uint64(mt.Helpers), init, stackBase, stackSize, hiddenBase)
	if x := mt.Exceptions; x == nil {
		w(0, 0, 0, 0)
	} else {
		w(d+uint64(x.Helpers), uint64(x.Words), uint64(len(x.Tags)), d+uint64(x.TagSlots))
	}
	im.describeUnwinding(w)
}

// describeUnwinding appends what metadata say of calls that catch, and of frames.
func (im *image) describeUnwinding(w func(xs ...uint64)) {
	text, mt := im.main.text, im.main.meta
	w(uint64(len(mt.Handlers)))
	for _, h := range mt.Handlers {
		w(text+uint64(h.Return), text+uint64(h.Landing))
	}
	var funcs []int // in the order of the code
	for i := range mt.Funcs {
		if mt.Funcs[i].Import == nil {
			funcs = append(funcs, i)
		}
	}
	slices.SortFunc(funcs, func(i, k int) int { return cmp.Compare(mt.Funcs[i].Text, mt.Funcs[k].Text) })
	var changes []uint64
	w(uint64(len(funcs) + 1))
	for _, i := range funcs {
		f, s := &mt.Funcs[i], &mt.Saves[i]
		w(text+uint64(f.Text), uint64(f.Frame), uint64(s.Registers), uint64(len(changes)))
		for _, c := range s.Changes {
			changes = append(changes, text+uint64(f.Text)+uint64(c))
		}
	}
	w(text+partSize, 0, 0, uint64(len(changes)))
	w(uint64(len(changes)))
	w(changes...)
}

// process is a running driver.
type process struct {
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Reader
	err error // of reading
}

// idle are the drivers that have nothing to do: to start the emulator takes longer than most images run.
var idle struct {
	sync.Mutex
	list []*process
}

// takeProcess returns a driver.
func takeProcess() (*process, error) {
	idle.Lock()
	defer idle.Unlock()
	if n := len(idle.list); n > 0 {
		p := idle.list[n-1]
		idle.list = idle.list[:n-1]
		return p, nil
	}
	return startProcess(emulate())
}

// release gives the driver of an image to the next one, if it has answered everything and answers this.
func (im *image) release() {
	p := im.proc
	im.proc = nil
	const asked = 0x1122334455667788
	p.in.WriteByte('N')
	p.put(asked)
	p.flush()
	if p.word() != asked || p.err != nil {
		p.kill()
		return
	}
	idle.Lock()
	defer idle.Unlock()
	idle.list = append(idle.list, p)
}

// run gives the image to a driver.
func (im *image) run() error {
	e := emulate()
	f, err := os.CreateTemp(e.dir, "image-")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(im.file); err != nil {
		return err
	}
	if im.proc, err = takeProcess(); err != nil {
		return err
	}
	im.proc.in.WriteByte('L')
	im.proc.put(uint64(len(f.Name())))
	im.proc.in.WriteString(f.Name())
	return nil
}

// startProcess starts a driver.
func startProcess(e emulator) (*process, error) {
	cmd := exec.Command(e.argv[0], e.argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, in: bufio.NewWriterSize(in, 1<<16), out: bufio.NewReaderSize(out, 1<<16)}, nil
}

// Close ends what the driver does with the image.
func (im *image) Close() {
	if im.proc != nil {
		im.release()
	}
}

// kill ends a driver.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *process) put(xs ...uint64) {
	var b [8]byte
	for _, x := range xs {
		binary.LittleEndian.PutUint64(b[:], x)
		p.in.Write(b[:])
	}
}

// flush makes the driver give all answers.
func (p *process) flush() {
	p.in.WriteByte('F')
	p.in.Flush()
}

// word reads a word of an answer.
func (p *process) word() uint64 {
	var b [8]byte
	if p.err == nil {
		_, p.err = io.ReadFull(p.out, b[:])
	}
	return binary.LittleEndian.Uint64(b[:])
}

// sigOf lays out a function's arguments and results.
func (im *image) sigOf(fn clif.FuncIndex) (*clif.Signature, *abi.Sig) {
	sig, s := im.mod.FuncSig(fn), new(abi.Sig)
	kinds := func(ts []clif.Type) (ks []abi.ArgKind) {
		for _, t := range ts {
			k := abi.ArgInt
			switch {
			case t == clif.V128:
				k = abi.ArgVector
			case t.IsFloat():
				k = abi.ArgFloat
			}
			ks = append(ks, k)
		}
		return ks
	}
	abi.A64.Assign(s, kinds(sig.Params), kinds(sig.Results))
	return sig, s
}

// dirt is in the upper half of an f32, which says nothing.
const dirt = 0xdeadbeef << 32

// sendStart asks for a new instance, sendCall for a call. The answer to both is an outcome.
func (im *image) sendStart() { im.proc.in.WriteByte('S') }

func (im *image) sendCall(fn clif.FuncIndex, args []uint64) {
	sig, s := im.sigOf(fn)
	var ints [8]uint64
	var floats [8][2]uint64
	words := s.ArgWords
	stack := make([]uint64, words)
	if s.HasHidden() {
		ints[s.HiddenReg] = hiddenBase
	}
	for i, loc := range s.Args {
		value := args[:loc.Kind.Words()]
		args = args[len(value):]
		x := value[0]
		if sig.Params[i] == clif.F32 {
			x |= dirt
		}
		switch {
		case !loc.InReg && loc.Kind == abi.ArgVector:
			copy(stack[loc.Word:], value)
		case !loc.InReg:
			stack[loc.Word] = x
		case loc.Kind == abi.ArgVector:
			floats[loc.Reg] = [2]uint64(value)
		case loc.Kind == abi.ArgFloat:
			floats[loc.Reg] = [2]uint64{x, dirt}
		default:
			ints[loc.Reg] = x
		}
	}
	p := im.proc
	p.in.WriteByte('C')
	p.put(im.main.text+uint64(im.main.meta.Funcs[fn].Text), uint64(s.ResultWords), uint64(words))
	p.put(ints[:]...)
	for _, f := range floats {
		p.put(f[:]...)
	}
	p.put(stack...)
}

// answer reads an outcome of a call of fn, or of a start if fn is the init function.
func (im *image) answer(fn clif.FuncIndex) ([]uint64, *isatest.Trap, error) {
	p := im.proc
	switch kind := p.word(); {
	case p.err != nil:
		return nil, nil, fmt.Errorf("the driver ended: %w", p.err)
	case kind == 1:
		return im.fault(p.word(), p.word(), p.word())
	case kind == 3:
		return nil, nil, errors.New("an exception is not caught")
	case kind == 2:
		return nil, nil, fmt.Errorf("register %d is changed (31 is sp, 32 is sp at a helper, from 100 on those of floats)", p.word())
	}
	sig, s := im.sigOf(fn)
	var regs [12]uint64
	for i := range regs {
		regs[i] = p.word()
	}
	hidden := make([]uint64, s.ResultWords)
	for i := range hidden {
		hidden[i] = p.word()
	}
	var results []uint64
	for i, loc := range s.Results {
		from := hidden[min(int(loc.Word), len(hidden)):]
		switch {
		case loc.InReg && loc.Kind == abi.ArgInt:
			from = regs[loc.Reg:]
		case loc.InReg:
			from = regs[4+2*loc.Reg:]
		}
		results = append(results, from[:loc.Kind.Words()]...)
		if sig.Results[i] == clif.F32 {
			results[len(results)-1] &= 1<<32 - 1
		}
	}
	return results, nil, nil
}

// The signals of traps.
const (
	sigILL  = 4
	sigSEGV = 11
)

// fault finds out which trap a fault is: one that the metadata lists, with the right address, or a stack overflow.
func (im *image) fault(pc, addr, sig uint64) ([]uint64, *isatest.Trap, error) {
	bad := func(why string) ([]uint64, *isatest.Trap, error) {
		return nil, nil, fmt.Errorf("%s: signal %d at text+%#x, address %#x", why, sig, pc-im.main.text, addr)
	}
	if sig == sigSEGV && addr < stackBase && addr >= stackBase-guardSize {
		return nil, &isatest.Trap{Code: abi.TrapStackOverflow}, nil
	}
	for _, s := range im.main.meta.Traps {
		if im.main.text+uint64(s.Offset) != pc {
			continue
		}
		ok := false
		switch s.Fault {
		case abi.FaultUndefined:
			ok = sig == sigILL
		case abi.FaultNull:
			ok = sig == sigSEGV && addr < 4096
		case abi.FaultMemory:
			ok = sig == sigSEGV && addr-im.mems[s.Memory] < abi.MemoryReservation
		}
		if !ok {
			return bad(fmt.Sprintf("the fault is not of kind %d", s.Fault))
		}
		return nil, &isatest.Trap{Code: s.Code}, nil
	}
	return bad("no trap is listed here")
}

// start makes a new instance.
func (im *image) start() error {
	if im.proc == nil {
		if err := im.run(); err != nil {
			return err
		}
	}
	im.sendStart()
	im.proc.flush()
	_, t, err := im.answer(clif.FuncIndex(len(im.mod.Funcs) - 1))
	if t != nil {
		return t
	}
	return err
}

// Call calls function i with the bits of its arguments.
func (im *image) Call(i clif.FuncIndex, args ...uint64) ([]uint64, *isatest.Trap, error) {
	im.sendCall(i, args)
	im.proc.flush()
	return im.answer(i)
}

// sendDigest asks for size and digest of memory i, of its first n bytes, or of all if n is 0.
func (im *image) sendDigest(i, n int) {
	im.proc.in.WriteByte('D')
	im.proc.put(uint64(i), uint64(n))
}

// Global returns the bits of global i, which is not imported.
func (im *image) Global(i int) uint64 {
	return binary.LittleEndian.Uint64(im.read(im.main.data+uint64(im.main.meta.Globals[i].Offset), 8))
}

// read returns the n bytes at an address.
func (im *image) read(at uint64, n int) []byte {
	p := im.proc
	p.in.WriteByte('R')
	p.put(at, uint64(n))
	p.flush()
	b := make([]byte, n)
	if p.err == nil {
		_, p.err = io.ReadFull(p.out, b)
	}
	return b
}

// digest returns the driver's digest of bytes.
func digest(p []byte) uint64 {
	var a, b uint64
	for ; len(p) >= 8; p = p[8:] {
		a += binary.LittleEndian.Uint64(p)
		b += a
	}
	return a ^ b<<1
}
