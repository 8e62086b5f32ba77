package wat

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

const (
	opElse = byte(wasmfront.OpElse)
	opEnd  = byte(wasmfront.OpEnd)
)

// opcodes are the operators by their names.
var opcodes = func() map[string]wasmfront.Opcode {
	m := map[string]wasmfront.Opcode{}
	for _, op := range wasmfront.Opcodes() {
		m[op.String()] = op
	}
	return m
}()

// constant returns a constant expression.
func (a *assembler) constant(e []node) []byte {
	var b []byte
	a.instrs(&b, e)
	return append(b, opEnd)
}

// instrs appends operators, plain or folded.
func (a *assembler) instrs(b *[]byte, list []node) {
	for len(list) > 0 {
		n := list[0]
		list = list[1:]
		switch n.kind {
		case 'l':
			a.folded(b, n.head(), n.list[min(1, len(n.list)):])
		case 'a':
			// A plain operator: its immediates follow, up to the next operator.
			k := 0
			for k < len(list) && !startsOperator(&list[k]) {
				k++
			}
			rest := list[:k]
			list = list[k:]
			a.instr(b, n.atom, &rest)
			if len(rest) > 0 {
				fail("%s: immediates left", n.atom)
			}
		default:
			fail("a string among operators")
		}
	}
}

// startsOperator reports whether n is no immediate of the operator before it.
func startsOperator(n *node) bool {
	if n.kind == 'l' {
		return !n.headIs("type", "param", "result")
	}
	_, ok := opcodes[n.atom]
	return ok
}

// folded appends an operator behind its operands, or a block.
func (a *assembler) folded(b *[]byte, op string, rest []node) {
	switch op {
	case "block", "loop":
		label, _ := takeName(&rest)
		*b = append(append(*b, byte(opcodes[op])), a.blockType(takeTypeUse(&rest))...)
		a.block(b, label, func() { a.instrs(b, rest) })
	case "if":
		a.ifElse(b, rest)
	default:
		var code []byte
		a.instr(&code, op, &rest)
		a.instrs(b, rest)
		*b = append(*b, code...)
	}
}

// block appends what is inside a block, and its end.
func (a *assembler) block(b *[]byte, label string, inside func()) {
	a.labels = append(a.labels, label)
	inside()
	a.labels = a.labels[:len(a.labels)-1]
	*b = append(*b, opEnd)
}

func (a *assembler) ifElse(b *[]byte, rest []node) {
	label, _ := takeName(&rest)
	t := a.blockType(takeTypeUse(&rest))
	for len(rest) > 0 && rest[0].head() != "then" {
		a.instrs(b, rest[:1])
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest) > 2 || len(rest) == 2 && rest[1].head() != "else" {
		fail("if without then, or with more than then and else")
	}
	*b = append(append(*b, byte(opcodes["if"])), t...)
	a.block(b, label, func() {
		a.instrs(b, rest[0].list[1:])
		if len(rest) > 1 {
			*b = append(*b, opElse)
			a.instrs(b, rest[1].list[1:])
		}
	})
}

// blockType translates the type of a block; one without parameters and with at most one result has a short form.
func (a *assembler) blockType(used []node) []byte {
	const none = 0x40
	if len(used) == 0 {
		return []byte{none}
	}
	if used[0].head() != "type" {
		switch params, results := signature(used); {
		case len(params)+len(results) == 0:
			return []byte{none}
		case len(params) == 0 && len(results) == 1:
			return results
		}
	}
	i, _ := a.typeUse(used)
	return signed(int64(i))
}

// instr appends an operator with its immediates, which it takes from the front of rest.
func (a *assembler) instr(b *[]byte, name string, rest *[]node) {
	op, ok := opcodes[name]
	if !ok {
		fail("operator %q", name)
	}
	if name == "select" && len(*rest) > 0 && (*rest)[0].head() == "result" {
		_, t := signature((*rest)[:1])
		*rest = (*rest)[1:]
		*b = append(append(*b, byte(wasmfront.OpSelectT)), sized(t)...)
		return
	}
	if op < 0x100 {
		*b = append(*b, byte(op))
	} else {
		*b = append(append(*b, byte(op>>8)), unsigned(uint64(op&0xFF))...)
	}
	encode, ok := immediateForms[op.Info().Imm]
	if !ok {
		fail("%s: immediates of its form are not known here", name)
	}
	encode(&immediates{a, op, rest, b})
}

// immediates are those of an operator: taken from the front of rest, encoded to out.
type immediates struct {
	*assembler
	op   wasmfront.Opcode
	rest *[]node
	out  *[]byte
}

