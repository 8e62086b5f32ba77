package inproc

import (
	"bytes"
	"slices"
	"sync"

	"github.com/waot-project/waot/internal/image"
)

// memoryImage is what a memory holds at first: the static data segments of a module, in a
// file that each instance maps copy-on-write. Pages that are never written exist once, and an
// instance pays for those it touches. Where there is no file, fd is -1, and instances copy the pieces.
type memoryImage struct {
	fd     int
	runs   []imageRun
	pieces image.Memory
}

// imageRun is a run of pages of a memory's image.
type imageRun struct {
	offset    uintptr // in the file, in bytes
	low, size uintptr // in the memory: multiples of the page size
	// all is the file's bytes, mapped when they are first needed; nil if they cannot be.
	all     []byte
	allOnce sync.Once
}

// makeMemoryImages makes the images of the module's memories; share says whether that may be memfds.
func (m *Module) makeMemoryImages(memories []image.Memory, share bool) {
	m.images = make([]memoryImage, len(memories))
	for i, pieces := range memories {
		x := &m.images[i]
		x.fd, x.pieces = -1, pieces
		if share {
			x.share(pieces.Runs(uint64(pageSize)))
		}
		x.keep()
	}
}

// share moves the pieces to a memfd if the system allows it.
func (x *memoryImage) share(from []image.Run) {
	size := uintptr(0)
	runs := make([]imageRun, len(from))
	for i := range from {
		r := &runs[i]
		r.offset, r.low, r.size = size, uintptr(from[i].Low), uintptr(from[i].Size())
		size += r.size
	}
	if size == 0 {
		return
	}
	fd, err := memfd(size)
	if err != nil {
		return
	}
	for i := range from {
		for _, p := range from[i].Pieces {
			if writeAt(fd, p.Data, uintptr(p.Offset)-runs[i].low+runs[i].offset) != nil {
				closeFile(fd)
				return
			}
		}
	}
	x.fd, x.runs, x.pieces = fd, runs, nil
}

// keep copies the pieces, if they are not in a memfd.
func (x *memoryImage) keep() {
	x.pieces = slices.Clone(x.pieces)
	for i := range x.pieces {
		x.pieces[i].Data = bytes.Clone(x.pieces[i].Data)
	}
}

// bytes returns what is in the file, nil if it cannot be mapped.
func (r *imageRun) bytes(fd int) []byte {
	r.allOnce.Do(func() {
		if process.takeMappings(otherMappings) != nil {
			return
		}
		var err error
		if r.all, err = mapFile(fd, r.offset, r.size); err != nil {
			process.giveMappings(otherMappings)
		}
	})
	return r.all
}

// restore makes the first size bytes of a memory, at base, what they were when the image had been mapped there, by writing what has been written. It reports false, and has done
// nothing, if that is too much, or cannot be known.
func (x *memoryImage) restore(base, size uintptr) bool {
	if !process.empties() {
		return false
	}
	for i := range x.runs {
		if x.runs[i].bytes(x.fd) == nil {
			return false
		}
	}
	return process.scanner.written(base, size, true, maxWritten, func(e extent) { x.fill(bytesAt(e.low, e.size), e.low-base) })
}

// fill makes pages, which are at a place of a memory, what they are in the image.
func (x *memoryImage) fill(pages []byte, at uintptr) {
	for i := range x.runs {
		r := &x.runs[i]
		if r.low+r.size <= at {
			continue
		}
		zero := min(uintptr(len(pages)), r.low-min(r.low, at)) // in front of the run
		clear(pages[:zero])
		pages, at = pages[zero:], at+zero
		if len(pages) > 0 {
			n := copy(pages, r.all[at-r.low:])
			pages, at = pages[n:], at+uintptr(n)
		}
	}
	clear(pages)
}

func closeImages(images []memoryImage) {
	for i := range images {
		x := &images[i]
		if x.fd >= 0 {
			closeFile(x.fd)
		}
		for k := range x.runs {
			if r := &x.runs[k]; r.all != nil {
				munmap(addressOf(r.all), r.size)
				process.giveMappings(otherMappings)
			}
		}
	}
}

// mapImages maps the images into the instance's memories. The init function knows nothing of them.
func (i *Instance) mapImages() error {
	for n := range i.module.images {
		if err := i.module.images[n].into(i.memories[n]); err != nil {
			return err
		}
	}
	return nil
}

// into makes a memory, which is zero, what the image says.
func (x *memoryImage) into(m *Memory) error {
	switch {
	case x.fd < 0:
		for _, p := range x.pieces {
			copy(bytesAt(m.base+uintptr(p.Offset), uintptr(len(p.Data))), p.Data)
		}
		return nil
	case m.views.file >= 0 || m.Movable():
		// Nobody else sees what the instance writes to its own file, and what moves is one mapping.
		for k := range x.runs {
			r := &x.runs[k]
			from, err := mapFile(x.fd, r.offset, r.size)
			if err != nil {
				return err
			}
			copy(bytesAt(m.base+r.low, r.size), from)
			munmap(addressOf(from), r.size)
		}
		return nil
	case m.imaged:
		return nil // it has been emptied, to the image
	}
	if err := m.countRuns(len(x.runs)); err != nil {
		return err
	}
	m.filed = true
	for k := range x.runs {
		r := &x.runs[k]
		m.fileEnd = max(m.fileEnd, r.low+r.size)
		if err := process.withoutSpares(func() error { return placeFile(m.base+r.low, r.size, protRW, false, x.fd, r.offset) }); err != nil {
			return err
		}
	}
	m.imaged = true
	return nil
}

// countRuns counts the mappings of so many runs. The first is among those of the memory.
func (m *Memory) countRuns(n int) error {
	const each = 2 // and the gap behind it
	want := each * uint64(max(n-1, 0))
	if want <= m.runMappings {
		return nil
	}
	if err := process.takeMappings(want - m.runMappings); err != nil {
		return err
	}
	m.runMappings = want
	return nil
}
