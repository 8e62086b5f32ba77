package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/quote"
)

// isCompiled reports whether a file is an object or an image, not a module.
func isCompiled(b []byte) bool { return bytes.HasPrefix(b, []byte("\x7fELF")) || image.Is(b) }

// compiledAlready refuses options that say how code is compiled, since the file has its code.
func compiledAlready(c *cli.Context, file string, opt *options) error {
	if opt.rewrites != nil {
		return usagef("run: %s is compiled already:%s", file, opt.rewrites.flags)
	}
	for _, name := range [...]string{"opt", "cpu", "regalloc", "regalloc-check", "spectre", "bounds", "deterministic", "fuel", "fuel-costs", "verify"} {
		if c.IsSet(name) {
			return usagef("run: %s is compiled already: --%s=%v", file, name, c.Value(name))
		}
	}
	return nil
}

// programFile reads the file to run, or what --object has for it, and verifies its signature.
func programFile(c *cli.Context, file string, opt *options) (*source, error) {
	if !c.IsSet("object") {
		src, err := readSource(c, file)
		if err == nil {
			src.b, err = verified(c, file, src.b)
		}
		if err == nil && isCompiled(src.b) {
			err = compiledAlready(c, file, opt)
		}
		return src, err
	}
	b, err := readFile(c, c.String("object"), input.Object)
	if err == nil {
		b, err = verified(c, file, b)
	}
	return &source{ctx: c.Context, file: file, b: b, made: true}, err
}

// compileFile compiles the module that a file holds, and shows how far it is.
func compileFile(c *cli.Context, src *source, opt *options) (*artifact, error) {
	p := startProgress(c.App.ErrWriter, "compiling "+quote.Name(filepath.Base(src.file)))
	defer p.finish()
	opt.progress = p.set
	art, err := compileModule(src.file, src.b, opt)
	return art, src.fail(err)
}

// moduleOf loads a file for this process: an object or image as it is, or a WebAssembly module after compiling it. With --object, the file's
// bytes are what another waot has compiled.
func moduleOf(c *cli.Context, file string, opt *options) (mod *host.Module, src *source, err error) {
	var state os.FileInfo
	var kept *cache.Cache
	if !c.IsSet("object") && !c.IsSet("signed-by") {
		if state, mod, err = look(file); (mod != nil || err != nil) && opt.rewrites == nil {
			src = &source{file: file}
			return mod, src, src.fail(err)
		}
	}
	if state != nil {
		if kept, err = cacheOf(c); err != nil {
			return nil, nil, err
		}
		if mod := known(c, kept, file, state, opt); mod != nil {
			return mod, &source{file: file}, nil
		}
	}
	var settled *cache.Settled
	if kept != nil {
		settled = cache.Settle(file)
	}
	if src, err = programFile(c, file, opt); err != nil {
		return nil, nil, err
	}
	if c.IsSet("object") || isCompiled(src.b) {
		mod, err := within(c.Context, "loading", func() (*host.Module, error) {
			img, err := loadCompiled(src.b)
			if err != nil {
				return nil, err
			}
			return loadImage(img)
		})
		return mod, src, src.fail(err)
	}
	if src.state = settled; state == nil {
		if kept, err = cacheOf(c); err != nil {
			return nil, nil, err
		}
	}
	mod, err = compiled(c, kept, src, opt)
	return mod, src, err
}

// objectOf returns the object to run on another machine: the file's own, or that of the WebAssembly module in it.
func objectOf(c *cli.Context, src *source, opt *options) ([]byte, error) {
	if isCompiled(src.b) {
		return src.b, nil
	}
	art, err := compileFile(c, src, opt)
	if err != nil {
		return nil, err
	}
	object, err := art.portable()
	return object, src.fail(err)
}
