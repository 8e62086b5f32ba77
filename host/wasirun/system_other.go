//go:build !linux

package wasirun

import "github.com/waot-project/waot/host"

// System is what a program can reach; there are none on this system.
type System struct{}

// NewSystem gives host.ErrUnsupported.
func NewSystem(*Options) (*System, error) { return nil, host.ErrUnsupported }

// Imports returns nil.
func (s *System) Imports() host.Imports { return nil }

// ImportsOf returns nothing.
func (s *System) ImportsOf(*host.Module) host.Imports { return nil }

// Reset gives host.ErrUnsupported.
func (s *System) Reset() error { return host.ErrUnsupported }

// Reopen gives host.ErrUnsupported.
func (s *System) Reopen(*Options) error { return host.ErrUnsupported }

// Close does nothing.
func (s *System) Close() error { return nil }
