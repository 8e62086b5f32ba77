// Package randprog has random programs, runs them under engines, and tells in what they differ: modules of internal/wasmgen with the calls to make,
// and a host that looks at memory and globals, changes them, and calls back.
//
// Place in the pipeline: none; differential tests and campaigns only.
//
// Input: seeds, engines.
// Output: outcomes: results, traps and their places, calls of the host, what is left in memory and globals. The judge of all but places is wazero's
// interpreter; places are those of the CLIF interpreter.
package randprog
