package text

import (
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// body is the state of a function that is being parsed.
type body struct {
	*clif.Func
	defined []bool // by value
	placed  []bool // by block
	lines   []int
	inst    token // of the instruction that is being parsed
}

// function parses a body; the numbers of values and blocks stay as written.
// Func.End is the token where it begins, and becomes the line where it ends.
func (p *parser) function(out *Func) {
	if p.err != nil {
		return
	}
	p.body = body{Func: out.Func}
	p.at = out.End
	p.expect("{")
	p.endLine()
	for p.err == nil && !p.is("}") {
		p.line()
	}
	out.End = p.peek().line
	p.expect("}")
	out.InstLines = p.body.lines
}

// line parses a block header, an instruction, or an empty line.
func (p *parser) line() {
	if p.peek().kind == tokNewline {
		p.next()
		return
	}
	if p.isRef("block") {
		p.blockHeader()
		p.endLine()
		return
	}
	p.inst()
}

// growValues makes sure that the value v is in the table.
func (p *parser) growValues(v uint32) {
	b := &p.body
	for uint32(len(b.Values)) <= v {
		b.Values = append(b.Values, clif.ValueData{Def: uint32(clif.NoInst)})
		b.defined = append(b.defined, false)
	}
}

// define reads a value that is defined here.
func (p *parser) define() uint32 {
	t := p.peek()
	v := p.ref("v")
	if p.err != nil {
		return 0
	}
	p.growValues(v)
	if p.body.defined[v] {
		p.fail(t, "v%d is defined twice", v)
	}
	p.body.defined[v] = true
	return v
}

// use reads a value that is used.
func (p *parser) use() uint32 {
	v := p.ref("v")
	if p.err == nil {
		p.growValues(v)
	}
	return v
}

func (p *parser) uses() []uint32 {
	var vs []uint32
	p.list("(", ")", func() { vs = append(vs, p.use()) })
	return vs
}

// block reads a reference to a block.
func (p *parser) block() clif.Block {
	n := p.ref("block")
	b := &p.body
	for p.err == nil && uint32(len(b.Blocks)) <= n {
		b.Blocks = append(b.Blocks, clif.BlockData{})
		b.placed = append(b.placed, false)
	}
	return clif.Block(n)
}

func (p *parser) blockHeader() {
	t := p.peek()
	blk := p.block()
	if p.err != nil {
		return
	}
	b := &p.body
	if b.placed[blk] {
		p.fail(t, "%v is there twice", blk)
		return
	}
	b.placed[blk] = true
	b.Layout = append(b.Layout, blk)
	n := clif.Inst(len(b.Insts))
	b.Blocks[blk].Start, b.Blocks[blk].End = n, n
	if p.is("(") {
		p.list("(", ")", func() {
			v := p.define()
			p.expect(":")
			t := p.typ()
			if p.err != nil {
				return
			}
			params := &b.Blocks[blk].Params
			b.Values[v] = clif.ValueData{Type: t, Kind: clif.ValueParam, Num: uint16(params.Len), Def: uint32(blk)}
			b.AppendList(params, v)
		})
	}
	p.expect(":")
}

// inst parses an instruction with its line.
func (p *parser) inst() {
	b := &p.body
	b.inst = p.peek()
	var results []uint32
	if p.isRef("v") {
		for results = append(results, p.define()); p.accept(","); {
			results = append(results, p.define())
		}
		p.expect("=")
	}
	for i, r := range results {
		if r != results[0]+uint32(i) {
			p.fail(b.inst, "the results of an instruction must be numbered one after the other")
		}
	}
	d := clif.InstData{Result: clif.NoValue}
	p.opcode(&d)
	if p.err != nil {
		return
	}
	formats[d.Op.Info().Format](p, &d)
	src := source(p.endLine())
	if p.err == nil && len(b.Layout) == 0 {
		p.fail(b.inst, "an instruction before the first block")
	}
	if p.err != nil {
		return
	}
	n := clif.Inst(len(b.Insts))
	p.results(n, &d, results)
	b.Insts = append(b.Insts, d)
	b.Srcs = append(b.Srcs, src)
	b.lines = append(b.lines, b.inst.line)
	b.Blocks[b.Layout[len(b.Layout)-1]].End = n + 1
}

// source returns the offset that a comment such as " @0021" gives.
func source(comment string) uint32 {
	s, ok := strings.CutPrefix(strings.TrimSpace(comment), "@")
	if !ok {
		return 0
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }); i >= 0 {
		s = s[:i]
	}
	n, _ := strconv.ParseUint(s, 16, 32)
	return uint32(n)
}

var opcodes = clif.OpcodesByName()

