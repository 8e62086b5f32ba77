package inproc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
)

// A snapshot of an instance is an image with the same code. Its memories and tables have the sizes that they have now, and hold what they hold now; words of the
// instance data that code changes are as they are now. The init function has run: it is left out.

func noSnapshot(format string, args ...any) error {
	return &hosterr.SnapshotError{Reason: fmt.Sprintf(format, args...)}
}

// initializeName is the export that initialises a library. What has been initialised does not have it.
const initializeName = "_initialize"

// Snapshot gives use an image whose instances begin in the state of this one. What it refers to is the instance's own, and the store is held until use returns. The errors are that of use, ErrBusy, also
// while code of the store runs, ErrClosed, and *hosterr.SnapshotError.
func (i *Instance) Snapshot(use func(*Image) error) error {
	done, err := i.store.hold()
	if err != nil {
		return err
	}
	defer done()
	switch {
	case i.closed:
		return ErrClosed
	case i.store.Running():
		return ErrBusy
	case !i.made:
		return noSnapshot("the instance has not been made")
	}
	if err := i.keepModule(); err != nil {
		return err
	}
	defer i.letModule()
	f := &freezer{i: i, m: i.module, funcs: map[uintptr]uint32{}}
	if err := f.image(); err != nil {
		return err
	}
	return use(f.img)
}

// freezer makes a snapshot.
type freezer struct {
	i *Instance
	m *Module
	// funcs are the functions of the instance's index space by the addresses of their descriptors.
	funcs map[uintptr]uint32
	img   *Image
}

// image makes the image.
func (f *freezer) image() error {
	i, m := f.i, f.m
	d := *m.sites()
	d.Datas, d.Digests = nil, nil
	d.Memories, d.Tables = slices.Clone(d.Memories), slices.Clone(d.Tables)
	d.Exports = slices.DeleteFunc(slices.Clone(d.Exports), func(e meta.Export) bool { return e.Name == initializeName })
	// Globals get words of their own.
	refs := map[uint64]bool{}
	for n := range d.Globals {
		if g := &d.Globals[n]; g.Type.Base() == meta.FuncRef {
			refs[uint64(g.Offset)] = true
		}
	}
	f.img = &Image{Meta: &d, Page: uint64(pageSize), Ready: true,
		Addresses: slices.DeleteFunc(slices.Clone(m.addresses), func(at uint64) bool { return refs[at] }),
		Imports:   slices.DeleteFunc(slices.Clone(m.importWords), func(w image.ImportWord) bool { return refs[uint64(w.At)] })}
	for s := range numSections {
		f.img.Address[s] = uint64(m.offset[s])
	}
	section := func(s image.Section) []byte { return bytesAt(i.base+m.offset[s], m.length[s]) }
	f.img.Text, f.img.Rodata = section(Text), section(Rodata)
	for n := range i.funcs {
		f.funcs[i.descriptorOf(n)] = uint32(n)
	}
	delete(f.funcs, 0)
	if err := f.memories(); err != nil {
		return err
	}
	if err := f.tables(); err != nil {
		return err
	}
	if err := f.data(); err != nil {
		return err
	}
	slices.Sort(f.img.Addresses)
	return nil
}

// descriptorOf returns the address of the descriptor of function n, 0 if it has none yet.
func (i *Instance) descriptorOf(n int) uintptr {
	switch d := &i.module.meta.Funcs[n]; {
	case i.funcs[n] != nil:
		return i.funcs[n].desc
	case d.HasDesc:
		return i.data + uintptr(d.Desc)
	}
	return 0
}

func (f *freezer) memories() error {
	d := f.img.Meta
	f.img.Memories = make([]image.Memory, len(d.Memories))
	for n := range d.Memories {
		x := &d.Memories[n]
		if x.Import != nil {
			return noSnapshot("the module imports the memory %s.%s; a snapshot has only what is the module's own", x.Import.Module, x.Import.Name)
		}
		mem := f.i.memories[n].Bytes()
		x.Min = uint64(len(mem)) / abi.PageSize
		f.img.Memories[n] = image.Pieces(mem, uint64(pageSize))
	}
	return nil
}

func (f *freezer) tables() error {
	d := f.img.Meta
	f.img.Tables = make([][]uint32, len(d.Tables))
	for n := range d.Tables {
		x := &d.Tables[n]
		if x.Import != nil {
			return noSnapshot("the module imports the table %s.%s; a snapshot has only what is the module's own", x.Import.Module, x.Import.Name)
		}
		t := f.i.tables[n]
		x.Min = t.Len()
		words := wordsAt(t.base, uintptr(t.Len()))
		for len(words) > 0 && words[len(words)-1] == 0 {
			words = words[:len(words)-1]
		}
		if x.Elem.Base() != meta.FuncRef {
			if len(words) > 0 {
				return noSnapshot("element %d of table %d is a reference to a value of the host", len(words)-1, n)
			}
			continue
		}
		list := make([]uint32, len(words))
		for k, w := range words {
			list[k] = image.NoFunc
			if w != 0 {
				fn, ok := f.funcs[uintptr(w)]
				if !ok {
					return noSnapshot("element %d of table %d is a function that is not the module's", k, n)
				}
				list[k] = fn
			}
		}
		f.img.Tables[n] = list
	}
	return nil
}

