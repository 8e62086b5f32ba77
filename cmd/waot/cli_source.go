package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront/wat"
)

// source is a file that has been read: a module or an object.
type source struct {
	ctx   context.Context // ends what is still done with it
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

// readFile reads a file of a command, which may be standard input, within bounds.
func readFile(c *cli.Context, file string, bound input.Bound) (b []byte, err error) {
	r := input.Reader{Bound: bound, Context: c.Context, Forever: true}
	if file == standardInput {
		b, err = r.Stream(c.App.Reader)
	} else {
		b, err = r.File(file)
	}
	var limit *input.LimitError
	switch {
	case errors.As(err, &limit):
		return nil, inFile(file, (*compile.LimitError)(limit))
	case err != nil && c.Context.Err() != nil:
		return nil, inFile(file, lateError{"reading", err})
	}
	return b, err
}

// moduleBound returns the bound of a file with a module, or with what has been compiled of one.
func moduleBound(c *cli.Context, file string) input.Bound {
	most := uint64(input.MaxModule)
	if n := c.Uint64(maxModuleFlag); n != 0 {
		most = min(most, n)
	}
	return func(head []byte) (string, uint64) {
		switch {
		case isCompiled(head):
			return input.Object(head)
		case isText(file, head):
			return "bytes of text", input.MaxTextOf(most)
		}
		return "bytes of module", most
	}
}

// readSource reads a file, or standard input. A module in the text format is translated.
func readSource(c *cli.Context, file string) (*source, error) {
	b, err := readFile(c, file, moduleBound(c, file))
	if err != nil {
		return nil, err
	}
	return sourceOf(c.Context, file, b)
}

// sourceOf is readSource of a file that has been read. It ends when ctx does.
func sourceOf(ctx context.Context, file string, b []byte) (*source, error) {
	s := &source{ctx: ctx, file: file, b: b}
	if !isText(file, b) {
		return s, nil
	}
	err := until(ctx, "reading the text", func(end *stop.Flag) (err error) {
		s.text, err = wat.AssembleUntil(b, end)
		return err
	})
	if err != nil {
		return nil, inFile(file, err)
	}
	s.b = s.text.Wasm
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
		r := input.Reader{Bound: input.Fixed("", input.MaxText), Context: s.ctx}
		if b, err := r.File(s.file); err == nil {
			if again, err := sourceOf(s.ctx, s.file, b); err == nil {
				text = again.text
			}
		}
	}
	return &fileError{file: s.file, err: withFormat(err, s.b), text: text}
}

// nameOf is the name of a module without one: its file's.
func nameOf(file string) string {
	if file == standardInput {
		return "stdin"
	}
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
