package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/internal/expctxkeys"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Module is a compiled module of a guest, or of Go functions.
type Module struct {
	rt      *Runtime
	name    string
	funcs   []*FuncDef
	mems    []*MemDef
	tables  []wasmfront.TableType
	globals []wasmfront.GlobalType
	imports []imported
	exports map[string]exported
	customs []*CustomSection
	start   int // index of the start function, or -1

	// Of a guest: the module, and its code without and with explicit bounds checks, as far as it was needed.
	wasm []byte
	mu   sync.Mutex // guards code
	code [2]*code
	// hooks are the functions of a guest with listeners, for which the code is instrumented.
	hooks []hook
	host  []*HostFunc // of Go functions, in the order of funcs

	closed atomic.Bool
	// CloseWithInstance: the only instance closes the module.
	CloseWithInstance bool
}

// imported is an import; index is its place in the index space of its kind.
type imported struct {
	module, name string
	kind         api.ExternType
	index        uint32
}

// exported is an export.
type exported struct {
	kind  api.ExternType
	index uint32
}

// code is compiled code, which all modules of the same bytes share.
type code struct {
	module *waot.Module
	key    codeKey
	refs   int
}

// codeKey is what compiled code depends on.
type codeKey struct {
	hash     [sha256.Size]byte
	name     string
	explicit bool
}

// Codes keeps compiled code for runtimes, in this process and, with a folder, for other ones.
type Codes struct {
	mu     sync.Mutex
	codes  map[codeKey]*code
	folder *waot.Cache
	keep   bool // until Close, and not only as long as there is a module
}

// NewCodes returns a cache that keeps code until Close; folder may be nil.
func NewCodes(folder *waot.Cache) *Codes { return &Codes{folder: folder, keep: true} }

// get returns the code of a module, perhaps with explicit bounds checks; release must follow.
func (c *Codes) get(ctx context.Context, name string, wasm []byte, explicit bool) (*code, error) {
	key := codeKey{sha256.Sum256(wasm), name, explicit}
	c.mu.Lock()
	x := c.codes[key]
	if x != nil {
		x.refs++
	}
	c.mu.Unlock()
	if x != nil {
		return x, nil
	}
	o := &waot.CompileOptions{Name: name, Cache: c.folder, ExplicitBounds: explicit}
	if n, ok := ctx.Value(expctxkeys.CompilationWorkers{}).(int); ok {
		o.Workers = max(n, 1)
	}
	m, err := waot.Compile(wasm, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.codes[key]; x != nil { // another goroutine was faster
		x.refs++
		m.Close()
		return x, nil
	}
	if c.codes == nil {
		c.codes = map[codeKey]*code{}
	}
	x = &code{module: m, key: key, refs: 1}
	c.codes[key] = x
	return x, nil
}

// release ends the use of code. Instances that exist are not affected.
func (c *Codes) release(x *code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.refs--; x.refs == 0 && !c.keep {
		delete(c.codes, x.key)
		x.module.Close()
	}
}

// Close gives up all code.
func (c *Codes) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, x := range c.codes {
		delete(c.codes, key)
		x.module.Close()
	}
}

// valueTypes are types as package api has them.
func valueTypes(list []wasmfront.ValType) []api.ValueType {
	if len(list) == 0 {
		return nil
	}
	types := make([]api.ValueType, len(list))
	for i, t := range list {
		types[i] = valueType(t)
	}
	return types
}

// valueType is a type as package api has it, or one of those without a constant there. References to functions are funcrefs, whatever their type says beyond, and so on for externrefs and exnrefs: the store checks it where a
// program gives one.
func valueType(t wasmfront.ValType) api.ValueType {
	if t.IsRef() {
		t = t.Top()
	}
	return t.Code()
}

// optional are the features that a runtime can refuse.
var optional = map[api.CoreFeatures]wasmfront.Features{
	api.CoreFeatureBulkMemoryOperations:            wasmfront.FeatureBulkMemory,
	api.CoreFeatureMultiValue:                      wasmfront.FeatureMultiValue,
	api.CoreFeatureNonTrappingFloatToIntConversion: wasmfront.FeatureSaturatingFloatToInt,
	api.CoreFeatureReferenceTypes:                  wasmfront.FeatureReferenceTypes | wasmfront.FeatureFunctionReferences | wasmfront.FeatureGC,
	api.CoreFeatureSignExtensionOps:                wasmfront.FeatureSignExtension,
	api.CoreFeatureSIMD:                            wasmfront.FeatureSIMD | wasmfront.FeatureRelaxedSIMD,
	experimental.CoreFeaturesExceptionHandling:     wasmfront.FeatureExceptions,
}

// known is what wazero has, and garbage collection. A module has one memory there, and exceptions are not those of the legacy proposal.
const known = wasmfront.DefaultFeatures &^ (wasmfront.FeatureMultiMemory | wasmfront.FeatureLegacyExceptions)

