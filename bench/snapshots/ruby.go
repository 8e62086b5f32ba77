package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waot-project/waot"
)

// ruby is ruby.wasm of the npm package @ruby/3.4-wasm-wasi: a library, whose functions have the canonical ABI of components.
var ruby = guest{
	name:    "Ruby",
	imports: rubyImports,
	begin:   beginRuby,
	work: func(ctx context.Context, inst *waot.Instance) error {
		return evalRuby(ctx, inst, `puts [1, 2, 3].sum; $stdout.flush`)
	},
	want: "6\n",
}

// rubyImports are the functions beside WASI's. Handles are the values themselves, so the host keeps nothing.
func rubyImports() waot.Imports {
	same := func(x int32) int32 { return x }
	return waot.Imports{
		"canonical_abi": {
			"resource_new_rb-abi-value": same, "resource_get_rb-abi-value": same,
			"resource_drop_js-abi-value": func(int32) {},
		},
		"rb-js-abi-host": {
			"rb_wasm_throw_prohibit_rewind_exception": func(int32, int32) error { return errors.New("rewinding is prohibited") },
		},
	}
}

// beginRuby is what the package's own loader does.
func beginRuby(ctx context.Context, inst *waot.Instance) error {
	var list []byte
	args := []string{"ruby.wasm", "--disable-gems", "-EUTF-8", "-e_=0"}
	for _, a := range args {
		at, err := rubyString(ctx, inst, a+"\x00")
		if err != nil {
			return err
		}
		list = append(list, word(at)...)
		list = append(list, word(uint32(len(a)+1))...)
	}
	at, err := rubyString(ctx, inst, string(list))
	if err != nil {
		return err
	}
	_, err = callBy(ctx, inst, "ruby-init: func(args: list<string>) -> ()", int32(at), int32(len(args)))
	return err
}

// evalRuby evaluates a text.
func evalRuby(ctx context.Context, inst *waot.Instance, text string) error {
	at, err := rubyString(ctx, inst, text)
	if err != nil {
		return err
	}
	results, err := callBy(ctx, inst, "rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>", int32(at), int32(len(text)))
	if err != nil {
		return err
	}
	mem, err := inst.Memory("memory")
	if err != nil {
		return err
	}
	if state, _ := mem.ReadUint32(uint32(results[0].(int32)) + 4); state != 0 {
		return fmt.Errorf("Ruby's state is %d", state)
	}
	return nil
}

// rubyString puts bytes where Ruby has allocated room for them.
func rubyString(ctx context.Context, inst *waot.Instance, s string) (uint32, error) {
	results, err := callBy(ctx, inst, "cabi_realloc", int32(0), int32(0), int32(4), int32(len(s)))
	if err != nil {
		return 0, err
	}
	mem, err := inst.Memory("memory")
	if err != nil {
		return 0, err
	}
	at := uint32(results[0].(int32))
	if !mem.WriteString(at, s) {
		return 0, errors.New("Ruby's allocator is broken")
	}
	return at, nil
}

func word(x uint32) []byte { return []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)} }

// callBy calls an exported function.
func callBy(ctx context.Context, inst *waot.Instance, name string, args ...any) ([]any, error) {
	f, err := inst.Func(name)
	if err != nil {
		return nil, err
	}
	return f.Call(ctx, args...)
}
