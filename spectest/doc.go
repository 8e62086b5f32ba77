// Package spectest runs the official WebAssembly test scripts on an engine.
//
// Place in the pipeline: a test of all of it. Package script reads the scripts,
// and an Engine compiles and runs the modules. Each engine is in its own package.
//
// Input: a script.Script and an Engine.
// Output: a Result: what passed, what failed, and what was skipped and why.
package spectest
