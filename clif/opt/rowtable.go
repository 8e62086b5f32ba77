package opt

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
)

// This file has the rows of all rules by opcode, in a form for decisions.

// rowTable has the rows by the opcodes of the whole. Those of an opcode are compiled when the first function has it, so that a small module
// does not wait for all.
type rowTable struct {
	rows []rowText
	byOp [clif.NumOpcodes]rowList

	mutex    sync.Mutex // of what compiling changes
	compiler rowCompiler
	compiled [clif.NumOpcodes]atomic.Pointer[candidates]
}

// rowText is a row as it is written, and compiled when it was needed.
type rowText struct {
	rule     Rule
	text     string
	exchange uint // which operands are exchanged, as in pattern.Parser
	types    clif.TypeSet
	last     bool
	row      *row
}

// rowList are the rows of an opcode, in order, by number.
type rowList struct {
	num  uint8
	rows [maxRows]uint8
}

const (
	maxRows    = 32
	maxClasses = 32
)

// candidates are the rows for an opcode, in order. A row is out of the question if needs, by operand and the class of the opcode that
// defines it, lacks its bit, or types or conds, by the instruction's type and condition, or if it is in same and the operands are not.
type candidates struct {
	rows  []*row
	same  uint32
	two   bool // there is a second operand
	types [clif.NumControlTypes]uint32
	conds [numConds]uint32
	needs [2][maxClasses]uint32
	// class tells the opcodes apart that the rows name for operands; 0 is all others.
	class [clif.NumOpcodes + 1]uint8
}

// newRowTable lists the rows of the rules. It panics if the opcodes of one are wrong; compiling panics for what else is.
func newRowTable(defs []ruleDef) *rowTable {
	ops := clif.OpcodesByName()
	t := &rowTable{rows: make([]rowText, 0, 1<<8)}
	for r := range defs {
		def := &defs[r]
		types := def.Types
		if types == 0 {
			types = ^types
		}
		for text := range rowTexts(def.Row) {
			left, _, _ := splitRow(text)
			for exchange := range pattern.Orders(left) {
				t.list(rowText{rule: Rule(r), text: text, exchange: uint(exchange), types: types, last: def.Last}, ops)
			}
		}
	}
	ops["op"], ops["in"] = opWhole, opInner
	conds := map[string]uint8{"cc": condSame, "swapped": condSwapped, "unsigned": condUnsigned, "inverse": condInverse}
	t.compiler.left.Ops, t.compiler.right.Ops, t.compiler.right.Conds = ops, ops, conds
	return t
}

// list makes a row one of those of its opcodes.
func (t *rowTable) list(r rowText, ops map[string]clif.Opcode) {
	n := len(t.rows)
	t.rows = append(t.rows, r)
	for name := range strings.SplitSeq(rowOpcodes(r.text), "|") {
		op, ok := ops[name]
		if !ok {
			r.fail(fmt.Errorf("%w: the left is no instruction", pattern.ErrWrong))
		}
		to := &t.byOp[op]
		if to.num == maxRows || n > math.MaxUint8 {
			r.fail(fmt.Errorf("%w: too many rows", pattern.ErrWrong))
		}
		to.rows[to.num] = uint8(n)
		to.num++
	}
}

func (r *rowText) fail(err error) {
	panic(fmt.Sprintf("rule %d: %v: %s", r.rule, err, r.text))
}

// of returns the rows of an opcode.
func (t *rowTable) of(op clif.Opcode) *candidates {
	if to := t.compiled[op].Load(); to != nil {
		return to
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if to := t.compiled[op].Load(); to != nil {
		return to
	}
	list := &t.byOp[op]
	to := &candidates{two: (&clif.InstData{Op: op}).NumArgs() > 1, rows: make([]*row, list.num)}
	for i := range to.rows {
		r := &t.rows[list.rows[i]]
		if r.row == nil {
			if r.row = t.compiler.compile(r); t.compiler.err != nil {
				r.fail(t.compiler.err)
			}
		}
		to.rows[i] = r.row
	}
	to.classify(op)
	for i := range to.rows {
		to.enter(i, op)
	}
	t.compiled[op].Store(to)
	return to
}

// rowTexts splits what a rule does into rows.
func rowTexts(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			var text string
			if text, s, _ = strings.Cut(s, "; "); !yield(text) {
				return
			}
		}
	}
}

// rowOpcodes returns the names of the opcodes of the whole.
func rowOpcodes(text string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(text, "("), " ")
	if end := strings.IndexAny(head, ".:!~"); end >= 0 {
		head = head[:end]
	}
	return head
}

// splitRow splits a row into its parts.
func splitRow(text string) (left, when, right string) {
	left, right, _ = strings.Cut(text, " => ")
	left, when, _ = strings.Cut(left, " when ")
	return left, when, right
}

// classify gives each opcode that a row names for an operand a class of its own.
func (to *candidates) classify(whole clif.Opcode) {
	last := uint8(0)
	for _, r := range to.rows {
		for k := range r.needs {
			for op := range r.needs[k].All {
				if op == clif.OpNop {
					op = whole
				}
				if to.class[op] == 0 {
					last++
					to.class[op] = last
				}
			}
		}
	}
	if last >= maxClasses {
		panic("rows name too many opcodes of operands")
	}
}

// enter fills in the bits of row n.
func (to *candidates) enter(n int, op clif.Opcode) {
	r, bit := to.rows[n], uint32(1)<<n
	if len(r.steps) > 0 && r.steps[0].do == askSame && r.steps[0].slot == r.roots[1] && r.steps[0].other == r.roots[0] {
		to.same |= bit
	}
	for t := range to.types {
		if r.types.Has(clif.Type(t)) {
			to.types[t] |= bit
		}
	}
	for cc := range to.conds {
		if r.conds>>cc&1 != 0 {
			to.conds[cc] |= bit
		}
	}
	for k := range to.needs {
		switch s := r.needs[k]; {
		case s.IsEmpty():
			for class := range to.needs[k] {
				to.needs[k][class] |= bit
			}
		case s.Has(clif.OpNop):
			to.needs[k][to.class[op]] |= bit
		default:
			for op := range s.All {
				to.needs[k][to.class[op]] |= bit
			}
		}
	}
}
