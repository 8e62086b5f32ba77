package validate

import (
	"math"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// Config selects what is accepted.
type Config struct {
	// Features are the accepted features, those that can be decoded at least.
	// None means wasmfront.DefaultFeatures.
	Features wasmfront.Features
	// Stop is polled, and ends Module and All by the panic that package stop describes; nil never does.
	Stop *stop.Flag
	// Price is what is charged for what a module declares, and how much All may take for open blocks; nil is nothing.
	Price *wasmfront.Price
}

func (c Config) features() wasmfront.Features {
	if c.Features == 0 {
		return wasmfront.DefaultFeatures
	}
	return c.Features
}

// Module decodes the module in b and validates everything but function bodies.
// The module is never nil; with an error (an *wasmfront.Error), it is complete
// and valid up to the error's offset. See the package comment for how to
// combine that error with those of bodies.
func Module(b []byte, cfg Config) (*wasmfront.Module, error) {
	m, err := wasmfront.DecodeWithin(b, cfg.features(), cfg.Price, cfg.Stop)
	c := checker{m: m, stop: cfg.Stop}
	c.module()
	if c.err != nil {
		err = Earliest(err, c.err)
	}
	return m, err
}

// All decodes and validates the module in b, function bodies included.
func All(b []byte, cfg Config) (*wasmfront.Module, error) {
	m, err := Module(b, cfg)
	end := math.MaxInt
	if err != nil {
		end = err.(*wasmfront.Error).Offset
	}
	f := &Func{price: cfg.Price}
	var op wasmfront.Operator
	for i := range m.Code {
		cfg.Stop.Poll()
		if m.Code[i].Offset >= end {
			break
		}
		f.beginAfter(m, m.NumImportedFuncs+uint32(i), f.values)
		for f.Next(&op) {
			cfg.Stop.Poll()
		}
		if f.Err() != nil {
			return m, Earliest(err, f.Err())
		}
	}
	return m, err
}

// Reason returns what to say of the module in b, of which decoding or validation
// with fewer features said err. If err is the lack of a feature that this package
// can check all the same, and the module is wrong for another reason even with it,
// that reason counts; else it is err.
func Reason(b []byte, err error) error { return ReasonWith(b, err, Config{}) }

// ReasonWith is Reason with the flag and the price of a Config.
func ReasonWith(b []byte, err error, cfg Config) error {
	if e, ok := err.(*wasmfront.Error); !ok || e.Feature == "" {
		return err
	}
	_, all := All(b, Config{Features: wasmfront.DecodableFeatures, Stop: cfg.Stop, Price: cfg.Price})
	if e, ok := all.(*wasmfront.Error); ok && e.Feature == "" && e.Limit == "" {
		return e
	}
	return err
}

// Earliest returns the one of two errors of this package that counts: the one
// with the lower offset, or the one that is not nil, or nil.
func Earliest(a, b error) error {
	ea, _ := a.(*wasmfront.Error)
	eb, _ := b.(*wasmfront.Error)
	switch {
	case ea == nil && eb == nil:
		return nil
	case eb == nil || ea != nil && ea.Offset <= eb.Offset:
		return ea
	}
	return eb
}

// checker checks a module in the order of its bytes, up to the first error.
type checker struct {
	m     *wasmfront.Module
	stop  *stop.Flag
	err   *wasmfront.Error
	stack []wasmfront.ValType
}

func (c *checker) fail(offset int, format string, args ...any) {
	if c.err == nil {
		c.err = errorAt(offset, -1, format, args...)
	}
}

// module checks the sections in the order in which they must come.
func (c *checker) module() {
	for _, check := range [...]func(*checker){
		(*checker).types, (*checker).imports, (*checker).functions, (*checker).tables, (*checker).memories,
		(*checker).tags, (*checker).globals,
		(*checker).exports, (*checker).start, (*checker).elems, (*checker).data,
	} {
		if check(c); c.err != nil {
			return
		}
	}
}

// imports checks the types of imports.
func (c *checker) imports() {
	m := c.m
	for i := range m.Imports {
		c.stop.Poll()
		switch imp := &m.Imports[i]; imp.Kind {
		case abi.ExternFunc:
			c.function(&m.Funcs[imp.Index])
		case abi.ExternTable:
			c.table(&m.Tables[imp.Index])
		case abi.ExternMemory:
			c.memory(&m.Memories[imp.Index])
		case abi.ExternTag:
			c.tag(&m.Tags[imp.Index])
		}
	}
}

func (c *checker) function(f *wasmfront.Func) { c.signature(f.Offset, f.Type) }

// signature checks that type i, which is named at an offset, is one of functions.
func (c *checker) signature(at int, i uint32) {
	switch {
	case int64(i) >= int64(len(c.m.Types)):
		c.fail(at, "unknown type %d", i)
	case c.m.Types[i].Kind != wasmfront.KindFunc:
		c.fail(at, "type %d is not a function type", i)
	}
}

func (c *checker) functions() {
	for i := range c.m.Funcs {
		c.stop.Poll()
		c.function(&c.m.Funcs[i])
	}
}

func (c *checker) tables() {
	for i := range c.m.Tables {
		t := &c.m.Tables[i]
		c.table(t)
		switch {
		case t.HasInit: // which stands in front of the globals that the module defines
			c.constExpr(&t.Init, t.Elem, int(c.m.NumImportedGlobals))
		case t.Elem.IsNotNull() && i >= int(c.m.NumImportedTables):
			c.fail(t.Offset, "type mismatch: table of %s without an initial value", t.Elem)
		}
	}
}

func (c *checker) memories() {
	for i := range c.m.Memories {
		c.memory(&c.m.Memories[i])
	}
}

func (c *checker) tags() {
	for i := range c.m.Tags {
		c.stop.Poll()
		c.tag(&c.m.Tags[i])
	}
}

// tag checks a tag: an exception has values, but gives none back.
func (c *checker) tag(t *wasmfront.Tag) {
	if c.signature(t.Offset, t.Type); c.err == nil && len(c.m.Types[t.Type].Results) > 0 {
		c.fail(t.Offset, "non-empty tag result type: %s", &c.m.Types[t.Type].FuncType)
	}
}

func (c *checker) table(t *wasmfront.Table) {
	if t.Min > abi.MaxTableElements || t.Max > abi.MaxTableElements {
		c.fail(t.Offset, "table size must be at most 2^32-1")
	}
	c.order(t.Limits, t.Offset)
}

func (c *checker) memory(mem *wasmfront.Memory) {
	if mem.Min > abi.MaxMemoryPages || mem.Max > abi.MaxMemoryPages {
		c.fail(mem.Offset, "memory size must be at most 65536 pages (4GiB)")
	}
	c.order(mem.Limits, mem.Offset)
}

func (c *checker) order(l wasmfront.Limits, offset int) {
	if l.HasMax && l.Min > l.Max {
		c.fail(offset, "size minimum must not be greater than maximum: %d > %d", l.Min, l.Max)
	}
}

func (c *checker) globals() {
	for i := int(c.m.NumImportedGlobals); i < len(c.m.Globals) && c.err == nil; i++ {
		g := &c.m.Globals[i]
		c.constExpr(&g.Init, g.Type, i)
	}
}

func (c *checker) exports() {
	m := c.m
	sizes := [...]int{
		abi.ExternFunc:   len(m.Funcs),
		abi.ExternTable:  len(m.Tables),
		abi.ExternMemory: len(m.Memories),
		abi.ExternGlobal: len(m.Globals),
		abi.ExternTag:    len(m.Tags),
	}
	kinds := [...]string{"function", "table", "memory", "global", "tag"}
	seen := make(map[string]bool, len(m.Exports))
	for i := range m.Exports {
		c.stop.Poll()
		e := &m.Exports[i]
		if seen[e.Name] {
			c.fail(e.Offset, "duplicate export name %q", e.Name)
			return
		}
		seen[e.Name] = true
		if int64(e.Index) >= int64(sizes[e.Kind]) {
			c.fail(e.Offset, "unknown %s %d", kinds[e.Kind], e.Index)
			return
		}
	}
}

func (c *checker) start() {
	m := c.m
	if !m.HasStart {
		return
	}
	if int64(m.Start) >= int64(len(m.Funcs)) {
		c.fail(m.StartOffset, "unknown function %d", m.Start)
	} else if t := m.FuncType(m.Start); len(t.Params)+len(t.Results) > 0 {
		c.fail(m.StartOffset, "start function must not have parameters or results: %s", t)
	}
}

func (c *checker) elems() {
	m := c.m
	for i := range m.Elems {
		c.stop.Poll()
		e := &m.Elems[i]
		if e.Mode == wasmfront.SegmentActive {
			if int64(e.Table) >= int64(len(m.Tables)) {
				c.fail(e.Offset, "unknown table %d", e.Table)
				return
			}
			c.constExpr(&e.OffExpr, wasmfront.I32, len(m.Globals))
			if t := m.Tables[e.Table].Elem; !m.Matches(e.ItemType(), t) && e.ItemsOffset() != 0 {
				c.fail(e.ItemsOffset(), "type mismatch: segment of %s for a table of %s", e.ItemType(), t)
			}
		}
		for _, f := range e.Funcs {
			c.stop.Poll()
			if int64(f) >= int64(len(m.Funcs)) {
				c.fail(e.ItemsOffset(), "unknown function %d", f)
				break
			}
		}
		for k := range e.Exprs {
			c.constExpr(&e.Exprs[k], e.Type, len(m.Globals))
		}
		if c.err != nil {
			return
		}
	}
}

func (c *checker) data() {
	m := c.m
	for i := range m.Data {
		c.stop.Poll()
		s := &m.Data[i]
		if s.Mode != wasmfront.SegmentActive {
			continue
		}
		if int64(s.Memory) >= int64(len(m.Memories)) {
			c.fail(s.Offset, "unknown memory %d", s.Memory)
		}
		if c.constExpr(&s.OffExpr, wasmfront.I32, len(m.Globals)); c.err != nil {
			return
		}
	}
}

// constExpr checks that e yields a value of type want and uses only the first
// numGlobals globals.
func (c *checker) constExpr(e *wasmfront.ConstExpr, want wasmfront.ValType, numGlobals int) {
	c.stack = c.stack[:0]
	for i := range e.Ops {
		c.stop.Poll()
		if c.constOp(&e.Ops[i], numGlobals); c.err != nil {
			return
		}
	}
	if e.End != 0 && (len(c.stack) != 1 || !c.m.Matches(c.stack[0], want)) {
		c.fail(e.End, "type mismatch: constant expression must yield one %s", want)
	}
}

func (c *checker) constOp(op *wasmfront.ConstOp, numGlobals int) {
	m := c.m
	switch op.Op {
	case wasmfront.OpGlobalGet:
		switch {
		case int64(op.Index) >= int64(numGlobals):
			c.fail(op.Offset, "unknown global %d", op.Index)
		case m.GlobalType(op.Index).Mutable:
			c.fail(op.Offset, "constant expression required: global %d is mutable", op.Index)
		default:
			c.stack = append(c.stack, m.GlobalType(op.Index).Type)
		}
	case wasmfront.OpRefFunc:
		if int64(op.Index) >= int64(len(m.Funcs)) {
			c.fail(op.Offset, "unknown function %d", op.Index)
			return
		}
		c.stack = append(c.stack, m.RefToFunc(op.Index))
	case wasmfront.OpRefNull:
		c.stack = append(c.stack, op.Type)
	case wasmfront.OpStructNew, wasmfront.OpStructNewDefault, wasmfront.OpArrayNew, wasmfront.OpArrayNewDefault, wasmfront.OpArrayNewFixed:
		c.constNew(op)
	case wasmfront.OpRefI31:
		if c.popConst(op, wasmfront.I32) {
			c.stack = append(c.stack, wasmfront.I31Ref.NotNull())
		}
	case wasmfront.OpAnyConvertExtern:
		c.constConvert(op, wasmfront.ExternRef, wasmfront.AnyRef)
	case wasmfront.OpExternConvertAny:
		c.constConvert(op, wasmfront.AnyRef, wasmfront.ExternRef)
	default:
		c.constSig(op)
	}
}

// constSig applies the signature in the operator table.
func (c *checker) constSig(op *wasmfront.ConstOp) {
	s := parseSig(op.Op.Info().Sig)
	for i := int(s.npop) - 1; i >= 0; i-- {
		n := len(c.stack) - 1
		if n < 0 || c.stack[n] != s.pop[i] {
			c.fail(op.Offset, "type mismatch: %s needs %s", op.Op, s.pop[i])
			return
		}
		c.stack = c.stack[:n]
	}
	c.stack = append(c.stack, s.push[:s.npush]...)
}
