package waot_test

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/host/jsstring"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/wasi"
)

// publicFuncs are all exported functions but the generic one.
var publicFuncs = map[string]any{
	"waot.Compile": waot.Compile, "waot.CompileContext": waot.CompileContext, "waot.CompileObject": waot.CompileObject,
	"waot.CompileObjectContext": waot.CompileObjectContext, "waot.AnyRef": waot.AnyRef, "waot.ExnRef": waot.ExnRef, "waot.F32": waot.F32, "waot.F64": waot.F64, "waot.FuncRef": waot.FuncRef,
	"waot.I32": waot.I32, "waot.I64": waot.I64, "waot.Load": waot.Load, "waot.LoadFile": waot.LoadFile, "waot.NewException": waot.NewException, "waot.NewPool": waot.NewPool, "waot.NewStore": waot.NewStore,
	"waot.NewWASI": waot.NewWASI, "waot.OpenCache": waot.OpenCache, "waot.ParseText": waot.ParseText, "waot.ParseTextContext": waot.ParseTextContext, "waot.Validate": waot.Validate, "waot.ValidateContext": waot.ValidateContext, "waot.Preemption": waot.Preemption, "waot.FreeOSMemory": waot.FreeOSMemory,
	"waot.Ref": waot.Ref, "waot.SignObject": waot.SignObject,
	"waot.SnapshotModule": waot.SnapshotModule, "waot.TextPlace": waot.TextPlace, "waot.V128": waot.V128,
	"host.AnyRef": host.AnyRef, "host.ExnRef": host.ExnRef, "host.F32": host.F32, "host.F64": host.F64, "host.FuncRef": host.FuncRef, "host.I32": host.I32, "host.I64": host.I64, "host.Load": host.Load,
	"host.FreeOSMemory": host.FreeOSMemory, "host.LoadFile": host.LoadFile, "host.NewException": host.NewException, "host.NewPool": host.NewPool, "host.NewStore": host.NewStore, "host.Preemption": host.Preemption, "host.Ref": host.Ref, "host.V128": host.V128,
	"jsstring.FromUTF16": jsstring.FromUTF16, "jsstring.Imports": jsstring.Imports, "jsstring.New": jsstring.New,
	"sign.NewMAC": sign.NewMAC, "sign.NewPrivate": sign.NewPrivate, "sign.NewPublic": sign.NewPublic, "sign.ParsePEM": sign.ParsePEM, "sign.Unsigned": sign.Unsigned,
	"wasirun.New": wasirun.New, "wasirun.NewSystem": wasirun.NewSystem, "wasirun.Run": wasirun.Run,
	"wasi.New": wasi.New, "wasi.Functions": wasi.Functions, "wasi.Types": wasi.Types[int],
}

// everything has one of everything that a module can export.
const everything = `(module
	(memory (export "memory") 1 2) (table (export "table") 1 funcref) (global (export "global") (mut i32) (i32.const 0)) (tag (export "tag") (param i32))
	(type $bytes (array (mut i8))) (type $pair (struct (field (mut i32)) (field (mut anyref))))
	(func (export "array") (result (ref $bytes)) (array.new_default $bytes (i32.const 3)))
	(func (export "struct") (result (ref $pair)) (struct.new_default $pair))
	(func (export "few") (param externref funcref) (result externref) (local.get 0))
	(func (export "_initialize")) (func (export "_start")))`

