// Package isatest holds the tests of lowering and emission that all machines of the back end share: file tests, generated
// functions that must give the same results compiled as on the CLIF interpreter, and checks of the records of traps and
// references. Only tests import it.
//
// Place in the pipeline: none. A machine's tests describe in a Machine how its code is executed, natively or in an
// emulator.
//
// Input: a Machine.
// Output: failures of tests.
package isatest
