// Package wasmgen makes random valid WebAssembly modules that terminate, for
// differential tests: all engines must agree on results, traps,
// memory and globals. It favours what breaks compilers: values that live across
// calls, addresses at the edges of memory, switches, several values per block, calls
// through tables, growth of memory and tables, all numeric operators with corner
// constants, and unreachable code.
//
// Place in the pipeline: none; tests only.
//
// Input: a seed, or bytes that steer, and a Config.
// Output: a Program: the module, a module that provides its imports, and the
// calls to make.
package wasmgen
