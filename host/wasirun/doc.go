// Package wasirun runs compiled WASI programs inside a Go process: it registers
// the functions of package wasi as host functions of package host/inproc, gives
// them the caller's linear memory, and turns the program's exit into a status.
//
// Place in the pipeline: after host/inproc and wasi, neither of which knows the
// other. What only loads objects needs none of it.
//
// Input: an inproc.Image and a Config that says what the program can reach.
// Output: what the program writes to its descriptors, and its exit status.
package wasirun

import (
	"io"

	"github.com/waot-project/waot/host/inproc"
)

// Config says what a program can reach. The zero value is a program without
// arguments, environment and directories, whose input is empty and whose output
// is discarded.
type Config struct {
	// Args are the program's arguments, its name first; Env has "KEY=VALUE".
	Args, Env []string
	// Stdin, Stdout and Stderr are descriptors 0 to 2; an *os.File is used directly.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dirs are the directories given to the program, from descriptor 3 on.
	Dirs []Dir
	// Walltime gives nanoseconds since 1970, Monotonic nanoseconds since any moment, Rand
	// random bytes; nil means the real ones. With all three, a run can be repeated.
	Walltime, Monotonic func() int64
	Rand                io.Reader
	// Store bounds memories and tables.
	Store inproc.Config
	// Imports gives what is imported from other modules than WASI's; it may be nil.
	Imports func(s *inproc.Store) (inproc.Resolver, error)
}

// Dir is a directory of the host and its name in the program.
type Dir struct {
	Host, Guest string
	ReadOnly    bool
}

// ErrNoStart says that a module has no function _start: it is a library.
const ErrNoStart = inproc.Error("wasirun: the module exports no function _start")
