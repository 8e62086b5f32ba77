// Package bugcases holds cases for classes of bugs that compilers of WebAssembly have had, as data for package compare.
// Tests run the same cases beside different judges: internal/proof/knownbugs beside wazero's interpreter, oracle beside
// wasmtime.
//
// Place in the pipeline: beside it, over everything; tests only.
//
// Input: a Choice of the cases to run.
// Output: cases for internal/proof/compare.
package bugcases
