// Package interp executes CLIF directly. It is the reference for what CLIF
// means: tests compare everything else with it. It is written for clarity, and
// checks what compiled code takes for granted, such as the bounds of a
// table_get.
//
// Place in the pipeline: beside it. Tests run it after the front end or any pass
// of the mid-end.
//
// Input: a clif.Module, its functions, and the imports.
// Output: an Instance whose exported functions can be called; results are raw
// bits; a trap is a *Trap.
package interp
