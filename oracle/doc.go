// Package oracle compares the compiler with wasmtime, which needs cgo: hence a
// module of its own, that nothing else knows. It has an engine for package
// spectest, and tests: random modules, and modules written as text for the
// classes of bugs that compilers and runtimes of WebAssembly have had. The texts
// are cases for internal/proof/compare; those in internal/proof/bugcases run also
// beside wazero's interpreter, in internal/proof/knownbugs.
//
// Place in the pipeline: beside it, over everything; tests only.
//
// Input: modules, from internal/proof/wasmgen or as text.
// Output: test failures that name a module, a call and what the engines did.
package oracle
