package cheader

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// dialect is a compiler with a language.
type dialect struct {
	compiler, language, standard string
	always                       bool // below the full level, too
}

func (d *dialect) String() string { return d.compiler + " " + d.standard }

// dialects are all languages in which headers compile, strict and with the compilers' extensions.
var dialects = []dialect{
	{"gcc", "c", "-std=c11", false}, {"gcc", "c", "-std=gnu17", true}, {"gcc", "c", "-std=gnu2x", false},
	{"g++", "c++", "-std=c++11", false}, {"g++", "c++", "-std=gnu++20", false}, {"g++", "c++", "-std=gnu++23", true},
	{"clang-19", "c", "-std=c11", false}, {"clang-19", "c", "-std=gnu23", true},
	{"clang++-19", "c++", "-std=c++11", false}, {"clang++-19", "c++", "-std=gnu++2c", false},
}

// standardHeaders are headers of C and POSIX that a program may include beside that of a module.
const standardHeaders = `#define _GNU_SOURCE 1
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <iso646.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#ifdef __cplusplus
#include <atomic>
#else
#include <complex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdnoreturn.h>
#include <tgmath.h>
#include <threads.h>
#endif
`

// standardWords are words of the standards: keywords of C23 and C++23, contextual ones, and names with underscores of C's library.
const standardWords = `alignas alignof asm auto bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield concept const
const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false float
for friend goto if inline int long mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while and and_eq bitand bitor compl not not_eq or or_eq xor
xor_eq final override import module _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary
_Noreturn _Static_assert _Thread_local _Pragma __func__ __has_include __VA_ARGS__ __VA_OPT__ defined size_t ptrdiff_t max_align_t nullptr_t
int_fast8_t uint_least64_t intmax_t uintptr_t time_t wint_t div_t lldiv_t sig_atomic_t mbstate_t fpos_t va_list va_start va_arg jmp_buf once_flag
atomic_load atomic_int memory_order memory_order_relaxed kill_dependency aligned_alloc quick_exit at_quick_exit call_once timespec_get
cnd_init mtx_lock thrd_create thrd_t tss_get stdc_first_leading_zero memset_explicit free_sized errno assert offsetof unreachable noreturn I complex
signbit isnan isalpha toupper strlen memcpy malloc free wcslen main std instance_ instance exports imports words trap code out here initialize`

var words = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// macrosOf returns the names that a compiler defines after some text.
func macrosOf(t *testing.T, d *dialect, dir, text string) []string {
	cmd := exec.Command(d.compiler, d.standard, "-I", dir, "-dM", "-E", "-x", d.language, "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if name := words.FindString(strings.TrimPrefix(line, "#define ")); strings.HasPrefix(line, "#define ") {
			list = append(list, name)
		}
	}
	return list
}

// splits are the pairs of strings around an underscore of a word.
func splits(word string) (pairs [][2]string) {
	for i := range word {
		if word[i] == '_' {
			pairs = append(pairs, [2]string{word[:i], word[i+1:]})
		}
	}
	return pairs
}

// hostileModule has each word as an import, cut at each underscore, of a function and of a global, memory, table or tag, and as an export.
func hostileModule(list []string) *meta.Module {
	m := &meta.Module{Types: []meta.FuncType{{}, {Params: []meta.ValType{abi.I32, abi.F64, abi.FuncRef}, Results: []meta.ValType{abi.I64}}}}
	m.Exceptions = new(meta.Exceptions)
	for i, w := range list {
		for k, p := range splits(w) {
			if strings.HasPrefix(p[0]+"_", runtimePrefix) {
				continue // refused
			}
			n := &meta.ImportName{Module: p[0], Name: p[1]}
			m.Funcs = append(m.Funcs, meta.Func{Import: n, Type: uint32(i % 2)})
			switch (i + k) % 5 {
			case 0:
				m.Memories = append(m.Memories, meta.Memory{Import: n})
			case 1:
				m.Tables = append(m.Tables, meta.Table{Import: n})
			case 2:
				m.Exceptions.Tags = append(m.Exceptions.Tags, meta.Tag{Import: n})
			default:
				m.Globals = append(m.Globals, meta.Global{Import: n, Type: abi.I32, Mutable: i%2 == 0})
			}
		}
	}
	exportAll(m, list)
	return m
}

