package cache

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/waot-project/waot/internal/image"
)

// entryHeaderSize is where the module begins in an entry, in bytes: at a multiple of all page sizes.
const entryHeaderSize = 64 << 10

// useInterval is how much older than now the noted time of use gets before it is noted again.
const useInterval = time.Minute

// newPrefix begins the names of entries that are being written.
const newPrefix = "new-"

// header begins an entry, in little-endian order.
type header struct {
	Magic [8]byte
	Key   Key
	Wasm  uint64            // size of the module in the binary format, in bytes
	Hash  [sha256.Size]byte // of all that follows the header's place in the file
	Name  [128]byte         // the beginning of the module's name, and zeros
	Stamp stamp
}

var magic = [8]byte{'w', 'a', 'o', 't', 'c', 'a', 'c', '1'}

// stamp is the state of an entry's file when its hash was known to be right. As long as it is the same, nobody has written
// to the file since, and the system has not been started again, so that all that was written is there. Then the hash
// need not be computed, which takes long for large modules. It defends against accidents only: who can write to the
// folder is trusted.
type stamp struct {
	Boot        [16]byte // the system's run
	Inode, Size uint64
	Modified    int64 // nanoseconds since 1970
}

// entry is an entry that can be used.
type entry struct {
	file *os.File
	key  Key
	used time.Time
}

// stampOf returns the present state of a file.
func stampOf(st os.FileInfo) stamp {
	return stamp{bootID(), inodeOf(st), uint64(st.Size()), st.ModTime().UnixNano()}
}

// untouched reports whether a file is as it was when it got the stamp.
func (s stamp) untouched(st os.FileInfo) bool {
	return s == stampOf(st) && s.Boot != [16]byte{}
}

func readHeader(f *os.File) (h header, ok bool) {
	b := make([]byte, binary.Size(&h))
	if _, err := f.ReadAt(b, 0); err != nil {
		return h, false
	}
	binary.Read(bytes.NewReader(b), binary.LittleEndian, &h)
	return h, h.Magic == magic
}

func (h *header) write(f *os.File) error {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h) // to a Buffer, which takes all
	_, err := f.WriteAt(b.Bytes(), 0)
	return err
}

// hashOf returns the hash of what follows the header.
func hashOf(f *os.File, size int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, io.NewSectionReader(f, entryHeaderSize, size-entryHeaderSize), make([]byte, 1<<20)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// openEntry returns the entry of a key, nil if there is none. One that is damaged, or that others may have written, is removed.
func openEntry(root *os.Root, key Key) *entry {
	f, err := openRead(root, key.String())
	if err != nil {
		return nil
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && notOurs(st) == "" {
		if h, ok := readHeader(f); ok && h.Key == key && (h.Stamp.untouched(st) || h.intact(root, f, st)) {
			return &entry{f, key, usedAt(st)}
		}
	}
	f.Close()
	root.Remove(key.String())
	return nil
}

// intact compares the hash, and renews the stamp if it is right.
func (h *header) intact(root *os.Root, f *os.File, st os.FileInfo) bool {
	sum, err := hashOf(f, st.Size())
	if err != nil || sum != h.Hash {
		return false
	}
	// If this fails, the next process compares the hash again.
	if w, err := root.OpenFile(h.Key.String(), os.O_RDWR, 0); err == nil {
		defer w.Close()
		if now, err := w.Stat(); err == nil && os.SameFile(st, now) {
			h.seal(root, h.Key.String(), w)
		}
	}
	return true
}

// seal writes the header with the present stamp to a file of that name. The time of modification is set to a whole second, which
// every file system can keep.
func (h *header) seal(root *os.Root, name string, f *os.File) error {
	now := time.Now()
	modified := now.Truncate(time.Second)
	st, err := f.Stat()
	if err != nil {
		return err
	}
	h.Stamp = stampOf(st)
	h.Stamp.Modified = modified.UnixNano()
	if err := h.write(f); err != nil {
		return err
	}
	return root.Chtimes(name, now, modified)
}

// use notes that the entry was used now.
func (e *entry) use(root *os.Root) {
	if now := time.Now(); now.Sub(e.used) > useInterval || e.used.After(now) {
		root.Chtimes(e.key.String(), now, time.Time{}) // the zero time stays as it is
	}
}

var errTooLarge = errors.New("the entry is larger than the cache")

// newName returns the name of a file that is being written.
func newName() string {
	var b [newBytes]byte
	rand.Read(b[:])
	return newPrefix + hex.EncodeToString(b[:])
}

// writeEntry makes the entry of an image, and returns its file, open for reading.
func writeEntry(root *os.Root, key Key, s *Source, img *image.Image, maxBytes int64) (_ *os.File, err error) {
	if err := img.Check(); err != nil {
		return nil, err
	}
	name := newName()
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		if err != nil {
			root.Remove(name)
		}
	}()
	// The lock says that somebody is writing, until the file is closed, however this process ends.
	if err := lock(f); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(image.Append(nil, img), entryHeaderSize); err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > maxBytes {
		return nil, errTooLarge
	}
	h := header{Magic: magic, Key: key, Wasm: uint64(len(s.Wasm))}
	copy(h.Name[:], s.Name)
	if h.Hash, err = hashOf(f, st.Size()); err != nil {
		return nil, err
	}
	if err := h.seal(root, name, f); err != nil {
		return nil, err
	}
	read, err := openRead(root, name)
	if err != nil {
		return nil, err
	}
	if err := root.Rename(name, key.String()); err != nil {
		read.Close()
		return nil, err
	}
	return read, nil
}

// names returns the names in the folder.
func names(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// list returns the entries, that which was used last first.
func list(root *os.Root) (infos []Info, err error) {
	all, err := names(root)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if !isEntry(name) {
			continue
		}
		if info, ok := infoOf(root, name); ok {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		if n := b.Used.Compare(a.Used); n != 0 {
			return n
		}
		return strings.Compare(a.Key, b.Key)
	})
	return infos, nil
}

// infoOf describes a file, which may be no entry, but counts as one. It may be gone.
func infoOf(root *os.Root, name string) (Info, bool) {
	f, err := openRead(root, name)
	if err != nil {
		st, err := root.Lstat(name)
		if err != nil {
			return Info{}, false
		}
		return Info{Key: name, Bytes: st.Size(), Used: usedAt(st)}, true
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Info{}, false
	}
	info := Info{Key: name, Bytes: st.Size(), Used: usedAt(st)}
	if h, ok := readHeader(f); ok {
		info.Name, info.Wasm = strings.TrimRight(string(h.Name[:]), "\x00"), int64(h.Wasm)
	}
	return info, true
}

// removeAbandoned removes what processes have left that ended while they wrote.
func removeAbandoned(root *os.Root) {
	all, err := names(root)
	if err != nil {
		return
	}
	for _, name := range all {
		if !isNew(name) {
			continue
		}
		f, err := openRead(root, name)
		if err != nil {
			continue
		}
		if lock(f) == nil { // the writer has ended, or has only just made the file, and will do without an entry
			root.Remove(name)
		}
		f.Close()
	}
}
