package compile

import "github.com/waot-project/waot/backend"

// NewAllocator returns an instance of the register allocator with the given name; empty stands for the default.
func NewAllocator(name string) (backend.Allocator, error) {
	newAllocator, err := allocatorFor(name)
	if err != nil {
		return nil, err
	}
	return newAllocator(), nil
}
