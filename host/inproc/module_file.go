package inproc

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
)

// This file loads images from files, from which instances map them: loading reads the declarations, and neither
// copies code nor resolves anything. Who opens such a file trusts it like a program.

// LoadBytes is Load for the bytes of a file with an image. The caller may change them afterwards. The errors are those of OpenFile.
func LoadBytes(b []byte) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	f, err := image.Parse(b, false)
	if err != nil {
		return nil, err
	}
	m := &Module{fd: -1}
	if err := m.take(&f.Image); err != nil {
		return nil, err
	}
	m.sites = lazily(f.CloneSites())
	m.keep(&f.Image, true)
	return m, nil
}

// lazily returns a function that reads tables when they are first needed. Whoever made them has made the code: that they contradict it
// is as bad as wrong code.
func lazily(read func() (*meta.Module, error)) func() *meta.Module {
	return sync.OnceValue(func() *meta.Module {
		full, err := read()
		if err != nil {
			fatal(fmt.Sprintf("the tables of a compiled module are wrong: %v\n", err))
		}
		return full
	})
}

// Parse returns the image in the bytes of a file, for Load. It refers to the bytes, which must not be changed. The errors are those of OpenFile.
func Parse(b []byte) (*Image, error) {
	f, err := image.Parse(b, false)
	if err != nil {
		return nil, err
	}
	f.Meta, err = f.Sites()
	return &f.Image, err
}

// OpenFile returns the module of the image in a file, from the offset at on, a multiple of 64 KiB. The file may be closed afterwards, but its bytes
// must stay: instances map them. known is whether they are known to be undamaged; otherwise all of them are read once, to find
// out. The errors are *ImageError, *CPUError, *SystemError, ErrUnsupported, and those of package meta.
func OpenFile(f *os.File, at int64, known bool) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() <= at {
		return nil, &ImageError{Reason: "no header"}
	}
	m := &Module{}
	m.fd, err = dupFile(f.Fd())
	runtime.KeepAlive(f) // until then its number is its own
	if err != nil {
		return nil, err
	}
	if err := m.open(uintptr(at), uintptr(st.Size()-at), known); err != nil {
		if m.fd >= 0 {
			closeFile(m.fd)
		}
		closeImages(m.images)
		return nil, err
	}
	return m, nil
}

// open reads what loading needs.
func (m *Module) open(at, size uintptr, known bool) error {
	b, err := mapFile(m.fd, at, size)
	if err != nil {
		return err
	}
	// Instances keep the module, which may be closed: the tables stay as long as it is there.
	runtime.AddCleanup(m, func(b []byte) { munmap(addressOf(b), uintptr(len(b))) }, b)
	f, err := image.Parse(b, known)
	if err != nil {
		return err
	}
	if err := m.take(&f.Image); err != nil {
		return err
	}
	m.sites = lazily(func() (*meta.Module, error) {
		defer runtime.KeepAlive(m)
		return f.Sites()
	})
	for s := range numSections {
		m.inFile[s] = at + uintptr(f.SectionAt[s])
	}
	if err := m.openImages(f, at); err != nil {
		return err
	}
	if !m.tryMap(m.fd, m.inFile[Text]) { // programs may not be started from there
		return m.readFile()
	}
	if m.length[Data] <= maxCleared {
		m.pristine = f.Section(Data) // mapped as long as the module is there
	}
	return nil
}

// openImages takes the images of memories from the file.
func (m *Module) openImages(f *image.File, at uintptr) error {
	m.images = make([]memoryImage, len(f.Memories))
	for i := range m.images {
		m.images[i].fd = -1
	}
	for i, pieces := range f.Memories {
		if len(pieces) == 0 {
			continue
		}
		fd, err := dupFile(uintptr(m.fd))
		if err != nil {
			return err
		}
		x := &m.images[i]
		x.fd, x.runs = fd, make([]imageRun, len(pieces))
		for k, p := range pieces {
			r := &x.runs[k]
			r.offset, r.low, r.size = at+uintptr(f.MemoryAt[i][k]), uintptr(p.Offset), uintptr(len(p.Data))
		}
	}
	return nil
}

// readFile copies the image out of the file.
func (m *Module) readFile() error {
	for s := range numSections {
		if m.length[s] == 0 {
			continue
		}
		b, err := mapFile(m.fd, m.inFile[s], m.length[s])
		if err != nil {
			return err
		}
		m.linked[s] = append([]byte(nil), b...)
		munmap(addressOf(b), uintptr(len(b)))
	}
	closeFile(m.fd)
	m.fd = -1
	m.share()
	return nil
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