func (p *parser) opcode(d *clif.InstData) {
	t := p.kind(tokIdent)
	name, typ, typed := strings.Cut(t.text, ".")
	op, ok := opcodes[name]
	if !ok || op == clif.OpNop {
		p.fail(t, "unknown instruction %s", t.describe())
		return
	}
	d.Op = op
	if typed {
		if d.Type = clif.ControlTypeByName(typ); d.Type == clif.Invalid {
			p.fail(t, "%q is not a type", typ)
		}
	}
}

// results gives the results of instruction n their types.
func (p *parser) results(n clif.Inst, d *clif.InstData, results []uint32) {
	b := &p.body
	var types []clif.Type
	switch {
	case d.Op == clif.OpCall:
		types = b.Mod.FuncSig(clif.FuncIndex(d.Aux)).Results
	case d.Op == clif.OpCallRef:
		types = b.Mod.Sigs[d.Aux].Results
	case d.Op == clif.OpExnArgs:
		if int64(d.Aux) >= int64(len(b.Mod.Tags)) {
			p.fail(b.inst, "tag%d is not declared", d.Aux)
			return
		}
		types = b.Mod.TagSig(d.Aux).Params
	case d.Op.HasResult():
		types = []clif.Type{d.Op.ResultType(d.Type)}
	}
	if len(types) != len(results) {
		p.fail(b.inst, "%v has %d results, not %d", d.Op, len(types), len(results))
		return
	}
	for i, r := range results {
		b.Values[r] = clif.ValueData{Type: types[i], Num: uint16(i), Def: uint32(n)}
	}
	if len(results) > 0 {
		d.Result, d.NumResults = clif.Value(results[0]), uint16(len(results))
	}
}

// formats parses the operands of each format: the inverse of the printer's
// table.
var formats = [...]func(*parser, *clif.InstData){
	clif.FormatNop:      func(*parser, *clif.InstData) {},
	clif.FormatConst:    parseConst,
	clif.FormatUnary:    parseArgs,
	clif.FormatBinary:   parseArgs,
	clif.FormatTernary:  parseArgs,
	clif.FormatIntCmp:   parseIntCmp,
	clif.FormatFloatCmp: parseFloatCmp,
	clif.FormatVconst:   parseVconst,
	clif.FormatExtract:  parseLane,
	clif.FormatInsert:   parseLane,
	clif.FormatShuffle:  parseShuffle,
	clif.FormatLoad:     parseMem,
	clif.FormatStore:    parseMem,
	clif.FormatEntity:   parseEntity,
	clif.FormatEntity2:  parseEntity,
	clif.FormatTrap:     parseTrap,
	clif.FormatTrapIf: func(p *parser, d *clif.InstData) {
		d.Args[0] = p.use()
		p.expect(",")
		parseTrap(p, d)
	},
	clif.FormatBound: func(p *parser, d *clif.InstData) {
		parseArgs(p, d)
		p.expect(",")
		parseTrap(p, d)
	},
	clif.FormatCharge: func(p *parser, d *clif.InstData) {
		d.Imm = p.number()
		p.expect(",")
		parseTrap(p, d)
	},
	clif.FormatChargeBy: func(p *parser, d *clif.InstData) {
		d.Args[0] = p.use()
		p.expect(",")
		parseTrap(p, d)
	},
	clif.FormatJump: func(p *parser, d *clif.InstData) { d.Args[1] = p.target() },
	clif.FormatBranch: func(p *parser, d *clif.InstData) {
		d.Args[0] = p.use()
		p.expect(",")
		d.Args[1] = p.target()
		p.expect(",")
		d.Args[2] = p.target()
	},
	clif.FormatCatch: func(p *parser, d *clif.InstData) {
		d.Args[1] = p.target()
		p.expect(",")
		d.Args[2] = p.target()
	},
	clif.FormatBrTable: parseBrTable,
	clif.FormatReturn:  parseReturn,
	clif.FormatRaise:   func(*parser, *clif.InstData) {},
	clif.FormatList: func(p *parser, d *clif.InstData) {
		info := d.Op.Info()
		if info.Entity == clif.EntTag {
			d.Aux = p.entity("tag", len(p.mod.Tags))
		} else {
			d.Aux = p.entity("type", len(p.mod.Types))
		}
		if info.Entity2 != clif.EntNone {
			p.expect(",")
			d.Imm = uint64(p.ref(info.Entity2.String()))
		}
		p.varArgs(d, p.uses())
	},
	clif.FormatRefTest: func(p *parser, d *clif.InstData) {
		d.Args[0] = p.use()
		p.expect(",")
		d.Aux = uint32(p.valType())
		p.expect(",")
		d.Imm = uint64(p.valType())
	},
	clif.FormatCall: func(p *parser, d *clif.InstData) {
		d.Aux = p.entity("fn", len(p.mod.Funcs))
		p.varArgs(d, p.uses())
	},
	clif.FormatCallRef: func(p *parser, d *clif.InstData) {
		d.Aux = p.entity("sig", len(p.mod.Sigs))
		p.expect(",")
		d.Args[0] = p.use()
		p.varArgs(d, p.uses())
	},
}

