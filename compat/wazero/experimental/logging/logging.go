// Package logging has listeners that write the calls of functions, indented by depth:
//
//	==> env.add(1,2)
//	<== 3
//
// Arguments of WASI's functions have their names; paths and numbers in memory are written as they are, the status of files by its address.
package logging

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/wasi"
)

var le = binary.LittleEndian

// Writer is where the lines go.
type Writer interface {
	io.Writer
	io.StringWriter
}

// LogScopes says which functions of WASI, Emscripten and AssemblyScript are written.
type LogScopes uint64

// The scopes.
const (
	LogScopeNone  LogScopes = 0
	LogScopeClock LogScopes = 1 << iota
	LogScopeProc
	LogScopeFilesystem
	LogScopeMemory
	LogScopePoll
	LogScopeRandom
	LogScopeSock
	LogScopeAll LogScopes = 1<<64 - 1
)

// scopes are the scopes with the beginnings of the names of their functions.
var scopes = []struct {
	scope    LogScopes
	name     string
	prefixes []string
}{
	{LogScopeClock, "clock", []string{"clock_"}},
	{LogScopeProc, "proc", []string{"proc_exit", "abort", "~lib/builtins/abort"}},
	{LogScopeFilesystem, "filesystem", []string{"fd_", "path_"}},
	{LogScopeMemory, "memory", []string{"emscripten_notify_memory_growth"}},
	{LogScopePoll, "poll", []string{"poll_"}},
	{LogScopeRandom, "random", []string{"random_", "seed", "~lib/builtins/seed"}},
	{LogScopeSock, "sock", []string{"sock_"}},
}

// IsEnabled reports whether one of these scopes is on.
func (s LogScopes) IsEnabled(scope LogScopes) bool { return s&scope != 0 }

// String lists the scopes, with bars between them.
func (s LogScopes) String() string {
	if s == LogScopeAll {
		return "all"
	}
	var names []string
	for _, x := range scopes {
		if s.IsEnabled(x.scope) {
			names = append(names, x.name)
		}
	}
	return strings.Join(names, "|")
}

// has reports whether a function is in a scope that is on.
func (s LogScopes) has(name string) bool {
	for _, x := range scopes {
		for _, p := range x.prefixes {
			if s.IsEnabled(x.scope) && strings.HasPrefix(name, p) {
				return true
			}
		}
	}
	return s == LogScopeAll
}

// NewLoggingListenerFactory writes the calls of all functions.
func NewLoggingListenerFactory(w Writer) experimental.FunctionListenerFactory {
	return &factory{w: w, scopes: LogScopeAll}
}

// NewHostLoggingListenerFactory writes the calls of Go functions, and of what guests export.
func NewHostLoggingListenerFactory(w Writer, scopes LogScopes) experimental.FunctionListenerFactory {
	return &factory{w: w, scopes: scopes, hostOnly: true}
}

// factory makes the listeners, which share the depth.
type factory struct {
	w        Writer
	scopes   LogScopes
	hostOnly bool
	depth    int
	params   [][]uint64
}

func (f *factory) NewFunctionListener(d api.FunctionDefinition) experimental.FunctionListener {
	isWASI := d.ModuleName() == "wasi_snapshot_preview1"
	switch {
	case f.hostOnly && d.GoFunction() == nil && len(d.ExportNames()) == 0:
		return nil
	case (isWASI || d.ModuleName() == "env") && !f.scopes.has(d.Name()), !isWASI && d.ModuleName() != "env" && f.scopes != LogScopeAll:
		return nil
	}
	l := &listener{factory: f, wasi: isWASI, before: "--> " + d.DebugName(), after: "<--"}
	if d.GoFunction() != nil {
		l.before, l.after = "==> "+d.DebugName(), "<=="
	}
	return l
}

// listener writes the calls of a function.
type listener struct {
	*factory
	wasi          bool
	before, after string
}

func (l *listener) write(s string) {
	fmt.Fprintf(l.w, "%s%s\n", strings.Repeat("\t", l.depth), s)
	if f, ok := l.w.(interface{ Flush() error }); ok {
		f.Flush()
	}
}

// quiet reports whether a call is not written: reading and writing of standard streams would come in between.
func (l *listener) quiet(d api.FunctionDefinition, params []uint64) bool {
	return l.wasi && (d.Name() == "fd_read" || d.Name() == "fd_write") && int32(params[0]) <= 2
}

func (l *listener) Before(_ context.Context, m api.Module, d api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
	if l.quiet(d, params) {
		l.params = append(l.params, nil)
		return
	}
	l.write(l.before + "(" + strings.Join(l.arguments(m, d, params), ",") + ")")
	l.params = append(l.params, append([]uint64{0}, params...)[1:])
	l.depth++
}

// pop returns the arguments of the innermost call; nil if it is quiet.
func (l *listener) pop() (params []uint64) {
	n := len(l.params) - 1
	params, l.params = l.params[n], l.params[:n]
	if params != nil {
		l.depth--
	}
	return params
}

func (l *listener) After(_ context.Context, m api.Module, d api.FunctionDefinition, results []uint64) {
	params := l.pop()
	if params == nil {
		return
	}
	var list []string
	if l.wasi && len(results) == 1 {
		list = l.outputs(m, d, params, wasi.Errno(results[0]) == wasi.ErrnoSuccess)
		list = append(list, "errno="+wasi.Errno(results[0]).String())
	} else {
		list = values(d.ResultTypes(), d.ResultNames(), results)
	}
	switch len(list) {
	case 0:
		l.write(l.after)
	case 1:
		l.write(l.after + " " + list[0])
	default:
		l.write(l.after + " (" + strings.Join(list, ",") + ")")
	}
}

