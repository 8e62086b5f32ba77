package wazero

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"

	"github.com/waot-project/waot"
)

// CompilationCache keeps compiled code for several runtimes. Close gives it up; runtimes that use it must be closed before.
type CompilationCache interface{ api.Closer }

// NewCompilationCache returns a cache in memory.
func NewCompilationCache() CompilationCache { return &cache{run.NewCodes(nil)} }

// NewCompilationCacheWithDir returns a cache that other processes share, in a folder below dirname. It is made if it does not exist. It has to
// belong to the user, and be writable for nobody else, since what is in it is trusted like a program.
func NewCompilationCacheWithDir(dirname string) (CompilationCache, error) {
	dir, err := filepath.Abs(dirname)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not dir", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory %s: %v", dir, err)
	}
	folder, err := waot.OpenCache(&waot.CacheOptions{Dir: filepath.Join(dir, "waot")})
	if err != nil {
		return nil, err
	}
	return &cache{run.NewCodes(folder)}, nil
}

// cache implements CompilationCache.
type cache struct{ codes *run.Codes }

func (c *cache) Close(context.Context) error {
	c.codes.Close()
	return nil
}
