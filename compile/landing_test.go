package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// TestLandings: code whose address is in data, in a symbol for others, or in a register behind a stub begins with a landing pad. Functions
// that only direct calls reach do not.
func TestLandings(t *testing.T) {
	for target, pad := range map[string][]byte{compile.TargetX64: {0xf3, 0x0f, 0x1e, 0xfa}, compile.TargetA64: {0x5f, 0x24, 0x03, 0xd5}} {
		t.Run(target, func(t *testing.T) {
			var modules [][]byte
			for seed := range testenv.Cases[uint64](10, 40, 400) {
				modules = append(modules, wasmgen.Generate(seed, wasmgen.Config{Small: true}).Wasm)
			}
			modules = append(modules, sampleModule().bytes(), userModule().bytes())
			direct, err := wat.Assemble(`(module (memory 1)
				(func $a (param i32) (result i32) (if (result i32) (local.get 0) (then (call $b (i32.load (local.get 0)))) (else (i32.const 1))))
				(func $b (param i32) (result i32) (i32.add (call $a (i32.sub (local.get 0) (i32.const 1))) (call $a (i32.load8_u (local.get 0)))))
				(func (export "f") (param i32) (result i32) (call $a (local.get 0))))`)
			if err != nil {
				t.Fatal(err)
			}
			modules = append(modules, direct)
			pads, others := 0, 0
			for n, wasm := range modules {
				r := build(t, wasm, compile.Options{Target: target, Name: "lib", OptLevel: opt.O1})
				o := r.Object
				wanted := make(map[string]string) // places of code, and why
				add := func(s objfile.SectionIndex, at uint64, why string) {
					if s != objfile.Undefined && o.Sections[s].Flags&objfile.Exec != 0 {
						wanted[fmt.Sprintf("%d %d", s, at)] = why
					}
				}
				// The record has where the sections begin.
				const text, adapters = 8, 112
				record := slices.IndexFunc(o.Symbols, func(y objfile.Symbol) bool { return y.Name == "lib.object" })
				begins := func(s int, rel *objfile.Reloc) bool {
					at := rel.Offset - o.Symbols[record].Value
					return objfile.SectionIndex(s) == o.Symbols[record].Section && (at == text || at == adapters)
				}
				for s := range o.Sections {
					for _, rel := range o.Sections[s].Relocs {
						if y := &o.Symbols[rel.Symbol]; rel.Kind == reloc.Abs64 && !begins(s, &rel) {
							add(y.Section, y.Value+uint64(rel.Addend), "an address in "+o.Sections[s].Name)
						}
					}
				}
				for k := range o.Symbols {
					if y := &o.Symbols[k]; y.Kind == objfile.Func && y.Binding != objfile.Local {
						add(y.Section, y.Value, y.Name)
					}
				}
				for place, why := range wanted {
					var s, at int
					fmt.Sscan(place, &s, &at)
					if code := o.Sections[s].Data[at:]; !bytes.HasPrefix(code, pad) {
						t.Errorf("module %d: %s: % x", n, why, code[:min(16, len(code))])
					}
					pads++
				}
				for k := range r.Meta.Funcs {
					f := &r.Meta.Funcs[k]
					if f.Import != nil {
						continue
					}
					text := o.SectionIndex(".text")
					_, is := wanted[fmt.Sprintf("%d %d", text, f.Text)]
					if has := bytes.HasPrefix(o.Sections[text].Data[f.Text:], pad); has && !is && !f.HasDesc && k != len(r.Meta.Funcs)-1 {
						t.Errorf("module %d: function %d has a landing pad and no address", n, k)
					}
					if !is {
						others++
					}
				}
			}
			if pads < 100 || others == 0 {
				t.Errorf("%d landing pads, %d functions without", pads, others)
			}
		})
	}
}

// TestProperties: objects and executables say what readelf shows, and linkers merge that as they do for others.
func TestProperties(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		feature := "Properties: AArch64 feature: BTI\n"
		if c.prefix == "" {
			feature = "Properties: x86 feature: IBT, x86 ISA needed: x86-64-baseline, x86-64-v2\n"
		}
		dir, lib, user := writeObjects(t, c.target, opt.O1)
		so := filepath.Join(dir, "lib.so")
		runTool(t, c.prefix+"gcc", "-shared", "-nostdlib", "-o", so, lib, user)
		wasm, err := wat.Assemble(unwindModule)
		if err != nil {
			t.Fatal(err)
		}
		r := build(t, wasm, compile.Options{Target: c.target, Name: "app", OptLevel: opt.O1})
		b, err := program.Link(r.Object, r.Meta, &program.Options{Prefix: "app"})
		if err != nil {
			t.Fatal(err)
		}
		app := filepath.Join(dir, "app")
		if err := os.WriteFile(app, b, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{lib, so, app} {
			if out := runTool(t, c.prefix+"readelf", "-nW", file); !strings.Contains(strings.Join(strings.Fields(out), " ")+"\n", strings.Join(strings.Fields(feature), " ")) || strings.Contains(out, "SHSTK") {
				t.Errorf("%s: %s", file, out)
			}
		}
	})
}
