package host

import (
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/sign"
)

// Module is compiled code, ready to be instantiated any number of times in any store. It is immutable, and all methods
// may be called from any goroutine at any time.
type Module loaded.Module

// LoadOptions say how to load an object. The zero value means the defaults, as does a nil pointer.
type LoadOptions struct {
	// Verify, if not nil, is the key that must have signed the object; package host/sign makes keys. Bytes that the key
	// has not signed give a *SignatureError before anything else in them is read. The default is to verify nothing.
	Verify *ObjectKey
}

// ObjectKey is a key that signs objects, or verifies them; package host/sign makes keys.
type ObjectKey = sign.Key

// Load makes a module from an object: an ELF file as waot build and waot.CompileObject
// make it. o may be nil.
//
// Load finds damage, and metadata that is impossible or contradicts other parts. But all of an object is trusted, like a
// shared library: load objects from where you would load programs, or verify their signatures with LoadOptions.Verify. With
// Verify the bytes must not change before Load returns, since otherwise what was verified is not what is
// loaded: read a file that others can write, and do not map it.
//
// The time is in proportion to the object, 2 to 3 milliseconds for each megabyte. Load may be called from any goroutine. The errors are
// *ObjectError, *SignatureError, *CPUError, *SystemError and ErrUnsupported.
func Load(object []byte, o *LoadOptions) (*Module, error) {
	if o != nil && o.Verify != nil {
		var err error
		if object, err = o.Verify.Verify(object); err != nil {
			return nil, err
		}
	}
	img, err := load.ELF(object)
	if err != nil {
		return nil, loaded.ObjectError(err)
	}
	m, err := loaded.New(img)
	return (*Module)(m), err
}

func (m *Module) loaded() *loaded.Module { return (*loaded.Module)(m) }

// Name returns the name that the module was compiled with.
func (m *Module) Name() string { return m.loaded().Inproc().Meta().Name }

// Imports describes what the module needs: functions, tables, memories and globals,
// in the order of the module within each kind.
func (m *Module) Imports() []ImportType { return importsOf(m.loaded().Inproc().Meta()) }

// Exports describes what instances of the module offer, in the order of the module.
func (m *Module) Exports() []ExportType { return exportsOf(m.loaded().Inproc().Meta()) }

// Close gives up what further instances would need. Instances that exist, and
// instantiations in progress, are not affected. A module that is not closed is given up when the garbage collector finds
// it. The error is ErrClosed if the module has been closed.
func (m *Module) Close() error { return m.loaded().Close() }
