package campaign

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/filetest"
	"github.com/waot-project/waot/internal/randprog"
	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
)

// fileTest is a filetest of what a program's calls give, of which want is what the judge says; empty if there can be none: the
// program needs imports or contents of memory, say. The CLIF interpreter passes it.
func fileTest(p *randprog.Program, want *randprog.Outcome) string {
	wm, err := wasmfront.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil || len(want.Calls) != len(p.Calls) || len(p.Calls) == 0 || len(wm.Imports) > 0 || p.Reset {
		return ""
	}
	s, err := (&interpengine.Engine{}).NewStore()
	if err != nil {
		return ""
	}
	defer s.Close()
	compiled, err := s.Compile(p.Wasm)
	if err != nil {
		return ""
	}
	m := compiled.(*interpengine.Module)
	var b strings.Builder
	b.WriteString("test cat\ntest verify\ntest run\n\n" + m.Decl.String() + "\n")
	for _, f := range m.Funcs {
		if f == nil || int(f.Index) >= len(wm.Funcs) { // the function that initialises
			continue
		}
		b.WriteString(f.String())
		for i := range p.Calls {
			for _, e := range wm.Exports {
				if e.Kind == wasmfront.ExternFunc && e.Name == p.Calls[i].Export && e.Index == uint32(f.Index) {
					b.WriteString(directive(&p.Calls[i], f.Name, want.Calls[i]) + "\n")
				}
			}
		}
		b.WriteString("\n")
	}
	r := &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}}
	if o := r.Run([]byte(b.String())); len(o.Failures) > 0 || o.Runs == 0 {
		return ""
	}
	return b.String()
}

// directive is the line for one call with its outcome.
func directive(c *wasmgen.Call, name, outcome string) string {
	var args, results []string
	for _, a := range c.Args {
		args = append(args, fmt.Sprintf("%#x", a))
	}
	call := fmt.Sprintf("%%%q(%s)", name, strings.Join(args, ", "))
	if words, ok := strings.CutPrefix(outcome, randprog.TrapPrefix); ok {
		return "; trap: " + call + " == " + strings.ReplaceAll(words, " ", "_")
	}
	for _, r := range strings.Fields(outcome)[1:] {
		_, bits, _ := strings.Cut(r, ":")
		results = append(results, "0x"+bits)
	}
	if len(results) == 0 {
		return "; run: " + call
	}
	return "; run: " + call + " == " + strings.Join(results, ", ")
}
