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

// maxMemory and withoutDefects are about wazero.
func maxMemory([]byte) bool              { return false }
func withoutDefects([]byte) []equivalent { return nil }

// equivalent is what withoutDefects returns.
type equivalent struct {
	bin   []byte
	known string
}

// runInterpreter needs it, too.
func runInterpreter(time.Duration, []byte, wasirun.Options, []call, observed) (*execution, error) {
	return nil, errors.New("diff works on Linux only")
}
