package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/jsstring"
	"github.com/waot-project/waot/internal/meta"
)

// stringModule is the name of the strings of JavaScript as a module.
const stringModule = "wasm:js-string"

// constantsFlag names the module that constant strings come from.
const constantsFlag = "string-constants"

// addStrings adds the strings of JavaScript if a module imports them, or constants is not "": then it is the name of the module that constant strings are imported from.
func addStrings(imports host.Imports, s *host.Store, mod *host.Module, constants string) error {
	if constants == "" && !slices.ContainsFunc(mod.Imports(), func(d host.ImportType) bool { return d.Module == stringModule }) {
		return nil
	}
	others, err := jsstring.Imports(s, mod, &jsstring.Options{Constants: constants})
	merge(imports, others)
	return err
}

// constantsHint says what to do about missing imports that look like constant strings.
func constantsHint(imports []host.ImportType) string {
	i := slices.IndexFunc(imports, func(d host.ImportType) bool {
		return d.Type.Kind == host.KindGlobal && !d.Type.Mutable && d.Type.Value.Base() == host.TypeExternRef
	})
	if i < 0 {
		return ""
	}
	return "if these are constant strings of JavaScript: --" + constantsFlag + "=" + strconv.Quote(imports[i].Module)
}

// formatValuesOf is formatValues for words of a store: references to strings of JavaScript are written as their texts.
func formatValuesOf(s *host.Store, types []meta.ValType, words []uint64) []string {
	texts := formatValues(types, words)
	for i, t := range types {
		if t.Base() == meta.ExternRef {
			if x, ok := s.Extern(words[0]).(*jsstring.String); ok {
				texts[i] = t.Base().String() + ":" + strconv.Quote(x.String())
			}
		}
		words = words[t.Words():]
	}
	return texts
}

// parseValuesFor is parseValues for words of a store: a text in quotes is a reference to a string of JavaScript.
func parseValuesFor(s *host.Store, types []meta.ValType, texts []string) (words []uint64, err error) {
	for i, t := range types {
		if text, ok := stringArgument(t, texts[i]); ok {
			word, err := s.ExternRef(jsstring.New(text))
			if err != nil {
				return nil, err
			}
			words = append(words, word)
			continue
		}
		more, err := parseValues(types[i:i+1], texts[i:i+1])
		if err != nil {
			return nil, err
		}
		words = append(words, more...)
	}
	return words, nil
}

// stringArgument returns the text of an argument of type t that is a string of JavaScript.
func stringArgument(t meta.ValType, written string) (text string, ok bool) {
	if !t.IsRef() || t.Top() != meta.ExternRef {
		return "", false
	}
	text, err := strconv.Unquote(strings.TrimPrefix(written, meta.ExternRef.String()+":"))
	return text, err == nil
}
