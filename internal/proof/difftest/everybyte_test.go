//go:build linux

package difftest

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/objfile"
)

// loadLimit is how long the loader may take for an object that takes it less than a millisecond.
const loadLimit = 10 * time.Second

// victim is a good object to damage.
type victim struct {
	file    []byte
	image   *inproc.Image
	digests hostile.Digests
	// read loads an object for the target: that of this machine, which native says it is, as any host does.
	read   func([]byte) (*inproc.Image, error)
	native bool
	// covered is what the hashes cover.
	covered []span
}

// span is a part of a file, from one offset to before another.
type span struct {
	from, to uint64
	section  string
}

// newVictim compiles a module.
func newVictim(t *testing.T, wasm []byte, target string) *victim {
	t.Helper()
	file, err := hostile.Compile(wasm, compile.Options{Target: target, OptLevel: opt.O1, Jobs: 1})
	if err != nil || file == nil {
		t.Fatal(err)
	}
	v := &victim{file: file, read: hostile.Read}
	if v.native = target == compile.HostTarget(); v.native {
		v.read = hostile.Load
	}
	if v.image, err = v.read(bytes.Clone(file)); err != nil || v.image == nil {
		t.Fatal(err)
	}
	o, err := objfile.ReadELF(file)
	if err != nil {
		t.Fatal(err)
	}
	v.digests = hostile.DigestsOf(o)
	v.covered = coveredSpans(t, file)
	return v
}

// hashed are the sections whose bytes and relocations hashes cover.
var hashed = []string{".text", ".text.waot", ".rodata", ".data", ".data.rel.ro", ".waot.meta", ".waot.traps", ".waot.stackmaps", ".waot.calls"}

// coveredSpans is where they are in a file, by Go's reader of ELF.
func coveredSpans(t *testing.T, file []byte) (list []span) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hashed {
		s := f.Section(name)
		if s == nil {
			t.Fatal("no section ", name)
		}
		for _, s := range []*elf.Section{s, f.Section(".rela" + name)} {
			if s != nil {
				list = append(list, span{s.Offset, s.Offset + s.FileSize, s.Name})
			}
		}
	}
	return list
}

// where names the span that an offset is in; it is empty where no hash covers it.
func (v *victim) where(at int) string {
	for _, s := range v.covered {
		if uint64(at) >= s.from && uint64(at) < s.to {
			return s.section
		}
	}
	return ""
}

// fates counts what became of damaged objects.
type fates struct {
	covered          int // that a hash betrays, all refused
	refused, same    int // the others: refused, or the image is what it was
	resealed         int // made to fit their hashes, which then are
	unread           int // no objects to begin with,
	restored         int // the good one again, since only a hash was damaged,
	declined         int // refused,
	loaded, unlinked int // an image within bounds, which the host may not link
	slowest          time.Duration
}

func (n *fates) String() string {
	return fmt.Sprintf("with their hashes: %d refused where a hash covers, elsewhere %d refused, %d the same image; resealed: %d, of them %d unreadable, %d restored, %d refused, "+
		"%d loaded (%d not linked); slowest %v", n.covered, n.refused, n.same, n.resealed, n.unread, n.restored, n.declined, n.loaded, n.unlinked, n.slowest)
}

// timed loads an object.
func (n *fates) timed(v *victim, file []byte) (*inproc.Image, error) {
	start := time.Now()
	img, err := v.read(file)
	took := time.Since(start)
	n.slowest = max(n.slowest, took)
	if err == nil && took > loadLimit {
		err = fmt.Errorf("took %v", took)
	}
	return img, err
}

// asIs loads a file in which the byte at an offset was changed and no hash was: it is refused, or no part of it that
// reaches the host was changed.
func (n *fates) asIs(v *victim, file []byte, at int) error {
	img, err := n.timed(v, file)
	section := v.where(at)
	switch {
	case err != nil:
		return err
	case img == nil && section != "":
		n.covered++
	case img == nil:
		n.refused++
	case section != "":
		return fmt.Errorf("loaded, though it is damaged in %s", section)
	case !reflect.DeepEqual(img, v.image):
		return fmt.Errorf("loaded, but is not what was compiled")
	default:
		n.same++
	}
	return nil
}

// sealed does so after the hashes were made to fit: it is refused, or what the image refers to is there, and the host
// links it or refuses it. Nothing of it is executed. It writes into the file.
func (n *fates) sealed(v *victim, file []byte) error {
	n.resealed++
	o, err := objfile.ReadELF(file)
	if err != nil {
		n.unread++
		return hostile.OneLine(err)
	}
	hostile.Reseal(o, v.digests)
	if bytes.Equal(file, v.file) {
		n.restored++
		return nil
	}
	img, err := n.timed(v, file)
	switch {
	case err != nil:
		return err
	case img == nil:
		n.declined++
		return nil
	}
	n.loaded++
	if err := hostile.Bounds(img); err != nil || !v.native {
		return err
	}
	linked, err := hostile.Link(img)
	if !linked {
		n.unlinked++
	}
	return err
}

// TestHostileEveryByte changes a bit of a byte, and the byte to another value, of an object for each target made of a real
// program: of every byte at the full level, otherwise of some. With the hashes as they were, an object is refused, or
// its image is the same; with hashes that fit, it is refused, or the host can bear it.
func TestHostileEveryByte(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(wazeroDir(t), "imports/wasi_snapshot_preview1/testdata/zig/wasi.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	step := testenv.Cases(64, 64, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // collections would take half the time
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			v := newVictim(t, wasm, target)
			var n fates
			r := rand.New(rand.NewPCG(*seedFlag, 6))
			tried, failed := 0, 0
			for at := r.IntN(step); at < len(v.file); at += step {
				bit := v.file[at] ^ 1<<r.IntN(8)
				for _, value := range []byte{bit, v.file[at] + 1 + byte(r.IntN(255))} {
					file := slices.Clone(v.file)
					file[at] = value
					err := n.asIs(v, file, at)
					if err == nil {
						err = n.sealed(v, file)
					}
					if err != nil {
						t.Errorf("byte %#x: %#x in place of %#x: %v", at, value, v.file[at], err)
						failed++
					}
					tried++
				}
				if failed > 20 {
					t.Fatal("too many failures")
				}
			}
			t.Logf("object of %d bytes, one in %d of them damaged, in %d ways together; %v", len(v.file), step, tried, &n)
			if n.covered == 0 || n.same == 0 || n.declined == 0 || n.loaded == 0 {
				t.Error("not every fate was met")
			}
		})
	}
}
