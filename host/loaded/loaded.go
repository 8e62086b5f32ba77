// Package loaded loads images, and keeps the code of each in memory as long as it is needed: a module may be closed while other
// goroutines instantiate it.
//
// Place in the pipeline: between host/inproc and package host, whose Module is the Module of this package. Code that has an
// image instead of an object file makes modules of package host here.
//
// Input: an image, or the file of one.
// Output: a Module, which lends the module of package inproc.
package loaded

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/image"
)

// Module is code in memory, for any number of instances. It is safe for concurrent use. The zero Module is a closed one.
type Module struct {
	mod *inproc.Module

	mu     sync.Mutex
	users  int // calls of Use without their Release
	closed bool

	described atomic.Value
}

// New puts the code of an image into memory. The errors are *hosterr.ObjectError, *CPUError and *SystemError, and ErrUnsupported.
func New(img *inproc.Image) (*Module, error) {
	return loaded(inproc.Load(img))
}

// Bytes is New for the bytes of a file with an image.
func Bytes(b []byte) (*Module, error) {
	return loaded(inproc.LoadBytes(b))
}

// OpenFile is New for an image in a file, from the offset at on, whose bytes are known to be undamaged: see inproc.OpenFile.
func OpenFile(f *os.File, at int64) (*Module, error) {
	return loaded(inproc.OpenFile(f, at, true))
}

// ImageFile is New for a file that is an image, which it looks through for damage. It returns nil, and no error, if the file is none, or has
// more than most bytes.
func ImageFile(f *os.File, most int64) (*Module, error) {
	var head [16]byte
	if n, _ := f.ReadAt(head[:], 0); !image.Is(head[:n]) { // errors are for who reads the file
		return nil, nil
	}
	if st, err := f.Stat(); err == nil && st.Size() > most { // the reader refuses it, and names the limit
		return nil, nil
	}
	return loaded(inproc.OpenFile(f, 0, false))
}

func loaded(mod *inproc.Module, err error) (*Module, error) {
	if err != nil {
		return nil, ObjectError(err)
	}
	m := &Module{mod: mod}
	// If Close is forgotten, the code's file disappears with the module.
	runtime.AddCleanup(m, (*inproc.Module).Close, mod)
	return m, nil
}

// ObjectError converts an error of reading or loading an object. Errors about this machine stay as they are; all others become
// an *hosterr.ObjectError.
func ObjectError(err error) error {
	var cpu *hosterr.CPUError
	var system *hosterr.SystemError
	if errors.Is(err, hosterr.ErrUnsupported) || errors.As(err, &cpu) || errors.As(err, &system) {
		return err
	}
	return &hosterr.ObjectError{Err: err}
}

// Inproc returns the module of package inproc. Its metadata may be read at any time; what instantiates it needs Use.
func (m *Module) Inproc() *inproc.Module { return m.mod }

// Described has what package host has found out about the imports, once somebody has asked.
func (m *Module) Described() *atomic.Value { return &m.described }

// Use keeps the module open until Release. The error is ErrClosed.
func (m *Module) Use() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.mod == nil {
		return hosterr.ErrClosed
	}
	m.users++
	return nil
}

// Release ends what Use began.
func (m *Module) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users--
	m.free()
}

// Close gives up the module as soon as its users have released it. The error is ErrClosed if it has been closed.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.mod == nil {
		return hosterr.ErrClosed
	}
	m.closed = true
	m.free()
	return nil
}

// free closes the module once it is closed and without users. mu is held.
func (m *Module) free() {
	if m.closed && m.users == 0 {
		m.mod.Close()
	}
}