// exportAll gives a module exports of each kind in turn.
func exportAll(m *meta.Module, list []string) {
	if len(m.Types) == 0 {
		m.Types = []meta.FuncType{{}}
	}
	m.Funcs, m.Memories, m.Tables = append(m.Funcs, meta.Func{}), append(m.Memories, meta.Memory{}), append(m.Tables, meta.Table{})
	m.Globals = append(m.Globals, meta.Global{Type: abi.I64, Mutable: true}, meta.Global{Type: abi.V128})
	if m.Exceptions == nil {
		m.Exceptions = new(meta.Exceptions)
	}
	m.Exceptions.Tags = append(m.Exceptions.Tags, meta.Tag{})
	for i, w := range list {
		x := meta.Export{Name: w, Kind: abi.ExternFunc, Index: uint32(len(m.Funcs) - 1)}
		switch i % 7 {
		case 3:
			x.Kind, x.Index = abi.ExternMemory, uint32(len(m.Memories)-1)
		case 4:
			x.Kind, x.Index = abi.ExternTable, uint32(len(m.Tables)-1)
		case 5:
			x.Kind, x.Index = abi.ExternGlobal, uint32(len(m.Globals)-1-i%2)
		case 6:
			x.Kind, x.Index = abi.ExternTag, uint32(len(m.Exceptions.Tags)-1)
		}
		m.Exports = append(m.Exports, x)
	}
}

func generate(t *testing.T, m *meta.Module, prefix string) []byte {
	t.Helper()
	h, err := Generate(m, prefix)
	if err != nil {
		t.Fatalf("%q: %v", prefix, err)
	}
	return h
}

// hostilePrefixes returns headers whose prefixes and exports make each word, cut at the first underscore or at the last. Those of one
// element can be included together: no two prefixes and names make one name ("a_b" and "c", "a" and "b_c").
func hostilePrefixes(t *testing.T, list []string, last bool) (files [][]byte) {
	exports := map[string][]string{}
	for _, w := range list {
		pairs := append(splits(w), [2]string{w, w})
		p := pairs[0]
		if last {
			p = pairs[max(len(pairs)-2, 0)]
		}
		exports[p[0]] = append(exports[p[0]], p[1])
	}
	var names []map[string]bool
	for _, prefix := range slices.Sorted(maps.Keys(exports)) {
		if strings.HasPrefix(prefixIdentifier(prefix)+"_", runtimePrefix) {
			continue // refused
		}
		m := &meta.Module{}
		exportAll(m, unique(exports[prefix]))
		h := generate(t, m, prefix)
		declared := append(declaredNames(h), prefixIdentifier(prefix)+"__object")
		k := slices.IndexFunc(names, func(there map[string]bool) bool {
			return !slices.ContainsFunc(declared, func(n string) bool { return there[n] })
		})
		if k < 0 {
			k = len(files)
			files, names = append(files, nil), append(names, map[string]bool{})
		}
		files[k] = append(files[k], h...)
		for _, n := range declared {
			names[k][n] = true
		}
	}
	return files
}

