// Package image is the form in which hosts run a module: linked, so that only words of the instance data are left to be filled for
// each instance, and mapped from a file where there is one.
//
// Place in the pipeline: between internal/link, which makes images of objects, and host/inproc, which runs them. Caches keep images, and
// waot build writes them.
//
// Input: an image, or the bytes of a file with one.
// Output: the bytes of the file; or the image, whose parts lie in these bytes. docs/object.md describes the format.
package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Section is a part of an image.
type Section uint8

// The sections, in the order of their addresses.
const (
	Text   Section = iota // code
	Rodata                // constants
	Data                  // the initial instance data
	NumSections
)

// Image is a linked module. What it refers to must not be changed.
type Image struct {
	Meta *meta.Module
	// Page is the largest page size of the machine's systems, in bytes: sections begin at multiples of it, and code ends at one.
	Page uint64
	// Text, Rodata and Data are the sections, and Address is where they begin, counted from the start of the image, which is to be mapped
	// at a multiple of 64 KiB. In Data, slots for helpers, memories, tables, types and imports, and descriptors, are filled for each instance.
	Text, Rodata, Data []byte
	Address            [NumSections]uint64
	// Addresses are offsets of words of Data, in order: each holds the address of something in the image, counted from its start.
	Addresses []uint64
	Imports   []ImportWord
	// Memories is what memories hold at first, by number; nil if the init function copies what they do.
	Memories []Memory
	// Tables is what tables hold at first, by number: functions, or NoFunc. It has no more than a table has elements.
	Tables [][]uint32
	// Ready: the init function has run, so nothing is left for it to do.
	Ready bool
}

// NoFunc is in the place of a function in an element of a table that is null.
const NoFunc = ^uint32(0)

// ImportWord is a word of Data that becomes the address of an imported function's descriptor, with an addend.
type ImportWord struct {
	At, Func uint32 // offset of the word; index of the function
	Addend   int64
}

// Memory is what a memory holds at first, apart from zeros: pieces in the order in which they are written.
type Memory []Piece

// Piece is a piece of a memory.
type Piece struct {
	Offset uint64 // in the memory
	Data   []byte
}

// Pieces returns the pages of a memory that are not all zero. They refer to its bytes.
func Pieces(mem []byte, page uint64) (m Memory) {
	zero := make([]byte, page)
	for at := uint64(0); at+page <= uint64(len(mem)); {
		from := at
		for at+page <= uint64(len(mem)) && !bytes.Equal(mem[at:at+page], zero) {
			at += page
		}
		if at > from {
			m = append(m, Piece{from, mem[from:at]})
		} else {
			at += page
		}
	}
	return m
}

// Run is a run of pages of a memory that are not all zero: from Low to High, in bytes, with the pieces in it.
type Run struct {
	Low, High uint64
	Pieces    Memory
}

// Bounds of runs. A run is a mapping of its own in each instance, so zeros between two are worth one only if there are many, in bytes.
const (
	minGap  = 64 << 10
	maxRuns = 64
)

// Runs returns the runs of the memory, in order.
func (m Memory) Runs(page uint64) []Run {
	pages := make([]Run, 0, len(m))
	for _, p := range m {
		if len(p.Data) > 0 {
			pages = append(pages, Run{Low: p.Offset &^ (page - 1), High: alignUp(p.Offset+uint64(len(p.Data)), page)})
		}
	}
	slices.SortFunc(pages, func(a, b Run) int { return cmp.Compare(a.Low, b.Low) })
	runs := join(pages, minGap)
	for gap := uint64(2 * minGap); len(runs) > maxRuns; gap *= 2 {
		runs = join(runs, gap)
	}
	for _, p := range m {
		if len(p.Data) > 0 {
			n, _ := slices.BinarySearchFunc(runs, p.Offset, func(r Run, at uint64) int { return cmp.Compare(r.High, at+1) })
			runs[n].Pieces = append(runs[n].Pieces, p)
		}
	}
	return runs
}

