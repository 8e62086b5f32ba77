package waot

import "github.com/waot-project/waot/host"

// Load makes a module from an object, as CompileObject and waot build make it, or from an image of waot build; see host.Load. Either is trusted
// like a shared library, but LoadOptions can demand a signature.
func Load(object []byte, o *LoadOptions) (*Module, error) { return host.Load(object, o) }

// LoadFile is Load for a file, which is mapped if it is an image; see host.LoadFile.
func LoadFile(name string, o *LoadOptions) (*Module, error) { return host.LoadFile(name, o) }

// SignObject returns the object with a signature behind it, which LoadOptions.Verify checks. The same object and key give the
// same bytes. The error is a *SignatureError.
func SignObject(object []byte, key *ObjectKey) ([]byte, error) { return key.Sign(object) }
