//go:build !linux

package wasirun

import "github.com/waot-project/waot/host/inproc"

// Program is an instantiated program; there are none on this system.
type Program struct{}

// New gives inproc.ErrUnsupported.
func New(*inproc.Image, Config) (*Program, error) { return nil, inproc.ErrUnsupported }

// Instance is nil.
func (p *Program) Instance() *inproc.Instance { return nil }

// Run gives inproc.ErrUnsupported.
func (p *Program) Run() (uint32, error) { return 0, inproc.ErrUnsupported }

// Call gives inproc.ErrUnsupported.
func (p *Program) Call(*inproc.Func, []uint64, []uint64) error { return inproc.ErrUnsupported }

// Close does nothing.
func (p *Program) Close() error { return nil }
