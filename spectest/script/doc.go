// Package script reads the official WebAssembly test scripts in their JSON
// form (as wabt's wast2json and this project's converter write it) into typed
// commands. It knows nothing of how commands are run; the runner is package
// spectest.
//
// Input: a folder of groups, each a zip file or a folder with NAME.json and
// the modules it names; or a single NAME.json.
//
// Output: a Script of Commands, whose modules are read when asked for.
//
// This package is not part of the stable API and may change in any release.
package script
