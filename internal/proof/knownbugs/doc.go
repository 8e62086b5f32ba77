// Package knownbugs holds tests for the classes of bugs that compilers and runtimes of
// WebAssembly have had, one row of docs/known-bugs.md each. That page names a test for
// every row, or the feature that the row waits for, or the invariant that makes it
// impossible; a test here holds the page to it.
//
// Most tests are modules as text, cases for internal/proof/compare. They run compiled at
// every level of optimisation and of processors, on the CLIF interpreter plain and
// optimised, and on wazero's interpreter, which is the judge. Some tests compute the
// expected results themselves. The cases that another judge runs too are in
// internal/proof/bugcases.
//
// Place in the pipeline: beside it, over everything; tests only.
//
// Input: docs/known-bugs.md, modules as text.
// Output: test failures that name a row, a module or a call.
package knownbugs
