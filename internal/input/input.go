// Package input reads files, pipes and devices of any size, and never more of them than a limit allows.
//
// Place in the pipeline: in front of all of it; whoever takes the name of a file reads it with this package.
//
// Input: the name of a file, or a stream; a Bound, which says how much of it may be read.
// Output: its bytes, or a *LimitError, an error of the system, or that of the context.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// The limits on what is read, in bytes.
const (
	MaxModule = 1 << 30   // a module in the binary format
	MaxText   = 1<<31 - 1 // a module or a script in the text format
	MaxObject = 1 << 31   // an object or an image, which may be larger than its module
	MaxCosts  = 1 << 20   // a table of what operators cost
	MaxKey    = 1 << 20   // a file with a key
)

// MaxTextOf returns the limit on the text of a module that may have that many bytes in the binary format: texts are longer than their
// modules, and those of small modules may be comments for the most part.
func MaxTextOf(module uint64) uint64 {
	const perByte, more = 32, 64 << 10
	if module > (MaxText-more)/perByte {
		return MaxText
	}
	return perByte*module + more
}

// headSize is how many bytes a Bound sees, unless there are fewer.
const headSize = 64 << 10

// Bound says from how an input begins what it is, as errors have it ("bytes of module"), and how many bytes it may have.
type Bound func(head []byte) (what string, most uint64)

// LimitError is an input of more than a limit.
type LimitError struct {
	What string // it is, such as "bytes of module"
	// Want is how many bytes it has, or 0 if the end was not reached; Limit is how many it may have.
	Want, Limit uint64
}

// Error returns one line.
func (e *LimitError) Error() string {
	if e.Want == 0 {
		return fmt.Sprintf("more than %d %s, which is the limit", e.Limit, e.What)
	}
	return fmt.Sprintf("%d %s, the limit is %d", e.Want, e.What, e.Limit)
}

// Fixed is the Bound of inputs of one kind.
func Fixed(what string, most uint64) Bound {
	return func([]byte) (string, uint64) { return what, most }
}

// Costs is the Bound of tables of what operators cost.
func Costs([]byte) (what string, most uint64) { return "bytes of costs", MaxCosts }

// Object is the Bound of objects and images.
func Object(head []byte) (what string, most uint64) { return "bytes of object", MaxObject }

// Reader reads inputs. The zero value with a Bound is ready.
type Reader struct {
	Bound Bound
	// Context, if not nil, ends the reading, also that from a pipe into which nobody writes, and that of one that nobody has opened. The error is its
	// cause. What was waited for is left to a goroutine, which ends when the system lets it.
	Context context.Context
	// Forever says that the bytes may stay until the process ends. Then those of a large stream are in memory once; else they are copied when
	// their place is too small.
	Forever bool
}

// File reads all of a file. One whose size is above the limit is not read.
func (r *Reader) File(name string) ([]byte, error) {
	return r.wait(func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return r.opened(f)
	})
}

// Opened is File for one that is open, from its beginning or, if it has none, from where it is.
func (r *Reader) Opened(f *os.File) ([]byte, error) {
	return r.wait(func() ([]byte, error) { return r.opened(f) })
}

// Stream reads a stream to its end.
func (r *Reader) Stream(s io.Reader) ([]byte, error) {
	if f, ok := s.(*os.File); ok {
		return r.wait(func() ([]byte, error) { return r.opened(f) })
	}
	return r.wait(func() ([]byte, error) { return r.all(s, nil) })
}

// wait returns what read returns, unless the context ends before.
func (r *Reader) wait(read func() ([]byte, error)) ([]byte, error) {
	var b []byte
	err := Wait(r.Context, func() (err error) {
		b, err = read()
		return err
	})
	if err != nil {
		return nil, err // what is left to a goroutine may still set b
	}
	return b, nil
}

// Wait does what may wait for others, such as opening a pipe, and returns its error, or the cause of the context, which may be nil, if that ends before. Then do may be
// going on in a goroutine.
func Wait(ctx context.Context, do func() error) error {
	if ctx == nil || ctx.Done() == nil {
		return do()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// opened reads a file that is open.
func (r *Reader) opened(f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: syscall.EISDIR}
	}
	if !st.Mode().IsRegular() || st.Size() == 0 { // files that the system makes up have no size
		return r.all(f, nil)
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return r.all(f, nil)
	}
	size := uint64(max(st.Size()-at, 0))
	head := make([]byte, min(size, headSize))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if what, most := r.Bound(head[:n]); size > most {
		return nil, &LimitError{What: what, Want: size, Limit: most}
	}
	// One byte more shows the end of a file that does not grow meanwhile.
	return r.all(f, append(make([]byte, 0, size+1), head[:n]...))
}

// small is how large the place of a stream gets before it is chosen once and for all, in bytes.
const small = 1 << 20

// step is how many bytes are read at most before the context is looked at.
const step = 16 << 20

// all reads the rest of a stream that begins with b, whose capacity is used.
func (r *Reader) all(s io.Reader, b []byte) ([]byte, error) {
	const unknown = ^uint64(0)
	what, most := "", unknown
	for {
		if len(b) == cap(b) {
			b = r.larger(b, most)
		}
		n, err := s.Read(b[len(b):min(cap(b), len(b)+step)])
		b = b[:len(b)+n]
		ended := errors.Is(err, io.EOF)
		if most == unknown && (ended || len(b) >= headSize) {
			what, most = r.Bound(b)
		}
		switch {
		case most != unknown && uint64(len(b)) > most:
			return nil, &LimitError{What: what, Limit: most}
		case ended:
			return b, nil
		case err != nil:
			return nil, err
		case r.Context != nil && r.Context.Err() != nil:
			return nil, context.Cause(r.Context)
		}
	}
}

// larger returns b with more capacity; most is how many bytes there may be.
func (r *Reader) larger(b []byte, most uint64) []byte {
	const first = headSize + 512
	if cap(b) < small {
		return slices.Grow(b, max(len(b), first))
	}
	if r.Forever {
		if place := reserve(most + 1); place != nil {
			return append(place[:0], b...)
		}
	}
	return slices.Grow(b, len(b)/4)
}