// join makes one run of those between which there is less than a gap.
func join(runs []Run, gap uint64) (joined []Run) {
	for _, r := range runs {
		if n := len(joined); n > 0 && r.Low < joined[n-1].High+gap {
			joined[n-1].High = max(joined[n-1].High, r.High)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// Size returns the length of the run in bytes.
func (r *Run) Size() uint64 { return r.High - r.Low }

// Extent returns where the first piece begins and where the last one ends.
func (r *Run) Extent() (low, high uint64) {
	low = r.High
	for _, p := range r.Pieces {
		low, high = min(low, p.Offset), max(high, p.Offset+uint64(len(p.Data)))
	}
	return low, high
}

// CopyTo writes the pieces to the pages of the run, which are zero.
func (r *Run) CopyTo(pages []byte) {
	for _, p := range r.Pieces {
		copy(pages[p.Offset-r.Low:], p.Data)
	}
}

// Section returns the bytes of a section.
func (img *Image) Section(s Section) []byte {
	return [NumSections][]byte{img.Text, img.Rodata, img.Data}[s]
}

// Size returns the size of the image in memory, in bytes.
func (img *Image) Size() uint64 { return img.Address[Data] + uint64(len(img.Data)) }

// Sizes returns the sizes of the sections.
func (img *Image) Sizes() meta.Sizes {
	return meta.Sizes{Text: uint64(len(img.Text)), Rodata: uint64(len(img.Rodata)), Data: uint64(len(img.Data))}
}

// Error is an image that contradicts itself, is damaged, or is of another version.
type Error struct{ Reason string }

func (e *Error) Error() string { return "malformed image: " + e.Reason }

// Check checks every number that loading and running will use, so that what is wrong is refused, not followed. It cannot know
// whether what is possible is true: an image is trusted like the code in it. The error is an *Error.
func (img *Image) Check() error {
	if img.Meta == nil {
		return &Error{"no metadata"}
	}
	if err := img.checkParts(false); err != nil {
		return err
	}
	if err := img.Meta.Validate(img.Sizes()); err != nil {
		return &Error{err.Error()}
	}
	return nil
}

// checkParts checks all but the metadata by themselves; known leaves out what addresses refer to.
func (img *Image) checkParts(known bool) error {
	if err := img.Meta.CheckVersion(); err != nil {
		return &Error{err.Error()}
	}
	if img.Page < minPage || img.Page > maxPage || img.Page&(img.Page-1) != 0 {
		return &Error{fmt.Sprintf("pages of %d bytes", img.Page)}
	}
	end := uint64(0)
	for s := range NumSections {
		at, size := img.Address[s], uint64(len(img.Section(s)))
		if size > abi.MaxSectionBytes {
			return &Error{"section too large"}
		}
		if s == Text && at != 0 || at%img.Page != 0 || at < end || at-end > maxPage {
			return &Error{"sections overlap or lie far apart"}
		}
		end = at + size
	}
	if uint64(len(img.Text))%img.Page != 0 {
		return &Error{"code does not end with a page"}
	}
	for i, at := range img.Addresses {
		if !img.isWord(at) || i > 0 && at <= img.Addresses[i-1] {
			return &Error{"address outside of the instance data"}
		}
		if !known && binary.LittleEndian.Uint64(img.Data[at:]) > img.Size() {
			return &Error{"address outside of the image"}
		}
	}
	for _, w := range img.Imports {
		if !img.isWord(uint64(w.At)) || uint64(w.Func) >= uint64(len(img.Meta.Funcs)) || img.Meta.Funcs[w.Func].Import == nil {
			return &Error{"address of an import"}
		}
	}
	if err := img.checkTables(); err != nil {
		return err
	}
	return img.checkMemories()
}

func (img *Image) checkTables() error {
	if img.Tables != nil && len(img.Tables) != len(img.Meta.Tables) {
		return &Error{"contents of tables that do not exist"}
	}
	init := len(img.Meta.Funcs) - 1
	for i, t := range img.Tables {
		d := &img.Meta.Tables[i]
		if len(t) > 0 && (d.Import != nil || d.Elem.Base() != abi.FuncRef || uint64(len(t)) > d.Min) {
			return &Error{"contents outside of a table"}
		}
		for _, f := range t {
			if f != NoFunc && uint64(f) >= uint64(init) {
				return &Error{"function of a table"}
			}
		}
	}
	return img.checkFull()
}

// checkFull checks that tables whose elements are never null are full where no code is left to fill them.
func (img *Image) checkFull() error {
	for i := range img.Meta.Tables {
		d := &img.Meta.Tables[i]
		if !img.Ready || !d.Elem.IsNotNull() || d.Min == 0 {
			continue
		}
		if img.Tables == nil || uint64(len(img.Tables[i])) != d.Min || slices.Contains(img.Tables[i], NoFunc) {
			return &Error{"null in a table that has none"}
		}
	}
	return nil
}

// Bounds of page sizes, in bytes. Not more than the largest lies between two sections.
const (
	minPage = 4 << 10
	maxPage = 64 << 10
)

// isWord reports whether a word of the instance data begins at at.
func (img *Image) isWord(at uint64) bool {
	n := uint64(len(img.Data))
	return at%8 == 0 && at <= n && n-at >= 8
}

func (img *Image) checkMemories() error {
	if img.Memories != nil && len(img.Memories) != len(img.Meta.Memories) {
		return &Error{"contents of memories that do not exist"}
	}
	for i, m := range img.Memories {
		d := &img.Meta.Memories[i]
		first := min(d.Min, abi.MaxMemoryPages) * abi.PageSize
		for _, p := range m {
			if d.Import != nil || p.Offset > first || uint64(len(p.Data)) > first-p.Offset {
				return &Error{"contents outside of a memory"}
			}
		}
	}
	return nil
}

func alignUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }
