// Package reduce shrinks a WebAssembly module while it keeps a property, such as that two engines
// differ on it. It first removes exports, bodies, imports, segments and unused entities,
// then statements, blocks and expressions within bodies.
//
// Place in the pipeline: none; for tools and tests.
//
// Input: a valid module, and a function that says whether a module still has the property.
// Output: a smaller valid module that has it.
package reduce
