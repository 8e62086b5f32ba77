// Package difftest holds the tests that compare the whole compiler with other
// implementations of WebAssembly: random modules and real programs against
// wazero and the CLIF interpreter, damaged modules, and the references that
// stack maps list against those that the interpreter keeps alive. It contains
// only tests.
//
// Place in the pipeline: beside it, over everything.
//
// Input: modules, from internal/proof/wasmgen, wazero's module in the module cache, or
// WAOT_BENCH_DIR.
// Output: test failures that name a seed or a file.
package difftest
