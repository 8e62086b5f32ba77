package wat_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// modulesOf calls each with the modules of a script that its commands have, in order.
func modulesOf(commands []script.Command, each func(*script.Command)) {
	for i := range commands {
		if commands[i].HasModule() {
			each(&commands[i])
		}
		modulesOf(commands[i].Commands, each)
	}
}

// formsOf returns the modules of a text, in order, however deep they are inside of commands.
func formsOf(t *testing.T, text []byte) (forms []*wat.Form) {
	c := wat.NewCursor(text)
	for c.Token().Kind != wat.EOF {
		switch {
		case c.At("shared"): // names an instance for a thread
			c.Skip()
		case c.At("module"):
			if f := c.Form(); f.Kind != wat.FormInstance {
				forms = append(forms, f)
			}
		default:
			c.Next()
		}
	}
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return forms
}

// suites returns the suite of the environment, and at the full level also that of wazero.
func suites(t *testing.T) []*script.Suite {
	located, err := script.Locate()
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	list := []*script.Suite{located}
	if testenv.Full() && os.Getenv(script.EnvDir) != "" {
		wazero, err := script.OpenWazero()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, wazero)
	}
	return list
}

// eachModule calls check with each module of the suites, with the command that it belongs to and with
// what the original text of the script gives for it.
func eachModule(t *testing.T, check func(place string, s *script.Script, cmd *script.Command, m *wat.Module, err error)) {
	for _, suite := range suites(t) {
		for _, name := range suite.Groups() {
			g, err := suite.Group(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range g.Scripts {
				s, err := g.Script(file)
				if err != nil {
					t.Fatal(err)
				}
				text, err := s.Module(file + ".wast")
				if err != nil {
					t.Fatal(err)
				}
				forms := formsOf(t, text)
				modulesOf(s.Commands, func(cmd *script.Command) {
					place := fmt.Sprintf("%s/%s.wast:%d", name, file, cmd.Line)
					if file == "inline-module" { // fields without (module
						m, err := wat.Assemble(text)
						check(place, s, cmd, m, err)
						return
					}
					m, err := forms[0].Assemble()
					check(place, s, cmd, m, err)
					forms = forms[1:]
				})
				if len(forms) > 0 {
					t.Errorf("%s/%s has %d modules that its commands do not have", name, file, len(forms))
				}
			}
		}
	}
}

// featureOf returns the feature that a text needs and that is not supported, or "".
func featureOf(err error) string {
	var e *wat.Error
	if errors.As(err, &e) {
		return e.Feature
	}
	return ""
}

// A choice is what wabt, or another assembler, wrote into a suite instead of what the text says.
type choice struct {
	start  string // of the places
	most   int    // modules that have it
	reason string
}

const (
	ownType  = "another assembler gives a function without a type one of its own, where a group of one type has it"
	openType = "another assembler gives a function without a type one that is not final"
)

// choices lists every one, most of them in wazero's copy of older suites.
var choices = []choice{
	{"v1/data.wast:5:", 1, "the name of a segment was that of the memory in WebAssembly 1.0"},
	{"v1/elem.wast:4:", 1, "the name of a segment was that of the table in WebAssembly 1.0"},
	{"v1/if.wast:", 8, "wabt leaves out an else without operators"},
	{"legacy-exceptions/", 2, "wabt leaves out an else without operators"},
	{"v2/if.wast:", 12, "wabt leaves out an else without operators, and writes short types of blocks where the text has an index"},
	{"v2/block.wast:", 2, "wabt writes short types of blocks where the text has an index"},
	{"v2/loop.wast:", 2, "wabt writes short types of blocks where the text has an index"},
	{"v2/memory_init.wast:190:", 1, "wabt leaves out a data count without segments"},
	{"v2/memory_init.wast:227:", 1, "wabt leaves out a data count without segments"},
	{"core/type-rec.wast:45:", 1, ownType}, {"core/type-rec.wast:185:", 1, ownType}, {"core/type-rec.wast:197:", 1, ownType},
	{"gc/type-subtyping.wast:344:", 1, openType}, {"gc/type-subtyping.wast:373:", 1, openType},
	{"v2/select.wast:324:", 1, "wabt takes a select without types for one of numbers"},
}

// choiceOf returns the index of the choice that the module at a place has, or -1.
func choiceOf(place string) int {
	return slices.IndexFunc(choices, func(c choice) bool { return strings.HasPrefix(place+":", c.start) })
}

// TestSuite: each module of the official scripts becomes the module that other assemblers made of it, or needs
// features that are not supported.
func TestSuite(t *testing.T) {
	same, others := 0, 0
	chosen := make([]int, len(choices))
	features := map[string]int{}
	eachModule(t, func(place string, s *script.Script, cmd *script.Command, m *wat.Module, err error) {
		if cmd.IsText() {
			return
		}
		want, errOpen := s.Module(cmd.Filename)
		c := choiceOf(place)
		switch feature := featureOf(err); {
		case errOpen != nil:
			t.Fatal(errOpen)
		case feature != "":
			features[feature]++
		case err == nil && bytes.Equal(m.Wasm, want):
			same++
		case err != nil && c >= 0:
			chosen[c]++
		case err != nil:
			t.Errorf("%s: %v", place, err)
		default:
			d := cmp.Diff(normal(want), normal(m.Wasm), notPlaces, cmpopts.EquateEmpty())
			switch {
			case d == "":
				others++
			case c >= 0:
				chosen[c]++
			default:
				t.Errorf("%s: (the suite's -, this assembler's +):\n%s", place, d)
			}
		}
	})
	t.Logf("%d modules with the same bytes, %d that say the same, %v as other assemblers chose; not supported: %v", same, others, chosen, features)
	if same+others < 3000 {
		t.Error("fewer that are the same than there should be")
	}
	for i, c := range choices {
		if chosen[i] > c.most {
			t.Errorf("%s: %d modules, where %s in %d", c.start, chosen[i], c.reason, c.most)
		}
	}
}

// TestMalformed: the texts that are malformed are refused, with the message of the script.
func TestMalformed(t *testing.T) {
	refused, features, wider := 0, map[string]int{}, 0
	eachModule(t, func(place string, s *script.Script, cmd *script.Command, m *wat.Module, err error) {
		var e *wat.Error
		switch {
		case !cmd.IsText():
		case errors.As(err, &e):
			refused++
			if e.Feature != "" {
				features[e.Feature]++
			} else if message := e.Msg + " " + e.Found; !hasMessage(message, cmd.Text) {
				t.Errorf("%s: %s, want %s", place, message, cmd.Text)
			}
		case strings.HasPrefix(cmd.Text, "@metadata.code.branch_hint"): // these annotations are ignored, which is allowed
		case strings.HasPrefix(cmd.Text, "i32 constant"):
			// These numbers have 64 bits since WebAssembly 3.0. They are invalid instead.
			wider++
			if _, err := validate.All(m.Wasm, validate.Config{Features: wasmfront.DecodableFeatures}); err == nil {
				t.Errorf("%s is accepted and valid", place)
			}
		default:
			t.Errorf("%s: %v, want %s", place, err, cmd.Text)
		}
	})
	t.Logf("%d texts refused, of these because of features: %v; %d only by the validator", refused, features, wider)
	if refused < 1000 {
		t.Error("fewer than there should be")
	}
}

// hasMessage reports whether a message begins as one of the official tests says.
func hasMessage(message, want string) bool {
	switch want {
	// Wordings before WebAssembly 3.0:
	case "malformed lane index":
		want = "i8 constant out of range"
	case "invalid UTF-8 encoding":
		want = "malformed UTF-8 encoding"
	case "result before parameter":
		want = "unexpected token"
	}
	return strings.HasPrefix(message, want)
}

// notPlaces ignores where things are.
var notPlaces = cmp.Options{
	cmpopts.IgnoreUnexported(wasmfront.Module{}, wasmfront.ElemSegment{}),
	cmpopts.IgnoreFields(wasmfront.Module{}, "Bytes", "Sections", "StartOffset", "TypeOffsets"),
	cmp.FilterPath(func(p cmp.Path) bool { n := p.Last().String(); return n == ".Offset" || n == ".End" }, cmp.Ignore()),
}

// content is a module without what assemblers choose.
type content struct {
	*wasmfront.Module
	Err string
}

// normal decodes a module. Assemblers choose whether the index 0 of a table or memory is written, and whether functions as
// elements are indices or expressions. Of the custom sections, names are left out, which wabt also writes for what has none,
// and hints for branches, which this assembler ignores.
func normal(b []byte) content {
	m, err := wasmfront.Decode(b, wasmfront.DecodableFeatures)
	c := content{Module: m}
	if err != nil {
		// Both say the same at places that may differ.
		_, c.Err, _ = strings.Cut(err.Error(), ": ")
	}
	m.Customs = slices.DeleteFunc(m.Customs, func(s wasmfront.CustomSection) bool {
		return s.Name == "name" || s.Name == "metadata.code.branch_hint"
	})
	for i := range m.Elems {
		e := &m.Elems[i]
		for _, x := range e.Exprs {
			if e.Type == wasmfront.FuncRef && len(x.Ops) == 1 && x.Ops[0].Op == wasmfront.OpRefFunc {
				e.Funcs = append(e.Funcs, x.Ops[0].Index)
			}
		}
		if len(e.Funcs) == len(e.Exprs) {
			e.Exprs = nil
		}
	}
	return c
}
