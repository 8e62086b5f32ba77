package script

import (
	"io/fs"
	"os"

	"github.com/waot-project/waot/internal/input"
)

// maxFile is the limit on each file of a group, a script or a module, in bytes; in a zip file it is that of what it unpacks to.
const maxFile = input.MaxModule

// readFile reads a file of a group. One that is too large is not read: a zip file says how large its files get.
func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const what = "bytes of a script's file"
	r := input.Reader{Bound: input.Fixed(what, maxFile)}
	if file, ok := f.(*os.File); ok {
		return r.Opened(file)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if n := st.Size(); n > maxFile {
		return nil, &input.LimitError{What: what, Want: uint64(n), Limit: maxFile}
	}
	return r.Stream(f)
}
