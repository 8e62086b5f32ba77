// Package assemblyscript gives a runtime the functions that modules of AssemblyScript import from "env": abort, trace and seed.
package assemblyscript

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
	"github.com/tetratelabs/wazero/sys"
)

// MustInstantiate is Instantiate that panics.
func MustInstantiate(ctx context.Context, r wazero.Runtime) {
	if _, err := Instantiate(ctx, r); err != nil {
		panic(err)
	}
}

// Instantiate makes the functions known to the runtime.
func Instantiate(ctx context.Context, r wazero.Runtime) (api.Closer, error) {
	b := r.NewHostModuleBuilder("env")
	NewFunctionExporter().ExportFunctions(b)
	return b.Instantiate(ctx)
}

// FunctionExporter adds the functions to a module "env" that a program builds. The With methods return a changed copy.
type FunctionExporter interface {
	// WithAbortMessageDisabled makes abort end the module without a message.
	WithAbortMessageDisabled() FunctionExporter

	// WithTraceToStdout makes trace write to the module's standard output.
	WithTraceToStdout() FunctionExporter

	// WithTraceToStderr makes trace write to the module's standard error.
	WithTraceToStderr() FunctionExporter

	// ExportFunctions adds the functions.
	ExportFunctions(wazero.HostModuleBuilder)
}

// NewFunctionExporter returns a FunctionExporter: abort writes its message to standard error, trace writes nothing.
func NewFunctionExporter() FunctionExporter { return exporter{abortMessage: true, trace: discard} }

type exporter struct {
	abortMessage bool
	trace        func(*run.System) io.Writer
}

func (e exporter) WithAbortMessageDisabled() FunctionExporter {
	e.abortMessage = false
	return e
}

func (e exporter) WithTraceToStdout() FunctionExporter {
	e.trace = (*run.System).Stdout
	return e
}

func (e exporter) WithTraceToStderr() FunctionExporter {
	e.trace = (*run.System).Stderr
	return e
}

func discard(*run.System) io.Writer { return io.Discard }

// exitCode is that of a module that has aborted.
const exitCode = 255

func (e exporter) ExportFunctions(b wazero.HostModuleBuilder) {
	const i32, f64 = api.ValueTypeI32, api.ValueTypeF64
	add := func(f *run.HostFunc) { b.(run.HostFuncExporter).ExportHostFunc(f) }
	add(&run.HostFunc{ExportName: "abort", Name: "~lib/builtins/abort", Params: []api.ValueType{i32, i32, i32, i32},
		ParamNames: []string{"message", "fileName", "lineNumber", "columnNumber"}, Fn: api.GoModuleFunc(e.abort)})
	add(&run.HostFunc{ExportName: "trace", Name: "~lib/builtins/trace", Params: []api.ValueType{i32, i32, f64, f64, f64, f64, f64},
		ParamNames: []string{"message", "nArgs", "arg0", "arg1", "arg2", "arg3", "arg4"}, Fn: api.GoModuleFunc(e.traceTo)})
	add(&run.HostFunc{ExportName: "seed", Name: "~lib/builtins/seed", Results: []api.ValueType{f64}, ResultNames: []string{"rand"}, Fn: api.GoModuleFunc(seed)})
}

// abort writes the message and ends the module.
func (e exporter) abort(ctx context.Context, m api.Module, stack []uint64) {
	if e.abortMessage {
		message, ok := text(m.Memory(), uint32(stack[0]))
		if file, ok2 := text(m.Memory(), uint32(stack[1])); ok && ok2 {
			fmt.Fprintf(run.Of(m).System().Stderr(), "%s at %s:%d:%d\n", message, file, uint32(stack[2]), uint32(stack[3]))
		}
	}
	m.CloseWithExitCode(ctx, exitCode)
	panic(sys.NewExitError(exitCode))
}

// traceTo writes a message and up to five numbers.
func (e exporter) traceTo(_ context.Context, m api.Module, stack []uint64) {
	message, ok := text(m.Memory(), uint32(stack[0]))
	if !ok {
		return
	}
	line := "trace: " + message
	var numbers []string
	for i := range min(int(int32(stack[1])), 5) {
		numbers = append(numbers, strconv.FormatFloat(api.DecodeF64(stack[2+i]), 'g', -1, 64))
	}
	if len(numbers) > 0 {
		line += " " + strings.Join(numbers, ",")
	}
	fmt.Fprintln(e.trace(run.Of(m).System()), line)
}

// seed gives the bits of a random number.
func seed(_ context.Context, m api.Module, stack []uint64) {
	var b [8]byte
	if _, err := io.ReadFull(run.Of(m).System().Rand(), b[:]); err != nil {
		panic(fmt.Errorf("error reading random seed: %w", err))
	}
	stack[0] = binary.LittleEndian.Uint64(b[:])
}

// text reads a string: UTF-16, with its length in bytes in front.
func text(mem api.Memory, at uint32) (string, bool) {
	n, ok := mem.ReadUint32Le(at - 4)
	if !ok || n%2 != 0 {
		return "", false
	}
	b, ok := mem.Read(at, n)
	if !ok {
		return "", false
	}
	units := make([]uint16, n/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), true
}
