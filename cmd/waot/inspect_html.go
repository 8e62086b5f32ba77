package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/inspect"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/objfile"
)

// pageBodies is how many bytes of bodies in the module a page shows if no function is chosen: that makes a page of at most about 7 MB.
const pageBodies = 32 << 10

// maxLeftOut is how many functions that a page leaves out it names.
const maxLeftOut = 1000

// htmlOutput reads --html.
func htmlOutput(c *cli.Context, file string) (string, error) {
	out := c.String("html")
	switch {
	case !c.IsSet("html"):
	case out == "":
		return "", usagef("inspect: --html: no file given")
	case c.String("emit") != "":
		return "", usagef("inspect: --html shows all stages: leave --emit out")
	case sameFile(out, file):
		return "", usagef("inspect: --html %s: is the module itself", out)
	}
	return out, nil
}

// page writes the stages of functions as a page.
func (in *inspector) page(file, out string, bin []byte, funcs []uint32) error {
	shown, leftOut := in.fitting(funcs)
	collector := inspect.NewCollector(in.m, shown, func(code *backend.Code) []inspect.Line {
		return disassemblers[in.opt.target].lines(code)
	})
	co := in.opt.named(file)
	collector.Hook(&co)
	r, err := compile.Module(bin, co)
	if err != nil {
		return err
	}
	page := inspect.Page{
		Module: filepath.Base(file), About: fmt.Sprintf("waot, %s, %s, -O%d, allocator %s", in.opt.target, in.opt.cpu, in.opt.level, in.opt.regalloc),
		Functions: collector.Functions(), LeftOut: leftOut,
	}
	for _, f := range page.Functions {
		f.Dropped = r.Meta.Funcs[f.Index].Size == 0
	}
	if out == standardOutputName {
		return page.Write(in.c.App.Writer)
	}
	if err := objfile.WriteAtomic(out, 0o666, func(w io.Writer) error { return page.Write(w) }); err != nil {
		return inFile(out, err)
	}
	printf(in.c, "%s: %d functions", quote.Name(out), len(page.Functions))
	if n := len(funcs) - len(shown); n > 0 {
		printf(in.c, "; %d more would make it too large: --func chooses", n)
	}
	printf(in.c, "\n")
	return nil
}

// fitting divides functions into those that a page shows, the first ones, and the names of some of the others. The first function is shown
// whatever its size.
func (in *inspector) fitting(funcs []uint32) (shown []uint32, leftOut []string) {
	room := pageBodies
	for n, i := range funcs {
		if int(i) < len(in.m.Funcs) {
			room -= len(in.m.Body(i).Bytes)
		}
		if n > 0 && room < 0 {
			for _, i := range funcs[n:min(len(funcs), n+maxLeftOut)] {
				leftOut = append(leftOut, in.called(i))
			}
			if more := len(funcs) - n - maxLeftOut; more > 0 {
				leftOut = append(leftOut, fmt.Sprintf("and %d more", more))
			}
			return funcs[:n], leftOut
		}
	}
	return funcs, nil
}
