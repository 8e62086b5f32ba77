// Package wasmfront decodes WebAssembly modules and holds the operator table,
// the one place where names, encodings, immediates and types of operators are
// written down. The decoder, the validator (wasmfront/validate), the
// translator (wasmfront/translate) and the printer all read that table.
//
// It is the first stage of the pipeline: bytes become a Module, whose function
// bodies stay bytes until the validator and the translator walk them together
// in a single pass.
//
// Input: the bytes of a module in the binary format, and the set of features
// to accept.
//
// Output: a Module (index spaces with imports first, segments, names, custom
// sections, bodies as slices of the input), or an *Error that has a byte
// offset and the specification's wording. Decoding checks the format only;
// indices and types are checked by wasmfront/validate.
package wasmfront
