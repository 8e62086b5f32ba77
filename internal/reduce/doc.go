// Package reduce makes a WebAssembly module small that shows something, such as that two engines
// differ on it, while it goes on showing it: first exports, bodies, imports, segments and what nobody uses are
// left out, then statements, blocks and expressions within bodies.
//
// Place in the pipeline: none; for tools and tests.
//
// Input: a valid module, and a function that says whether a module still shows it.
// Output: a smaller valid module that does.
package reduce
