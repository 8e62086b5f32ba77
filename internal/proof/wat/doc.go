// Package wat assembles modules from the text format, and makes pieces of that text: constants, declarations, hashes of
// locals, data segments; and it lists operators by the types of their operands. It knows what the tests of this
// project write: folded and plain operators, blocks only folded, no SIMD.
//
// Place in the pipeline: none; tests only.
//
// Input: a module as text.
// Output: the module's bytes. They need not be valid: tests of the validator want modules that are not.
package wat
