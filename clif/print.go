package clif

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// String returns the text form of f, which clif/text parses: a header line, blocks
// with parameters, one instruction a line.
//
//	function fn3 "name" (i32, i64) -> (i32) {
//	block0(v0: i32, v1: i64):
//	    v2 = ireduce.i32 v1
//	    v3 = iadd.i32 v0, v2                ; @0021
//	    br v3, block1(v2), block2
//	    ...
//	}
//
// The comment is the offset in the Wasm module.
func (f *Func) String() string {
	p := Printer{F: f}
	return p.String()
}

// Printer writes parts of a function.
type Printer struct {
	F *Func
	// Annotate, if not nil, gives a comment for the end of an instruction's line.
	Annotate func(Inst) string
}

// String returns the text of the whole function, with annotations.
func (p *Printer) String() string {
	var b strings.Builder
	p.header(&b)
	for _, blk := range p.F.Layout {
		p.block(&b, blk)
	}
	b.WriteString("}\n")
	return b.String()
}

func typeList(ts []Type) string {
	s := make([]string, len(ts))
	for i, t := range ts {
		s[i] = t.String()
	}
	return "(" + strings.Join(s, ", ") + ")"
}

// String returns the text form of a signature: (i32, i64) -> (f32).
func (s *Signature) String() string {
	return typeList(s.Params) + " -> " + typeList(s.Results)
}

func (p *Printer) header(b *strings.Builder) {
	f := p.F
	fmt.Fprintf(b, "function fn%d %s %v {\n", f.Index, strconv.Quote(f.Name), f.Signature())
}

// Head returns the line in front of the instructions of a block, without the colon: its name and its parameters.
func (p *Printer) Head(blk Block) string {
	f := p.F
	var b strings.Builder
	b.WriteString(blk.String())
	if params := f.Params(blk); len(params) > 0 {
		b.WriteByte('(')
		for i, v := range params {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%v: %v", Value(v), f.TypeOf(Value(v)))
		}
		b.WriteByte(')')
	}
	return b.String()
}

