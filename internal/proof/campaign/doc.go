// Package campaign compares what random programs do as compiled code, for each target and at each level of
// optimisation, with what they do under wazero's interpreter, the judge, and under the CLIF interpreter, which also says where
// traps occur. It compares results, traps, what programs leave in memory and globals, and their calls of the host. Compiled code runs in
// separate processes, in an emulator if it is for another machine. The campaign reduces a program that differs, and
// searches for the rewrite, of the mid-end or of lowering, that causes the difference.
//
// Place in the pipeline: none; a campaign for testing, over everything.
//
// Input: seeds for internal/proof/wasmgen, targets.
// Output: figures, and for each difference a folder with everything needed to reproduce it.
package campaign
