// Package campaign compares what random programs do as compiled code, for each target and at each level of
// optimisation, with what they do under wazero's interpreter, the judge, and under the CLIF interpreter, which also says where
// traps arise: results, traps, what they leave in memory and globals, and their calls of the host. Compiled code runs in processes of its
// own, in an emulator where it is another machine's. Where there is a difference, the program is made small, and
// the rewrite of the mid-end that makes it is looked for.
//
// Place in the pipeline: none; a campaign for testing, over everything.
//
// Input: seeds for internal/wasmgen, targets.
// Output: figures, and for each difference a folder with all there is to see it again.
package campaign
