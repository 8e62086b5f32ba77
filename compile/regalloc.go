package compile

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/regalloc/ssa"
)

// allocators are the register allocators, the default first.
var allocators = [...]struct {
	name string
	make func() backend.Allocator
}{
	{"linear", func() backend.Allocator { return linear.New() }},
	{"ssa", func() backend.Allocator { return ssa.New() }},
}

// Allocators returns the names of the register allocators, the default first.
func Allocators() (names []string) {
	for k := range allocators {
		names = append(names, allocators[k].name)
	}
	return names
}

// allocatorFor returns what makes the register allocator with the given name, which may be empty.
func allocatorFor(name string) (func() backend.Allocator, error) {
	if name == "" {
		return allocators[0].make, nil
	}
	for k := range allocators {
		if allocators[k].name == name {
			return allocators[k].make, nil
		}
	}
	return nil, fmt.Errorf("compile: unknown register allocator %q (want %s)", name, strings.Join(Allocators(), " or "))
}
