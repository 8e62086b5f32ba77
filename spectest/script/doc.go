// Package script reads the official WebAssembly test scripts into typed
// commands: as they are written, in the text format, or in their JSON form (as
// wabt's wast2json and this project's converter write it). It knows nothing of how
// commands are run; the runner is package spectest.
//
// Input: a folder of groups, each a zip file or a folder with NAME.wast, or
// NAME.json and the modules it names; or a single one of these files.
//
// Output: a Script of Commands, whose modules are read, and assembled if they are
// text, when asked for.
package script
