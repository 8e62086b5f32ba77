package waot

import (
	"errors"

	"github.com/waot-project/waot/internal/cache"
)

// Cache is a folder with compiled modules, for CompileOptions.Cache: what one process has compiled, the next ones map from there. It may be used by
// any number of goroutines and processes, of different programs and versions of waot too.
//
// An entry is used for the same bytes, options, compiler and level of processor only. A damaged entry is compiled again
// and replaced. Trouble with the folder, such as a full disk, is no error of Compile: the module is compiled and not kept.
type Cache struct{ cache *cache.Cache }

// CacheOptions say where a cache is. The zero value means the defaults, as does a nil pointer.
type CacheOptions struct {
	// Dir is the folder, which is made if it does not exist. The default is the one that the command waot has: waot in $XDG_CACHE_HOME, or
	// in ~/.cache.
	Dir string
	// MaxBytes bounds the size of all entries together, in bytes: those that were used longest ago are removed. A module with a larger entry is
	// not kept. The default is 1 GiB.
	MaxBytes int64
}

// CacheError is a folder that is not used for a cache, since others than the user could have put something into it, or since it has files that are not the cache's. The code in a cache is
// trusted like a program.
type CacheError struct {
	Dir    string
	Reason string
}

// Error returns one line.
func (e *CacheError) Error() string { return (*cache.UnsafeError)(e).Error() }

// OpenCache opens a cache, or makes one. The errors are *CacheError, those of package os, and errors.ErrUnsupported on machines
// where compiled code does not run. There is nothing to close.
func OpenCache(o *CacheOptions) (*Cache, error) {
	if o == nil {
		o = &CacheOptions{}
	}
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = cache.DefaultDir(); err != nil {
			return nil, err
		}
	}
	c, err := cache.Open(dir, o.MaxBytes)
	var unsafe *cache.UnsafeError
	if errors.As(err, &unsafe) {
		return nil, (*CacheError)(unsafe)
	}
	if err != nil {
		return nil, err
	}
	return &Cache{c}, nil
}

// Dir returns the folder.
func (c *Cache) Dir() string { return c.cache.Dir() }

// Clear removes all entries. Modules that exist are not affected.
func (c *Cache) Clear() error {
	_, _, err := c.cache.Clear()
	return err
}
