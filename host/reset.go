package host

import (
	"context"

	"github.com/waot-project/waot/host/inproc"
)

// Reset brings the instance back to what it was when Instantiate returned it, for less than a new one takes: memories, tables and globals of its own have their first
// sizes and contents again, segments that were dropped are there, and the start function has run once more. All that was looked up stays valid. Values that only
// the old state could reach are given up, as are the pages of memory that has grown. Slices of memories must not be used any more, as if the
// store had been closed.
//
// What the instance imports stays as it is: other memories, tables and globals, and what Go functions remember. But active segments are written to imported memories and
// tables again. Store.Reset resets what instances share.
//
// ctx ends the start function; it may be nil. The errors are ErrBusy, also while code of the store runs, an instance is being made, or a memory is held (Memory.Hold);
// ErrClosed, also if the module has been closed; a *LinkError if another instance imports a memory or table and needs a larger one; then nothing has been reset. And
// *SystemError, and those of a call: then the instance must not be used unless another Reset succeeds.
func (i *Instance) Reset(ctx context.Context) error {
	return i.Store().do(func(*inproc.Store) error { return hostError(i.inproc().Reset(ctx)) })
}

// Reset resets all instances, in the order in which they were made, but for those whose instantiation failed. Memories, tables and globals that Go code has made stay
// as they are. The errors are those of Instance.Reset; it does not matter whether Instance.Close has been called.
func (s *Store) Reset(ctx context.Context) error {
	return s.do(func(p *inproc.Store) error { return hostError(p.Reset(ctx)) })
}
