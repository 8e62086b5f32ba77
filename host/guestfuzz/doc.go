// Package guestfuzz tries to hurt the host with random guests. An episode makes a store with random
// limits, instantiates random modules in it, and calls them; their functions call the host, which
// calls back, grows and changes what they share, makes instances and further stores, collects, cancels,
// fails, panics, ends the goroutine. Some WASI programs read, write, and wait until they are cancelled. Each worker runs one episode after the other; all run at once.
//
// Place in the pipeline: none; a campaign for testing, of package host and what is below it. TestEpisodes
// runs it for a moment, the command guestfuzz/soak for as long as one likes.
//
// Input: seeds. One seed is one episode: modules and what the host decides. Where contexts and other goroutines end calls is not
// repeated, so a finding that needs that may take several tries.
// Output: counts, samples of what the process holds, and the first thing that was not as it must be.
//
// # What decides
//
// A model runs beside the code (model.go). Modules are lists of actions, each with an effect that is
// easily said, of which the encoder makes WebAssembly and the model an interpreter. Neither knows what the host will do:
// at each call of the host the model must have come to the same call with the same arguments, and at each return
// to the same results, or the same trap with the same frames. Memories, tables and globals are compared too.
//
// A call may end at any instruction, by its context or because the stack is full. So each action counts a global
// variable up, and the model follows as far as the code has come. What that one action changes may be as before or after it.
//
// References are Go values with numbers, which only the store keeps alive. The model knows handles one by one: what
// it can reach must be there, and after a collection there must be no other. When a store has been closed,
// nothing may keep its values.
//
// This package is not part of the stable API and may change in any release.
package guestfuzz
