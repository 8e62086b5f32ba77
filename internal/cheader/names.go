package cheader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// identifier makes part of a C identifier of any string, so that it reads well: what C does not know becomes an underscore. Different
// strings may become equal. It is not empty and does not begin with a digit.
func identifier(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		} else {
			b.WriteByte('_')
		}
	}
	s = b.String()
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "m" + s
	}
	return s
}

// ownNames are what the header declares itself, behind the prefix.
var ownNames = [...]string{"instance", "instantiate", "imports", "exports", "map", "start", "new", "delete", "_object"}

// runtimePrefix begins the names of the runtime's functions, which modules must not call.
const runtimePrefix = "waot_"

// names are the names in C that are taken, with what they stand for.
type names map[string]string

// take takes a name for something, or reports that it is taken.
func (n names) take(name, what string) bool {
	if n[name] != "" {
		return false
	}
	n[name] = what
	return true
}

// candidate is a function to be named.
type candidate struct {
	// what it is called in C: the first of these that is free.
	readable, exact, spare string
	what                   string
	name                   *string
}

// chooseNames names imports and exports. A readable name that two would have, or that C keeps for itself, goes to none: they are named as their symbols are. One
// whose name is taken, or a keyword or type, has "import" or "export" in front.
func (g *generator) chooseNames() error {
	g.names = names{}
	if strings.HasPrefix(g.prefix+"_", runtimePrefix) {
		return fmt.Errorf("header: the prefix %q is the runtime's: give the symbols another with --name", g.module)
	}
	for _, n := range ownNames {
		g.names.take(g.prefix+"_"+n, "the header's own")
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
	for _, c := range list {
		if wanted[c.readable] == 1 && !strings.HasPrefix(c.readable, runtimePrefix) && !strings.HasPrefix(c.readable, "__") && !isReserved(c.readable) && g.names.take(c.readable, c.what) {
			*c.name = c.readable
		}
	}
	for _, c := range list {
		switch {
		case *c.name != "":
		case !isReserved(c.exact) && g.names.take(c.exact, c.what):
			*c.name = c.exact
		case g.names.take(c.spare, c.what):
			*c.name = c.spare
		default:
			return fmt.Errorf("header: %s cannot be named in C: %s is the name of %s; give the symbols another prefix with --name, or rename it in the module",
				c.what, c.exact, g.names[c.exact])
		}
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
			list = append(list, candidate{readable: module + "_" + readable, exact: objfile.MangleModule(n.Module) + "_" + objfile.Mangle(n.Name),
				spare: module + "_import_" + readable, what: fmt.Sprintf("import %q of %q", n.Name, n.Module), name: &g.imports[i]})
		}
	}
	return list
}

func (g *generator) exportCandidates() (list []candidate) {
	for i := range g.m.Exports {
		x := &g.m.Exports[i]
		if x.Kind == abi.ExternTag {
			continue
		}
		readable := tail(x.Name)
		list = append(list, candidate{readable: g.prefix + "_" + readable, exact: g.prefix + "_" + objfile.Mangle(x.Name),
			spare: g.prefix + "_export_" + readable, what: fmt.Sprintf("export %q", x.Name), name: &g.exports[i]})
	}
	return list
}

// tail is identifier for what stands behind an underscore, and so may begin with a digit.
func tail(s string) string { return strings.TrimPrefix(identifier("m"+s), "m") }

// keywords are names that fields cannot have: keywords of C and C++ and of their compilers, macros of common headers and compilers, and
// the types of fields, which would change their meaning in C++.
const keywords = ` alignas alignof and and_eq asm assert atomic_cancel auto bitand bitor bool break case catch char char8_t char16_t char32_t
 class co_await co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue decltype default delete do
 double dynamic_cast else enum environ errno explicit export extern false float for friend goto i386 if imaginary inline int linux long
 mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
 return short signed sizeof static static_assert static_cast stderr stdin stdout struct switch template this thread_local throw true try
 typedef typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor xor_eq NULL EOF I
 int32_t int64_t waot_instance waot_ref waot_v128
 _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Float128 _Float128x _Float16 _Float32 _Float32x
 _Float64 _Float64x _GNU_SOURCE _Generic _Imaginary _LP64 _Nonnull _Noreturn _Nullable _Pragma _Static_assert _Thread_local
 __alignof __amd64 __asm __attribute __auto_type __bf16 __bool __complex __const __cplusplus __decltype __extension __float128 __float80
 __fp16 __func __i386 __imag __inline __int128 __k8 __label __linux __null __nullptr __private_extern __real __restrict __seg_fs __seg_gs
 __signed __thread __typeof __underlying_type __unix __volatile __wchar_t __x86_64 `

// field returns a name for a field like name that is not in used, and adds it there: underscores follow where it would be a keyword, begin
// with a digit, or be used already.
func field(used map[string]bool, name string) string {
	if name == "" || name[0] <= '9' {
		name = "m" + name
	}
	for used[name] || isKeyword(name) {
		name += "_"
	}
	used[name] = true
	return name
}

// types are those that the runtime's header brings along.
const types = ` size_t ptrdiff_t max_align_t intptr_t uintptr_t intmax_t uintmax_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
 int_least8_t int_least16_t int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t
 int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t `

// isReserved reports whether a function cannot have a name.
func isReserved(name string) bool {
	return isKeyword(name) || slices.Contains(strings.Fields(types), name)
}

// isKeyword reports whether a field cannot have a name. With two underscores more at its end, each can.
func isKeyword(name string) bool {
	between := strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") && !strings.HasSuffix(name, "___") // __asm__, __LINE__
	limit := strings.HasSuffix(name, "_MAX") || strings.HasSuffix(name, "_MIN") || strings.HasSuffix(name, "_WIDTH")
	builtin := strings.HasPrefix(name, "__is_") || strings.HasPrefix(name, "__has_") || strings.HasPrefix(name, "__builtin_")
	return slices.Contains(strings.Fields(keywords), name) || between || limit || builtin && !strings.HasSuffix(name, "_")
}