func (l *listener) Abort(context.Context, api.Module, api.FunctionDefinition, error) { l.pop() }

// given reports whether the addresses of a function's results are written like arguments.
func given(d api.FunctionDefinition) bool { return strings.HasSuffix(d.Name(), "_sizes_get") }

// arguments are the arguments of a call.
func (l *listener) arguments(m api.Module, d api.FunctionDefinition, params []uint64) (list []string) {
	plain := values(d.ParamTypes(), d.ParamNames(), params)
	if !l.wasi || given(d) {
		return plain
	}
	clocks := []string{"realtime", "monotonic"}
	for i, name := range d.ParamNames() {
		switch {
		case strings.HasPrefix(name, "result."), strings.HasSuffix(name, "path_len"):
		case strings.HasSuffix(name, "path") && i+1 < len(params):
			list = append(list, name+"="+text(m, params[i], params[i+1]))
		case strings.HasPrefix(name, "fs_rights"):
			list = append(list, name+"="+set(rights, uint16(params[i])))
		case name == "id" && params[i] < uint64(len(clocks)):
			list = append(list, name+"="+clocks[params[i]])
		default:
			list = append(list, plain[i])
		}
	}
	return list
}

// outputs are the numbers and paths that a function of WASI has written; only their names if it has failed.
func (l *listener) outputs(m api.Module, d api.FunctionDefinition, params []uint64, ok bool) (list []string) {
	if given(d) {
		return nil
	}
	for i, name := range d.ParamNames() {
		name, isResult := strings.CutPrefix(name, "result.")
		if !isResult || name == "path_len" {
			continue
		}
		value := ""
		if ok {
			value = output(m, name, params[i:])
		}
		list = append(list, name+"="+value)
	}
	return list
}

// output is the result that a function of WASI has written to params[0]. Of the status of a file it is the address.
func output(m api.Module, name string, params []uint64) string {
	at := uint32(params[0])
	switch name {
	case "path":
		return text(m, params[0], params[1])
	case "stat":
		return fdstat(m, at)
	case "filestat":
		return strconv.FormatUint(params[0], 10)
	case "prestat":
		v, _ := m.Memory().ReadUint32Le(at + 4)
		return fmt.Sprintf("{pr_name_len=%d}", v)
	case "newoffset", "timestamp", "offset":
		v, _ := m.Memory().ReadUint64Le(at)
		return strconv.FormatInt(int64(v), 10)
	}
	v, _ := m.Memory().ReadUint32Le(at)
	return strconv.FormatInt(int64(int32(v)), 10)
}

// Names of file types, flags and rights in WASI, in the order of their numbers. Rights beyond these are not written.
var (
	fileTypes = [...]string{"UNKNOWN", "BLOCK_DEVICE", "CHARACTER_DEVICE", "DIRECTORY", "REGULAR_FILE", "SOCKET_DGRAM", "SOCKET_STREAM", "SYMBOLIC_LINK"}
	fdFlags   = []string{"APPEND", "DSYNC", "NONBLOCK", "RSYNC", "SYNC"}
	rights    = []string{"FD_DATASYNC", "FD_READ", "FD_SEEK", "FDSTAT_SET_FLAGS", "FD_SYNC", "FD_TELL", "FD_WRITE", "FD_ADVISE", "FD_ALLOCATE",
		"PATH_CREATE_DIRECTORY", "PATH_CREATE_FILE", "PATH_LINK_SOURCE", "PATH_LINK_TARGET", "PATH_OPEN", "FD_READDIR", "PATH_READLINK"}
)

// fdstat is the status of a descriptor.
func fdstat(m api.Module, at uint32) string {
	b, ok := m.Memory().Read(at, 24)
	if !ok {
		return ""
	}
	kind := fmt.Sprintf("filetype(%d)", b[0])
	if int(b[0]) < len(fileTypes) {
		kind = fileTypes[b[0]]
	}
	return fmt.Sprintf("{filetype=%s,fdflags=%s,fs_rights_base=%s,fs_rights_inheriting=%s}", kind, set(fdFlags, le.Uint16(b[2:])), set(rights, le.Uint16(b[8:])), set(rights, le.Uint16(b[16:])))
}

// set lists the names of bits, with bars between them.
func set(names []string, bits uint16) string {
	var list []string
	for i, name := range names {
		if bits>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, "|")
}

// text is a string in memory.
func text(m api.Module, at, n uint64) string {
	if b, ok := m.Memory().Read(uint32(at), uint32(n)); ok {
		return string(b)
	}
	return fmt.Sprintf("OOM(%d,%d)", uint32(at), uint32(n))
}

// values are words as their types have them, after their names if there are any.
func values(types []api.ValueType, names []string, words []uint64) []string {
	list := make([]string, len(types))
	at := 0
	for i, t := range types {
		w := words[at]
		at++
		switch t {
		case api.ValueTypeI32:
			list[i] = strconv.FormatInt(int64(int32(w)), 10)
		case api.ValueTypeI64:
			list[i] = strconv.FormatInt(int64(w), 10)
		case api.ValueTypeF32:
			list[i] = strconv.FormatFloat(float64(api.DecodeF32(w)), 'g', -1, 32)
		case api.ValueTypeF64:
			list[i] = strconv.FormatFloat(api.DecodeF64(w), 'g', -1, 64)
		case 0x7b:
			list[i] = fmt.Sprintf("%016x%016x", w, words[at])
			at++
		default:
			list[i] = fmt.Sprintf("%016x", w)
		}
		if i < len(names) {
			list[i] = names[i] + "=" + list[i]
		}
	}
	return list
}
