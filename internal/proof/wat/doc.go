// Package wat makes pieces of text of modules: constants, declarations, hashes of locals, data segments; and it lists
// operators by the types of their operands. Texts are translated by the product's reader (wasmfront/wat).
//
// Place in the pipeline: none; tests only.
//
// Input: letters for types, bits of constants; a module as text.
// Output: text; the module's bytes, which need not be valid: tests of the validator want modules that are not.
package wat
