// Package translate turns WebAssembly functions into CLIF: structured control
// becomes a control-flow graph with block parameters, locals and the operand
// stack become SSA values, built on the fly, and each trap that is not an
// instruction's own becomes explicit.
//
// Place in the pipeline: after decoding; it drives wasmfront/validate, so that
// decoding, validation and translation are one pass over a body's bytes. The
// mid-end comes next.
//
// Input: a module that validate.Module accepted.
// Output: a clif.Module, and one clif.Func after another that satisfies the
// invariants at clif.Func, or a *wasmfront.Error if the body is invalid.
package translate
