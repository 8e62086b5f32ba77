// Package cheader writes the C header of an object: prototypes of what the module exports and imports, access to its memories,
// tables and globals, and functions that make instances.
//
// Place in the pipeline: behind compile. cmd/waot writes the header beside the object; it needs the header of
// internal/cruntime.
//
// Input: the metadata of a module, and the prefix that its symbols have.
// Output: the text of a header for C11 and C++17. docs/embedding-c.md explains it.
package cheader

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// generator writes one header.
type generator struct {
	bytes.Buffer
	m      *meta.Module
	module string // prefix of the symbols, not mangled
	prefix string // of names in C
	// imports and exports are the declared names in C, by index; "" for what is declared elsewhere or is no function.
	imports, exports []string
}

// Generate returns the header of an object whose symbols have the prefix. An error names what would be called like the runtime's functions.
func Generate(m *meta.Module, prefix string) ([]byte, error) {
	g := &generator{m: m, module: prefix, prefix: prefixIdentifier(prefix)}
	if err := g.chooseNames(); err != nil {
		return nil, err
	}
	guard := macroPrefix + "MODULE_" + objfile.MangleModule(prefix) + "_H"
	g.line("/* C interface of the WebAssembly module %s, compiled by waot. Generated: do not edit. */", quoted(prefix))
	g.line("#ifndef %s\n#define %s\n\n#include \"waot_runtime.h\"\n", guard, guard)
	g.line("#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
	g.line("extern const waot_object %s%s;\n", g.object(), label(objfile.ReservedIn(prefix, "object")))
	g.functionImports()
	g.functionExports()
	g.accessors()
	g.importStruct()
	g.objectTypes()
	g.instantiate()
	g.exportStruct()
	g.further()
	g.line("#ifdef __cplusplus\n}\n#endif\n#endif")
	return g.Bytes(), nil
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(g, format, args...)
	g.WriteByte('\n')
}

// object is the record's name.
func (g *generator) object() string { return g.prefix + "__object" }

// quoted is a name of a module's for a comment.
func quoted(name string) string {
	q := strings.ReplaceAll(fmt.Sprintf("%+q", name), "*/", `*\/`)
	return strings.ReplaceAll(q, "/*", `/\*`) // of which compilers warn
}

// label gives something its symbol, which no name in C can be.
func label(symbol string) string { return fmt.Sprintf(" __asm__(%q)", symbol) }

// signature returns the result type and the parameters of a function in C.
func signature(t *meta.FuncType) (result, params string) {
	var list []string
	result = "void"
	switch {
	case len(t.Results) == 1:
		result = t.Results[0].CType()
	case len(t.Results) > 1:
		list = append(list, "uint64_t *results")
	}
	for _, p := range t.Params {
		list = append(list, p.CType())
	}
	if len(list) == 0 {
		list = append(list, "void")
	}
	return result, strings.Join(list, ", ")
}

func (g *generator) funcType(i uint32) *meta.FuncType { return &g.m.Types[g.m.Funcs[i].Type] }

// prototype declares a function.
func (g *generator) prototype(name, symbol, wasm string, t *meta.FuncType) {
	result, params := signature(t)
	var notes []string
	if !strings.HasSuffix(name, "_"+wasm) {
		notes = append(notes, quoted(wasm))
	}
	if g.namesObjects(t.Params) || g.namesObjects(t.Results) {
		notes = append(notes, t.String())
	}
	comment := ""
	if notes != nil {
		comment = " /* " + strings.Join(notes, ": ") + " */"
	}
	g.line("%s %s(%s)%s;%s", result, name, params, label(symbol), comment)
}

func (g *generator) functionImports() {
	first := true
	for i, name := range g.imports {
		if name == "" {
			continue
		}
		if first {
			g.line("/* Functions that the module imports: the program, which includes this file where it defines them, or another object has them. */")
			first = false
		}
		n := g.m.Funcs[i].Import
		g.prototype(name, objfile.MangleIn(n.Module, n.Name), n.Name, g.funcType(uint32(i)))
	}
	if !first {
		g.line("")
	}
}

func (g *generator) functionExports() {
	g.line("/* Functions that the module exports, in the linked instance. */")
	for i := range g.m.Exports {
		if x := &g.m.Exports[i]; x.Kind == abi.ExternFunc {
			g.prototype(g.exports[i], objfile.MangleIn(g.module, x.Name), x.Name, g.funcType(x.Index))
		}
	}
	g.line("")
}

// own begins the definition of a function of the header's own.
func (g *generator) own(result, name, params string) {
	g.line("static inline %s%s_%s(%s)", result, g.prefix, name, params)
}

// word is the name in C of the word that holds an exported memory, table or global.
func word(name string) string { return "waot_word_" + name }

// valueType is the type of the word of a global.
func valueType(x *meta.Global) string {
	if x.Mutable {
		return x.Type.CType()
	}
	return "const " + x.Type.CType()
}

// accessors gives access to the memories, tables and globals of the linked instance.
func (g *generator) accessors() {
	for i := range g.m.Exports {
		x := &g.m.Exports[i]
		name, symbol := g.exports[i], objfile.MangleIn(g.module, x.Name)
		switch x.Kind {
		case abi.ExternMemory:
			g.line("/* Memory %s. */", quoted(x.Name))
			g.line("extern void *%s%s;", word(name), label(symbol+".memory"))
			g.line("static inline waot_memory %s(void) { return waot_memory_at(%s); }\n", name, word(name))
		case abi.ExternTable:
			g.line("/* Table %s. */", quoted(x.Name))
			g.line("extern void *%s%s;", word(name), label(symbol+".table"))
			g.line("static inline waot_table %s(void) { return waot_table_at(%s); }\n", name, word(name))
		case abi.ExternGlobal:
			v := &g.m.Globals[x.Index]
			t, what, address := valueType(v), t0(v), "&"
			if v.Import != nil {
				what, address = t+" *", ""
			}
			g.line("/* Global %s. */", quoted(x.Name))
			g.line("extern %s%s%s;", what, word(name), label(symbol+".global"))
			g.line("static inline %s *%s(void) { return %s%s; }\n", t, name, address, word(name))
		case abi.ExternTag:
			address := "&"
			if g.m.Exceptions.Tags[x.Index].Import != nil {
				address = ""
			}
			g.line("/* Tag %s. */", quoted(x.Name))
			g.line("extern %s*%s%s;", tagType, word(name), label(symbol+".tag"))
			g.line("static inline %s*%s(void) { return (%s*)%s%s; }\n", tagType, name, tagType, address, word(name))
		}
	}
}

// tagType is what a tag is declared as.
const tagType = "const waot_tag "

// tags returns the tags of the module.
func (g *generator) tags() []meta.Tag {
	if g.m.Exceptions == nil {
		return nil
	}
	return g.m.Exceptions.Tags
}

// t0 is how the word of a global that the module defines is declared: never as a constant, since init sets it.
func t0(x *meta.Global) string { return x.Type.CType() + " " }

// importedWords are what the program must supply besides functions: fields of the struct of imports.
func (g *generator) importedWords() (types, fields []string) {
	used := newFieldNames()
	add := func(n *meta.ImportName, t string) {
		if n == nil {
			return
		}
		types, fields = append(types, t), append(fields, used.add(identifier(n.Module)+"_"+tail(n.Name)))
	}
	for i := range g.m.Memories {
		add(g.m.Memories[i].Import, "uint8_t *")
	}
	for i := range g.m.Tables {
		add(g.m.Tables[i].Import, "waot_ref *")
	}
	for i := range g.m.Globals {
		add(g.m.Globals[i].Import, valueType(&g.m.Globals[i])+" *")
	}
	for i := range g.tags() {
		add(g.tags()[i].Import, tagType+"*")
	}
	return types, fields
}

func (g *generator) importStruct() {
	types, fields := g.importedWords()
	if len(fields) == 0 {
		return
	}
	g.line("/* Memories, tables, globals and tags that the module imports: bases, addresses of values, and tags. All are needed. */")
	g.line("struct %s_imports {", g.prefix)
	for i := range fields {
		g.line("\t%s%s;", types[i], fields[i])
	}
	g.line("};\n")
	for i := range g.tags() {
		if g.tags()[i].Import == nil {
			break
		}
		// The fields of tags are the last ones.
		f := fields[len(fields)-g.numImportedTags()+i]
		g.line("/* Makes a tag that fits the field %s of the imports. */", f)
		g.line("static inline void waot_init_%s_%s(waot_tag *tag) { waot_tag_init(tag, &%s, %d); }\n", g.prefix, f, g.object(), i)
	}
}

// numImportedTags returns how many tags the module imports, which are its first ones.
func (g *generator) numImportedTags() (n int) {
	for n < len(g.tags()) && g.tags()[n].Import != nil {
		n++
	}
	return n
}

// namesObjects reports whether one of the types has the index of a type of structures or arrays.
func (g *generator) namesObjects(types []abi.ValType) bool {
	return slices.ContainsFunc(types, func(t abi.ValType) bool {
		_, ok := t.TypeIndex()
		return ok && t.Kind() != abi.KindFunc
	})
}

// objectTypes gives access to the types of structures and arrays. Comments tell those that exports and imports have: what else a module defines, their fields lead to.
func (g *generator) objectTypes() {
	if g.m.Heap == nil || !slices.ContainsFunc(g.m.Heap.Defs, func(t abi.TypeDef) bool { return t.Kind != abi.KindFunc }) {
		return
	}
	g.line("/* The type of structures or arrays that has an index in the module; NULL if there is none, or no instance has been initialised. Exports and imports have these:")
	for _, i := range g.namedTypes() {
		g.line(" * %d is %s", i, definition(&g.m.Heap.Defs[i]))
	}
	g.line(" */\nstatic inline const waot_type *waot_types_%s(uint32_t index) { return waot_type_of(&%s, index); }\n", g.prefix, g.object())
}

// namedTypes returns the indices of the types of structures and arrays in the types of exports and imports, each once and in order.
func (g *generator) namedTypes() (list []uint32) {
	add := func(types ...abi.ValType) {
		for _, t := range types {
			if g.namesObjects([]abi.ValType{t}) {
				i, _ := t.TypeIndex()
				list = append(list, i)
			}
		}
	}
	function := func(i uint32) {
		add(g.funcType(i).Params...)
		add(g.funcType(i).Results...)
	}
	for i := range g.m.Funcs {
		if g.m.Funcs[i].Import != nil {
			function(uint32(i))
		}
	}
	for i := range g.m.Tables {
		if g.m.Tables[i].Import != nil {
			add(g.m.Tables[i].Elem)
		}
	}
	for i := range g.m.Globals {
		if g.m.Globals[i].Import != nil {
			add(g.m.Globals[i].Type)
		}
	}
	for i := range g.m.Exports {
		switch x := &g.m.Exports[i]; x.Kind {
		case abi.ExternFunc:
			function(x.Index)
		case abi.ExternTable:
			add(g.m.Tables[x.Index].Elem)
		case abi.ExternGlobal:
			add(g.m.Globals[x.Index].Type)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mostFields is how many fields of a structure a comment tells.
const mostFields = 20

// definition writes a type of structures or arrays as the text format has it, without its supertype.
func definition(t *abi.TypeDef) string {
	if t.Kind == abi.KindArray {
		return "(array " + t.Fields[0].String() + ")"
	}
	var b strings.Builder
	b.WriteString("(struct")
	for i, f := range t.Fields {
		if i == mostFields {
			b.WriteString(" ...")
			break
		}
		b.WriteString(" (field " + f.String() + ")")
	}
	return b.String() + ")"
}

// instantiation returns the parameter and the argument for imports, and the statement that lists them.
func (g *generator) instantiation() (param, argument, list string) {
	_, fields := g.importedWords()
	if len(fields) == 0 {
		return "", "", "void *const *words = NULL;"
	}
	var words []string
	for _, f := range fields {
		words = append(words, "(void *)imports->"+f)
	}
	return fmt.Sprintf("const struct %s_imports *imports, ", g.prefix), "imports, ", "void *const words[] = {" + strings.Join(words, ", ") + "};"
}

// initialize is the export that a WASI reactor wants to be called first, "" if there is none.
func (g *generator) initialize() string {
	for i := range g.m.Exports {
		if x := &g.m.Exports[i]; x.Kind == abi.ExternFunc && x.Name == "_initialize" {
			if t := g.funcType(x.Index); len(t.Params) == 0 && len(t.Results) == 0 {
				return g.exports[i]
			}
		}
	}
	return ""
}

func (g *generator) instantiate() {
	param, _, list := g.instantiation()
	p, init := g.prefix, g.initialize()
	what := "the start function"
	start := "NULL"
	if init != "" {
		what, start = "the start function and then _initialize", init
	}
	g.line("/* The linked instance. It exists before it is initialised. */")
	g.own("waot_instance *", "instance", "void")
	g.line("{\n\treturn waot_instance_of(&%s);\n}\n", g.object())
	g.line("/* Initialises the linked instance, and runs %s. Returns 0, or why not, also in *trap unless trap is NULL. */", what)
	g.own("int ", "instantiate", param+"waot_trap *trap")
	g.line("{\n\t%s", list)
	g.line("\treturn waot_instance_init(%s_instance(), words, %s, trap);\n}\n", p, start)
}

// pointer declares a pointer to a function.
func pointer(name string, t *meta.FuncType) string {
	result, params := signature(t)
	return fmt.Sprintf("%s (*%s)(%s)", result, name, params)
}

// fields returns the names of the exports in the struct of exports.
func (g *generator) fields() []string {
	used := newFieldNames("instance")
	out := make([]string, len(g.m.Exports))
	for i := range g.m.Exports {
		if g.exports[i] != "" {
			out[i] = used.add(strings.TrimPrefix(g.exports[i], g.prefix+"_"))
		}
	}
	return out
}

func (g *generator) exportStruct() {
	g.line("/* The exports of one instance: functions; addresses of the bases of memories and tables; addresses of globals; tags. */")
	g.line("struct %s_exports {\n\twaot_instance *instance;", g.prefix)
	for i, f := range g.fields() {
		x := &g.m.Exports[i]
		switch x.Kind {
		case abi.ExternFunc:
			g.line("\t%s;", pointer(f, g.funcType(x.Index)))
		case abi.ExternMemory, abi.ExternTable:
			g.line("\tvoid **%s;", f)
		case abi.ExternGlobal:
			g.line("\t%s *%s;", valueType(&g.m.Globals[x.Index]), f)
		case abi.ExternTag:
			g.line("\t%s*%s;", tagType, f)
		}
	}
	g.line("};\n")
}

// further writes the functions that make further instances, and reset any.
func (g *generator) further() {
	param, argument, list := g.instantiation()
	p := g.prefix
	g.line("/* Maps a further instance, which is not initialised. NULL: *trap says why. */")
	g.own("waot_instance *", "map", "waot_trap *trap")
	g.line("{\n\treturn waot_instance_map(&%s, trap);\n}\n", g.object())
	g.line("/* Initialises an instance as %s_instantiate does, and fills *exports. */", p)
	g.own("int ", "start", fmt.Sprintf("struct %s_exports *exports, waot_instance *instance, %swaot_trap *trap", p, param))
	g.line("{\n\t%s\n\tvoid (*initialize)(void) = NULL;\n\texports->instance = instance;", list)
	for i, f := range g.fields() {
		g.fillField(i, f)
	}
	if init := g.initialize(); init != "" {
		g.line("\tinitialize = (void (*)(void))(uintptr_t)waot_moved(instance, (const void *)(uintptr_t)%s);", init)
	}
	g.line("\treturn waot_instance_init(instance, words, initialize, trap);\n}\n")
	g.line("/* Both at once: a further instance. Nothing is left of one that is not initialised. */")
	g.own("int ", "new", fmt.Sprintf("struct %s_exports *exports, %swaot_trap *trap", p, param))
	g.line("{\n\twaot_trap here, *out = trap ? trap : &here;\n\twaot_instance *instance = %s_map(out);", p)
	// Compilers must see that without an instance there is a code: else they warn that the fields may not be set.
	g.line("\tint code = instance ? %s_start(exports, instance, %sout) : out->code ? out->code : WAOT_ERROR_MEMORY;", p, argument)
	g.line("\tif (code) {\n\t\twaot_instance_free(instance);\n\t\texports->instance = NULL;\n\t}\n\treturn code;\n}\n")
	g.line("/* Frees a further instance. */")
	g.own("void ", "delete", fmt.Sprintf("struct %s_exports *exports", p))
	g.line("{\n\twaot_instance_free(exports->instance);\n\texports->instance = NULL;\n}\n")
	g.line("/* Makes an instance, further or linked, what it was when it was new, and runs what ran then. All pointers to it stay valid. Returns 0 or why not, as waot_instance_reset does. */")
	g.line("__attribute__((always_inline))") // so that waot_caller looks at the function that calls it
	g.own("int ", "reset", "waot_instance *instance, waot_trap *trap")
	g.line("{\n\treturn waot_instance_reset(instance, waot_caller(), trap);\n}\n")
}

// fillField sets the field of export i.
func (g *generator) fillField(i int, f string) {
	x := &g.m.Exports[i]
	name := g.exports[i]
	switch x.Kind {
	case abi.ExternFunc:
		g.line("\texports->%s = (%s)(uintptr_t)waot_moved(instance, (const void *)(uintptr_t)%s);", f, pointer("", g.funcType(x.Index)), name)
	case abi.ExternMemory, abi.ExternTable:
		g.line("\texports->%s = (void **)waot_moved(instance, &%s);", f, word(name))
	case abi.ExternGlobal:
		t := valueType(&g.m.Globals[x.Index])
		if g.m.Globals[x.Index].Import == nil {
			g.line("\texports->%s = (%s *)waot_moved(instance, &%s);", f, t, word(name))
			return
		}
		// The word has the address, which is among the imports.
		g.line("\texports->%s = (%s *)words[%d];", f, t, g.wordOfGlobal(x.Index))
	case abi.ExternTag:
		if g.tags()[x.Index].Import == nil {
			g.line("\texports->%s = (%s*)waot_moved(instance, &%s);", f, tagType, word(name))
			return
		}
		g.line("\texports->%s = (%s*)words[%d];", f, tagType, g.wordOfGlobal(uint32(len(g.m.Globals)))+int(x.Index))
	}
}

// wordOfGlobal is the place of an imported global among the words of imports.
func (g *generator) wordOfGlobal(index uint32) (n int) {
	for i := range g.m.Memories {
		if g.m.Memories[i].Import != nil {
			n++
		}
	}
	for i := range g.m.Tables {
		if g.m.Tables[i].Import != nil {
			n++
		}
	}
	return n + len(slices.DeleteFunc(slices.Clone(g.m.Globals[:index]), func(x meta.Global) bool { return x.Import == nil }))
}
