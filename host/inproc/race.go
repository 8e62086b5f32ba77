//go:build race

package inproc

import (
	"runtime"
	"unsafe"
)

// entered and leaving tell the race detector what the owner word of a store
// orders: assembly changes it.
func (s *Store) entered() { runtime.RaceAcquire(unsafe.Pointer(&s.owner)) }
func (s *Store) leaving() { runtime.RaceReleaseMerge(unsafe.Pointer(&s.owner)) }