// immediateForms are the forms of immediates that the assembler knows.
var immediateForms = map[wasmfront.ImmKind]func(m *immediates){
	wasmfront.ImmNone:         func(*immediates) {},
	wasmfront.ImmLabel:        func(m *immediates) { m.put(m.label(m.next())) },
	wasmfront.ImmBrTable:      (*immediates).brTable,
	wasmfront.ImmFunc:         func(m *immediates) { m.put(m.entity(abi.ExternFunc).index(m.next())) },
	wasmfront.ImmCallIndirect: (*immediates).callIndirect,
	wasmfront.ImmLocal:        func(m *immediates) { m.put(m.locals.index(m.next())) },
	wasmfront.ImmGlobal:       func(m *immediates) { m.put(m.entity(abi.ExternGlobal).index(m.next())) },
	wasmfront.ImmTable:        func(m *immediates) { m.put(m.optional(abi.ExternTable)) },
	wasmfront.ImmTable2:       func(m *immediates) { m.put(m.optional(abi.ExternTable)); m.put(m.optional(abi.ExternTable)) },
	wasmfront.ImmElem:         func(m *immediates) { m.put(m.elems.index(m.next())) },
	wasmfront.ImmElemTable:    (*immediates).elemTable,
	wasmfront.ImmData:         func(m *immediates) { m.put(m.datas.index(m.next())) },
	wasmfront.ImmDataMem:      func(m *immediates) { m.put(m.datas.index(m.next())); m.put(0) },
	wasmfront.ImmMem:          func(m *immediates) { m.put(0) },
	wasmfront.ImmMem2:         func(m *immediates) { m.put(0); m.put(0) },
	wasmfront.ImmMemArg:       (*immediates).memArg,
	wasmfront.ImmI32:          func(m *immediates) { *m.out = append(*m.out, signed(integer(m.next(), 32))...) },
	wasmfront.ImmI64:          func(m *immediates) { *m.out = append(*m.out, signed(integer(m.next(), 64))...) },
	wasmfront.ImmF32:          func(m *immediates) { *m.out = binary.LittleEndian.AppendUint32(*m.out, uint32(float(m.next(), 32))) },
	wasmfront.ImmF64:          func(m *immediates) { *m.out = binary.LittleEndian.AppendUint64(*m.out, float(m.next(), 64)) },
	wasmfront.ImmRefType:      func(m *immediates) { *m.out = append(*m.out, valueType(m.next())) },
}

// more reports whether there is another immediate that is an atom.
func (m *immediates) more() bool {
	return len(*m.rest) > 0 && (*m.rest)[0].kind == 'a' && !startsOperator(&(*m.rest)[0])
}

// next takes an immediate that must be there.
func (m *immediates) next() string {
	if !m.more() {
		fail("%v: immediate missing", m.op)
	}
	s := (*m.rest)[0].atom
	*m.rest = (*m.rest)[1:]
	return s
}

func (m *immediates) entity(kind abi.ExternKind) *space { return &m.entities[kind] }

// optional takes an index, which is 0 if it is left out.
func (m *immediates) optional(kind abi.ExternKind) uint32 {
	if m.more() {
		return m.entity(kind).index(m.next())
	}
	return 0
}

func (m *immediates) put(x uint32) { *m.out = append(*m.out, unsigned(uint64(x))...) }

// label returns the number of blocks between here and the one that an atom names.
func (a *assembler) label(atom string) uint32 {
	for i := len(a.labels) - 1; i >= 0; i-- {
		if a.labels[i] == atom {
			return uint32(len(a.labels) - 1 - i)
		}
	}
	return (&space{}).index(atom)
}

func (m *immediates) brTable() {
	labels := []uint32{m.label(m.next())}
	for m.more() {
		labels = append(labels, m.label(m.next()))
	}
	m.put(uint32(len(labels) - 1))
	for _, l := range labels {
		m.put(l)
	}
}

func (m *immediates) callIndirect() {
	table := m.optional(abi.ExternTable)
	t, _ := m.typeUse(takeTypeUse(m.rest))
	m.put(t)
	m.put(table)
}

// elemTable is an optional table and a segment, in this order in the text.
func (m *immediates) elemTable() {
	table, segment := uint32(0), m.next()
	if m.more() {
		table, segment = m.entity(abi.ExternTable).index(segment), m.next()
	}
	m.put(m.elems.index(segment))
	m.put(table)
}

// memArg is an alignment, the number of bytes accessed if it is left out, and an offset.
func (m *immediates) memArg() {
	offset, align := uint64(0), uint64(1)<<m.op.Info().Align
	for m.more() {
		switch key, value, _ := strings.Cut(m.next(), "="); key {
		case "offset":
			offset = natural(value)
		case "align":
			if align = natural(value); bits.OnesCount64(align) != 1 {
				fail("%v: an alignment of %d", m.op, align)
			}
		default:
			fail("%v %s", m.op, key)
		}
	}
	*m.out = append(append(*m.out, unsigned(uint64(bits.TrailingZeros64(align)))...), unsigned(offset)...)
}
