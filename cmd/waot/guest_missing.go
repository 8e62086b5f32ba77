package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/host"
)

// missingError is what a module imports and nobody has.
type missingError struct{ imports []host.ImportType }

// shownImports is how many missing imports an error lists.
const shownImports = 20

func (e *missingError) Error() string {
	var b strings.Builder
	if len(e.imports) == 1 {
		fmt.Fprintf(&b, "unknown import: %s", importText(&e.imports[0]))
	} else {
		fmt.Fprintf(&b, "%d unknown imports: ", len(e.imports))
		for i := range e.imports[:min(len(e.imports), shownImports)] {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(importText(&e.imports[i]))
		}
		if n := len(e.imports) - shownImports; n > 0 {
			fmt.Fprintf(&b, ", and %d more", n)
		}
	}
	if h := toolchainHint(e.imports); h != "" {
		b.WriteString("; " + h)
	}
	return b.String()
}

func importText(d *host.ImportType) string {
	return fmt.Sprintf("%q %q: wanted %v", d.Module, d.Name, &d.Type)
}

// toolchains are compilers by what their output imports when it is meant for something else than WASI, with what to do. A name may
// end in a star.
var toolchains = []struct{ module, name, hint string }{
	{"env", "abort", "AssemblyScript: compile with @assemblyscript/wasi-shim, or with --use abort=, or run with --stub-missing, which traps when it is called"},
	{"env", "seed", "AssemblyScript: compile with @assemblyscript/wasi-shim"},
	{"gojs", "*", "Go for JavaScript: compile with GOOS=wasip1"},
	{"go", "*", "Go for JavaScript: compile with GOOS=wasip1"},
	{"env", "emscripten_notify_memory_growth", "Emscripten: link with -sPURE_WASI beside -sSTANDALONE_WASM, or without -sALLOW_MEMORY_GROWTH"},
	{"env", "emscripten_*", "Emscripten: link with -sSTANDALONE_WASM"},
	{"env", "__syscall_*", "Emscripten: link with -sSTANDALONE_WASM"},
	{"env", "invoke_*", "Emscripten: link with -sSTANDALONE_WASM, and without exceptions"},
	{"env", "_emscripten_*", "Emscripten: link with -sSTANDALONE_WASM"},
	{"a", "a", "this looks like Emscripten with names made short: link with -sSTANDALONE_WASM"},
	{"__wbindgen_placeholder__", "*", "wasm-bindgen: compile Rust for wasm32-wasip1"},
	{"wbg", "*", "wasm-bindgen: compile Rust for wasm32-wasip1"},
	{"./*", "__wb*", "wasm-bindgen: compile Rust for wasm32-wasip1"},
	{"wasi_unstable", "*", "an early form of WASI: compile with a newer toolchain, for preview 1"},
	{"wasi:*", "*", "WASI preview 2: compile for preview 1 (wasm32-wasip1)"},
	{"wasi_snapshot_preview1", "thread-spawn", "threads of WASI are not supported"},
	{"wasi", "thread-spawn", "threads of WASI are not supported"},
	{"env", "__indirect_function_table", "a library for dynamic linking: link it statically (wasm-ld without -shared)"},
	{"env", "__memory_base", "a library for dynamic linking: link it statically (wasm-ld without -shared)"},
}

// toolchainHint says what to do about imports that are known.
func toolchainHint(imports []host.ImportType) string {
	matches := func(pattern, s string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(s, prefix)
		}
		return pattern == s
	}
	for _, t := range toolchains {
		if slices.ContainsFunc(imports, func(d host.ImportType) bool { return matches(t.module, d.Module) && matches(t.name, d.Name) }) {
			return t.hint
		}
	}
	return constantsHint(imports)
}

// stubError is the end of a program that has called a function that is not there.
type stubError struct {
	module, name string
	frames       []frame
}

func (e *stubError) Error() string {
	return fmt.Sprintf("wasm trap: %q %q was called, which is missing", e.module, e.name)
}