func (p *Printer) block(b *strings.Builder, blk Block) {
	f := p.F
	b.WriteString(p.Head(blk) + ":\n")
	for i := f.Blocks[blk].Start; i < f.Blocks[blk].End; i++ {
		if f.Insts[i].Op == OpNop {
			continue
		}
		line := "    " + p.Inst(i)
		var comment string
		if f.Srcs[i] != 0 {
			comment = f.PlaceText(f.Srcs[i])
		}
		if p.Annotate != nil {
			comment = strings.TrimPrefix(comment+" "+p.Annotate(i), " ")
			comment = strings.TrimSuffix(comment, " ")
		}
		if comment != "" {
			line = fmt.Sprintf("%-50s ; %s", line, comment)
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// PlaceText describes a place: its offset, and where the call is that was inlined, outwards.
func (f *Func) PlaceText(place uint32) string {
	s := ""
	abi.Activations(f.Inlined, uint32(f.Index), place, func(a abi.Activation) bool {
		if s == "" {
			s = fmt.Sprintf("@%04x", a.Offset)
		} else {
			s += fmt.Sprintf(" called at @%04x", a.Offset)
		}
		return true
	})
	return s
}

// Inst returns the text of one instruction, without indentation.
func (p *Printer) Inst(i Inst) string {
	f := p.F
	d := &f.Insts[i]
	var b strings.Builder
	for n := range Value(d.NumResults) {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString((d.Result + n).String())
	}
	if d.NumResults > 0 {
		b.WriteString(" = ")
	}
	b.WriteString(d.Op.String())
	if d.Type != Invalid {
		b.WriteString("." + d.Type.String())
	}
	formats[d.Op.Info().Format](p, &b, d)
	return b.String()
}

// formats writes the operands of each format.
var formats = [...]func(*Printer, *strings.Builder, *InstData){
	FormatNop:      func(*Printer, *strings.Builder, *InstData) {},
	FormatConst:    printConst,
	FormatUnary:    printArgs,
	FormatBinary:   printArgs,
	FormatTernary:  printArgs,
	FormatIntCmp:   func(p *Printer, b *strings.Builder, d *InstData) { printCond(p, b, d, d.IntCC()) },
	FormatFloatCmp: func(p *Printer, b *strings.Builder, d *InstData) { printCond(p, b, d, d.FloatCC()) },
	FormatVconst: func(_ *Printer, b *strings.Builder, d *InstData) {
		low, high := d.V128()
		fmt.Fprintf(b, " 0x%016x%016x", high, low)
	},
	FormatExtract: printLane,
	FormatInsert:  printLane,
	FormatShuffle: printShuffle,
	FormatLoad:    printMem,
	FormatStore:   printMem,
	FormatEntity:  printEntity,
	FormatEntity2: printEntity,
	FormatTrap:    func(_ *Printer, b *strings.Builder, d *InstData) { b.WriteString(" " + d.Trap().String()) },
	FormatTrapIf: func(_ *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %v, %v", d.ArgA(), d.Trap())
	},
	FormatBound: func(_ *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %v, %v, %v", d.ArgA(), d.ArgB(), d.Trap())
	},
	FormatCharge: func(_ *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %d, %v", d.Imm, d.Trap())
	},
	FormatChargeBy: func(_ *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %v, %v", d.ArgA(), d.Trap())
	},
	FormatJump: func(p *Printer, b *strings.Builder, d *InstData) { b.WriteString(" " + p.target(Target(d.Args[1]))) },
	FormatBranch: func(p *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %v, %s, %s", d.ArgA(), p.target(Target(d.Args[1])), p.target(Target(d.Args[2])))
	},
	FormatCatch: func(p *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " %s, %s", p.target(Target(d.Args[1])), p.target(Target(d.Args[2])))
	},
	FormatBrTable: printBrTable,
	FormatReturn:  func(p *Printer, b *strings.Builder, d *InstData) { printList(b, p.F.ListOperands(d)) },
	FormatRaise:   func(*Printer, *strings.Builder, *InstData) {},
	FormatList:    printEntityList,
	FormatCall:    printEntityList,
	FormatRefTest: func(_ *Printer, b *strings.Builder, d *InstData) {
		from, want := d.RefTestTypes()
		fmt.Fprintf(b, " %v, %v, %v", d.ArgA(), from, want)
	},
	FormatCallRef: func(p *Printer, b *strings.Builder, d *InstData) {
		fmt.Fprintf(b, " sig%d, %v", d.Aux, d.ArgA())
		printParens(b, p.F.ListOperands(d))
	},
}

// printEntityList writes: call fn3(v1, v2).
func printEntityList(p *Printer, b *strings.Builder, d *InstData) {
	info := d.Op.Info()
	fmt.Fprintf(b, " %v%d", info.Entity, d.Aux)
	if info.Entity2 != EntNone {
		fmt.Fprintf(b, ", %v%d", info.Entity2, d.Imm)
	}
	printParens(b, p.F.ListOperands(d))
}

func printConst(_ *Printer, b *strings.Builder, d *InstData) {
	switch d.Op {
	case OpIconst:
		x := int64(d.Imm)
		if d.Type == I32 {
			x = int64(int32(d.Imm))
		}
		fmt.Fprintf(b, " %d", x)
	case OpFconst:
		fmt.Fprintf(b, " 0x%x", d.Imm)
	}
}

func printArgs(_ *Printer, b *strings.Builder, d *InstData) {
	printList(b, d.Operands())
}

// printLane writes: vinsert.i32x4 v1, v2, 3.
func printLane(p *Printer, b *strings.Builder, d *InstData) {
	printArgs(p, b, d)
	fmt.Fprintf(b, ", %d", d.Lane())
}

// printShuffle writes: vshuffle.i8x16 v1, v2, [0, 16, 1, 17, …].
func printShuffle(p *Printer, b *strings.Builder, d *InstData) {
	printArgs(p, b, d)
	lanes := d.Lanes()
	b.WriteString(", [" + strings.Trim(strings.ReplaceAll(fmt.Sprint(lanes), " ", ", "), "[]") + "]")
}

func printList(b *strings.Builder, args []uint32) {
	for i, a := range args {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %v", Value(a))
	}
}

func printParens(b *strings.Builder, args []uint32) {
	b.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Value(a).String())
	}
	b.WriteByte(')')
}

func printCond(p *Printer, b *strings.Builder, d *InstData, cc fmt.Stringer) {
	fmt.Fprintf(b, " %v,", cc)
	printArgs(p, b, d)
}

// printMem writes: load.i64 u8 mem0 v1+16.
func printMem(_ *Printer, b *strings.Builder, d *InstData) {
	if d.Access() != Full {
		fmt.Fprintf(b, " %v", d.Access())
	}
	fmt.Fprintf(b, " mem%d %v+%d", d.Aux, d.ArgA(), d.Imm)
	if d.Op.Info().Format == FormatStore {
		fmt.Fprintf(b, ", %v", d.ArgB())
	}
}

func printEntity(_ *Printer, b *strings.Builder, d *InstData) {
	info := d.Op.Info()
	fmt.Fprintf(b, " %v%d", info.Entity, d.Aux)
	if info.Format == FormatEntity2 {
		fmt.Fprintf(b, ", %v%d", info.Entity2, d.Imm)
	}
	for _, a := range d.Operands() {
		fmt.Fprintf(b, ", %v", Value(a))
	}
}

func printBrTable(p *Printer, b *strings.Builder, d *InstData) {
	fmt.Fprintf(b, " %v, [", d.ArgA())
	for i, t := range p.F.TargetsOf(d) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.target(Target(t)))
	}
	b.WriteByte(']')
	if d.Cond == TableRare {
		b.WriteString(" rare")
	}
}

func (p *Printer) target(t Target) string {
	var b strings.Builder
	b.WriteString(p.F.Targets[t].Block.String())
	if args := p.F.TargetArgs(t); len(args) > 0 {
		printParens(&b, args)
	}
	return b.String()
}
