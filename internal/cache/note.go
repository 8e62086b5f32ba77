package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"time"

	"github.com/waot-project/waot/host/loaded"
)

// A note says which entry belongs to a file with a module, so that neither the file nor this program need be read and hashed: it is named by the
// states of both files, which change with their content, and the first page of the program. Notes are small files in the folder, beside the entries.

const (
	notePrefix = "note-"
	// noteForm differs between what notes say: those of earlier forms are not used.
	noteForm = "settled"
	// maxNotes is how many notes there may be. One more, and all go.
	maxNotes = 4096
	// settled is how long a file must not have changed before there are notes of it, much longer than the steps of the clock that
	// file systems use: otherwise a later change may leave the state as it is.
	settled = 2 * time.Second
)

// Settled is a file that says whenever its content changes, by its state.
type Settled struct {
	path  string
	state os.FileInfo
}

// Settle returns the file of that name, which is read next, for notes; nil if there must be none of it. Who has mapped a file can write to it, and the state changes
// when that begins, but stays as it is until the page has been written to the disk. So that is done now. On file systems that are not known to do so,
// such as those in memory and of networks, files are read and hashed each time.
func Settle(path string) *Settled {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if !tellsChanges(f) || !writePages(f) {
		return nil
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	return &Settled{path, st}
}

// noteName returns the name of a note, empty if there must be none.
func noteName(file os.FileInfo, fingerprint string) string {
	if fingerprint == "" {
		return ""
	}
	id, changed, ok := appendProgram(nil)
	if !ok || time.Since(changed) < settled {
		return ""
	}
	if id, changed, ok = appendState(id, file); !ok || time.Since(changed) < settled {
		return ""
	}
	sum := sha256.Sum256(append(append(id, noteForm...), fingerprint...))
	return notePrefix + hex.EncodeToString(sum[:])
}

// FindFile returns the module that a file with this state holds, nil if there is no note of it, or no entry.
func (c *Cache) FindFile(file os.FileInfo, fingerprint string) *loaded.Module {
	if c == nil {
		return nil
	}
	name := noteName(file, fingerprint)
	if name == "" {
		return nil
	}
	root, err := c.root()
	if err != nil {
		return nil
	}
	key, ok := readNote(root, name)
	root.Close()
	if !ok {
		return nil
	}
	return c.find(key)
}

func readNote(root *os.Root, name string) (key Key, ok bool) {
	f, err := openRead(root, name)
	if err != nil {
		return key, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || notOurs(st) != "" || st.Size() != int64(len(key)) {
		return key, false
	}
	n, err := f.ReadAt(key[:], 0)
	return key, n == len(key)
}

// note notes that a file with that state holds the module of an entry. It is written in place: what is torn is shorter than a
// key, or names no entry.
func note(root *os.Root, file *Settled, fingerprint string, key Key) {
	if file == nil {
		return
	}
	name := noteName(file.state, fingerprint)
	if now, err := os.Stat(file.path); name == "" || err != nil || noteName(now, fingerprint) != name {
		return // it has changed while it was read
	}
	if f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Write(key[:])
		f.Close()
		return
	}
	if old, ok := readNote(root, name); !ok || old != key {
		root.Remove(name)
	}
}

// removeNotes removes the notes whose entries are gone; all of them, if that is wanted or there are too many.
func removeNotes(root *os.Root, all bool) {
	list, err := names(root)
	if err != nil {
		return
	}
	var notes []string
	for _, name := range list {
		if isNote(name) {
			notes = append(notes, name)
		}
	}
	for _, name := range notes {
		key, ok := readNote(root, name)
		if ok && !all && len(notes) <= maxNotes {
			if _, err := root.Lstat(key.String()); err == nil {
				continue
			}
		}
		root.Remove(name)
	}
}
