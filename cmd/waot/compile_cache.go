package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/quote"
)

// cacheOff is the value of --cache for no cache.
const cacheOff = "off"

// cacheFlags say where compiled modules are kept.
func cacheFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cache", EnvVars: []string{"WAOT_CACHE"}, Usage: "keep compiled modules in the folder `DIR`, or off (default: waot in $XDG_CACHE_HOME or ~/.cache)"},
		&cli.Uint64Flag{Name: "cache-max", EnvVars: []string{"WAOT_CACHE_MAX"}, Usage: "keep at most `N` bytes there", DefaultText: "1 GiB"},
	}
}

// openCache returns the cache that the flags name, opened by open, nil if there is none. named is whether somebody has named it: then an
// error is worth telling.
func openCache(c *cli.Context, open func(dir string, maxBytes int64) (*cache.Cache, error)) (_ *cache.Cache, named bool, err error) {
	most := c.Uint64("cache-max")
	if c.IsSet("cache-max") && (most == 0 || most > 1<<62) {
		return nil, true, usagef("--cache-max=%d: must be from 1 to %d", most, uint64(1)<<62)
	}
	dir := c.String("cache")
	if dir == cacheOff {
		return nil, true, nil
	}
	if named = dir != ""; !named {
		if dir, err = cache.DefaultDir(); err != nil {
			return nil, false, err
		}
	}
	kept, err := open(dir, int64(most))
	return kept, named, err
}

// cacheOf is openCache for commands that can do without: it warns of a folder that is not safe, and of one that was named but cannot be
// used.
func cacheOf(c *cli.Context) (*cache.Cache, error) {
	kept, named, err := openCache(c, cache.Open)
	var unsafe *cache.UnsafeError
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return nil, err
	case errors.As(err, &unsafe) || err != nil && named:
		fmt.Fprintf(c.App.ErrWriter, "waot: warning: nothing is kept: %s\n", quote.Name(err.Error()))
	}
	return kept, nil
}

// look looks at how a file begins. It returns the state of one with a module in the binary format, the module of one that is an image, and neither
// for any other, which who reads it tells of.
func look(file string) (state os.FileInfo, image *host.Module, err error) {
	if file == standardInput {
		return nil, nil, nil
	}
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() { // opening a pipe and closing it would end who writes to it
		return nil, nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, nil
	}
	defer f.Close()
	const magic = "\x00asm"
	var head [len(magic)]byte
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil, nil
	}
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:]) != magic {
		m, err := loaded.ImageFile(f, input.MaxObject)
		return nil, (*host.Module)(m), err
	}
	return st, nil, nil
}

// known returns the module of a file with this state, if there is a note of it in the cache. Then the file is not read.
func known(c *cli.Context, kept *cache.Cache, file string, state os.FileInfo, opt *options) *host.Module {
	start := time.Now()
	o := opt.named(file)
	m := kept.FindFile(state, o.Fingerprint())
	if m != nil && c.Bool("time") {
		tellTime(c, "loaded from the cache", start)
	}
	return (*host.Module)(m)
}

// compiled returns the module of src for this process: from the cache, or after compiling it.
func compiled(c *cli.Context, kept *cache.Cache, src *source, opt *options) (*host.Module, error) {
	start := time.Now()
	o := opt.named(src.file)
	s := &cache.Source{Wasm: src.b, Fingerprint: o.Fingerprint(), Name: o.Name, File: src.state, Image: func() (*inproc.Image, error) {
		art, err := compileFile(c, src, opt)
		if err != nil {
			return nil, err
		}
		img, err := within(c.Context, "loading", art.image)
		return img, src.fail(err)
	}}
	m, hit, err := kept.Load(s)
	if err == nil && c.Bool("time") {
		how := "compiled"
		if hit {
			how = "loaded from the cache"
		}
		tellTime(c, how, start)
	}
	var told *fileError
	if errors.As(err, &told) {
		return nil, err
	}
	return (*host.Module)(m), src.fail(err)
}

// tellTime tells how long something took.
func tellTime(c *cli.Context, what string, start time.Time) {
	fmt.Fprintf(c.App.ErrWriter, "waot: %s in %s\n", what, time.Since(start).Round(10*time.Microsecond))
}
