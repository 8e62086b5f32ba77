// Package objfile models object files, and writes and reads them as ELF64.
// It knows only bytes, symbols and relocations, not
// what the sections mean. docs/object.md describes the objects
// that waot writes.
//
// Place in the pipeline: after the module driver, which fills an Object; before
// hosts and other linkers, which read it.
//
// Input: an Object, or the untrusted bytes of an ELF file.
// Output: the bytes of an ELF file, an Object.
package objfile
