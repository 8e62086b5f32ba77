// Package jsstring gives modules the strings of JavaScript that compilers to WebAssembly use in place of their own: the functions of "wasm:js-string" (the JavaScript String Builtins), and constants
// as imported globals.
//
//	imports, err := jsstring.Imports(store, mod, nil)
//	imports["env"] = ... // what the module imports besides
//	inst, err := store.Instantiate(ctx, mod, imports)
//	greet, err := inst.Func("greet") // (param externref) (result externref)
//	results, err := greet.Call(ctx, jsstring.New("world"))
//	fmt.Println(results[0]) // hello, world
//
// Place in the pipeline: behind it, as any Go functions that a module imports. It uses package host, and host/inproc to look into arrays without copies.
//
// Input: what a module imports.
// Output: functions and globals for it.
//
// # Strings
//
// A string is a sequence of code units of 16 bits, and may have surrogates without a partner. For compiled code it is an externref, for Go code a *String, which never changes: New and FromUTF16 make one. Go code may also give compiled code
// a string of Go, which the functions take as the one that New makes of it. They convert it when they are given it, but not those four again that they were given last, so that a loop over the code units of one
// takes time in proportion to these; New is better for what is used often.
//
// # What the functions do
//
// They do what the proposal says. Integers are without sign. What the proposal calls a trap ends the call with a *host.Trap, which no code catches:
//
//	cast failure                 a reference is no string, or null where that is not allowed (only equals takes null), or no array of code units
//	null array reference         the array is null
//	out of bounds array access   an index or range is not within the string or array, or the array is too short
//	unreachable                  a number is no code point
//
// The strings that the functions have made and that compiled code can reach take at most Options.MaxMemory; what needs more ends with a *host.LimitError.
//
// A function is imported with the type that the proposal gives it, as an instantiation compares types: it, and the (array (mut i16)) of some, are final, without supertypes, and in recursion groups of their own. The error for another one
// says what differs.
//
// # Stability
//
// This package is part of the stable API, which package waot describes.
package jsstring
