// Package compile is the module driver: it compiles a WebAssembly module to an
// object. It decodes and validates the module, runs translation, mid-end and back end for
// each function on several workers, lays the functions out in the order of the module, and
// adds instance data, constants, symbols, adapters for C and metadata.
//
// Place in the pipeline: it calls all stages of the compiler; the command and the Go API
// call it. Hosts load objects without it.
//
// Input: the bytes of a Wasm module, or a module in CLIF, and Options.
// Output: a Result with an objfile.Object and the metadata, or an error:
// *wasmfront.Error for an invalid module, *FuncError for a function that cannot be
// compiled. The error and every byte of the object depend only on the module and the options, not on the
// number of workers.
package compile
