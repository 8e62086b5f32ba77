package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/wat"
)

// constantsEverywhere is the text of a module whose function adds up, in each of many blocks, one of many large constants. The first block defines
// them all, so that each is live in all blocks: more pairs of value and block than the allocator accepts. The second half of the blocks is in a loop.
func constantsEverywhere(constants, blocks int) string {
	var s strings.Builder
	s.WriteString(`(module (memory 1) (func (export "f") (param i64 i64) (result i64)`)
	sum := func(k int) {
		fmt.Fprintf(&s, "(local.set 1 (i64.add (local.get 1) (i64.mul (local.get 1) (i64.const %#x))))\n", 0x123456789abcdef+k)
	}
	for k := range constants {
		sum(k)
	}
	for b := range blocks {
		if b == blocks/2 {
			s.WriteString("(loop $again ")
		}
		fmt.Fprintf(&s, "(if (i64.lt_u (i64.load offset=%d (i32.const 0)) (local.get 1)) (then ", b%1000)
		sum(b % constants)
		s.WriteString("))")
	}
	s.WriteString("(br_if $again (i64.eqz (local.get 1))))")
	for k := range constants {
		sum(k)
	}
	s.WriteString("(local.get 1)))")
	return s.String()
}

func TestConstantsEverywhere(t *testing.T) {
	const constants, blocks = 200, 14000 // 5.6 million pairs
	wasm, err := wat.Assemble(constantsEverywhere(constants, blocks))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range compile.Targets() {
		// The log has the rewrites of one lowering, though the function was lowered twice.
		control := &opt.Control{Limit: -1}
		shown := 0
		trace := &backend.Trace{VCode: func(*clif.Func, string) { shown++ }}
		_, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Target: target, Verify: true, Trace: trace,
			Control: func(clif.FuncIndex) *opt.Control { return control }})
		if err != nil {
			t.Errorf("%s: %v", target, err)
		}
		if shown != 2 { // f, and what makes the instance
			t.Errorf("%s: the VCode of %d functions is shown", target, shown)
		}
		lowered := 0
		for i := range control.Log {
			if control.Log[i].Rule.Pass == rewrite.LowerPass {
				lowered++
			}
		}
		if lowered < 3*blocks || lowered > 4*blocks {
			t.Errorf("%s: %d rewrites of lowering, of about three for each block", target, lowered)
		}
	}
}

// TestTooManyPairs: a function whose values live in too many blocks is refused, with its place in the module.
func TestTooManyPairs(t *testing.T) {
	const values, blocks = 2500, 2500
	var s strings.Builder
	s.WriteString(`(module (func) (func $many (export "f") (param i32) (result i32)`)
	for k := range values {
		fmt.Fprintf(&s, "(local $%d i32)", k)
	}
	for k := range values {
		fmt.Fprintf(&s, "(local.set $%d (i32.add (local.get 0) (i32.const %d)))", k, k)
	}
	s.WriteString(strings.Repeat("(if (local.get 0) (then (drop (call $many (local.get 0)))))", blocks) + "(i32.const 0)")
	for k := range values {
		fmt.Fprintf(&s, "(i32.xor (local.get $%d))", k)
	}
	s.WriteString("))")
	wasm, err := wat.Assemble(s.String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = compile.Module(wasm, compile.Options{OptLevel: opt.O0})
	var failed *compile.FuncError
	if !errors.As(err, &failed) || !errors.Is(err, backend.ErrUnsupported) {
		t.Fatal(err)
	}
	// The body begins with the declaration of its locals, and the first computation.
	if body := []byte{1, 0xC4, 0x13, 0x7F, 0x20, 0, 0x41, 0, 0x6A, 0x21, 1}; !bytes.HasPrefix(wasm[failed.Offset:], body) {
		t.Errorf("offset %d", failed.Offset)
	}
	if want := fmt.Sprintf("offset %#x: function 1 (many): regalloc: unsupported: function too large: more than ", failed.Offset); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s...", err, want)
	}
}
