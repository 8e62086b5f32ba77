package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/image"
	linker "github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/wat"
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

// compileOptions are the options as the compiler takes them.
func (o *options) compileOptions() compile.Options {
	co := compile.Options{
		Jobs: o.jobs, OptLevel: opt.Level(o.level), Target: o.target, CPU: o.codeLevel(), Name: o.name,
		Regalloc: o.regalloc, SkipChecker: !o.check, NoSpectre: o.noSpectre, ExplicitBounds: o.explicitBounds, Deterministic: o.deterministic, Verify: o.verify, Progress: o.progress,
		Limits: o.limits, Context: o.ctx, Costs: o.costs, Collect: true,
	}
	if o.rewrites != nil {
		co.Control = o.rewrites.control
	}
	return co
}

// named is compileOptions for the module of a file, which gives its name to what has none.
func (o *options) named(file string) compile.Options {
	co := o.compileOptions()
	if co.Name == "" {
		co.Name = nameOf(file)
	}
	return co
}

// translation is what operators become.
func (o *options) translation() translate.Options {
	c := o.compileOptions()
	t, err := c.Translation()
	if err != nil {
		panic(err) // target and processor were checked when they were read
	}
	return t
}

// codeLevel returns the level of processor as the compiler knows it: nothing of v4 is used yet.
func (o *options) codeLevel() string {
	if o.cpu == "x86-64-v4" {
		return "x86-64-v3"
	}
	return o.cpu
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

// object shows the sections and symbols of the whole module's object.
func (in *inspector) object(file string, bin []byte) error {
	art, err := compileModule(file, bin, in.opt)
	if err != nil {
		return err
	}
	o := art.result.Object
	printf(in.c, ";; obj: %d sections, %d symbols, cpu %s\n", len(o.Sections), len(o.Symbols), art.cpu)
	for i := range o.Sections {
		s := &o.Sections[i]
		printf(in.c, "section %-24s %9d bytes, align %d, %d relocations\n", s.Name, s.Bytes(), max(s.Align, 1), len(s.Relocs))
	}
	bindings := map[objfile.Binding]string{objfile.Local: "local", objfile.Global: "global", objfile.Weak: "weak"}
	for i := range o.Symbols {
		s := &o.Symbols[i]
		if s.Kind == objfile.SectionSym || s.Kind == objfile.FileSym {
			continue
		}
		where := "undefined"
		if s.Section != objfile.Undefined {
			where = fmt.Sprintf("%s+0x%x", o.Sections[s.Section].Name, s.Value)
		}
		printf(in.c, "symbol %-6s %s %s %d bytes\n", bindings[s.Binding], s.Name, where, s.Size)
	}
	return nil
}

// pipelineProblem describes the errors of compiler and hosts.
func pipelineProblem(p *problem, err error) bool {
	var invalid *wasmfront.Error
	var uncompiled *compile.FuncError
	var tooMuch *compile.LimitError
	var unlinked *program.Error
	var cancelled *compile.CancelError
	var text *wat.Error
	switch {
	case errors.As(err, &invalid):
		describeInvalid(p, invalid)
	case errors.As(err, &text):
		describeMalformed(p, text)
	case errors.As(err, &tooMuch):
		p.Kind, p.Reason = "limit", tooMuch.Error()
	case errors.As(err, &cancelled):
		p.Kind, p.Reason = "cancelled", cancelled.Error()
	case errors.As(err, &unlinked):
		p.Kind, p.Reason = "link", unlinked.Error()
	case errors.As(err, &uncompiled):
		p.Kind, p.Func, p.Name = "compile", &uncompiled.Func, uncompiled.Name
		if uncompiled.Offset != 0 {
			at := uint64(uncompiled.Offset)
			p.Offset = &at
		}
		if errors.Is(err, backend.ErrUnsupported) {
			p.Kind = "unsupported"
		}
		p.Reason = fmt.Sprintf("%s: %s", uncompiled.Stage, firstLine(uncompiled.Err))
		var repro *reproError
		if errors.As(err, &repro) {
			p.Reason += " (a bug in waot; to reproduce it: " + repro.dir + ")"
		}
	default:
		return hostProblem(p, err)
	}
	return true
}

func describeInvalid(p *problem, e *wasmfront.Error) {
	p.Kind, p.Reason = "malformed or invalid", e.Msg
	at := uint64(e.Offset)
	p.Offset = &at
	if e.Func >= 0 {
		f := uint32(e.Func)
		p.Func = &f
	}
	switch {
	case e.Feature != "":
		p.Kind = "unsupported"
		p.Reason += " (needs the feature " + e.Feature + ", which is not supported)"
	case e.Limit != "":
		p.Kind = "limit"
		p.Reason += " (implementation limit: " + e.Limit + ")"
	}
}

// describeMalformed describes what is wrong with a text.
func describeMalformed(p *problem, e *wat.Error) {
	p.Kind, p.Line, p.Column = "malformed or invalid", e.Line, e.Column
	if e.Feature != "" {
		p.Kind = "unsupported"
	}
	p.Reason = strings.TrimPrefix(e.Error(), e.Place.String()+": ")
}

// hostProblem describes the errors of loading and running.
func hostProblem(p *problem, err error) bool {
	var trap *host.Trap
	var link *host.LinkError
	var missing *missingError
	var stub *stubError
	var malformed *inproc.ImageError
	var cpu *host.CPUError
	var cancelled *host.CancelError
	var limit *host.LimitError
	var object *objfile.Error
	var format *objfile.FormatError
	var version *meta.VersionError
	var damage *meta.DecodeError
	var load *load.Error
	var unlinked *linker.Error
	var signature *sign.Error
	var impossible *meta.InvalidError
	switch {
	case errors.As(err, &trap):
		describeTrap(p, trap)
		return true
	case errors.As(err, &cancelled):
		p.Kind, p.Frames = "cancelled", framesOf(cancelled.Backtrace)
	case errors.As(err, &limit):
		p.Kind = "limit"
	case errors.As(err, &link), errors.As(err, &missing):
		p.Kind = "link"
	case errors.As(err, &stub):
		p.Kind, p.Frames = "trap", stub.frames
	case errors.As(err, &cpu):
		p.Kind = "unsupported"
	case errors.As(err, &malformed), errors.As(err, &object), errors.As(err, &format), errors.As(err, &version), errors.As(err, &damage), errors.As(err, &load),
		errors.As(err, &impossible), errors.As(err, &unlinked), errors.As(err, &signature):
		p.Kind = "object"
	default:
		return false
	}
	p.Reason = err.Error()
	return true
}

func describeTrap(p *problem, t *host.Trap) {
	p.Kind, p.Reason = "trap", "wasm trap: "+t.Code.String()
	p.Frames = framesOf(t.Backtrace)
	if len(t.Backtrace) > 0 {
		f := &t.Backtrace[0]
		p.Func, p.Name = &f.Func, f.Name
		if f.Offset != 0 {
			at := uint64(f.Offset)
			p.Offset = &at
		}
	}
}

func framesOf(backtrace []host.Frame) (out []frame) {
	for _, f := range backtrace {
		out = append(out, frame{Func: f.Func, Name: f.Name, Offset: f.Offset})
	}
	return out
}
