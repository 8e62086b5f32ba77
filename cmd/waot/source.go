package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/wasmfront/wat"
)

// source is a file that has been read: a module or an object.
type source struct {
	file  string
	b     []byte         // a module in the binary format, an object or an image
	text  *wat.Module    // of a module in the text format, or nil
	state *cache.Settled // of the file before it was read, or nil
	made  bool           // b is the object that another process has made of the file
}

// standardInput is the name of standard input in place of a file.
const standardInput = "-"

// standardOutputName is the name of an output that is printed.
const standardOutputName = "-"

// readFile reads a file of a command, which may be standard input.
func readFile(c *cli.Context, file string) ([]byte, error) {
	if file == standardInput {
		return io.ReadAll(c.App.Reader)
	}
	return os.ReadFile(file)
}

// readSource reads a file, or standard input. A module in the text format is translated.
func readSource(c *cli.Context, file string) (*source, error) {
	b, err := readFile(c, file)
	if err != nil {
		return nil, err
	}
	return sourceOf(file, b)
}

// sourceOf is readSource of a file that has been read.
func sourceOf(file string, b []byte) (s *source, err error) {
	s = &source{file: file, b: b}
	if isText(file, b) {
		if s.text, err = wat.Assemble(b); err != nil {
			return nil, inFile(file, err)
		}
		s.b = s.text.Wasm
	}
	return s, nil
}

// isText reports whether a file is a module in the text format: by its name, or since it
// begins with a parenthesis or a comment. What begins like a file of another format is none: a zstd archive begins with a parenthesis.
func isText(file string, b []byte) bool {
	if bytes.HasPrefix(b, []byte("\x00asm")) || isCompiled(b) || knownFormat(b) != "" {
		return false
	}
	b = bytes.TrimLeft(b, " \t\r\n")
	return filepath.Ext(file) == ".wat" || bytes.HasPrefix(b, []byte("(")) || bytes.HasPrefix(b, []byte(";;"))
}

// fail says of an error which file it is about, and where in its text.
func (s *source) fail(err error) error {
	if err == nil {
		return nil
	}
	text := s.text
	if s.made { // nothing but an error needs the text
		if b, err := os.ReadFile(s.file); err == nil {
			if again, err := sourceOf(s.file, b); err == nil {
				text = again.text
			}
		}
	}
	return &fileError{file: s.file, err: withFormat(err, s.b), text: text}
}
