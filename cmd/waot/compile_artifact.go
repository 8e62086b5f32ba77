package main

import (
	"context"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/internal/image"
)

// artifact is a compiled module.
type artifact struct {
	prefix    string          // of the symbols, not mangled
	ctx       context.Context // of the compilation, or nil
	result    *compile.Result
	cpu       string
	functions int
	codeBytes int
}

// compileModule compiles a module; file gives a name to what has none.
func compileModule(file string, bin []byte, o *options) (*artifact, error) {
	co := o.named(file)
	repro := &reproducer{bin: bin, opt: co}
	if o.rewrites != nil {
		repro.rewrites = o.rewrites.flags
	}
	co.Crash = repro.crash
	r, err := compile.Module(bin, co)
	if err != nil {
		return nil, repro.wrap(err)
	}
	if err := o.rewrites.withinModule(r); err != nil {
		return nil, err
	}
	return &artifact{ctx: o.ctx, result: r, prefix: co.Name, cpu: r.Meta.CPU, functions: r.Stats.Funcs, codeBytes: r.Stats.Text}, nil
}

// object returns the ELF file.
func (a *artifact) object() ([]byte, error) { return a.result.ELF(a.ctx) }

// image returns what the host in this process loads.
func (a *artifact) image() (*inproc.Image, error) { return load.Image(a.result.Object, a.result.Meta) }

// imageFile returns the file of the image.
func (a *artifact) imageFile() ([]byte, error) {
	img, err := a.image()
	if err != nil {
		return nil, err
	}
	return image.Append(nil, img), nil
}

// load makes a module that can be instantiated.
func (a *artifact) load() (*host.Module, error) {
	img, err := a.image()
	if err != nil {
		return nil, err
	}
	return loadImage(img)
}

// loadCompiled returns the image of an object file, or that in the file of one.
func loadCompiled(b []byte) (*inproc.Image, error) {
	if image.Is(b) {
		return inproc.Parse(b)
	}
	return load.ELF(b)
}

// loadImage makes a module that can be instantiated.
func loadImage(img *inproc.Image) (*host.Module, error) {
	m, err := loaded.New(img)
	return (*host.Module)(m), err
}