// data makes the instance data: as they are in the file, with globals, and words that code has changed: the lengths of segments.
func (f *freezer) data() error {
	i, m := f.i, f.m
	now := bytesAt(i.data, m.length[Data])
	first, err := m.firstData()
	if err != nil {
		return err
	}
	f.img.Data = first
	// The words that each instance fills are left as they are.
	filled := make([]bool, len(now)/8+1)
	fill := func(at uint32, words int) {
		for k := range words {
			filled[at/8+uint32(k)] = true
		}
	}
	fill(0, abi.InstanceHeader/8)
	fill(m.meta.Helpers, int(abi.NumCommonHelpers))
	if x := m.meta.Exceptions; x != nil {
		return noSnapshot("the module has exceptions")
	}
	if m.meta.Heap != nil {
		return noSnapshot("the module has to do with garbage collection")
	}
	fill(m.meta.TypeSlots, len(m.meta.SlotTypes))
	for n := range m.meta.Memories {
		fill(m.meta.Memories[n].Slot, 1)
	}
	for n := range m.meta.Tables {
		fill(m.meta.Tables[n].Slot, 1)
	}
	for n := range m.meta.Funcs {
		switch x := &m.meta.Funcs[n]; {
		case x.Import != nil:
			fill(x.Slot, abi.ImportSize/8)
		case x.HasDesc:
			fill(x.Desc, abi.DescSize/8)
		}
	}
	for _, at := range m.addresses {
		fill(uint32(at), 1)
	}
	for _, w := range m.importWords {
		fill(w.At, 1)
	}
	for n := range m.meta.Globals {
		g := &m.meta.Globals[n]
		if g.Import != nil {
			return noSnapshot("the module imports the global %s.%s; a snapshot has only what is the module's own", g.Import.Module, g.Import.Name)
		}
		words := g.Type.Words()
		fill(g.Offset, words)
		if err := f.global(n, g, now); err != nil {
			return err
		}
	}
	for _, e := range m.meta.Elems {
		if binary.LittleEndian.Uint64(now[e.Pair+abi.SegmentLength:]) != 0 && len(bytes.Trim(now[e.Array:e.Array+8*e.Len], "\x00")) != 0 {
			return noSnapshot("an element segment has references to values of the host")
		}
	}
	for at := uint32(0); int(at)+8 <= len(now); at += 8 {
		w := binary.LittleEndian.Uint64(now[at:])
		if filled[at/8] || w == binary.LittleEndian.Uint64(first[at:]) {
			continue
		}
		if w>>32 != 0 { // no length
			return noSnapshot("an element segment has elements that were computed when the instance was made")
		}
		binary.LittleEndian.PutUint64(first[at:], w)
	}
	return nil
}

// global puts a global into the data.
func (f *freezer) global(n int, g *meta.Global, now []byte) error {
	size := uint32(8 * g.Type.Words())
	if !g.Type.IsRef() {
		copy(f.img.Data[g.Offset:g.Offset+size], now[g.Offset:])
		return nil
	}
	w := uintptr(binary.LittleEndian.Uint64(now[g.Offset:]))
	fn, ok := f.funcs[w]
	switch {
	case w == 0:
		clear(f.img.Data[g.Offset : g.Offset+size])
		return nil
	case g.Type.Base() != meta.FuncRef:
		return noSnapshot("global %d is a reference to a value of the host", n)
	case !ok:
		return noSnapshot("global %d is a function that is not the module's", n)
	}
	switch d := &f.m.meta.Funcs[fn]; {
	case d.Import != nil:
		f.img.Imports = append(f.img.Imports, image.ImportWord{At: g.Offset, Func: fn})
	case d.HasDesc:
		binary.LittleEndian.PutUint64(f.img.Data[g.Offset:], uint64(f.m.offset[Data])+uint64(d.Desc))
		f.img.Addresses = append(f.img.Addresses, uint64(g.Offset))
	default:
		return noSnapshot("global %d is a function that only the host refers to", n)
	}
	return nil
}

// firstData returns the instance data as they are in the file.
func (m *Module) firstData() ([]byte, error) {
	if m.fd < 0 {
		return bytes.Clone(m.linked[Data]), nil
	}
	if m.length[Data] == 0 {
		return nil, nil
	}
	b, err := mapFile(m.fd, m.inFile[Data], m.length[Data])
	if err != nil {
		return nil, err
	}
	defer munmap(addressOf(b), uintptr(len(b)))
	return bytes.Clone(b), nil
}

// fillTables writes what tables hold at first.
func (i *Instance) fillTables() error {
	for n, list := range i.module.tables {
		words := wordsAt(i.tables[n].base, uintptr(len(list)))
		for k, fn := range list {
			if fn == image.NoFunc {
				continue
			}
			desc := i.descriptorOf(int(fn))
			if desc == 0 {
				f, err := i.function(fn)
				if err != nil {
					return err
				}
				desc = f.desc
			}
			words[k] = uint64(desc)
		}
	}
	return nil
}
