package waot

import "github.com/waot-project/waot/host/wasirun"

// WASI describes what a WASI preview 1 program can reach: see NewWASI.
type WASI = wasirun.System

// WASIOptions say what a program can reach. The zero value is a program without arguments,
// environment and directories, whose input is empty and whose output is discarded.
type WASIOptions = wasirun.Options

// Dir is a directory of the host and its name in the program.
type Dir = wasirun.Dir

// ExitError means that a program ended itself.
type ExitError = wasirun.ExitError

// ErrNoStart means that an instance exports no function _start: it is a library.
const ErrNoStart = wasirun.ErrNoStart

// NewWASI opens what a program can reach; the result must be closed. Give WASI.Imports to
// Store.Instantiate, then start the program by WASI.Start, or a library by
// WASI.Initialize. See wasirun.NewSystem for errors.
func NewWASI(o *WASIOptions) (*WASI, error) { return wasirun.NewSystem(o) }
