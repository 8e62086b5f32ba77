package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/cheader"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/objfile"
)

// buildResult is what build --json prints.
type buildResult struct {
	Module      string `json:"module"`
	Output      string `json:"output"`
	Target      string `json:"target"`
	CPU         string `json:"cpu"`
	Functions   int    `json:"functions"`
	ModuleBytes int    `json:"module_bytes"`
	CodeBytes   int    `json:"code_bytes"`
	ObjectBytes int    `json:"object_bytes"`
	MemoryBytes int64  `json:"memory_bytes"` // as --max-memory counts it
	CompileNS   int64  `json:"compile_ns"`
	// Key is the number of the key that has signed the object.
	Key string `json:"key,omitempty"`
	// Snapshot is there with --snapshot.
	Snapshot *snapshotResult `json:"snapshot,omitempty"`
	// Time is there with --time.
	Time *costReport `json:"time,omitempty"`
}

func buildCommand() *cli.Command {
	return &cli.Command{
		Name:      "build",
		Usage:     "compile a module to an object file, an image or an executable",
		UsageText: "waot build MODULE -o OUT.o|OUT.img|OUT [OPTIONS]",
		Description: `Writes a relocatable ELF object with native code, an image that waot run and Go
programs map without linking it, or, if the name of the output ends neither in .o nor
in .img, a static executable of a WASI program. The output is complete or not there
at all.

An executable reaches only what --dir, --env and --inherit-env give it, beside its
arguments and standard streams. With --grants it also takes --waot-dir=HOST::GUEST
and --waot-env=K=V, when it runs, before its own arguments.

With --snapshot, the program is initialised now: _initialize runs, or the exported
function that is named, or _start up to a call of the import "waot" "snapshot". What
is compiled begins where that ends. An output OUT.wasm is that as a module.

Examples:
  waot build app.wasm -o app.o
  waot build lib.wasm -o lib.o --name lib --cpu=x86-64-v3
  waot build lib.wasm -o lib.o --target=aarch64-linux
  waot build lib.wasm -o lib.o --header lib.h
  waot build app.wasm -o app.img
  waot build app.wasm -o app.o --sign key.pem
  waot build app.wasm -o app.o --json
  waot build app.wasm -o app.o --time
  waot build app.wasm -o app --dir .::/ --inherit-env
  waot build app.wasm -o app --snapshot=warm_up --snapshot-seed=1

Keys for --sign are PEM files as openssl makes them:
  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out public.pem`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the object (`OUT`.o), image (OUT.img) or executable to write"},
			targetFlag(),
			&cli.StringFlag{Name: "sign", Usage: "sign the object or image with the Ed25519 private key in `KEYFILE`"},
			&cli.StringFlag{Name: "name", Aliases: []string{"prefix"}, Usage: "prefix of the object's symbols (default: the file's name)"},
			&cli.StringFlag{Name: "header", Usage: "write a C header for the object, too, to `FILE.h`"},
			timeoutFlag("give up after `TIME`, such as 1.5s or 2m"),
			&cli.BoolFlag{Name: "time", Usage: "say where processor time and page faults went, by stage and for the ten dearest functions"},
			jsonFlag(),
		}, slices.Concat(snapshotFlags(), grantFlags(), compileFlags())...),
		Action: buildAction,
	}
}

