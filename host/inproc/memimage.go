package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// memoryImage is what a memory holds at first: the static data segments of a module, in a
// file that each instance maps copy-on-write. Pages that are never written exist once, and an
// instance pays for those it touches.
type memoryImage struct {
	fd           int
	offset, size uintptr // of the image in the file, in bytes: multiples of the page size
}

// minMemoryImage is the size in bytes below which copying is cheaper than a mapping.
const minMemoryImage = 16 << 10

// memoryImageSizes returns the sizes of the images of a module's memories, in bytes, nil where images do not pay.
func memoryImageSizes(m *meta.Module) []uintptr {
	sizes := make([]uintptr, len(m.Memories))
	bytes := uintptr(0)
	for i := range m.Datas {
		d := &m.Datas[i]
		sizes[d.Memory] = max(sizes[d.Memory], alignUp(uintptr(d.Offset)+uintptr(d.Len), pageSize))
		bytes += uintptr(d.Len)
	}
	if bytes < minMemoryImage {
		return nil
	}
	return sizes
}

// makeMemoryImages makes the images of the module's memories, where that pays and the system
// has memfds. They are all or none: the init function copies what is in none.
func (m *Module) makeMemoryImages(rodata []byte) {
	sizes := memoryImageSizes(m.meta)
	if sizes == nil {
		return
	}
	images := make([]memoryImage, len(sizes))
	for i := range images {
		images[i] = memoryImage{-1, 0, sizes[i]}
	}
	for i := range images {
		if images[i].size == 0 {
			continue
		}
		fd, err := memfd(images[i].size)
		if err != nil {
			closeImages(images)
			return
		}
		images[i].fd = fd
	}
	for i := range m.meta.Datas {
		d := &m.meta.Datas[i]
		if writeAt(images[d.Memory].fd, rodata[d.Rodata:d.Rodata+d.Len], uintptr(d.Offset)) != nil {
			closeImages(images)
			return
		}
	}
	m.images = images
}

func closeImages(images []memoryImage) {
	for i := range images {
		if images[i].fd >= 0 {
			closeFile(images[i].fd)
		}
	}
}

// mapImages maps the images into the instance's memories, and tells the init function that
// they are there; in a module from a file, the instance data says so already.
func (i *Instance) mapImages() error {
	for n := range i.module.images {
		if x := &i.module.images[n]; x.fd >= 0 {
			if err := placeFile(i.memories[n].base, x.size, protRW, false, x.fd, x.offset); err != nil {
				return err
			}
		}
	}
	if i.module.images != nil {
		for n := range i.module.meta.Datas {
			store64(i.data+uintptr(i.module.meta.Datas[n].Pair)+abi.SegmentLength, 0)
		}
	}
	return nil
}
