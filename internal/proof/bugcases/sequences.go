package bugcases

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// AccessSequences are random sequences of accesses near the end of a memory, which share addresses and differ in offsets and widths: compilers conclude from
// one access that another is in bounds. Between them are branches, loops, calls, changes of what addresses are computed from, and growth. Which access
// traps first depends on how far each goes.
func AccessSequences(choice Choice) (out []Case) {
	for seed := range uint64(480) {
		if !choice.Has(int(seed), 12) {
			continue
		}
		out = append(out, Case{fmt.Sprint(seed), func() *compare.Case { return newSequences(seed).module() }})
	}
	return out
}

// sequences writes functions with sequences. Their parameters are two distances of addresses from the end of memory and a number that decides branches.
type sequences struct {
	*rand.Rand
	loads, stores []wat.Operator
	body          strings.Builder
}

// Locals of the functions: two addresses, bits for branches, what was loaded, the iterations of a loop.
const (
	seqFirst, seqSecond = "(local.get 0)", "(local.get 1)"
	seqBits, seqLoaded  = "(local.get 2)", "(local.get 3)"
	seqLocals           = "(local i64 i32)"
)

func newSequences(seed uint64) *sequences {
	s := &sequences{Rand: rand.New(rand.NewPCG(seed, 1))}
	s.loads, s.stores = wat.Accesses()
	return s
}

func (s *sequences) module() *compare.Case {
	const functions, calls = 16, 24
	var b compare.Builder
	for range functions {
		s.body.Reset()
		s.body.WriteString(seqLocals)
		for n := range 2 { // distances become addresses
			fmt.Fprintf(&s.body, "(local.set %d (i32.sub (i32.shl (memory.size) (i32.const 16)) (local.get %d)))", n, n)
		}
		s.block(6, 3)
		s.body.WriteString(seqLoaded)
		var args [][]uint64
		for range calls {
			args = append(args, []uint64{uint64(s.IntN(48)), uint64(s.IntN(48)), uint64(s.Uint32())})
		}
		b.Add("iii", "l", s.body.String(), args...)
	}
	const helpers = `(func $grow (drop (memory.grow (i32.const 1)))) (func $called (param i32) (result i32) ` + wat.NotInlined + `(i32.add (local.get 0) (i32.const 1)))`
	memory := []string{"1 4", "1"}[s.IntN(2)]
	return compare.Single(`(module (memory (export "memory") `+memory+`)`+wat.Filled(65536-64, 64)+helpers+b.String()+")", b.Calls...)
}

// block writes up to n statements, nested at most depth deep.
func (s *sequences) block(n, depth int) {
	for range 1 + s.IntN(n) {
		s.statement(depth)
	}
}

func (s *sequences) statement(depth int) {
	kind := s.IntN(16)
	if depth == 0 {
		kind %= 12
	}
	bit := fmt.Sprintf("(i32.and %s (i32.const %d))", seqBits, 1<<s.IntN(20))
	switch kind {
	case 8: // an instruction that changes memory
		place := s.place(4)
		fmt.Fprintf(&s.body, "(i32.store %s (i32.add (i32.load %s) (i32.const 1)))", place, place)
	case 9:
		fmt.Fprintf(&s.body, "(local.set %d (call $called (local.get %[1]d)))", s.IntN(2))
	case 10:
		fmt.Fprintf(&s.body, "(local.set %d (i32.add (local.get %[1]d) (i32.const %d)))", s.IntN(2), s.IntN(16)-8)
	case 11:
		if s.IntN(12) == 0 {
			fmt.Fprintf(&s.body, "(if %s (then (call $grow)))", bit)
		}
	case 12, 13:
		s.body.WriteString("(if " + bit + "(then ")
		s.block(3, depth-1)
		s.body.WriteString(") (else ")
		s.block(3, depth-1)
		s.body.WriteString("))")
	case 14:
		s.body.WriteString("(block (br_if 0 " + bit + ")")
		s.block(3, depth-1)
		s.body.WriteString(")")
	case 15:
		s.body.WriteString("(local.set 4 (i32.const 3))")
		if s.IntN(2) == 0 { // the condition at the top, behind an access
			s.body.WriteString("(block (loop ")
			s.access(false)
			s.body.WriteString("(br_if 1 (i32.eqz (local.get 4)))")
			s.block(3, 0)
			s.body.WriteString("(local.set 4 (i32.shr_u (local.get 4) (i32.const 1))) (br 0)))")
			return
		}
		s.body.WriteString("(loop ")
		s.block(3, 0)
		s.body.WriteString("(br_if 0 (local.tee 4 (i32.shr_u (local.get 4) (i32.const 1)))))")
	default:
		s.access(kind < 3)
	}
}

// access writes a load, which may be an operand of an instruction, or a store.
func (s *sequences) access(store bool) {
	if store {
		op := &s.stores[s.IntN(len(s.stores))]
		fmt.Fprintf(&s.body, "(%s %s %s)", op.Name, s.place(op.Width), wat.Const(op.Params[1], s.Uint64()))
		return
	}
	op := &s.loads[s.IntN(len(s.loads))]
	load := fmt.Sprintf("(%s %s)", op.Name, s.place(op.Width))
	if s.IntN(4) == 0 {
		s.body.WriteString("(drop " + load + ")")
		return
	}
	fmt.Fprintf(&s.body, "(local.set 3 (i64.add %s %s))", seqLoaded, wat.ToI64(op.Type(), load))
}

// place returns offset and address of an access of width bytes; offsets end alike often.
func (s *sequences) place(width uint64) string {
	offset := uint64(s.IntN(24))
	if s.IntN(2) == 0 {
		offset = 24 - width
	}
	address := []string{seqFirst, seqSecond}[s.IntN(2)]
	switch s.IntN(8) {
	case 0:
		address = fmt.Sprintf("(i32.add %s (i32.const %d))", address, s.IntN(24)-8)
	case 1: // in memory, or just not
		address, offset = wat.Const('i', 65536-uint64(s.IntN(32))), uint64(s.IntN(12))
	}
	return fmt.Sprintf("offset=%d %s", offset, address)
}
