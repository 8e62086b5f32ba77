package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/sign"
	linker "github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/snapshot"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

// pipelineProblem describes the errors of compiler and hosts.
func pipelineProblem(p *problem, err error) bool {
	var invalid *wasmfront.Error
	var uncompiled *compile.FuncError
	var tooMuch *compile.LimitError
	var unlinked *program.Error
	var cancelled *compile.CancelError
	var text *wat.Error
	var unfrozen *snapshot.Error
	switch {
	case errors.As(err, &unfrozen):
		p.Kind, p.Reason = "snapshot", "no snapshot: "+unfrozen.Reason
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
	var thrown *host.Exception
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
	case errors.As(err, &thrown):
		p.Kind, p.Reason = "exception", "uncaught "+describeException(thrown)
		p.within(thrown.Backtrace())
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
	p.within(t.Backtrace)
}

// shownArgs is how many arguments of an exception are told.
const shownArgs = 8

// describeException names an exception and its arguments: of those that are private to the module, the types.
func describeException(x *host.Exception) string {
	var texts []string
	if x.Tag() == nil {
		types, _, _ := strings.Cut(x.Error(), " in ") // before the function
		return types
	}
	for _, a := range x.Args() {
		if len(texts) == shownArgs {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, argument(a))
	}
	return "wasm exception (" + strings.Join(texts, ", ") + ")"
}

// argument returns a value as formatValue does.
func argument(a host.Value) string {
	switch a.Type() {
	case host.TypeFuncRef, host.TypeExternRef, host.TypeExnRef, host.TypeAnyRef:
		if a.Any() == nil {
			return a.Type().String() + ":null"
		}
		return a.Type().String() + ":not null"
	}
	return a.String()
}

// within says where something happened.
func (p *problem) within(backtrace []host.Frame) {
	p.Frames = framesOf(backtrace)
	if len(backtrace) > 0 {
		f := &backtrace[0]
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
