// Package cache keeps compiled modules in a folder, from which later processes load them without compiling.
//
// Place in the pipeline: around all of it. Package waot and the command ask it for a module before they compile one, and
// give it what they have compiled. Package internal/image defines what a module looks like in a file.
//
// Input: a key, which covers all that the code depends on (KeyOf, compile.Options.Fingerprint); an image where there is no
// entry yet.
// Output: a module whose code is mapped from the folder.
//
// The folder belongs to the user and nobody else can write to it; else it is not used. Entries are trusted like programs. An
// entry is written beside and renamed, so that any number of processes can work at the same time. Its bytes have a hash,
// which is compared unless the entry's stamp shows that nothing has happened to it: see stamp.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/loaded"
)

// DefaultMaxBytes is how many bytes entries may have together, if nothing else is said: 1 GiB.
const DefaultMaxBytes = 1 << 30

// Cache is a folder with compiled modules. It is safe for concurrent use, and for use by several processes.
type Cache struct {
	dir      string
	maxBytes int64
}

// UnsafeError is a folder that is not used, since others could have put something into it, or can, or since it has files that are not the cache's.
type UnsafeError struct{ Dir, Reason string }

func (e *UnsafeError) Error() string { return fmt.Sprintf("cache %s: %s", e.Dir, e.Reason) }

// DefaultDir returns the user's own folder for caches of waot: waot in $XDG_CACHE_HOME or ~/.cache. It need not exist.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "waot"), nil
}

// Open returns the cache in a folder, which it makes if it does not exist, for this user only. maxBytes bounds the entries' size, in
// bytes; 0 means DefaultMaxBytes. The errors are *UnsafeError, those of package os, and errors.ErrUnsupported.
func Open(dir string, maxBytes int64) (*Cache, error) {
	c, err := Find(dir, maxBytes)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	root, err := c.root()
	if err != nil {
		return nil, err
	}
	return c, root.Close()
}

// Find is Open for those who only look at entries or remove them: it makes no folder, and one that does not exist has no entries.
func Find(dir string, maxBytes int64) (*Cache, error) {
	if maxBytes == 0 {
		maxBytes = DefaultMaxBytes
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{dir, maxBytes}, nil
}

// Dir returns the folder.
func (c *Cache) Dir() string { return c.dir }

// MaxBytes returns how many bytes entries may have together.
func (c *Cache) MaxBytes() int64 { return c.maxBytes }

// root opens the folder and makes sure that it is the user's own, and a cache. What is in it is then reached through what was opened.
func (c *Cache) root() (*os.Root, error) {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err
	}
	st, err := root.Stat(".")
	if err == nil {
		reason := notOurs(st)
		if reason == "" {
			reason, err = claim(root)
		}
		if reason != "" {
			err = &UnsafeError{c.dir, reason}
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// Key is what code depends on, hashed.
type Key [sha256.Size]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of a module that this program compiles with options, of which the fingerprint is.
func KeyOf(wasm []byte, fingerprint string) (Key, error) {
	compiler, err := compilerID()
	if err != nil {
		return Key{}, err
	}
	content := sha256.Sum256(wasm)
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %x", compiler, fingerprint, content)), nil
}

// Source is a module that may be in a cache.
type Source struct {
	Wasm        []byte // in the binary format
	Fingerprint string // of the options, as compile.Options has it; empty for what is not to be kept
	Name        string // for List
	// File, if not nil, is the file with the module, before it was read: see FindFile.
	File *Settled
	// Image compiles the module.
	Image func() (*inproc.Image, error)
}

// Load returns the module of s, and whether it was in the cache. Trouble with the cache is no error: then the module is
// compiled and not kept. A nil Cache keeps nothing. The errors are those of s.Image and of loading an image.
func (c *Cache) Load(s *Source) (m *loaded.Module, hit bool, err error) {
	var key Key
	if s.Fingerprint == "" {
		c = nil
	}
	if c != nil {
		if key, err = KeyOf(s.Wasm, s.Fingerprint); err != nil {
			c = nil
		}
	}
	if c != nil {
		if m := c.find(key); m != nil {
			if root, err := c.root(); err == nil {
				note(root, s.File, s.Fingerprint, key)
				root.Close()
			}
			return m, true, nil
		}
	}
	img, err := s.Image()
	if err != nil {
		return nil, false, err
	}
	if c != nil {
		if m := c.keep(key, s, img); m != nil {
			return m, false, nil
		}
	}
	m, err = loaded.New(img)
	return m, false, err
}

// find returns the module of an entry, nil if there is none that can be used. An entry that cannot is removed.
func (c *Cache) find(key Key) *loaded.Module {
	root, err := c.root()
	if err != nil {
		return nil
	}
	defer root.Close()
	e := openEntry(root, key)
	if e == nil {
		return nil
	}
	defer e.file.Close()
	m, err := loaded.OpenFile(e.file, entryHeaderSize)
	if err != nil {
		root.Remove(key.String())
		return nil
	}
	e.use(root)
	return m
}

// keep makes an entry of an image, and returns the module that is mapped from it, nil if that is impossible.
func (c *Cache) keep(key Key, s *Source, img *inproc.Image) *loaded.Module {
	root, err := c.root()
	if err != nil {
		return nil
	}
	defer root.Close()
	f, err := writeEntry(root, key, s, img, c.maxBytes)
	if err != nil {
		return nil
	}
	defer f.Close()
	m, err := loaded.OpenFile(f, entryHeaderSize)
	if err != nil {
		return nil
	}
	note(root, s.File, s.Fingerprint, key)
	c.shrink(root, key)
	return m
}

// Info describes an entry.
type Info struct {
	Key   string    `json:"key"`
	Name  string    `json:"name"`         // of the module
	Wasm  int64     `json:"module_bytes"` // of the module, in the binary format
	Bytes int64     `json:"bytes"`        // of the entry
	Used  time.Time `json:"used"`         // for the last time, to a minute
}

// List returns the entries, that which was used last first.
func (c *Cache) List() ([]Info, error) {
	root, err := c.root()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return list(root)
}

// Clear removes all entries, and returns their number and size in bytes. Programs that have loaded them keep them.
func (c *Cache) Clear() (entries int, bytes int64, err error) {
	root, err := c.root()
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer root.Close()
	infos, err := list(root)
	if err != nil {
		return 0, 0, err
	}
	for i := range infos {
		if e := root.Remove(infos[i].Key); e == nil {
			entries, bytes = entries+1, bytes+infos[i].Bytes
		} else if !errors.Is(e, os.ErrNotExist) {
			err = e
		}
	}
	removeAbandoned(root)
	removeNotes(root, true)
	return entries, bytes, err
}

// shrink removes the entries that were used longest ago, but for one, until they fit.
func (c *Cache) shrink(root *os.Root, but Key) {
	removeAbandoned(root)
	infos, err := list(root)
	if err != nil {
		return
	}
	left := c.maxBytes
	for i := range infos {
		if infos[i].Key == but.String() {
			left -= infos[i].Bytes
		}
	}
	for i := range infos {
		if infos[i].Key == but.String() {
			continue
		}
		if left -= infos[i].Bytes; left < 0 {
			root.Remove(infos[i].Key)
		}
	}
	removeNotes(root, false)
}
