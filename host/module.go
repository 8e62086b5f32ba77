package host

import (
	"runtime"
	"sync"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/sign"
)

// Module is compiled code, ready to be instantiated any number of times in any store. It is
// safe for concurrent use.
type Module struct {
	mod *inproc.Module

	mu     sync.Mutex
	users  int // instantiations in progress
	closed bool
}

// LoadOptions say how to load an object. The zero value is what Load does.
type LoadOptions struct {
	// Verify, if not nil, is the key that must have signed the object, see package host/sign. What it
	// has not signed, exactly as it is, gives a *SignatureError before anything in it is looked at.
	Verify *ObjectKey
}

// ObjectKey is a key that signs objects, or verifies them; package host/sign makes keys.
type ObjectKey = sign.Key

// Load makes a module of an object: an ELF file as waot build and waot.CompileObject
// make it. Damage, and metadata that is impossible or contradicts other parts, is found. But an
// object is trusted like a shared library, all of it: load objects from where you would load programs from, or
// use LoadWith. The errors are *ObjectError, *CPUError, *SystemError and ErrUnsupported.
func Load(object []byte) (*Module, error) { return LoadWith(object, LoadOptions{}) }

// LoadWith is Load with options. The bytes must not change before it returns: what was verified would not be what is
// loaded, so read a file that others can write, and do not map it. The errors are those of Load, and *SignatureError.
func LoadWith(object []byte, o LoadOptions) (*Module, error) {
	if o.Verify != nil {
		var err error
		if object, err = o.Verify.Verify(object); err != nil {
			return nil, err
		}
	}
	img, err := load.ELF(object)
	if err != nil {
		return nil, loadError(err)
	}
	return LoadImage(img)
}

// LoadImage is Load for an object that has been read already, by package host/load.
func LoadImage(img *inproc.Image) (*Module, error) {
	mod, err := inproc.Load(img)
	if err != nil {
		return nil, loadError(err)
	}
	m := &Module{mod: mod}
	// The code's file goes with the module, should Close be forgotten.
	runtime.AddCleanup(m, (*inproc.Module).Close, mod)
	return m, nil
}

// Name is the name that the module was compiled with.
func (m *Module) Name() string { return m.mod.Meta().Name }

// Imports describes what the module needs: functions, tables, memories and globals,
// in the order of the module within each kind.
func (m *Module) Imports() []ImportType { return importsOf(m.mod.Meta()) }

// Exports describes what instances of the module offer, in the order of the module.
func (m *Module) Exports() []ExportType { return exportsOf(m.mod.Meta()) }

// Close gives up what further instances would need. Instances that exist, and
// instantiations in progress, are not affected. The error is ErrClosed if it has been
// closed.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.closed = true
	m.tidy()
	return nil
}

// use keeps the module open until unuse.
func (m *Module) use() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.users++
	return nil
}

func (m *Module) unuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users--
	m.tidy()
}

// tidy closes what nobody uses any more. mu is held.
func (m *Module) tidy() {
	if m.closed && m.users == 0 {
		m.mod.Close()
	}
}
