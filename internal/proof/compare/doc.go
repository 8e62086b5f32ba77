// Package compare runs cases, which are modules and calls of their exports, on several engines, and reports how the engines
// differ: results and their types, traps and their places, calls of the host, memories, exported globals. One
// engine is the judge, which is not ours; the others are ours: the CLIF interpreter, and native code at each level.
//
// Place in the pipeline: beside it, over everything; tests only.
//
// Input: cases, their modules as text for internal/proof/wat or as bytes; engines of package spectest.
// Output: failures of tests that name an engine, a call, the result, and the expected result.
package compare
