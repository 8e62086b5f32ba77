// Package wasirun gives compiled programs WASI preview 1. A System is what a program
// can reach, and has the functions that the program imports. Program and
// Run also make the store and the instance.
//
// Place in the pipeline: on top of packages host and wasi, neither of which knows the
// other. What only loads objects needs none of it.
//
// Input: Options that say what the program can reach, and its module or instance.
// Output: what the program writes to its descriptors, and its exit status.
//
// # Goroutines
//
// Functions may be called from any goroutine. A System or Program is for one goroutine at a time, that which is inside its
// store; Close too, which must not be called during a call.
//
// # Stability
//
// This package is part of the stable API, which package waot describes.
package wasirun

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/waot-project/waot/host"
)

// Options say what a program can reach. The zero value is a program without
// arguments, environment and directories, whose input is empty and whose output
// is discarded.
type Options struct {
	// Args are the program's arguments, its name first; Env has "KEY=VALUE".
	Args, Env []string
	// Stdin, Stdout and Stderr are descriptors 0 to 2; an *os.File is used directly. Others
	// must not keep the slices that they are given: they are the program's memory.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dirs are the directories given to the program, from descriptor 3 on. It cannot
	// leave them.
	Dirs []Dir
	// Sockets are connected or listening sockets; their descriptors follow the directories.
	Sockets []*os.File
	// Walltime returns nanoseconds since 1970, Monotonic nanoseconds since any moment, Rand
	// gives random bytes, and Nanosleep waits where the program waits for time alone; nil means
	// the real ones. With all four, a run can be repeated.
	Walltime, Monotonic func() int64
	Nanosleep           func(time.Duration)
	Rand                io.Reader
	// MaxOpen bounds the descriptors that are open at one time; 0 means 4,096.
	MaxOpen int
	// Store bounds what the program's store gives, and says what fuel it has; nil means the defaults. It counts where New or Run makes the store.
	Store *host.StoreOptions
}

// Dir is a directory of the host and its name in the program.
type Dir struct {
	// Host is the directory's path. Root, when not nil, is used instead, and stays the
	// caller's to close.
	Host string
	Root *os.Root
	// FS, when not nil, is used instead of both, and is read-only. What its symbolic links
	// reach is its affair: os.DirFS follows them anywhere, os.Root's FS does not.
	FS fs.FS
	// Guest is the program's name of it, such as "/" or "/data".
	Guest string
	// ReadOnly refuses every change in it.
	ReadOnly bool
	// Devices lets the program open device files in it. Without, only null, zero, full,
	// random and urandom can be opened.
	Devices bool
}

// ErrNoStart means that a module exports no function _start: it is a library.
const ErrNoStart = host.Error("wasirun: the module exports no function _start")

// ExitError means that the program ended itself.
type ExitError struct {
	// Code is the exit status that the program gave.
	Code uint32
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }
