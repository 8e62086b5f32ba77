//go:build !linux

package main

import (
	"errors"
	"time"

	"github.com/waot-project/waot/host/wasirun"
)

// runWazero needs waot's WASI, which is for Linux.
func runWazero(time.Duration, []byte, wasirun.Config, []call, string, bool) (*outcome, error) {
	return nil, errors.New("diff works on Linux only")
}
