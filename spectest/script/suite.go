package script

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/input"
)

// EnvDir is the environment variable that names the folder with the suite.
const EnvDir = "WAOT_SPEC_DIR"

// Suite is a collection of groups of scripts.
type Suite struct {
	Dir    string
	groups []suiteGroup
}

type suiteGroup struct {
	name, path string
}

// Group is a group of scripts.
type Group struct {
	Name    string
	Scripts []string // names, sorted
	files   fs.FS
}

// Locate finds the suite: in the folder that WAOT_SPEC_DIR names, or else the
// one that comes with the module wazero in Go's module cache, whose groups are
// named after its folders (v1, v2, and some proposals).
func Locate() (*Suite, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		return OpenSuite(dir)
	}
	return OpenWazero()
}

// OpenSuite opens the suite in a folder: each zip file and each folder that
// contains scripts is a group.
func OpenSuite(dir string) (*Suite, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Suite{Dir: dir}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if name, ok := strings.CutSuffix(e.Name(), ".zip"); ok {
			s.groups = append(s.groups, suiteGroup{name, p})
		} else if e.IsDir() {
			if HasScripts(p) {
				s.groups = append(s.groups, suiteGroup{e.Name(), p})
			}
		}
	}
	if len(s.groups) == 0 {
		return nil, fmt.Errorf("no test scripts in %s", dir)
	}
	return s, nil
}

// OpenWazero opens the suite that comes with the module wazero.
func OpenWazero() (*Suite, error) {
	const module = "github.com/tetratelabs/wazero"
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("finding the test scripts of %s: %w", module, err)
	}
	root := strings.TrimSpace(string(out))
	if root == "" {
		return nil, errors.New("the module " + module + " is not in the module cache: set " + EnvDir)
	}
	dir := filepath.Join(root, "internal", "integration_test", "spectest")
	found, err := filepath.Glob(filepath.Join(dir, "*", "testdata"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no test scripts in %s", dir)
	}
	s := &Suite{Dir: dir}
	for _, p := range found {
		s.groups = append(s.groups, suiteGroup{filepath.Base(filepath.Dir(p)), p})
	}
	return s, nil
}

// Groups returns the names of the groups.
func (s *Suite) Groups() []string {
	names := make([]string, len(s.groups))
	for i, g := range s.groups {
		names[i] = g.name
	}
	return names
}

// Group opens the group of that name. It is an error that is fs.ErrNotExist if
// there is none.
func (s *Suite) Group(name string) (*Group, error) {
	for _, g := range s.groups {
		if g.name == name {
			opened, err := OpenGroup(g.path)
			if err != nil {
				return nil, err
			}
			opened.Name = name
			return opened, nil
		}
	}
	return nil, fmt.Errorf("group %q of %s: %w", name, s.Dir, fs.ErrNotExist)
}

// OpenGroup opens the group in a zip file or a folder.
func OpenGroup(file string) (*Group, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	g := &Group{Name: strings.TrimSuffix(filepath.Base(file), ".zip")}
	if info.IsDir() {
		g.files = os.DirFS(file)
	} else {
		r := input.Reader{Bound: input.Fixed("bytes of scripts", input.MaxText)}
		b, err := r.File(file)
		if err != nil {
			return nil, err
		}
		if g.files, err = zip.NewReader(bytes.NewReader(b), int64(len(b))); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if g.Scripts, err = scriptNames(g.files); err != nil {
		return nil, err
	}
	return g, nil
}

// scriptNames returns the names of the scripts in a folder, sorted.
func scriptNames(files fs.FS) ([]string, error) {
	var names []string
	for _, ext := range [...]string{jsonExt, textExt} {
		found, err := fs.Glob(files, "*"+ext)
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			names = append(names, strings.TrimSuffix(n, ext))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// HasScripts reports whether there are scripts in a folder itself.
func HasScripts(dir string) bool {
	names, err := scriptNames(os.DirFS(dir))
	return err == nil && len(names) > 0
}

// Script reads the script of that name: in JSON, or in text if there is only that.
func (g *Group) Script(name string) (*Script, error) {
	s, err := parse(g.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return openText(g.files, name)
	}
	return s, err
}

// Text reads the script of that name in text.
func (g *Group) Text(name string) (*Script, error) { return openText(g.files, name) }
