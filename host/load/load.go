// Package load turns an object file into an image that host/inproc can run: it checks the object, and internal/link links it. It imports no
// compiler, so a program that only runs existing objects has none.
//
// Place in the pipeline: between objfile and host/inproc.
//
// Input: an ELF file, or an objfile.Object. An object that is malformed, impossible or contradictory is refused; otherwise
// it is trusted like a shared library, its metadata like its code.
// Output: an image with validated metadata.
package load

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// Error is an object that was not made for this, or is damaged.
type Error struct{ Reason string }

func (e *Error) Error() string { return "load: " + e.Reason }

// ELF reads an object file. Errors are *objfile.FormatError, *Error, *meta.DecodeError, *meta.InvalidError,
// *meta.VersionError and *link.Error. The image aliases b.
func ELF(b []byte) (*image.Image, error) {
	o, err := objfile.ReadELF(b)
	if err != nil {
		return nil, err
	}
	return Object(o)
}

// Object reads an object, checks it against the digests in its metadata and makes an
// image. Errors are *Error, *link.Error, *meta.DecodeError, *meta.InvalidError and *meta.VersionError.
func Object(o *objfile.Object) (*image.Image, error) {
	if err := o.Validate(); err != nil {
		return nil, &Error{err.Error()}
	}
	if o.Machine != machines[runtime.GOARCH] {
		return nil, &Error{fmt.Sprintf("code for %s, this machine is %s", machineName(o.Machine), runtime.GOARCH)}
	}
	var s meta.Sections
	for _, x := range []struct {
		name string
		to   *[]byte
	}{{meta.SectionMeta, &s.Meta}, {meta.SectionTraps, &s.Traps}, {meta.SectionStackMaps, &s.StackMaps}, {meta.SectionCalls, &s.Calls}} {
		sec, err := find(o, x.name)
		if err != nil {
			return nil, err
		}
		*x.to = o.Sections[sec].Data
	}
	text, err := find(o, ".text")
	if err != nil {
		return nil, err
	}
	data, err := find(o, ".data")
	if err != nil {
		return nil, err
	}
	rodata, err := find(o, ".rodata")
	if err != nil {
		return nil, err
	}
	sizes := meta.Sizes{Text: o.Sections[text].Bytes(), Rodata: o.Sections[rodata].Bytes(), Data: o.Sections[data].Bytes()}
	m, err := meta.Decode(s, sizes)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{".text", ".rodata", ".data", sectionRelro} {
		if !slices.ContainsFunc(m.Digests, func(d meta.SectionDigest) bool { return d.Section == name }) {
			return nil, &Error{fmt.Sprintf("no digest of section %q", name)}
		}
	}
	for i := range m.Digests {
		d := &m.Digests[i]
		if !slices.Contains(digested, d.Section) || slices.ContainsFunc(m.Digests[:i], func(x meta.SectionDigest) bool { return x.Section == d.Section }) {
			return nil, &Error{fmt.Sprintf("digest of section %q, which has another one or none", d.Section)}
		}
		sec, err := find(o, d.Section)
		if err != nil {
			return nil, err
		}
		if o.Digest(sec) != d.Digest {
			return nil, &Error{fmt.Sprintf("section %q is damaged", d.Section)}
		}
	}
	return Image(o, m)
}

// digested are the sections that can have digests, one each: a digest is short in the file, and costs as much to check as its
// section is long.
var digested = []string{".text", ".text.waot", ".rodata", ".data", sectionRelro, meta.SectionTraps, meta.SectionStackMaps, meta.SectionCalls}

// machines are the machines by GOARCH.
var machines = map[string]objfile.Machine{"amd64": objfile.X86_64, "arm64": objfile.AArch64}

// machineName returns the GOARCH of a machine.
func machineName(m objfile.Machine) string {
	for name, n := range machines {
		if n == m {
			return name
		}
	}
	return fmt.Sprintf("machine %d", m)
}

// find returns the one section of that name.
func find(o *objfile.Object, name string) (objfile.SectionIndex, error) {
	n := o.SectionIndex(name)
	if n == objfile.Undefined {
		return n, &Error{fmt.Sprintf("no section %q: not an object of this compiler", name)}
	}
	for i := int(n) + 1; i < len(o.Sections); i++ {
		if o.Sections[i].Name == name {
			return n, &Error{fmt.Sprintf("second section %q", name)}
		}
	}
	return n, nil
}

// Image makes an image of an object and its metadata, both of which must be valid (as
// Object and the compiler's results are). The image aliases both. Errors are *Error and *link.Error.
func Image(o *objfile.Object, m *meta.Module) (*image.Image, error) {
	for _, name := range []string{".text", ".rodata", ".data"} {
		n, err := find(o, name)
		if err != nil {
			return nil, err
		}
		if o.Sections[n].Kind != objfile.Progbits || uint64(len(o.Sections[n].Data)) > math.MaxInt32 {
			return nil, &Error{fmt.Sprintf("section %s", name)}
		}
	}
	relro, err := find(o, sectionRelro)
	if err != nil {
		return nil, err
	}
	w, err := compareWords(o, m, o.Section(".data"), &o.Sections[relro])
	if err != nil {
		return nil, err
	}
	return link.Image(o, m, link.Host{Filled: w.filled, Imports: w.imports})
}
