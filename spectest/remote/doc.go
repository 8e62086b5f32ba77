// Package remote runs the test scripts on compiled code in another process, which may belong to another
// machine: scripts are read and modules compiled here, objects loaded and functions called there.
//
// Place in the pipeline: beside it: an engine for package spectest, and the process that serves it
// by an engine of its own.
//
// The two sides talk over a pair of pipes, as JSON: the tables of encoding/gob would be made whenever the command starts. Each sends a message and waits for the
// reply; until that comes, it answers what the other asks, such as what an import is, or
// a call of a host function. So at any time one side works and the other waits.
//
// Input: modules and a compiler on this side, objects and an engine that loads them on the other.
// Output: the behaviour of the compiled modules.
package remote
