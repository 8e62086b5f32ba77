package jsstring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/jsstring"
)

// jsError is an Error of JavaScript, as Kotlin uses one for each of its exceptions.
type jsError struct{ message, exception any }

// jsCode returns what a program of Kotlin imports of JavaScript besides strings, of which it calls these. Exceptions have a tag.
func jsCode(out *strings.Builder, tag *waot.Tag) map[string]any {
	return map[string]any{
		"kotlin.createJsError":                             func(message, cause any) any { return &jsError{message: message} },
		"kotlin.wasm.internal.jsThrow":                     func(e any) error { return thrown(waot.NewException(tag, e)) },
		"kotlin.js.message_$external_prop_getter":          func(e any) any { return e.(*jsError).message },
		"kotlin.js.name_$external_prop_setter":             func(e, name any) {},
		"kotlin.js.kotlinException_$external_prop_getter":  func(e any) any { return e.(*jsError).exception },
		"kotlin.js.kotlinException_$external_prop_setter":  func(e, x any) { e.(*jsError).exception = x },
		"kotlin.js.JsError_$external_class_instanceof":     func(e any) int32 { _, ok := e.(*jsError); return truth[ok] },
		"kotlin.wasm.internal.getJsEmptyString":            func() any { return "" },
		"kotlin.wasm.internal.externrefToString":           func(v any) any { return jsstring.New(fmt.Sprint(v)) },
		"kotlin.wasm.internal.isNullish":                   func(v any) int32 { return truth[v == nil] },
		"kotlin.wasm.internal.kotlinUIntToJsNumberUnsafe":  func(n uint32) any { return uint64(n) },
		"kotlin.wasm.internal.kotlinULongToJsBigIntUnsafe": func(n uint64) any { return n },
		"kotlin.wasm.internal.utoa32_$external_fun":        func(v any) any { return jsstring.New(fmt.Sprint(v)) },
		"kotlin.wasm.internal.utoa64_$external_fun":        func(v any) any { return jsstring.New(fmt.Sprint(v)) },
		"kotlin.wasm.internal.itoa32_$external_fun":        func(n int32) any { return jsstring.New(strconv.Itoa(int(n))) },
		"kotlin.wasm.internal.itoa64_$external_fun":        func(n int64) any { return jsstring.New(strconv.FormatInt(n, 10)) },
		"kotlin.io.printlnImpl":                            func(v any) { fmt.Fprintln(out, v) },
		"kotlin.js.stackPlaceHolder_js_code":               func() any { return "" },
	}
}

var truth = map[bool]int32{true: 1}

// thrown returns an exception as what throws it, or the error.
func thrown(x *waot.Exception, err error) error {
	if err != nil {
		return err
	}
	return x
}

// TestKotlin runs a program of Kotlin's compiler for JavaScript, which keeps its texts in JavaScript's strings, with 439 constants: texts, exceptions and coroutines as in internal/proof/difftest/testdata/kotlin.
func TestKotlin(t *testing.T) {
	wasm, err := os.ReadFile("testdata/kotlin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/kotlin.expected")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	imports, err := jsstring.Imports(s, mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(imports["'"]); n != 439 {
		t.Errorf("%d constants", n)
	}
	memory, err := s.NewMemory(waot.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := s.NewTag(waot.TypeExternRef)
	if err != nil {
		t.Fatal(err)
	}
	imports["intrinsics"] = map[string]any{"memory": memory, "tag": tag}
	var out strings.Builder
	code := jsCode(&out, tag)
	for _, d := range mod.Imports() {
		if d.Module == "js_code" && code[d.Name] == nil {
			code[d.Name] = waot.RawFunc{Params: d.Type.Func.Params, Results: d.Type.Func.Results, Func: func(*waot.Caller, []uint64, []uint64) error { return errors.New(d.Name) }}
		}
	}
	imports["js_code"] = code
	inst, err := s.Instantiate(context.Background(), mod, imports)
	if err != nil {
		t.Fatal(err)
	}
	start, err := inst.Func("_start")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start.Call(context.Background()); err != nil {
		t.Error(err)
	}
	if out.String() != string(want) {
		t.Errorf("%s, want\n%s", &out, want)
	}
}
