// Package compare runs cases, which are modules and calls of what they export, on several engines, and reports in what
// these differ: results and their types, traps and their places, calls of the host, memories, exported globals. One
// engine is the judge, which is not ours; the others are ours: the CLIF interpreter, and native code at each level.
//
// Place in the pipeline: beside it, over everything; tests only.
//
// Input: cases, their modules as text for internal/proof/wat or as bytes; engines of package spectest.
// Output: failures of tests that name an engine, a call, and what was done and expected.
package compare
