// Package wat reads the text format of WebAssembly: a module in .wat becomes
// the bytes of the binary format, which the rest of the pipeline takes as if
// they had come from a file.
//
// There are three layers, each usable by itself:
//
//   - Cursor walks over the tokens and lists of a text, in order and without a
//     tree. It knows of comments, annotations and literals, and nothing of
//     modules. The reader of test scripts uses it for its own forms.
//   - Form is a (module ...) that a cursor has walked over: text, binary or
//     quoted, a definition or an instance. Pattern is a constant of a script.
//   - Assemble and Form.Assemble translate a module.
//
// The table of operators is that of package wasmfront. An operator, type or
// field of a proposal that is not supported gives an error that names the
// proposal; what wasmfront can decode is supported, garbage collection too. Indices and types, and what a type may refer to,
// are checked by wasmfront/validate as for any module; Module.Place translates the offsets of its errors to places in the text.
//
// Time and memory are proportional to the length of the text. No function
// recurses on the nesting of the text.
//
// Input: the text, in UTF-8.
//
// Output: a Module, whose bytes have places in the text, or an *Error that says the line,
// the column, what was found and what was expected. Messages begin with the
// wording of the official tests.
package wat