// decode decodes a module. It validates it, too, unless it may use all features but exceptions: then the compiler does, and Compile looks whether the code has exceptions (handlers of which it leaves nothing are accepted). The compiler would accept those of
// the legacy proposal.
func decode(wasm []byte, features api.CoreFeatures) (*wasmfront.Module, error) {
	accept := known
	for f, w := range optional {
		if !features.IsEnabled(f) {
			accept &^= w
		}
	}
	if accept == known&^wasmfront.FeatureExceptions {
		return wasmfront.Decode(wasm, accept)
	}
	return validate.All(wasm, validate.Config{Features: accept})
}

// Compile compiles a guest.
func (r *Runtime) Compile(ctx context.Context, wasm []byte) (*Module, error) {
	if err := r.failIfClosed(); err != nil {
		return nil, err
	}
	if len(wasm) < 4 || string(wasm[:4]) != "\x00asm" {
		return nil, errors.New("invalid magic number")
	}
	if len(wasm) < 8 || string(wasm[4:8]) != "\x01\x00\x00\x00" {
		return nil, errors.New("invalid version header")
	}
	w, err := decode(wasm, r.config.Features)
	if err != nil {
		return nil, err
	}
	m := &Module{rt: r, start: -1, exports: map[string]exported{}}
	if w.HasStart {
		m.start = int(w.Start)
	}
	if err := m.describe(w); err != nil {
		return nil, err
	}
	m.listen(ctx)
	if r.config.CustomSections {
		for _, c := range w.Customs {
			if c.Name != "name" {
				m.customs = append(m.customs, &CustomSection{name: c.Name, data: c.Bytes})
			}
		}
	}
	if len(m.hooks) > 0 {
		// An invalid module must fail for its own reason, and before it is changed.
		if _, err := validate.All(wasm, validate.Config{Features: known}); err != nil {
			return nil, err
		}
		wasm = m.instrument(w)
	}
	m.wasm = wasm
	compiled, err := m.compiled(ctx, m.explicitFor(ctx, nil))
	if err != nil {
		return nil, err
	}
	if has := (*loaded.Module)(compiled).Inproc().Meta().Exceptions != nil; has && !r.config.Features.IsEnabled(experimental.CoreFeaturesExceptionHandling) {
		m.Close(ctx)
		return nil, fmt.Errorf("feature %q is disabled", experimental.CoreFeaturesExceptionHandling)
	}
	m.wasm = nil
	if len(m.mems) > 0 { // otherwise there is one form
		m.wasm = bytes.Clone(wasm)
	}
	return m, nil
}

// compiled returns the code, without or with explicit bounds checks. It is compiled when it is needed for the first time.
func (m *Module) compiled(ctx context.Context, explicit bool) (*waot.Module, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		return nil, errNotCompiled
	}
	form := 0
	if explicit {
		form = 1
	}
	if m.code[form] == nil {
		c, err := m.rt.codes.get(ctx, m.name, m.wasm, explicit)
		if err != nil {
			return nil, err
		}
		m.code[form] = c
	}
	return m.code[form].module, nil
}

// describe takes from a decoded module what programs and the linking of instances want to know. It may be invalid still.
func (m *Module) describe(w *wasmfront.Module) error {
	names, ok := w.DecodeAllNames()
	if !ok {
		few := w.DecodeNames()
		names = &wasmfront.AllNames{Module: few.Module}
		for i, n := range few.Funcs {
			names.Spaces[wasmfront.SpaceFunc] = append(names.Spaces[wasmfront.SpaceFunc], wasmfront.NameAssoc{Index: uint32(i), Name: n})
		}
	}
	m.name = names.Module
	for i := range w.Funcs {
		d := &FuncDef{definition: definition{module: m.name, index: uint32(i)}}
		if t := w.Funcs[i].Type; int64(t) < int64(len(w.Types)) {
			d.params, d.results = valueTypes(w.Types[t].Params), valueTypes(w.Types[t].Results)
		}
		d.countWords()
		m.funcs = append(m.funcs, d)
	}
	for i := range w.Memories {
		d, err := m.rt.memDef(w.Memories[i].Limits)
		if err != nil {
			return err
		}
		d.definition = definition{module: m.name, index: uint32(i)}
		m.mems = append(m.mems, d)
	}
	for i := range w.Tables {
		m.tables = append(m.tables, w.Tables[i].TableType)
	}
	for i := range w.Globals {
		m.globals = append(m.globals, w.Globals[i].GlobalType)
	}
	for _, i := range w.Imports {
		kind := api.ExternType(i.Kind)
		m.imports = append(m.imports, imported{i.Module, i.Name, kind, i.Index})
		if d := m.definition(kind, i.Index); d != nil {
			d.from = &[2]string{i.Module, i.Name}
		}
	}
	for _, e := range w.Exports {
		kind := api.ExternType(e.Kind)
		m.exports[e.Name] = exported{kind, e.Index}
		if d := m.definition(kind, e.Index); d != nil {
			d.exports = append(d.exports, e.Name)
		}
	}
	m.takeNames(names)
	return nil
}

