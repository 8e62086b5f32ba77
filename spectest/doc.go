// Package spectest runs the official WebAssembly test scripts on an engine.
//
// Place in the pipeline: a test of all of it; package script reads the scripts,
// an Engine compiles and runs the modules. The engines are in packages of
// their own.
//
// Input: a script.Script and an Engine.
// Output: a Result: what passed, what failed, and what was skipped and why.
//
// This package is not part of the stable API and may change in any release.
package spectest
