// Package validate checks modules against the specification's validation
// rules. It sits between the decoder (wasmfront) and the translator
// (wasmfront/translate), which drives Func so that a body is decoded,
// validated and translated in one pass over its bytes.
//
// Input: the bytes of a module; for Func, a module that Module accepted.
//
// Output: the decoded module, or for Func one checked operator after another
// with the operand and control stacks; in either case an *wasmfront.Error with
// the offset of what is wrong.
//
// Of several errors, the one with the lowest offset counts. Module reports the
// lowest one outside of function bodies, at X say, together with the module as
// far as it is there. A caller that validates bodies itself must still do so
// for those whose offset is below X, and report the error that Earliest picks.
// Everything such bodies refer to has then been checked. All does all of this.
package validate
