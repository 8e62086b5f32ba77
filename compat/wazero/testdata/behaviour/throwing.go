package main

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// exceptions throws and catches, within an instance, between two, and through Go functions.
func exceptions() {
	without := runtime(wazero.NewRuntimeConfig())
	_, err := without.CompileModule(bg, wasm("thrower"))
	say("without the feature", err != nil)
	without.Close(bg)
	r := runtime(wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling))
	defer r.Close(bg)
	m := must(r.InstantiateWithConfig(bg, wasm("thrower"), named("thrower")))
	for _, f := range []string{"throw", "caught", "again", "deep"} {
		results, err := call(m, f, 3)
		say("exception "+f, results, err)
	}
	for _, f := range []string{"empty", "null", "trap"} {
		results, err := call(m, f)
		say("exception "+f, results, err)
	}
	h = func(ctx context.Context, m api.Module, x uint32) uint32 {
		switch x {
		case 1:
			panic(errors.New("of Go"))
		case 2:
			if _, err := m.ExportedFunction("throw").Call(ctx, 5); err != nil {
				say("an inner call", err)
				panic(err)
			}
		}
		return x
	}
	for _, x := range []uint64{0, 1, 2} {
		results, err := call(m, "around", x)
		say("exception around", x, results, err)
	}
	c := must(r.InstantiateWithConfig(bg, wasm("catcher"), named("catcher")))
	for _, f := range []string{"catch", "other", "own"} {
		results, err := call(c, f, 4)
		say("exception between", f, results, err)
	}
	_, err = r.InstantiateWithConfig(bg, wasm("wrongtag"), named("wrong"))
	say("a tag of another type", err != nil)
}