func buildAction(c *cli.Context) error {
	file, err := oneModule(c)
	if err != nil {
		return err
	}
	out := c.String("output")
	if out == "" {
		return usagef("build: no output given: -o OUT.o, -o OUT.img, or -o OUT for an executable")
	}
	kind := kindOf(out)
	if err := checkOutput(c, out, kind); err != nil {
		return err
	}
	grants, err := readGrants(c)
	if err != nil {
		return err
	}
	h := c.String("header")
	if c.IsSet("header") && (h == "" || filepath.Clean(h) == filepath.Clean(out) || sameFile(h, out) || sameFile(h, file)) {
		return usagef("build: --header %s: must be a file of its own", h)
	}
	if sameFile(out, file) {
		return usagef("build: -o %s: is the module itself", out)
	}
	opt, err := readOptions(c)
	if err != nil {
		return err
	}
	if opt.name = c.String("name"); kind == outExecutable {
		opt.name = "app" // whatever the file is called: no prefix of the runtime's, and the same bytes
	}
	key, err := signingKey(c)
	if err != nil {
		return err
	}
	ctx, cancel := runContext(c)
	defer cancel()
	opt.ctx = ctx
	if c.Bool("time") {
		opt.costs = new(cost.Meter)
	}
	opt.costs.Start()
	defer opt.costs.Stop()
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	opt.costs.Ended("read")
	frozen, err := takeSnapshot(c, src, opt)
	if err != nil {
		return src.fail(err)
	}
	if frozen != nil {
		opt.costs.Ended("snapshot")
	}
	if kind == outModule {
		return writeSnapshot(c, out, src, frozen)
	}
	p := startProgress(c.App.ErrWriter, "compiling "+quote.Name(filepath.Base(file)))
	opt.progress = p.set
	start := time.Now()
	art, err := compileModule(file, src.b, opt)
	var object outputFile
	mode := os.FileMode(0o666)
	if kind == outExecutable {
		mode = 0o777
	}
	if err == nil {
		object, err = art.output(kind, grants, key)
	}
	opt.costs.Ended("file")
	took := time.Since(start)
	p.finish()
	var header []byte
	if err == nil && c.IsSet("header") {
		header, err = within(ctx, "writing the header", func() ([]byte, error) { return cheader.Generate(art.result.Meta, art.prefix) })
	}
	if err != nil {
		return src.fail(err)
	}
	if err := writeBoth(ctx, out, object, mode, h, header); err != nil {
		return err
	}
	r := buildResult{
		Module: file, Output: out, Target: opt.target, CPU: art.cpu, Functions: art.functions,
		Snapshot: frozen, ModuleBytes: len(src.b), CodeBytes: art.codeBytes, ObjectBytes: int(object.Size()), MemoryBytes: art.result.Stats.Memory, CompileNS: took.Nanoseconds(),
	}
	signed := ""
	if key != nil {
		r.Key = key.ID()
		signed = ", signed with key " + r.Key
	}
	if opt.costs != nil {
		opt.costs.Ended("write")
		r.Time = reportCosts(opt.costs, art.result.Meta)
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, r)
		return nil
	}
	printf(c, "%s: %d functions, %d bytes of code, %s of %d bytes, compiled in %s%s\n",
		quote.Name(out), r.Functions, r.CodeBytes, kind, r.ObjectBytes, took.Round(time.Millisecond), signed)
	frozen.print(c)
	if r.Time != nil {
		r.Time.print(c.App.Writer)
	}
	return nil
}

// outputFile is what build writes: an *objfile.File, or a *bytes.Reader of what is made in memory.
type outputFile interface {
	io.WriterTo
	Size() int64
}

// output returns the file of the given kind, signed if there is a key.
func (a *artifact) output(kind outputKind, grants *program.Options, key *sign.Key) (outputFile, error) {
	var b []byte
	var err error
	switch {
	case kind == outImage:
		b, err = within(a.ctx, "linking", a.imageFile)
	case kind == outExecutable:
		grants.Prefix = a.prefix
		b, err = within(a.ctx, "linking", func() ([]byte, error) { return program.Link(a.result.Object, a.result.Meta, grants) })
	case key == nil:
		return a.result.File(a.ctx)
	default:
		b, err = a.object()
	}
	if err == nil && key != nil {
		b, err = within(a.ctx, "signing", func() ([]byte, error) { return key.Sign(b) })
	}
	return bytes.NewReader(b), err
}

// writeBoth writes an object, and a header if there is one: both, or neither. The header gets its name when the object has been written
// and lacks only its name.
func writeBoth(ctx context.Context, out string, object outputFile, mode os.FileMode, headerFile string, header []byte) error {
	failed := out
	err := writeOutput(ctx, out, mode, func(w io.Writer) error {
		const small = 16 << 10 // most sections are smaller, and written together; larger ones are not copied
		b := bufio.NewWriterSize(w, small)
		_, err := object.WriteTo(b)
		if err == nil {
			err = b.Flush()
		}
		if err != nil || header == nil {
			return err
		}
		if err = objfile.WriteFileAtomic(headerFile, header, 0o666); err != nil {
			failed = headerFile
		}
		return err
	})
	return inFile(failed, err)
}

// sameFile reports whether two names are of one file, which is not a device.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.Mode().IsRegular() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
