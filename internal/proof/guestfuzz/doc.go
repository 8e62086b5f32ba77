// Package guestfuzz tries to hurt the host with random guests. An episode makes a store with random
// limits, instantiates random modules in it, and calls them; their functions call the host, which
// calls back, grows and changes what they share, makes instances and further stores, collects, throws, cancels,
// fails, panics, ends the goroutine. Some WASI programs read, write, and wait until they are cancelled. Each worker runs one episode after the other; all run at once.
//
// Place in the pipeline: none; a campaign for testing, of package host and what is below it. TestEpisodes
// runs it briefly, the command guestfuzz/soak for as long as you like.
//
// Input: seeds. One seed is one episode: modules and what the host decides. A seed does not repeat where contexts and other
// goroutines end calls, so a finding that depends on that may take several tries.
// Output: counts, samples of what the process holds, and the first thing that was wrong.
//
// Guests throw and catch, also what the host has thrown and what comes through it, keep references to exceptions in locals, tables, globals and other exceptions, and
// make tail calls, within an instance, to others and of the host.
//
// # What decides
//
// A model runs beside the code (model.go). Modules are lists of actions, each with a simple effect.
// The encoder turns actions into WebAssembly; the model interprets them. Neither knows what the host will do.
// At each call of the host the model must have reached the same call with the same arguments, and at each return
// the same results, or the same trap with the same frames. Memories, tables and globals are compared too.
//
// A call may end at any instruction, because of its context or because the stack is full. So each action increments a global
// variable, and the model follows as far as the code has come. The effect of the last action may have happened or not.
//
// References are Go values with numbers, which only the store keeps alive. The model tracks each handle: every handle that
// it can reach must exist, and after a collection there must be no others. An exception keeps what its references are to, and not the handles: where
// one is caught, that of an argument may be a new one, so that the model knows a least and a largest number. When a store has been closed,
// nothing may keep its values alive.
package guestfuzz
