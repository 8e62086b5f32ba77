package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Line is a line of disassembled machine code.
type Line struct {
	Offset, Len int
	Text, Notes string
}

// Disassembler takes machine code apart. Lines are in order, and together cover all bytes.
type Disassembler func(*backend.Code) []Line

// Collector keeps what the stages make of the functions of one module that are wanted.
type Collector struct {
	mod         *wasmfront.Module
	disassemble Disassembler
	funcs       map[uint32]*collected // not written while workers run
}

// collected is what is known of a function so far. One worker at a time has it.
type collected struct {
	builder
	done *Function
}

// NewCollector returns a Collector for the given functions of m, which is valid.
func NewCollector(m *wasmfront.Module, funcs []uint32, d Disassembler) *Collector {
	c := &Collector{mod: m, disassemble: d, funcs: map[uint32]*collected{}}
	for _, i := range funcs {
		c.funcs[i] = &collected{}
	}
	return c
}

// Hook makes a compilation with options o tell c.
func (c *Collector) Hook(o *compile.Options) {
	o.AfterPass = c.afterPass
	o.Trace = &backend.Trace{Stages: c.stages}
}

// of returns what is known of f, or nil if the function is not wanted.
func (c *Collector) of(f *clif.Func) *collected { return c.funcs[uint32(f.Index)] }

// afterPass adds the CLIF of f after a pass, "" for translation, if the pass has changed it.
func (c *Collector) afterPass(pass string, f *clif.Func) {
	k := c.of(f)
	if k == nil || k.done != nil {
		return
	}
	if pass == "" { // from the start: the compiler may come to a function again
		k.builder = builder{}
		k.begin(c.mod, f)
	}
	k.clif(pass, f)
}

// stages adds what the back end has made, and finishes the function.
func (c *Collector) stages(s *backend.Stages) {
	k := c.of(s.Func)
	if k == nil {
		return
	}
	k.backend(s, c.disassemble(s.Code))
	done := k.fn
	k.done = &done
	k.builder = builder{}
}

// builder fills a Function.
type builder struct {
	fn       Function
	places   map[string]int // by text
	pool     map[pooledRow]int
	last     []int          // the rows of the last CLIF stage
	passes   map[string]int // how often each was seen
	location map[string]int // by name
	// start and end are where the function's body is in the module.
	start, end uint32
}

// pooledRow is what rows of CLIF differ in.
type pooledRow struct {
	kind         RowKind
	text         string
	place, block int
}

// begin starts with the operators of f.
func (b *builder) begin(m *wasmfront.Module, f *clif.Func) {
	b.fn = Function{Index: uint32(f.Index), Name: f.Name, Type: f.Signature().String()}
	b.places, b.pool, b.passes, b.location = map[string]int{}, map[pooledRow]int{}, map[string]int{}, map[string]int{}
	if int(f.Index) >= len(m.Funcs) {
		return
	}
	body := m.Body(uint32(f.Index))
	b.start, b.end = uint32(body.Offset), uint32(body.Offset+len(body.Bytes))
	stage := Stage{ID: "wasm", Kind: StageWasm, Title: "Wasm", Main: true}
	Operators(m, uint32(f.Index), func(offset, depth int, text string) {
		stage.Rows = append(stage.Rows, Row{Label: fmt.Sprintf("%06x", offset), Text: text, Depth: depth, Place: b.place(f, uint32(offset))})
	})
	b.fn.Stages = append(b.fn.Stages, stage)
}

// Operators visits the operators of function i of m, with their depths of nesting.
func Operators(m *wasmfront.Module, i uint32, visit func(offset, depth int, text string)) {
	var v validate.Func
	var op wasmfront.Operator
	v.Begin(m, i)
	depth := v.Depth()
	for v.Next(&op) {
		// Depth is the one after the operator: what opens or closes stands outside.
		at := min(depth, v.Depth())
		if op.Op == wasmfront.OpElse {
			at--
		}
		visit(op.Offset, max(at, 0), op.String())
		depth = v.Depth()
	}
}

// own reports whether an offset is in the function's body. What was inlined and can neither trap nor call has an offset in its own function, and nothing
// says from where it was called. The init function has no body.
func (b *builder) own(offset uint32) bool { return b.end == 0 || offset >= b.start && offset < b.end }

// place returns the index of a place of f, plus 1, and 0 for none.
func (b *builder) place(f *clif.Func, place uint32) int {
	if place == 0 {
		return 0
	}
	text := f.PlaceText(place)
	if place < abi.InlinedPlace && !b.own(place) {
		text += " inlined"
	}
	n, ok := b.places[text]
	if !ok {
		p := Place{Text: text}
		abi.Activations(f.Inlined, uint32(f.Index), place, func(a abi.Activation) bool {
			p.Offset = a.Offset // the outermost is last
			return true
		})
		b.fn.Places = append(b.fn.Places, p)
		n = len(b.fn.Places)
		b.places[text] = n
	}
	return n
}

// clif adds the stage after a pass, unless it changed nothing.
func (b *builder) clif(pass string, f *clif.Func) {
	rows := b.rowsOf(f)
	stage := Stage{Kind: StageCLIF, Pooled: rows}
	if pass == "" {
		stage.ID, stage.Title = "clif", "CLIF"
	} else {
		b.passes[pass]++
		stage.ID, stage.Title = "clif-"+pass, "CLIF after "+pass
		if n := b.passes[pass]; n > 1 {
			stage.ID, stage.Title = fmt.Sprintf("%s-%d", stage.ID, n), fmt.Sprintf("%s, again", stage.Title)
		}
		if slices.Equal(rows, b.last) {
			return
		}
	}
	b.last = rows
	b.fn.Stages = append(b.fn.Stages, stage)
}

// rowsOf returns the rows of f as it is now.
func (b *builder) rowsOf(f *clif.Func) (rows []int) {
	p := clif.Printer{F: f}
	for _, blk := range f.Layout {
		rows = append(rows, b.pooled(Row{Kind: RowBlock, Text: p.Head(blk), Block: int(blk) + 1}))
		for i := f.Blocks[blk].Start; i < f.Blocks[blk].End; i++ {
			if f.Insts[i].Op != clif.OpNop {
				rows = append(rows, b.pooled(Row{Text: p.Inst(i), Place: b.place(f, f.Srcs[i]), Block: int(blk) + 1}))
			}
		}
	}
	return rows
}

// pooled returns the index of a row in the pool.
func (b *builder) pooled(r Row) int {
	key := pooledRow{r.Kind, r.Text, r.Place, r.Block}
	n, ok := b.pool[key]
	if !ok {
		n = len(b.fn.Pool)
		b.fn.Pool = append(b.fn.Pool, r)
		b.pool[key] = n
	}
	return n
}

// Functions returns what was collected, by index. A function is missing if the compiler did not come to its end.
func (c *Collector) Functions() (funcs []*Function) {
	for _, i := range slices.Sorted(maps.Keys(c.funcs)) {
		if f := c.funcs[i].done; f != nil {
			funcs = append(funcs, f)
		}
	}
	return funcs
}
