package clif_test

import (
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestAnnotate: annotations follow the source offset in the comment.
func TestAnnotate(t *testing.T) {
	m := &clif.Module{Sigs: []clif.Signature{{}}, Funcs: []clif.FuncDecl{{Name: "f"}}}
	f := &clif.Func{Name: "f", Mod: m}
	b := clif.Builder{F: f, Src: 0x21}
	b.SwitchTo(b.NewBlock())
	v := b.Iconst(clif.I64, 1<<63)
	b.Src = 0
	b.TrapIf(b.Unary(clif.OpIreduce, clif.I32, v), 1)
	b.Return(nil)
	p := clif.Printer{F: f, Annotate: func(i clif.Inst) string {
		if f.Insts[i].Op == clif.OpIconst || f.Insts[i].Op == clif.OpTrapIf {
			return "live: v0"
		}
		return ""
	}}
	for i, want := range []string{
		"v0 = iconst.i64 -9223372036854775808",
		"v1 = ireduce.i32 v0",
		"trapif v1, unreachable",
		"return",
	} {
		if got := p.Inst(clif.Inst(i)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want := `function fn0 "f" () -> () {
block0:
    v0 = iconst.i64 -9223372036854775808           ; @0021 live: v0
    v1 = ireduce.i32 v0
    trapif v1, unreachable                         ; live: v0
    return
}
`
	if got := p.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestOpcodeTable: names are distinct, and rows agree with themselves.
func TestOpcodeTable(t *testing.T) {
	seen := map[string]bool{}
	for op := range clif.NumOpcodes {
		info := op.Info()
		if info.Name == "" || seen[info.Name] {
			t.Errorf("opcode %d: name %q", op, info.Name)
		}
		seen[info.Name] = true
		if info.Types == 0 {
			t.Errorf("%v can have no type", op)
		}
		d := clif.InstData{Op: op}
		args := 0
		for args < len(info.Sig) && info.Sig[args] != ':' {
			args++
		}
		hasList := info.Format == clif.FormatCall || info.Format == clif.FormatCallRef || info.Format == clif.FormatReturn
		if !hasList && args != d.NumArgs() {
			t.Errorf("%v: %d operands in the signature %q, %d in the format", op, args, info.Sig, d.NumArgs())
		}
		if op.IsTerminator() && info.Format != clif.FormatTrap && info.Format < clif.FormatJump {
			t.Errorf("%v ends a block with format %d", op, info.Format)
		}
	}
}
