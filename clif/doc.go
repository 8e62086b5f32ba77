// Package clif is the intermediate representation: functions in SSA form with
// block parameters, in flat tables of small records that refer to each other
// by index. The names follow Cranelift's IR.
//
// Place in the pipeline: between the Wasm front end, which builds a Func with a
// Builder, and the back end, which lowers it; clif/opt rewrites it in between.
//
// Input: calls of Builder methods, or text (clif/text).
// Output: a Func that satisfies the invariants F1 to F5 at type Func.
package clif
