package waot

import (
	"context"
	"errors"
	"strings"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TextError means that a text is no module in the text format, or needs a feature that is not supported.
type TextError struct {
	Line   int // from 1
	Column int // from 1, in characters
	// Msg begins with the wording of the specification's tests, and says what was found and what was expected.
	Msg     string
	Feature string // the feature that the text needs and that is not supported, or empty
}

// Error returns one line: line:column, and the message.
func (e *TextError) Error() string {
	return wat.Place{Line: e.Line, Column: e.Column}.String() + ": " + e.Msg
}

// ParseText translates a module from the text format of WebAssembly (.wat) to the binary format, which [Compile] takes. It does not
// validate the module: Compile does. Identifiers become names in backtraces. The error is a *TextError.
func ParseText(text []byte) (wasm []byte, err error) {
	return ParseTextContext(context.Background(), text)
}

// ParseTextContext is like ParseText, but ends with a *CancelError soon after ctx ends.
func ParseTextContext(ctx context.Context, text []byte) (wasm []byte, err error) {
	err = until(ctx, func(end *stop.Flag) error {
		m, err := wat.AssembleUntil(text, end)
		if err != nil {
			return textError(err)
		}
		wasm = m.Wasm
		return nil
	})
	return wasm, err
}

// Validate decodes a module in the binary format and validates all of it, without compiling. wasm may be used for anything else meanwhile, but not written to. The
// errors are *ModuleError.
func Validate(wasm []byte) error { return ValidateContext(context.Background(), wasm) }

// ValidateContext is like Validate, but ends with a *CancelError soon after ctx ends.
func ValidateContext(ctx context.Context, wasm []byte) error {
	return until(ctx, func(end *stop.Flag) error {
		_, err := validate.All(wasm, validate.Config{Stop: end})
		return compileError(validate.ReasonWith(wasm, err, validate.Config{Stop: end}))
	})
}

// until runs work with a flag that is set when ctx ends, and returns its error, or a *CancelError.
func until(ctx context.Context, work func(*stop.Flag) error) error {
	err := stop.Until(ctx, work)
	if errors.Is(err, stop.Stopped{}) {
		return &CancelError{Cause: context.Cause(ctx), Err: ctx.Err()}
	}
	return err
}

// TextPlace returns the line and the column, both from 1, of what is at an offset in the module that [ParseText] makes of a text. Offsets are in
// a *ModuleError of Compile, and in the frames of a *Trap. ok is false if the text is no module, or nothing in it is at the offset. It translates the
// text anew.
func TextPlace(text []byte, offset int) (line, column int, ok bool) {
	m, err := wat.Assemble(text)
	if err != nil {
		return 0, 0, false
	}
	at, ok := m.Place(offset)
	return at.Line, at.Column, ok
}

// textError converts an error of the reader.
func textError(err error) error {
	var e *wat.Error
	if !errors.As(err, &e) {
		return err
	}
	return &TextError{Line: e.Line, Column: e.Column, Msg: strings.TrimPrefix(e.Error(), e.Place.String()+": "), Feature: e.Feature}
}
