package host

import (
	"errors"
	"os"
	"slices"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/meta"
)

// Module is compiled code, ready to be instantiated any number of times in any store. It is immutable, and all methods
// may be called from any goroutine at any time. Modules come from Load and waot.Compile; the zero Module cannot be instantiated (ErrClosed).
type Module loaded.Module

// LoadOptions say how to load an object. The zero value means the defaults, as does a nil pointer.
type LoadOptions struct {
	// Verify, if not nil, is the key that must have signed the object; package host/sign makes keys. Bytes that the key
	// has not signed give a *SignatureError before anything else in them is read. The default is to verify nothing.
	Verify *ObjectKey
}

// ObjectKey is a key that signs objects, or verifies them; package host/sign makes keys.
type ObjectKey = sign.Key

// Load makes a module from an object, an ELF file as waot build and waot.CompileObject
// make it, or from an image, as waot build makes it. o may be nil.
//
// Load finds damage, and metadata that is impossible or contradicts other parts. But all of an object or image is trusted, like a
// shared library: load objects from where you would load programs, or verify their signatures with LoadOptions.Verify. With
// Verify the bytes must not change before Load returns, since otherwise what was verified is not what is
// loaded: read a file that others can write, and do not map it.
//
// The time is in proportion to the object, 2 to 3 milliseconds for each megabyte; 0.5 of an image. Load may be called from any goroutine. The errors are
// *ObjectError, *SignatureError, *CPUError, *SystemError and ErrUnsupported.
func Load(object []byte, o *LoadOptions) (*Module, error) {
	if o != nil && o.Verify != nil {
		var err error
		if object, err = o.Verify.Verify(object); err != nil {
			return nil, err
		}
	}
	if image.Is(object) {
		m, err := loaded.Bytes(object)
		return (*Module)(m), err
	}
	img, err := load.ELF(object)
	if err != nil {
		return nil, loaded.ObjectError(err)
	}
	m, err := loaded.New(img)
	return (*Module)(m), err
}

// LoadFile is Load for a file. An image is mapped: instances share its pages, and those that nothing touches are not read, but by the search for
// damage, which takes 0.1 milliseconds for each megabyte. So its bytes must stay as they are while there are instances: replace such a file by another one, and do not
// write to it. With Verify an image is read like an object. Files of more than 2 GiB are refused (*LimitError). Errors can also be those of package os.
func LoadFile(name string, o *LoadOptions) (*Module, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if o == nil || o.Verify == nil {
		if m, err := loaded.ImageFile(f, input.MaxObject); m != nil || err != nil {
			return (*Module)(m), err
		}
	}
	r := input.Reader{Bound: input.Object}
	object, err := r.Opened(f)
	var limit *input.LimitError
	if errors.As(err, &limit) {
		return nil, &LimitError{What: limit.What, Want: max(limit.Want, limit.Limit+1), Limit: limit.Limit}
	}
	if err != nil {
		return nil, err
	}
	return Load(object, o)
}

func (m *Module) loaded() *loaded.Module { return (*loaded.Module)(m) }

// Name returns the name that the module was compiled with.
func (m *Module) Name() string { return m.loaded().Inproc().Meta().Name }

// Imports describes what the module needs: functions, tables, memories, globals and tags,
// in the order of the module within each kind. A nil or zero Module needs nothing. The slices of function types are shared: they must not be changed.
func (m *Module) Imports() []ImportType {
	if m == nil || m.loaded().Inproc() == nil {
		return nil
	}
	return slices.Clone(m.needs().list)
}

// needs is what a module imports, found out once.
type needs struct {
	list []ImportType
	// first is for each the first of the same name.
	first []int
}

func (m *Module) needs() *needs {
	known := m.loaded().Described()
	if n, ok := known.Load().(*needs); ok {
		return n
	}
	n := &needs{list: importsOf(m.loaded().Inproc().Meta())}
	n.first = make([]int, len(n.list))
	byName := map[meta.ImportName]int{}
	for i, d := range n.list {
		name := meta.ImportName{Module: d.Module, Name: d.Name}
		first, ok := byName[name]
		if !ok {
			first, byName[name] = i, i
		}
		n.first[i] = first
	}
	known.Store(n)
	return n
}

// resolver returns values for the imports, as package inproc asks for them: each once, and in their order.
func (n *needs) resolver(values []inproc.Extern) inproc.Resolver {
	next := 0
	return func(module, name string) inproc.Extern {
		next++
		if d := &n.list[next-1]; d.Module != module || d.Name != name {
			panic("imports are asked for in another order")
		}
		return values[next-1]
	}
}

// Exports describes what instances of the module offer, in the order of the module.
func (m *Module) Exports() []ExportType { return exportsOf(m.loaded().Inproc().Meta()) }

// CountsFuel reports whether the code counts fuel (CompileOptions.Fuel).
func (m *Module) CountsFuel() bool { return m.loaded().Inproc().Meta().Fuel != nil }

// Close gives up what further instances would need. Instances that exist, and
// instantiations in progress, are not affected. A module that is not closed is given up when the garbage collector finds
// it. The error is ErrClosed if the module has been closed.
func (m *Module) Close() error { return m.loaded().Close() }
