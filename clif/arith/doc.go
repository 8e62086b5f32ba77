// Package arith computes what instructions without effects do with floats and vectors, on raw bits. It is
// the one place that says what the lanes of a vector mean.
//
// Place in the pipeline: beside it. The interpreter executes with it, and the mid-end folds constants.
//
// Input: an instruction, and the bits of its operands.
// Output: the bits of its result.
//
// Each operation has one result, on every machine. A NaN that is computed is always the positive
// canonical one, which WebAssembly allows whatever the operands were.
package arith