// live returns a value of each publicFuncs type with methods, as programs have them.
func live(t *testing.T) []any {
	get := func(v any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	wasm := get(waot.ParseText([]byte(everything))).([]byte)
	mod := get(waot.Compile(wasm, nil)).(*waot.Module)
	s := get(waot.NewStore(nil)).(*waot.Store)
	inst := get(s.Instantiate(nil, mod, nil)).(*waot.Instance)
	program := get(wasirun.New(nil, mod, nil)).(*wasirun.Program)
	pool := waot.NewPool(mod, nil)
	list := []any{mod, s, inst, program, pool, get(pool.Get(nil)), get(waot.NewWASI(nil)), get(wasi.New(nil)), get(sign.NewMAC([]byte(strings.Repeat("k", sign.MinSecret)))),
		get(waot.OpenCache(&waot.CacheOptions{Dir: t.TempDir()})), jsstring.New("text")}
	for _, x := range inst.Exports() {
		list = append(list, x)
	}
	for _, name := range []string{"array", "struct"} {
		o := get(get(inst.Func(name)).(*waot.Func).Call(nil)).([]any)[0].(*waot.Object)
		list = append(list, o, o.Type(), o.Type().Fields()[0])
	}
	list = append(list, get(waot.NewException(get(inst.Tag("tag")).(*waot.Tag), 1)))
	return list
}

// zeros returns a zero value of each publicFuncs type with methods, and of each that is an argument.
func zeros() []any {
	return []any{new(waot.Cache), new(waot.CacheError), new(waot.CompileLimitError), new(waot.FuncError), new(waot.ModuleError), new(waot.TextError),
		new(host.Caller), new(host.Exception), new(host.Func), new(host.Global), new(host.Instance), new(host.Memory), new(host.Module), new(host.Object), new(host.ObjectKind), new(host.ObjectType), new(host.FieldType), new(host.RefType), new(host.Pool), new(host.PoolInstance), new(host.Snapshot), new(host.Store),
		new(host.Table), new(host.Tag), new(host.Trap), new(host.ExternType), new(host.FuncType), new(host.Kind), new(host.Limits), new(host.TrapCode), new(host.ValType), new(host.Value),
		new(hosterr.CPUError), new(hosterr.CancelError), new(hosterr.Error), new(hosterr.LimitError), new(hosterr.LinkError), new(hosterr.ObjectError),
		new(hosterr.ReferenceError), new(hosterr.SnapshotError), new(hosterr.SystemError), new(jsstring.String), new(sign.Error), new(sign.Key), new(wasirun.ExitError), new(wasirun.Program), new(wasirun.System),
		new(wasi.Context), new(wasi.Errno), new(wasi.Error), new(wasi.ExitError)}
}

// api are the packages of the API as the lists below name them.
var api = map[string]string{"": "waot", "/host": "host", "/host/hosterr": "hosterr", "/host/jsstring": "jsstring", "/host/sign": "sign", "/host/wasirun": "wasirun", "/wasi": "wasi"}

// TestAllListed: the lists in this file have all that the list of the API has.
func TestAllListed(t *testing.T) {
	list, err := os.ReadFile("testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, x := range zeros() {
		types[reflect.TypeOf(x).String()] = true
	}
	declared := regexp.MustCompile(`^\tfunc (?:\(\*?(\w+)\) )?(\w+)`)
	var pkg string
	for line := range strings.Lines(string(list)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "package github.com/waot-project/waot"); ok {
			pkg = api[path]
		}
		m := declared.FindStringSubmatch(line)
		switch {
		case m == nil || m[1] == "MemoryAllocator" || m[1] == "LinearMemory" || m[1] == "System": // programs implement these
		case m[1] != "" && !types["*"+pkg+"."+m[1]]:
			t.Errorf("no zero value of %s.%s", pkg, m[1])
		case m[1] == "" && publicFuncs[pkg+"."+m[2]] == nil:
			t.Errorf("no %s.%s", pkg, m[2])
		}
	}
}

// panicOf calls f with zero values, or with pointers to zero values, and returns what it panics with.
func panicOf(f reflect.Value, pointers bool) (r any) {
	defer func() { r = recover() }()
	args := make([]reflect.Value, f.Type().NumIn())
	for i := range args {
		p := f.Type().In(i)
		args[i] = reflect.Zero(p)
		if pointers && p.Kind() == reflect.Pointer {
			args[i] = reflect.New(p.Elem())
		}
	}
	if f.Type().IsVariadic() {
		f.CallSlice(args)
	} else {
		f.Call(args)
	}
	return nil
}

// eachMethod calls f with all methods of the values.
func eachMethod(values []any, f func(name string, method reflect.Value)) {
	for _, x := range values {
		v := reflect.ValueOf(x)
		for i := range v.NumMethod() {
			f(v.Type().String()+"."+v.Type().Method(i).Name, v.Method(i))
		}
	}
}

// TestNilArguments: functions, and methods of values that exist, take nil and zero values for all arguments: they give errors, or work.
func TestNilArguments(t *testing.T) {
	for _, pointers := range []bool{false, true} {
		check := func(name string, f reflect.Value) {
			if r := panicOf(f, pointers); r != nil {
				t.Errorf("%s, pointers %t: %v", name, pointers, r)
			}
		}
		for name, f := range publicFuncs {
			check(name, reflect.ValueOf(f))
		}
		values := live(t)
		eachMethod(values, func(name string, f reflect.Value) {
			if !strings.HasSuffix(name, ".Close") {
				check(name, f)
			}
		})
		eachMethod(values, check) // while they are closed, and after that
	}
}

// TestZeroReceivers: methods of zero values and nil pointers may panic, in a way that a program can recover from, and disturb nobody else.
func TestZeroReceivers(t *testing.T) {
	values := zeros()
	for _, x := range zeros() {
		values = append(values, reflect.Zero(reflect.TypeOf(x)).Interface())
	}
	for _, pointers := range []bool{false, true} {
		eachMethod(values, func(name string, f reflect.Value) {
			if r, ok := panicOf(f, pointers).(runtime.Error); !ok && r != nil {
				t.Errorf("%s: %v", name, r)
			}
		})
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Errorf("standard input: %v", err)
	}
	eachMethod(live(t), func(name string, f reflect.Value) {
		if r := panicOf(f, false); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	})
}

