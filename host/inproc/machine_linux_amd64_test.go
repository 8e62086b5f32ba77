package inproc

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/waot-project/waot/internal/meta"
)

// TestEntryAtEnd looks for the beginning of a function at the last instructions of code behind which there is no memory.
func TestEntryAtEnd(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	pages, err := syscall.Mmap(-1, 0, 2*pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(pages)
	if err := syscall.Mprotect(pages[pageSize:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	i := &Instance{base: uintptr(unsafe.Pointer(&pages[0])), module: &Module{meta: &meta.Module{Funcs: []meta.Func{{Size: pageSize}}}}}
	i.module.length[Text] = pageSize
	at := uintptr(pageSize - len(insnTouchFar))
	copy(pages[at:], insnTouchFar)
	for pc := at - 4; pc < pageSize; pc++ {
		if atEntry(i, i.base+pc) != (pc == at) {
			t.Errorf("%#x: an entry: %t", pc, pc != at)
		}
	}
}
