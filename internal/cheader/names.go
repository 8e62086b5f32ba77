package cheader

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// identifier makes what a C identifier begins with of any string, so that it reads well: what C does not know becomes an underscore. Different
// strings may become equal. It is not empty, and no identifier that begins with it and an underscore is C's or the runtime's by its beginning.
func identifier(s string) string {
	s = tail(s)
	if s == "" || isReservedStart(s+"_") || s[0] == '_' {
		s = "m" + s
	}
	return s
}

// tail is identifier for what stands behind an underscore, and so may begin with anything, or be empty.
func tail(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			b[i] = '_'
		}
	}
	return string(b)
}

// isReservedStart reports whether identifiers that begin so are no identifiers at all, or C's own, or (WAOT_) names of the runtime and include guards.
func isReservedStart(s string) bool {
	return s[0] <= '9' || len(s) > 1 && s[0] == '_' && (s[1] == '_' || s[1] >= 'A' && s[1] <= 'Z') || strings.HasPrefix(s, macroPrefix)
}

// ownNames are what the header declares itself, behind the prefix.
var ownNames = [...]string{"instance", "instantiate", "imports", "exports", "map", "start", "new", "delete", "reset", "_object"}

// runtimePrefix begins the names of the runtime's functions, which modules must not call, and macroPrefix those of its constants and macros.
const (
	runtimePrefix = "waot_"
	macroPrefix   = "WAOT_"
)

// prefixIdentifier is identifier for the prefix of a module: nothing that the header declares itself is a name of C's.
func prefixIdentifier(prefix string) string {
	p := identifier(prefix)
	for _, n := range ownNames {
		if isReserved(p + "_" + n) {
			return "m" + p
		}
	}
	return p
}

// mostUnderscores is how many underscores are put behind a name to make it another one. Numbers follow: names stay short, however many would be equal.
const mostUnderscores = 3

// endings are how many endings have been tried, by the name that they are put behind.
type endings map[string]int

// take returns name, with underscores or a number behind it if it is taken, and makes it taken. All calls with one taken together try hardly more endings than there are names.
func (e endings) take(taken map[string]bool, name string) string {
	n, next := name, e[name]
	for ; taken[n]; next++ {
		if next < mostUnderscores {
			n = name + strings.Repeat("_", next+1)
		} else {
			n = fmt.Sprintf("%s__%d", name, next)
		}
	}
	e[name], taken[n] = next, true
	return n
}

// candidate is a function to be named.
type candidate struct {
	// what it is called in C: the first of these that is free.
	readable, exact, spare string
	what                   string
	name                   *string
}

// chooseNames names imports and exports, each differently. A readable name that two would have goes to none: they are named as their symbols are. One
// whose name is taken, or reserved, has "import" or "export" in front.
func (g *generator) chooseNames() error {
	taken, ends := map[string]bool{}, endings{}
	if strings.HasPrefix(g.prefix+"_", runtimePrefix) {
		return fmt.Errorf("header: the prefix %q is the runtime's: give the symbols another with --name", g.module)
	}
	for _, n := range ownNames {
		taken[g.prefix+"_"+n] = true
		for i := range g.m.Funcs {
			// An object with that prefix may supply the import, and both headers be in one file.
			if x := g.m.Funcs[i].Import; x != nil {
				taken[identifier(x.Module)+"_"+n] = true
			}
		}
	}
	g.imports, g.exports = make([]string, len(g.m.Funcs)), make([]string, len(g.m.Exports))
	list := append(g.importCandidates(), g.exportCandidates()...)
	wanted := map[string]int{}
	for _, c := range list {
		if strings.HasPrefix(c.exact, runtimePrefix) {
			return fmt.Errorf("header: %s would be %s, and such names are the runtime's: rename it in the module", c.what, c.exact)
		}
		wanted[c.readable]++
	}
	isFree := func(name string) bool {
		return !taken[name] && !isReserved(name) && !strings.HasPrefix(name, runtimePrefix)
	}
	for _, c := range list {
		if wanted[c.readable] == 1 && isFree(c.readable) {
			*c.name, taken[c.readable] = c.readable, true
		}
	}
	for _, c := range list {
		if *c.name != "" {
			continue
		}
		name := c.exact
		if !isFree(name) {
			name = c.spare
		}
		*c.name = ends.take(taken, name)
	}
	return nil
}

// importCandidates are the imported functions, each once.
func (g *generator) importCandidates() (list []candidate) {
	seen := map[meta.ImportName]bool{}
	for i := range g.m.Funcs {
		n := g.m.Funcs[i].Import
		if n == nil {
			break
		}
		if !seen[*n] {
			seen[*n] = true
			module, readable := identifier(n.Module), tail(n.Name)
			list = append(list, candidate{readable: module + "_" + readable, exact: exactModule(n.Module) + "_" + objfile.Mangle(n.Name),
				spare: module + "_import_" + readable, what: fmt.Sprintf("import %q of %q", n.Name, n.Module), name: &g.imports[i]})
		}
	}
	return list
}

// exactModule is identifier, but different for different strings that begin identifiers.
func exactModule(s string) string {
	switch s = objfile.MangleModule(s); {
	case s[0] == '_':
		return "Z5f" + s[1:]
	case isReservedStart(s + "_"):
		return "Z57" + s[1:] // a W
	}
	return s
}

func (g *generator) exportCandidates() (list []candidate) {
	for i := range g.m.Exports {
		x := &g.m.Exports[i]
		readable := tail(x.Name)
		list = append(list, candidate{readable: g.prefix + "_" + readable, exact: g.prefix + "_" + objfile.Mangle(x.Name),
			spare: g.prefix + "_export_" + readable, what: fmt.Sprintf("export %q", x.Name), name: &g.exports[i]})
	}
	return list
}

// fieldNames are the names of the fields of a struct.
type fieldNames struct {
	used map[string]bool
	ends endings
}

func newFieldNames(used ...string) *fieldNames {
	f := &fieldNames{used: map[string]bool{}, ends: endings{}}
	for _, n := range used {
		f.used[n] = true
	}
	return f
}

// add returns a name for a field like name that no other has: m is in front if its beginning is reserved, and underscores, or a number, follow
// where it would be reserved, or be used already.
func (f *fieldNames) add(name string) string {
	if name == "" || isReservedStart(name) || strings.HasPrefix(name, runtimePrefix) {
		name = "m" + name
	}
	if isReservedField(name) {
		name += "_" // which no reserved name has at its end
	}
	return f.ends.take(f.used, name)
}
