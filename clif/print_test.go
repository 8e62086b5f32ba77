package clif_test

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
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
		for ty := range clif.NumControlTypes {
			if info.Types.Has(ty) && op.HasResult() != (op.ResultType(ty) != clif.Invalid) {
				t.Errorf("%v of type %v: the result's type is %v", op, ty, op.ResultType(ty))
			}
		}
		d := clif.InstData{Op: op}
		args := 0
		for args < len(info.Sig) && info.Sig[args] != ':' {
			args++
		}
		hasList := info.Format == clif.FormatCall || info.Format == clif.FormatCallRef || info.Format == clif.FormatReturn || info.Format == clif.FormatList
		if !hasList && args != d.NumArgs() {
			t.Errorf("%v: %d operands in the signature %q, %d in the format", op, args, info.Sig, d.NumArgs())
		}
		if op.IsTerminator() && !op.IsTailCall() && info.Format != clif.FormatTrap && info.Format < clif.FormatJump {
			t.Errorf("%v ends a block with format %d", op, info.Format)
		}
	}
}

// TestOpcodeEffects: each opcode says its effects, and they are of what it names and of how it goes on.
func TestOpcodeEffects(t *testing.T) {
	const memory, table = effect.Memory | effect.MemorySize, effect.Table | effect.TableSize
	parts := map[clif.Entity]effect.Parts{clif.EntGlobal: effect.Global, clif.EntMemory: memory, clif.EntTable: table,
		clif.EntData: effect.Segments, clif.EntElem: effect.Segments, clif.EntType: effect.Heap}
	for op := range clif.NumOpcodes {
		info := op.Info()
		e := info.Effects
		if !e.Sound() {
			t.Errorf("%v: the effects are %b", op, e)
		}
		touched := (e.Read() | e.Written()) &^ (effect.Fuel | effect.Exception) // which no entity has
		of := touched
		for _, entity := range []clif.Entity{info.Entity, info.Entity2} {
			if p := parts[entity]; p != 0 && of&p == 0 && op != clif.OpHeapFull { // what that reads does not change as long as its operand means something
				t.Errorf("%v names a %v, which it neither reads nor writes", op, entity)
			}
			touched &^= parts[entity]
		}
		if touched != 0 && !e.Has(effect.Calls) {
			t.Errorf("%v reads or writes parts %b of no entity", op, touched)
		}
		calls := info.Format == clif.FormatCall || info.Format == clif.FormatCallRef
		if calls != e.Has(effect.Calls) || calls && !e.Has(effect.Traps) {
			t.Errorf("%v calls: %v, but its effects are %b", op, calls, e)
		}
		if control := info.Format == clif.FormatTrap || info.Format >= clif.FormatJump && !calls || op == clif.OpReturnCall || op == clif.OpReturnCallRef; control != e.Has(effect.Control) {
			t.Errorf("%v ends its block: %v, but its effects are %b", op, control, e)
		}
	}
}

// TestStates: what an instruction reads and writes is what its row says, of a global that global's part, and of a call what the callee does not keep.
func TestStates(t *testing.T) {
	m := &clif.Module{Globals: []clif.GlobalDecl{{Mutable: true}, {Mutable: true}}, Funcs: []clif.FuncDecl{{Keeps: ^clif.StateTable}}}
	for op := range clif.NumOpcodes {
		d := clif.InstData{Op: op}
		want := clif.StateOf(op.Info().Effects.Written())
		if op == clif.OpGlobalSet {
			d.Aux, want = 1, m.GlobalState(1)
		} else if op == clif.OpCall || op == clif.OpReturnCall {
			want = clif.StateTable
		} else if op == clif.OpCallRef || op == clif.OpReturnCallRef {
			want = clif.AllState
		} else if op == clif.OpStructNew || op == clif.OpArrayNew {
			want = 0 // nothing that is there
		}
		if got := m.WrittenBy(&d); got != want {
			t.Errorf("%v writes %b, want %b", op, got, want)
		}
	}
	if m.GlobalState(0) == m.GlobalState(1) || m.ReadBy(&clif.InstData{Op: clif.OpGlobalGet, Aux: 1}) != m.GlobalState(1) {
		t.Error("globals have no parts of their own")
	}
	if got := m.ReadBy(&clif.InstData{Op: clif.OpMemoryCopy}); got != clif.StateMemory {
		t.Errorf("memory_copy reads %b", got)
	}
}
