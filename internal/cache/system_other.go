//go:build !linux

package cache

import (
	"errors"
	"os"
	"time"
)

// Native code runs on Linux only, so caches exist there only: Open fails elsewhere, before anything else of this is reached.

func tellsChanges(*os.File) bool                                    { return false }
func writePages(*os.File) bool                                      { return false }
func notOurs(os.FileInfo) string                                    { return "caches need Linux" }
func inodeOf(os.FileInfo) uint64                                    { return 0 }
func usedAt(st os.FileInfo) time.Time                               { return st.ModTime() }
func lock(*os.File) error                                           { return errors.ErrUnsupported }
func bootID() (id [16]byte)                                         { return id }
func openRead(*os.Root, string) (*os.File, error)                   { return nil, errors.ErrUnsupported }
func appendState(b []byte, _ os.FileInfo) ([]byte, time.Time, bool) { return b, time.Time{}, false }
