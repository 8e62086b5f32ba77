package compile

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/regalloc/local"
	"github.com/waot-project/waot/regalloc/ssa"
)

// allocators are the register allocators.
var allocators = [...]struct {
	name string
	make func() backend.Allocator
}{
	{"linear", func() backend.Allocator { return linear.New() }},
	{"ssa", func() backend.Allocator { return ssa.New() }},
	{"local", func() backend.Allocator { return local.New() }},
}

// Allocators returns the names of the register allocators.
func Allocators() (names []string) {
	for k := range allocators {
		names = append(names, allocators[k].name)
	}
	return names
}

// DefaultAllocator returns the name of the register allocator that is used at a level of optimisation if the options do not say which.
func DefaultAllocator(level opt.Level) string {
	if level == opt.O0 {
		return "local"
	}
	return "linear"
}

// allocatorFor returns what makes the register allocator with the given name.
func allocatorFor(name string) (func() backend.Allocator, error) {
	for k := range allocators {
		if allocators[k].name == name {
			return allocators[k].make, nil
		}
	}
	return nil, fmt.Errorf("compile: unknown register allocator %q (want %s)", name, strings.Join(Allocators(), " or "))
}