// TestZeroErrors: texts of errors that a program has made without details.
func TestZeroErrors(t *testing.T) {
	for _, x := range zeros() {
		if e, ok := x.(error); ok && panicOf(reflect.ValueOf(e).MethodByName("Error"), false) != nil {
			t.Errorf("%T", e)
		}
	}
}

// TestZeroIsClosed: zero values of what belongs to a store, and of stores and modules, are as closed ones.
func TestZeroIsClosed(t *testing.T) {
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := func(_ any, err error) error { return err }
	var zero waot.Store
	var inst *waot.Instance
	for name, err := range map[string]error{
		"Store.Close":                zero.Close(),
		"Store.Enter":                zero.Enter(),
		"Store.NewFunc":              get(zero.NewFunc(func() {})),
		"Store.NewMemory":            get(zero.NewMemory(waot.Limits{})),
		"Store.NewGlobal":            get(zero.NewGlobal(true, waot.I32(1))),
		"Store.NewGlobalOf":          get(zero.NewGlobalOf(waot.RefType{Type: waot.TypeEqRef}, true, nil)),
		"Store.NewTableOf":           get(zero.NewTableOf(waot.RefType{Type: waot.TypeEqRef}, waot.Limits{}, nil)),
		"Store.Instantiate a module": get(s.Instantiate(nil, new(waot.Module), nil)),
		"Module.Close":               new(waot.Module).Close(),
		"nil Instance.Export":        get(inst.Export("x")),
		"Instance.Export":            get(new(waot.Instance).Export("x")),
		"Table.Get":                  get(new(waot.Table).Get(0)),
		"Global.Get":                 get(new(waot.Global).Get()),
		"wasirun.New":                get(wasirun.New(nil, new(waot.Module), nil)),
		"System.Start":               get(new(wasirun.System).Start(nil, nil)),
		"System.Initialize":          new(wasirun.System).Initialize(nil, nil),
	} {
		if !errors.Is(err, waot.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestZeroImports: what is no function, memory, table or global of any store gives a *LinkError, whatever is imported.
func TestZeroImports(t *testing.T) {
	values := []any{nil, 0, "", waot.RawFunc{}, new(waot.RawFunc), (func())(nil), new(func()), (*waot.Func)(nil), new(waot.Func), (*waot.Memory)(nil), new(waot.Memory),
		(*waot.Table)(nil), new(waot.Table), (*waot.Global)(nil), new(waot.Global), waot.Value{}, new(waot.Module), (*waot.Instance)(nil)}
	for _, what := range []string{"(func)", "(memory 1)", "(table 1 funcref)", "(global i32)"} {
		wasm, err := waot.ParseText([]byte(`(module (import "a" "b" ` + what + `))`))
		if err != nil {
			t.Fatal(err)
		}
		mod, err := waot.Compile(wasm, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := waot.NewStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		imports := []waot.Imports{nil, {}, {"a": nil}}
		for _, v := range values {
			imports = append(imports, waot.Imports{"a": {"b": v}})
		}
		for _, i := range imports {
			var link *waot.LinkError
			if _, err := s.Instantiate(nil, mod, i); !errors.As(err, &link) {
				t.Errorf("%s: %#v: %v", what, i, err)
			}
		}
	}
}

// TestZeroReferences: a Func that is of no store is no reference.
func TestZeroReferences(t *testing.T) {
	values := live(t)
	inst := values[2].(*waot.Instance)
	few, err := inst.Func("few")
	if err != nil {
		t.Fatal(err)
	}
	table, err := inst.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	_, call := few.Call(nil, nil, new(waot.Func))
	_, grow := table.Grow(1, new(waot.Func))
	for name, err := range map[string]error{"Call": call, "Set": table.Set(0, new(waot.Func)), "Grow": grow, "Values": few.CallValues(nil, make([]waot.Value, 2), make([]waot.Value, 1))} {
		if !errors.Is(err, waot.ErrType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestZeroWASI: functions of WASI that are called without a Context, or with one that nobody has made, answer.
func TestZeroWASI(t *testing.T) {
	for _, f := range wasi.Functions() {
		for _, c := range []*wasi.Context{nil, new(wasi.Context)} {
			errno, err := f.Call(c, make([]byte, 1000), make([]uint64, len(f.Params)))
			if wasi.Errno(errno) != wasi.ErrnoInval || err != nil {
				t.Errorf("%s: %v, %v", f.Name, wasi.Errno(errno), err)
			}
		}
	}
	for name, o := range map[string]*wasirun.Options{"Dirs": {Dirs: make([]wasirun.Dir, 1)}, "Sockets": {Sockets: make([]*os.File, 1)}} {
		if _, err := wasirun.NewSystem(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
