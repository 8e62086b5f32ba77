// Package snapshot makes modules that begin where instances of others are: their memories, tables, globals and segments are in the module, the code that led
// there is not, and a function that was running goes on.
//
// A snapshot of WebAssembly is WebAssembly. So it is the same for all machines, runs in any engine that runs the module, and what a compiler knows of a module's globals
// and tables holds for it, too.
//
// Place in the pipeline: in front of it; package initialize runs the code.
//
// Input: a valid module, and the State of an instance of it.
// Output: a valid module whose instances begin in that state.
//
// Three modules are made:
//
//	Instrument  what runs to get there: everything is exported, and dropped segments are noted
//	Spill       the same, where calls that are under way have their locals and operands in a memory, too
//	Freeze      the snapshot
package snapshot
