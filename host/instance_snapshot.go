package host

import (
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/image"
)

// Snapshot returns an image, for Load or a file, whose instances begin in the state that the instance has now: memories, tables, globals and dropped segments. Nothing runs when they are made: neither
// segments nor the start function, and _initialize is not exported any more. The image has the code of the module, and is for the same machine. It maps copy-on-write, so an instance costs the pages
// that it touches; Reset brings instances back to that state.
//
// Not part of it is what Go code has, such as the descriptors of a WASI system. The module must not import memories, tables or globals, and nothing of the instance may refer to a value of Go
// code or to another instance's function: that is a *SnapshotError. The other errors are ErrBusy, also while code of the store runs, and ErrClosed, also if the module has been closed.
func (i *Instance) Snapshot() (b []byte, err error) {
	err = i.Store().do(func(*inproc.Store) error {
		return hostError(i.inproc().Snapshot(func(img *inproc.Image) error {
			b = image.Append(nil, img)
			return nil
		}))
	})
	return b, err
}