// mixtures returns n words of pieces that are reserved, or meaningful to the generator.
func mixtures(r *rand.Rand, n int) (list []string) {
	pieces := []string{"INT32", "C", "MAX", "waot", "WAOT", "EXIT", "MODULE", "H", "_", "_", "_", "t", "size", "new", "start", "delete", "reset", "instance", "import",
		"export", "m", "Z", "5f", "2d", "-", ".", "é", "9", "static", "assert", "va", "arg", "int", "xor", "eq", "atomic", "load", "PRI", "d", "object", "imports"}
	for range n {
		w := ""
		for range 1 + r.IntN(5) {
			w += pieces[r.IntN(len(pieces))]
		}
		list = append(list, w)
	}
	return unique(list)
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// TestHostileNames: headers compile whatever modules, imports, exports and prefixes are called: after macros, keywords, and names of the runtime and of C.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	var here []dialect
	for _, d := range dialects {
		if _, err := exec.LookPath(d.compiler); err != nil {
			testenv.Missing(t, "no "+d.compiler)
		}
		if d.always || testenv.Full() {
			here = append(here, d)
		}
	}
	list := append(strings.Fields(standardWords), words.FindAllString(string(cruntime.Header()), -1)...)
	for _, d := range here {
		list = append(list, macrosOf(t, &d, dir, "#include \"waot_runtime.h\"\n")...)
		if testenv.Full() {
			list = append(list, macrosOf(t, &d, dir, standardHeaders)...)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	list = unique(append(list, mixtures(r, testenv.Cases(100, 200, 5500))...))
	const runtime = "#include \"waot_runtime.h\"\n"
	check := func(name string, header []byte, k int) {
		for i, d := range here {
			if !testenv.Full() && i != k%len(here) || k > 0 && !d.always {
				continue // one dialect for each file, or three for those with prefixes, which are long
			}
			// What may make a difference stands before the header; behind it, the runtime's header and what it includes are there already.
			before, after := standardHeaders, runtime
			if testenv.Full() && (i+k)%5 == 4 {
				before, after = runtime, standardHeaders
			}
			for name, text := range map[string][]byte{"p.h": header, "x.c": []byte(before + "#include \"p.h\"\n" + after)} {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(d.compiler, d.standard, "-Wall", "-Wextra", "-Werror", "-I", dir, "-fsyntax-only", "-x", d.language, filepath.Join(dir, "x.c"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %v: %v\n%.3000s", name, &d, err, out)
			}
		}
	}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	check("words", generate(t, hostileModule(list[:testenv.Cases(700, 700, len(list))]), "p"), 0)
	some := list[:testenv.Cases(60, 60, len(list))]
	for i, last := range [...]bool{false, true} {
		for k, file := range hostilePrefixes(t, some, last) {
			check(fmt.Sprintf("prefixes, last %v, %d", last, k), file, 1+i+k)
		}
	}
	if least := testenv.Cases(1000, 1000, 10000); len(list) < least {
		t.Errorf("only %d words", len(list))
	}
}

// declarations finds what a header declares for the program: functions and accessors.
var declarations = regexp.MustCompile(`(?m)^(?:static inline )?[a-z0-9_ ]+[ *](\w+)\(.*\)(?: __asm__\(.*|$| \{.*)`)

// declaredNames are the names in C of what a header declares for the program.
func declaredNames(h []byte) (list []string) {
	for _, d := range declarations.FindAllSubmatch(h, -1) {
		list = append(list, string(d[1]))
	}
	return list
}

// TestInjective: no two functions of a header, and no two fields of its structs, have one name, and none is the header's own.
func TestInjective(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range testenv.Cases(100, 200, 10000) {
		list := mixtures(r, 20)
		m, prefix := hostileModule(list), list[r.IntN(len(list))]
		if strings.HasPrefix(prefixIdentifier(prefix)+"_", runtimePrefix) {
			continue
		}
		h, err := Generate(m, prefix)
		if err != nil {
			if strings.Contains(err.Error(), "the runtime's") {
				continue
			}
			t.Fatalf("module %d: %v", i, err)
		}
		seen := map[string]bool{}
		for _, n := range declaredNames(h) {
			if seen[n] {
				t.Fatalf("module %d: %s twice\n%s", i, n, h)
			}
			seen[n] = true
		}
		g := &generator{m: m, module: prefix, prefix: prefixIdentifier(prefix)}
		if err := g.chooseNames(); err != nil {
			t.Fatal(err)
		}
		_, imported := g.importedWords()
		tags := slices.Clone(imported[len(imported)-g.numImportedTags():])
		for _, fields := range [][]string{append(g.fields(), "instance"), imported} {
			if n := len(fields); len(unique(fields)) != n {
				t.Fatalf("module %d: two fields with one name: %q", i, fields)
			}
		}
		for _, n := range append(g.imports, g.exports...) {
			if n != "" && !seen[n] {
				t.Fatalf("module %d: %s is not declared\n%s", i, n, h)
			}
			delete(seen, n)
		}
		for _, f := range tags {
			init := "waot_init_" + g.prefix + "_" + f
			if !seen[init] {
				t.Fatalf("module %d: nothing makes a tag for %s\n%s", i, f, h)
			}
			delete(seen, init)
		}
		if len(seen) != len(ownNames)-3 { // all but the structs and the record
			t.Fatalf("module %d: the header declares besides %v", i, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestGuards: no two prefixes have one include guard, and no name is one.
func TestGuards(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	guard := regexp.MustCompile(`#ifndef (\w+)\n#define (\w+)\n`)
	of := map[string]string{}
	for _, p := range append(mixtures(r, testenv.Cases(300, 300, 5000)), "lib", "LIB", "Lib", "a-b", "a_b", "", "Z", "9", "m9", "_", "m_") {
		h, err := Generate(exporting("f"), p)
		if err != nil {
			continue // the runtime's
		}
		g := guard.FindSubmatch(h)
		if g == nil || !bytes.Equal(g[1], g[2]) {
			t.Fatalf("%q: no guard", p)
		}
		if other, ok := of[string(g[1])]; ok && other != p {
			t.Errorf("%q and %q: %s", p, other, g[1])
		}
		of[string(g[1])] = p
		name := fmt.Sprintf("%s %s", g[1], strings.TrimPrefix(string(g[1]), "WAOT_"))
		for _, prefix := range [...]string{"WAOT", "WAOT_MODULE", "p"} {
			if h, err := Generate(exporting(strings.Fields(name)...), prefix); err != nil || bytes.Contains(h[len(g[0]):], append([]byte(" "), append(g[1], '(')...)) {
				t.Errorf("%q, %v\n%s", prefix, err, h)
			}
		}
	}
	if len(of) < 200 {
		t.Errorf("%d guards", len(of))
	}
}
