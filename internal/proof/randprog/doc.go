// Package randprog makes random programs, runs them under engines, and reports differences. A program is a module of internal/proof/wasmgen, the calls to make,
// and a host that reads memory and globals, changes them, and calls back.
//
// Place in the pipeline: none; differential tests and campaigns only.
//
// Input: seeds, engines.
// Output: outcomes: results, traps and their places, calls of the host, the final memory and globals. wazero's interpreter judges everything but
// places; the CLIF interpreter gives the places.
package randprog
