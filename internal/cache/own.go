package cache

import (
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

// A folder is a cache if it has a tag, which also tells programs that make backups that its content can be made again (the Cache Directory Tagging Specification).
// Nothing is removed from a folder without one, nor anything whose name is of another form than those that this package gives.

const (
	tagName = "CACHEDIR.TAG"
	// tagSignature begins a tag of any program, tag is that of this one.
	tagSignature = "Signature: 8a477f597d28d172789f06886806bc55\n"
	tag          = tagSignature + "# This folder is a cache of waot: it may be removed, and so may all that is in it.\n"
)

// isDigits reports whether s is n bytes in hexadecimal, with small letters.
func isDigits(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == n && s == strings.ToLower(s)
}

// newBytes is how many random bytes the name of an entry has that is being written.
const newBytes = 12

// The forms of names.
func isEntry(name string) bool { return isDigits(name, len(Key{})) }
func isNote(name string) bool {
	digits, ok := strings.CutPrefix(name, notePrefix)
	return ok && isDigits(digits, len(Key{}))
}
func isNew(name string) bool {
	digits, ok := strings.CutPrefix(name, newPrefix)
	return ok && isDigits(digits, newBytes)
}

// claim makes sure that the folder is a cache: it has the tag, or gets it now, as it is empty, or has nothing but what caches had before there were tags. The
// reason says why it is none.
func claim(root *os.Root) (reason string, err error) {
	switch have, err := readTag(root); {
	case err == nil && have == tag:
		return "", nil
	case err == nil && strings.HasPrefix(have, tagSignature):
		return "it is the cache of another program", nil
	case err == nil:
		return "its " + tagName + " is not this program's", nil
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	all, err := names(root)
	if err != nil {
		return "", err
	}
	for _, name := range all {
		if name == tagName { // another process has written it meanwhile, unless it is a link to nothing, which is not ours to replace
			if st, err := root.Lstat(name); err == nil && !st.Mode().IsRegular() {
				return "its " + tagName + " is not this program's", nil
			}
			continue
		}
		if !isOurs(root, name) {
			return "it has files that are no cache's: name an empty folder, or one that does not exist", nil
		}
	}
	return "", writeTag(root)
}

func readTag(root *os.Root) (string, error) {
	f, err := openRead(root, tagName)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(len(tag))+1))
	return string(b), err
}

// writeTag writes the tag beside, as no other process may find a part of it.
func writeTag(root *os.Root) error {
	name := newName()
	if err := root.WriteFile(name, []byte(tag), 0o600); err != nil {
		return err
	}
	return root.Rename(name, tagName)
}

// isOurs reports whether a file that stands in a folder without a tag is one of this package: by its name, and what it has.
func isOurs(root *os.Root, name string) bool {
	if isNew(name) {
		return true
	}
	if !isEntry(name) && !isNote(name) {
		return false
	}
	f, err := openRead(root, name)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // another process has removed it
	}
	defer f.Close()
	if isNote(name) {
		st, err := f.Stat()
		return err == nil && st.Mode().IsRegular() && st.Size() <= int64(len(Key{}))
	}
	h, ok := readHeader(f)
	return ok && h.Key.String() == name
}
