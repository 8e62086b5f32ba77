package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/wasmfront/wat"
)

// The exit statuses, beside those of WASI programs.
const (
	statusDone  = 0
	statusBad   = 1 // bad input, a trap, a failed test
	statusUsage = 2
)

// usageError is a wrong command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{quote.Name(fmt.Sprintf(format, args...))}
}

// exitStatus ends waot with a status after everything has been printed.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// fileError says which file an error is about.
type fileError struct {
	file string
	err  error
	text *wat.Module // that the file holds, or nil
}

func (e *fileError) Error() string { return e.file + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

func inFile(file string, err error) error {
	if err == nil {
		return nil
	}
	return &fileError{file: file, err: err}
}

// problem is an error as JSON. Fields that an error does not have are left out.
type problem struct {
	// Kind is "usage", "malformed or invalid", "unsupported", "limit", "compile",
	// "object", "link", "trap", "exception", "snapshot", "cancelled", "system" or "error".
	Kind   string  `json:"kind"`
	File   string  `json:"file,omitempty"`
	Offset *uint64 `json:"offset,omitempty"` // of the byte in the module
	Line   int     `json:"line,omitempty"`   // in the text format, from 1
	Column int     `json:"column,omitempty"` // from 1, in characters
	Func   *uint32 `json:"func,omitempty"`   // index
	Name   string  `json:"name,omitempty"`   // of the function
	Reason string  `json:"reason"`
	// Frames is the backtrace of a trap or an uncaught exception, innermost first.
	Frames []frame `json:"frames,omitempty"`
}

// frame is a function in a backtrace.
type frame struct {
	Func   uint32 `json:"func"`
	Name   string `json:"name,omitempty"`
	Offset uint32 `json:"offset"`         // in the module, 0 if unknown
	Line   int    `json:"line,omitempty"` // in the text format
	Column int    `json:"column,omitempty"`
}

// String returns one line, without the file. A place in the text comes before it.
func (p *problem) String() string {
	var b strings.Builder
	if p.Offset != nil && p.Line == 0 {
		fmt.Fprintf(&b, "offset 0x%x: ", *p.Offset)
	}
	switch {
	case p.Func != nil && p.Name != "":
		fmt.Fprintf(&b, "function %d (%s): ", *p.Func, quote.Name(p.Name))
	case p.Func != nil:
		fmt.Fprintf(&b, "function %d: ", *p.Func)
	case p.Name != "":
		fmt.Fprintf(&b, "function %s: ", quote.Name(p.Name))
	}
	// The program's name is printed in front already.
	b.WriteString(strings.TrimPrefix(p.Reason, "waot: "))
	return b.String()
}

// problemOf describes an error.
func problemOf(err error) *problem {
	p := &problem{Kind: "error"}
	var fe *fileError
	if errors.As(err, &fe) {
		p.File, err = fe.file, fe.err
		defer p.locate(fe.text)
	}
	var usage *usageError
	var late lateError
	path, _ := err.(*fs.PathError)
	switch {
	case errors.As(err, &usage):
		p.Kind, p.Reason = "usage", usage.msg
	case errors.As(err, &late):
		p.Kind, p.Reason = "cancelled", late.Error()
	case pipelineProblem(p, err):
	case path != nil:
		p.Kind, p.Reason = "system", path.Err.Error()
		if p.File == "" {
			p.File = path.Path
		}
	default:
		p.Reason = err.Error()
	}
	p.Reason += addressHint(err)
	return p
}

// locate says where in the text, if there is one, the problem and the frames are.
func (p *problem) locate(text *wat.Module) {
	if text == nil {
		return
	}
	if p.Offset != nil {
		p.Line, p.Column = placeIn(text, int(*p.Offset))
	}
	for i := range p.Frames {
		f := &p.Frames[i]
		f.Line, f.Column = placeIn(text, int(f.Offset))
	}
}

// placeIn returns the place in a text of an offset in the module, or zeros.
func placeIn(text *wat.Module, offset int) (line, column int) {
	at, ok := text.Place(offset)
	if !ok {
		return 0, 0
	}
	return at.Line, at.Column
}

// finish prints an error and gives the exit status.
func finish(err error, asJSON bool, stdout, stderr io.Writer) int {
	var status exitStatus
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &status):
		return int(status)
	}
	p := problemOf(err)
	if asJSON {
		writeJSON(stdout, struct {
			Error *problem `json:"error"`
		}{p})
	} else {
		// An error is one line. Only --json prints the rest of a caught panic.
		line, _, _ := strings.Cut(p.String(), "\n")
		switch {
		case p.File != "" && p.Line > 0:
			line = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, line)
		case p.File != "":
			line = p.File + ": " + line
		}
		fmt.Fprintf(stderr, "waot: %s\n", quote.Name(line))
		printFrames(stderr, p.Frames)
	}
	if p.Kind == "usage" {
		return statusUsage
	}
	return statusBad
}

// printFrames prints a backtrace.
func printFrames(w io.Writer, frames []frame) {
	for i, f := range frames {
		name := f.Name
		if name == "" {
			name = "?"
		}
		fmt.Fprintf(w, "  %2d: function %d (%s)", i, f.Func, quote.Name(name))
		switch {
		case f.Line != 0:
			fmt.Fprintf(w, " at %d:%d", f.Line, f.Column)
		case f.Offset != 0:
			fmt.Fprintf(w, " at offset 0x%x", f.Offset)
		}
		fmt.Fprintln(w)
	}
}

// writeJSON prints v as one indented JSON value, which a terminal shows as it is.
func writeJSON(w io.Writer, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	enc.Encode(v)
	w.Write(quote.JSON(b.Bytes()))
}