// takeNames gives functions and parameters the names of the name section.
func (m *Module) takeNames(names *wasmfront.AllNames) {
	for _, n := range names.Spaces[wasmfront.SpaceFunc] {
		m.funcs[n.Index].name = n.Name
	}
	for _, l := range names.Locals {
		d := m.funcs[l.Of]
		list := make([]string, len(d.params))
		count := 0
		for _, n := range l.Names {
			if int64(n.Index) < int64(len(list)) {
				list[n.Index] = n.Name
				count++
			}
		}
		if count > 0 && count == len(list) {
			d.paramNames = list
		}
	}
}

// definition is what describes a function or memory; nil if there is none.
func (m *Module) definition(kind api.ExternType, index uint32) *definition {
	switch {
	case kind == api.ExternTypeFunc && int64(index) < int64(len(m.funcs)):
		return &m.funcs[index].definition
	case kind == api.ExternTypeMemory && int64(index) < int64(len(m.mems)):
		return &m.mems[index].definition
	}
	return nil
}

// memDef describes a memory whose size a runtime limits.
func (r *Runtime) memDef(l wasmfront.Limits) (*MemDef, error) {
	over := func(what string, pages, limit uint64) error {
		return fmt.Errorf("section memory: %s %d pages (%s) over limit of %d pages (%s)", what, pages, pagesText(pages), limit, pagesText(limit))
	}
	limit := uint64(r.config.MemoryLimitPages)
	switch {
	case l.Min > limit:
		return nil, over("min", l.Min, limit)
	case l.HasMax && l.Max > maxPages:
		return nil, over("max", l.Max, maxPages)
	}
	d := &MemDef{min: uint32(l.Min), max: uint32(limit), hasMax: l.HasMax}
	if l.HasMax {
		d.max = uint32(min(l.Max, limit))
	}
	return d, nil
}

// maxPages is the number of pages that a memory can have.
const maxPages = 65536

// pagesText is a number of pages in the largest unit below it.
func pagesText(pages uint64) string {
	switch k := pages * 64; {
	case k < 1<<10:
		return fmt.Sprintf("%d Ki", k)
	case k < 1<<20:
		return fmt.Sprintf("%d Mi", k>>10)
	default:
		return fmt.Sprintf("%d Gi", k>>20)
	}
}

// listen asks the listener factory of a context.
func (m *Module) listen(ctx context.Context) {
	factory, ok := ctx.Value(expctxkeys.FunctionListenerFactoryKey{}).(experimental.FunctionListenerFactory)
	if !ok {
		return
	}
	for i, d := range m.funcs {
		if d.from != nil {
			continue
		}
		switch l := factory.NewFunctionListener(d); {
		case l == nil:
		case m.host == nil:
			m.hooks = append(m.hooks, hook{d, l})
		default:
			m.host[i] = m.host[i].withListener(l)
		}
	}
}

// Name returns the name in the name section.
func (m *Module) Name() string { return m.name }

// ImportedFunctions describes the imported functions, in order.
func (m *Module) ImportedFunctions() []api.FunctionDefinition {
	return importedOf(m.funcs, func(d *FuncDef) api.FunctionDefinition { return d })
}

// ExportedFunctions describes the exported functions by name.
func (m *Module) ExportedFunctions() map[string]api.FunctionDefinition {
	return exportedOf(m, api.ExternTypeFunc, m.funcs, func(d *FuncDef) api.FunctionDefinition { return d })
}

// ImportedMemories describes the imported memories, in order.
func (m *Module) ImportedMemories() []api.MemoryDefinition {
	return importedOf(m.mems, func(d *MemDef) api.MemoryDefinition { return d })
}

// ExportedMemories describes the exported memories by name.
func (m *Module) ExportedMemories() map[string]api.MemoryDefinition {
	return exportedOf(m, api.ExternTypeMemory, m.mems, func(d *MemDef) api.MemoryDefinition { return d })
}

// importedOf are the imported ones of an index space, as package api has them.
func importedOf[D api.ExportDefinition, A any](space []D, face func(D) A) (list []A) {
	for _, d := range space {
		if _, _, ok := d.Import(); ok {
			list = append(list, face(d))
		}
	}
	return list
}

// exportedOf are the exports of a kind by name, as package api has them; space is their index space.
func exportedOf[D, A any](m *Module, kind api.ExternType, space []D, face func(D) A) map[string]A {
	all := map[string]A{}
	for name, e := range m.exports {
		if e.kind == kind {
			all[name] = face(space[e.index])
		}
	}
	return all
}

// CustomSections returns the custom sections but the name section, if the runtime keeps them.
func (m *Module) CustomSections() []api.CustomSection {
	list := make([]api.CustomSection, len(m.customs))
	for i, c := range m.customs {
		list[i] = c
	}
	return list
}

// Close gives up the code, unless instances or other modules need it.
func (m *Module) Close(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed.Swap(true) {
		for _, c := range m.code {
			if c != nil {
				m.rt.codes.release(c)
			}
		}
		m.wasm = nil
	}
	return nil
}
