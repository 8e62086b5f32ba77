// Package isatest is the tests that all machines of the back end have, of their lowering and emission: file tests,
// calls of generated functions whose outcomes on the CLIF interpreter and compiled are compared, and what lowering
// must say of traps and references. It is imported by tests only.
//
// Place in the pipeline: none. A machine's tests describe in a Machine how its code is executed, natively or in an
// emulator.
//
// Input: a Machine.
// Output: failures of tests.
//
// This package is not part of the stable API and may change in any release.
package isatest
