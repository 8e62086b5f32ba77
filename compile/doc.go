// Package compile is the module driver: it compiles a WebAssembly module to an
// object. It decodes and validates, sends each function through translation, mid-end
// and back end on several workers, lays the results out in the order of the module, and
// adds instance data, constants, symbols, adapters for C and metadata.
//
// Place in the pipeline: on top of everything that compiles; below the
// command and the Go API. Hosts do not need it to load a ready object.
//
// Input: the bytes of a Wasm module, or a module in CLIF, and Options.
// Output: a Result with an objfile.Object and the metadata, or an error:
// *wasmfront.Error for an invalid module, *FuncError for a function that cannot be
// compiled. Both, and every byte of the object, depend on module and options only, not on the
// number of workers.
package compile
