package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// endless is a stream without an end.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	e.n += len(b)
	clear(b)
	return len(b), nil
}

// TestReader: what has as many bytes as the limit is read whole, however it comes; what has one more is refused.
func TestReader(t *testing.T) {
	for _, n := range []int{0, 1, 511, headSize - 1, headSize, headSize + 1, small + 1, 3 * small} {
		want := bytes.Repeat([]byte("0123456789abcde"), n/15+1)[:n]
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
		for most := range map[uint64]bool{uint64(n): true, uint64(max(n-1, 0)): true, MaxModule: true} {
			for _, forever := range []bool{false, true} {
				r := Reader{Bound: Fixed("bytes", most), Forever: forever}
				for how, read := range map[string]func() ([]byte, error){
					"a file":   func() ([]byte, error) { return r.File(file) },
					"a stream": func() ([]byte, error) { return r.Stream(iotest.HalfReader(bytes.NewReader(want))) },
					"a pipe":   func() ([]byte, error) { return piped(&r, want) },
				} {
					b, err := read()
					var limit *LimitError
					switch {
					case uint64(n) > most && (!errors.As(err, &limit) || limit.Limit != most || limit.What != "bytes"):
						t.Errorf("%s of %d bytes, limit %d: %v", how, n, most, err)
					case uint64(n) <= most && (err != nil || !bytes.Equal(b, want)):
						t.Errorf("%s of %d bytes, limit %d: %d bytes, %v", how, n, most, len(b), err)
					}
				}
			}
		}
	}
}

// piped reads what comes by a pipe.
func piped(r *Reader, b []byte) ([]byte, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	go func() {
		out.Write(b)
		out.Close()
	}()
	return r.Stream(in)
}

// TestEndless: of what has no end, or is large and empty, no more is read than the limit, and memory is in proportion to that.
func TestEndless(t *testing.T) {
	const most = 20 << 20
	r := Reader{Bound: Fixed("bytes", most)}
	e := new(endless)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Stream(e)
	runtime.ReadMemStats(&after)
	var limit *LimitError
	if !errors.As(err, &limit) || e.n > 2*most {
		t.Errorf("%d bytes read: %v", e.n, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*most { // each place is a quarter larger than the one before
		t.Errorf("%d bytes allocated", n)
	}
	sparse := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Skip("no sparse files: ", err)
	}
	runtime.ReadMemStats(&before)
	_, err = r.File(sparse)
	runtime.ReadMemStats(&after)
	if !errors.As(err, &limit) || limit.Want != 1<<40 || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Error(err)
	}
	if _, err := r.File(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Error("a folder:", err)
	}
	if _, err := r.File(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("no file:", err)
	}
}

// TestContext: reading ends with its context, where nobody writes into a pipe, or opens it, and within a stream without an end.
func TestContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the cause")
	for how, read := range map[string]func(*Reader) error{
		"a pipe":           func(r *Reader) error { _, err := r.Stream(in); return err },
		"a pipe to open":   func(r *Reader) error { _, err := r.File(fifo); return err },
		"a stream":         func(r *Reader) error { _, err := r.Stream(new(endless)); return err },
		"an ended context": func(r *Reader) error { <-r.Context.Done(); _, err := r.File(fifo); return err },
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
		if err := read(&Reader{Bound: Fixed("bytes", 1<<40), Context: ctx}); !errors.Is(err, cause) {
			t.Errorf("%s: %v", how, err)
		}
		cancel()
	}
}
