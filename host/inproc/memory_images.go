package inproc

import (
	"bytes"
	"slices"
	"sync"
	"unsafe"

	"github.com/waot-project/waot/internal/image"
)

// memoryImage is what a memory holds at first: the static data segments of a module, in a
// file that each instance maps copy-on-write. Pages that are never written exist once, and an
// instance pays for those it touches. Where there is no file, fd is -1, and instances copy the pieces.
type memoryImage struct {
	fd        int
	offset    uintptr // of the image in the file, in bytes
	low, size uintptr // of the image in the memory: multiples of the page size
	pieces    image.Memory
	// all is the file's bytes, mapped when they are first needed; nil if they cannot be.
	all     []byte
	allOnce sync.Once
}

// makeMemoryImages makes the images of the module's memories; share says whether that may be memfds.
func (m *Module) makeMemoryImages(memories []image.Memory, share bool) {
	m.images = make([]memoryImage, len(memories))
	for i, pieces := range memories {
		low, high := pieces.Extent(pageSize)
		x := &m.images[i]
		*x = memoryImage{fd: -1, low: uintptr(low), size: uintptr(high - low), pieces: pieces}
		if share && x.size > 0 {
			x.share()
		}
		x.keep()
	}
}

// share moves the pieces to a memfd if the system allows it.
func (x *memoryImage) share() {
	fd, err := memfd(x.size)
	if err != nil {
		return
	}
	for _, p := range x.pieces {
		if writeAt(fd, p.Data, uintptr(p.Offset)-x.low) != nil {
			closeFile(fd)
			return
		}
	}
	x.fd, x.pieces = fd, nil
}

// keep copies the pieces, if they are not in a memfd.
func (x *memoryImage) keep() {
	x.pieces = slices.Clone(x.pieces)
	for i := range x.pieces {
		x.pieces[i].Data = bytes.Clone(x.pieces[i].Data)
	}
}

// bytes returns what is in the file, nil if it cannot be mapped.
func (x *memoryImage) bytes() []byte {
	x.allOnce.Do(func() {
		if process.takeMappings(otherMappings) != nil {
			return
		}
		var err error
		if x.all, err = mapFile(x.fd, x.offset, x.size); err != nil {
			process.giveMappings(otherMappings)
		}
	})
	return x.all
}

// restore makes the first size bytes of a memory, at base, what they were when the image had been mapped there, by writing what has been written. It reports false, and has done
// nothing, if that is too much, or cannot be known.
func (x *memoryImage) restore(base, size uintptr) bool {
	if !process.empties() || x.bytes() == nil {
		return false
	}
	return process.scanner.written(base, size, true, func(e extent) {
		pages := bytesAt(e.low, e.size)
		at := e.low - base
		// In front of the image, in it, and behind it.
		before := min(e.size, x.low-min(x.low, at))
		clear(pages[:before])
		n := 0
		if from := at + before - x.low; from < x.size {
			n = copy(pages[before:], x.all[from:])
		}
		clear(pages[int(before)+n:])
	})
}

func closeImages(images []memoryImage) {
	for i := range images {
		if images[i].fd >= 0 {
			closeFile(images[i].fd)
		}
		if images[i].all != nil {
			munmap(uintptr(unsafe.Pointer(&images[i].all[0])), images[i].size)
			process.giveMappings(otherMappings)
		}
	}
}

// mapImages maps the images into the instance's memories. The init function knows nothing of them.
func (i *Instance) mapImages() error {
	for n := range i.module.images {
		x := &i.module.images[n]
		if m := i.memories[n]; x.fd >= 0 && (m.views.file >= 0 || m.Movable()) {
			// Nobody else sees what the instance writes to its own file, and what moves is one mapping.
			from, err := mapFile(x.fd, x.offset, x.size)
			if err != nil {
				return err
			}
			copy(bytesAt(i.memories[n].base+x.low, x.size), from)
			munmap(uintptr(unsafe.Pointer(&from[0])), x.size)
			continue
		}
		if x.fd >= 0 {
			m := i.memories[n]
			if m.imaged {
				continue // it has been emptied, to the image
			}
			m.filed = true
			err := process.withoutSpares(func() error { return placeFile(m.base+x.low, x.size, protRW, false, x.fd, x.offset) })
			if err != nil {
				return err
			}
			m.imaged = true
			continue
		}
		for _, p := range x.pieces {
			copy(bytesAt(i.memories[n].base+uintptr(p.Offset), uintptr(len(p.Data))), p.Data)
		}
	}
	return nil
}
