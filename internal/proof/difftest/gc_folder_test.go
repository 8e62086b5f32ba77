package difftest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

var folderFlag = flag.String("folder", "", "a folder of modules that other generators have made, for TestFolder")

// environment returns the text of a module that exports what m imports; ok is false if nothing can. Its functions tell the host of numbers that they get, and of references whether they are null.
func environment(m *wasmfront.Module) (text string, ok bool) {
	var b strings.Builder
	b.WriteString(`(module (import "host" "note" (func $note (param i64) (result i64)))`)
	zero := func(t wasmfront.ValType) string {
		switch {
		case t == wasmfront.V128:
			return "(v128.const i64x2 5 6)"
		case !t.IsRef():
			return fmt.Sprintf("(%s.const 7)", t)
		case t.OrNull() == wasmfront.ExternRef && t.IsNotNull():
			return "(extern.convert_any (ref.i31 (i32.const 9)))"
		case t.OrNull() == abi.AnyRef && t.IsNotNull(), t.OrNull() == abi.EqRef && t.IsNotNull(), t.OrNull() == abi.I31Ref && t.IsNotNull():
			return "(ref.i31 (i32.const 9))"
		}
		return fmt.Sprintf("(ref.null %s)", t.Heap())
	}
	simple := func(types ...wasmfront.ValType) bool {
		for _, t := range types {
			if _, indexed := t.TypeIndex(); indexed {
				return false
			}
		}
		return true
	}
	list := func(keyword string, types []wasmfront.ValType) (s string) {
		for _, t := range types {
			s += fmt.Sprintf("(%s %s)", keyword, t)
		}
		return s
	}
	for i := range m.Imports {
		imp := &m.Imports[i]
		export := fmt.Sprintf("(export %q)", imp.Name)
		switch imp.Kind {
		case abi.ExternFunc:
			t := m.FuncType(imp.Index)
			if !simple(t.Params...) || !simple(t.Results...) {
				return "", false
			}
			fmt.Fprintf(&b, "(func %s %s %s\n", export, list("param", t.Params), list("result", t.Results))
			for k, p := range t.Params {
				get := fmt.Sprintf("(local.get %d)", k)
				switch {
				case p == wasmfront.V128:
					get = "(i64x2.extract_lane 0 " + get + ")"
				case p.IsRef():
					get = "(i64.extend_i32_u (ref.is_null " + get + "))"
				default:
					get = map[wasmfront.ValType]string{wasmfront.I32: "(i64.extend_i32_s %s)", wasmfront.I64: "%s", wasmfront.F32: "(i64.extend_i32_s (i32.reinterpret_f32 %s))", wasmfront.F64: "(i64.reinterpret_f64 %s)"}[p]
					get = fmt.Sprintf(get, fmt.Sprintf("(local.get %d)", k))
				}
				fmt.Fprintf(&b, "(drop (call $note %s))\n", get)
			}
			for _, r := range t.Results {
				b.WriteString(zero(r))
			}
			b.WriteString(")\n")
		case abi.ExternTag:
			t := m.TagType(imp.Index)
			if !simple(t.Params...) {
				return "", false
			}
			fmt.Fprintf(&b, "(tag %s %s)\n", export, list("param", t.Params))
		case abi.ExternGlobal:
			t := m.GlobalType(imp.Index)
			if !simple(t.Type) {
				return "", false
			}
			typ := t.Type.String()
			if t.Mutable {
				typ = "(mut " + typ + ")"
			}
			fmt.Fprintf(&b, "(global %s %s %s)\n", export, typ, zero(t.Type))
		case abi.ExternTable:
			t := m.TableType(imp.Index)
			if !simple(t.Elem) || t.Elem.IsNotNull() {
				return "", false
			}
			fmt.Fprintf(&b, "(table %s %d %d %s)\n", export, t.Min, max(t.Min, min(t.Max, 100)), t.Elem)
		case abi.ExternMemory:
			t := m.MemoryType(imp.Index)
			fmt.Fprintf(&b, "(memory %s %d %d)\n", export, t.Min, max(t.Min, min(t.Max, 100)))
		}
	}
	return b.String() + ")", true
}

// programOf returns the program that calls all exported functions of a module that take no references but such as may be null.
func programOf(b []byte) (*randprog.Program, error) {
	m, err := validate.All(b, validate.Config{Features: wasmfront.DefaultFeatures})
	if err != nil {
		return nil, err
	}
	text, ok := environment(m)
	if !ok {
		return nil, nil
	}
	p := &randprog.Program{Wasm: b}
	if p.Env, err = wat.Assemble(text); err != nil {
		return nil, fmt.Errorf("its environment: %w", err)
	}
	letter := func(t wasmfront.ValType) string {
		if t.IsRef() {
			return "x"
		}
		return map[wasmfront.ValType]string{wasmfront.I32: "i", wasmfront.I64: "l", wasmfront.F32: "f", wasmfront.F64: "d", wasmfront.V128: "v"}[t]
	}
	for n := range 3 {
		for i := range m.Exports {
			e := &m.Exports[i]
			if e.Kind != abi.ExternFunc {
				continue
			}
			t := m.FuncType(e.Index)
			c := wasmgen.Call{Export: e.Name}
			callable := true
			for k, param := range t.Params {
				callable = callable && !(param.IsRef() && param.IsNotNull())
				arg := uint64(n * (k + 3))
				if param.IsRef() {
					arg = 0
				}
				c.Params, c.Args = c.Params+letter(param), append(c.Args, arg)
				if param == wasmfront.V128 {
					c.Args = append(c.Args, arg)
				}
			}
			for _, r := range t.Results {
				c.Results += letter(r)
			}
			if callable {
				p.Calls = append(p.Calls, c)
			}
		}
	}
	return p, nil
}

// TestFolder compares our engines with the CLIF interpreter on the modules of a folder.
func TestFolder(t *testing.T) {
	if *folderFlag == "" {
		t.Skip("SKIPPED: only with -folder, which has modules of other generators")
	}
	files, err := filepath.Glob(filepath.Join(*folderFlag, "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	modules, calls, traps, long, other := 0, 0, 0, 0, 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := programOf(b)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p == nil {
			other++
			continue
		}
		want := randprog.Run(&interpengine.Engine{Options: interp.Options{MaxSteps: 100_000}}, p)
		if want.TooLong() {
			long++
			continue
		}
		modules, calls = modules+1, calls+len(want.Calls)
		for i := range want.Calls {
			if want.Calls[i].Trapped() {
				traps++
			}
		}
		slow := randprog.Run(&interpengine.Engine{Options: gcLimitsIfSlow}, p).TooLong()
		for _, e := range gcEngines() {
			if slow && e.slow {
				continue
			}
			if d := randprog.Run(e, p).Diff(want); d != "" {
				t.Errorf("%s: %s: %s", file, e.Name(), d)
			}
		}
	}
	t.Logf("%d modules, %d calls, of which %d trap; %d are too long, %d import what nothing stands in for", modules, calls, traps, long, other)
}
