// Package objfile is the model of object files, the ELF64 writer and reader for
// it. It knows bytes, symbols and relocations only:
// what is in the sections is the business of others. docs/object.md describes the objects
// that waot writes.
//
// Place in the pipeline: after the module driver, which fills an Object; before
// hosts and other linkers, which read it.
//
// Input: an Object, or the bytes of an ELF file, of which nothing is trusted.
// Output: the bytes of an ELF file, an Object.
//
// This package is not part of the stable API and may change in any release.
package objfile
