//go:build !linux

package main

import (
	"errors"
	"time"

	"github.com/waot-project/waot/host/wasirun"
)

// runWazero needs waot's WASI, which is for Linux.
func runWazero(time.Duration, []byte, wasirun.Options, []call, observed, bool) (*execution, error) {
	return nil, errors.New("diff works on Linux only")
}

// runInterpreter needs it, too.
func runInterpreter(time.Duration, []byte, wasirun.Options, []call) (*execution, error) {
	return nil, errors.New("diff works on Linux only")
}