func (p *parser) varArgs(d *clif.InstData, list []uint32) {
	l := clif.MakeList(p.body.Func, list)
	d.Args[1], d.Args[2] = l.Off, l.Len
}

func parseConst(p *parser, d *clif.InstData) {
	if d.Op == clif.OpRefNull {
		return
	}
	d.Imm = p.constant(d.Type)
}

func parseArgs(p *parser, d *clif.InstData) {
	for i := range d.Operands() {
		if i > 0 {
			p.expect(",")
		}
		d.Args[i] = p.use()
	}
}

func parseVconst(p *parser, d *clif.InstData) {
	t := p.kind(tokNumber)
	low, high, err := ParseV128(t.text)
	if err != nil {
		p.fail(t, "%v", err)
	}
	d.SetV128(low, high)
}

func parseLane(p *parser, d *clif.InstData) {
	parseArgs(p, d)
	p.expect(",")
	d.Imm = p.number()
}

func parseShuffle(p *parser, d *clif.InstData) {
	parseArgs(p, d)
	p.expect(",")
	t := p.peek()
	var lanes []uint8
	p.list("[", "]", func() { lanes = append(lanes, uint8(min(p.number(), 255))) })
	if len(lanes) != 16 {
		p.fail(t, "%d lanes, want 16", len(lanes))
		return
	}
	d.SetLanes([16]uint8(lanes))
}

// oneOf reads a name out of n names.
func oneOf[T interface {
	~uint8
	String() string
}](p *parser, what string, n T) T {
	t := p.kind(tokIdent)
	for i := range n {
		if i.String() == t.text {
			return i
		}
	}
	p.fail(t, "%s is not a %s", t.describe(), what)
	return 0
}

func parseIntCmp(p *parser, d *clif.InstData) {
	d.Cond = uint8(oneOf(p, "condition", clif.NumIntCCs))
	p.expect(",")
	parseArgs(p, d)
}

func parseFloatCmp(p *parser, d *clif.InstData) {
	d.Cond = uint8(oneOf(p, "condition", clif.NumFloatCCs))
	p.expect(",")
	parseArgs(p, d)
}

func parseMem(p *parser, d *clif.InstData) {
	if !p.isRef("mem") {
		d.Cond = uint8(oneOf(p, "width", clif.NumAccesses))
	}
	d.Aux = p.ref("mem")
	d.Args[0] = p.use()
	if p.accept("+") {
		d.Imm = p.number()
	}
	if d.Op.Info().Format == clif.FormatStore {
		p.expect(",")
		d.Args[1] = p.use()
	}
}

func parseEntity(p *parser, d *clif.InstData) {
	info := d.Op.Info()
	d.Aux = p.ref(info.Entity.String())
	if info.Format == clif.FormatEntity2 {
		p.expect(",")
		d.Imm = uint64(p.ref(info.Entity2.String()))
	}
	if n := len(p.mod.Funcs); d.Op == clif.OpFuncAddr && int64(d.Aux) < int64(n) && p.mod.Funcs[d.Aux].Import == nil {
		p.mod.Funcs[d.Aux].Addressed = true
	}
	for i := range d.Operands() {
		p.expect(",")
		d.Args[i] = p.use()
	}
}

func parseTrap(p *parser, d *clif.InstData) {
	t := p.kind(tokIdent)
	code, ok := abi.TrapByName(t.text)
	if !ok {
		p.fail(t, "%s is not a trap code", t.describe())
	}
	d.Cond = uint8(code)
}

func parseReturn(p *parser, d *clif.InstData) {
	var vs []uint32
	if p.isRef("v") {
		for vs = append(vs, p.use()); p.accept(","); {
			vs = append(vs, p.use())
		}
	}
	p.varArgs(d, vs)
}

// target reads a block with arguments.
func (p *parser) target() uint32 {
	b := &p.body
	t := clif.TargetData{Block: p.block()}
	if p.is("(") {
		t.Args = clif.MakeList(b.Func, p.uses())
	}
	b.Targets = append(b.Targets, t)
	return uint32(len(b.Targets) - 1)
}

// parseBrTable merges targets with the same text into one.
func parseBrTable(p *parser, d *clif.InstData) {
	d.Args[0] = p.use()
	p.expect(",")
	var targets []uint32
	seen := map[string]uint32{}
	p.list("[", "]", func() {
		start := p.at
		t := p.target()
		var key strings.Builder
		for _, tok := range p.toks[start:max(p.at, start)] {
			key.WriteString(tok.text)
		}
		if old, ok := seen[key.String()]; ok {
			p.body.Targets = p.body.Targets[:t]
			t = old
		}
		seen[key.String()] = t
		targets = append(targets, t)
	})
	p.varArgs(d, targets)
	if p.accept("rare") {
		d.Cond = clif.TableRare
	}
}
