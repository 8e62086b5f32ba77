package image_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/hostile"
)

// images compiles modules to images: one has data that is mapped, others have everything else.
func images(t testing.TB, target string) (all []*image.Image) {
	data := bytes.Join([][]byte{[]byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x0b\x88\x80\x02\x01\x00\x41\x0b\x0b\x80\x80\x02"), bytes.Repeat([]byte{7}, 1<<15)}, nil)
	modules := [][]byte{data}
	for _, name := range []string{"many", "keep", "greet"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, b)
	}
	for i, wasm := range modules {
		r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Target: target})
		if err != nil {
			t.Fatal(i, err)
		}
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(i, err)
		}
		all = append(all, img)
	}
	return all
}

// TestFile: what is read is what was written, for each machine, and the file is the same each time and wherever it is appended.
func TestFile(t *testing.T) {
	for _, target := range compile.Targets() {
		for i, img := range images(t, target) {
			if err := img.Check(); err != nil {
				t.Fatal(target, i, err)
			}
			if last := img.Text[len(img.Text)-1]; target == compile.TargetX64 && last != 0xcc || target == compile.TargetA64 && last != 0 {
				t.Errorf("%s: image %d: the last page with code ends with %#x", target, i, last)
			}
			b := image.Append(nil, img)
			if again := image.Append([]byte("abc"), img); !bytes.Equal(again[3:], b) {
				t.Errorf("%s: image %d is another one the second time", target, i)
			}
			f, err := image.Parse(append(b, "a signature"...), false)
			if err != nil {
				t.Fatal(target, i, err)
			}
			for s := range image.NumSections {
				if !bytes.Equal(f.Section(s), img.Section(s)) || f.Address[s] != img.Address[s] || f.SectionAt[s]%img.Page != 0 {
					t.Errorf("%s: image %d: section %d", target, i, s)
				}
			}
			if len(f.Addresses) != len(img.Addresses) || len(f.Addresses) > 0 && !reflect.DeepEqual(f.Addresses, img.Addresses) || !reflect.DeepEqual(f.Imports, img.Imports) {
				t.Errorf("%s: image %d: %v %v", target, i, f.Addresses, f.Imports)
			}
			m, err := f.Sites()
			if err != nil {
				t.Fatal(target, i, err)
			}
			want := *img.Meta
			want.Digests, m.Digests = nil, nil
			if !bytes.Equal(encoded(m), encoded(&want)) {
				t.Errorf("%s: image %d: metadata differ", target, i)
			}
			if (f.Memories == nil) != (i != 0) || f.Memories != nil && len(f.Memories[0]) != 1 {
				t.Fatalf("%s: image %d: %d memories", target, i, len(f.Memories))
			}
			if i == 0 {
				want := make([]byte, img.Memories[0].Runs(img.Page)[0].Size())
				copy(want[11:], bytes.Repeat([]byte{7}, 1<<15))
				if got := f.Memories[0][0]; got.Offset != 0 || !bytes.Equal(got.Data, want) || f.MemoryAt[0][0]%img.Page != 0 {
					t.Errorf("%s: memory at %d, %d bytes", target, got.Offset, len(got.Data))
				}
			}
		}
	}
}

func encoded(m *meta.Module) []byte {
	s := meta.Encode(m)
	return bytes.Join([][]byte{s.Meta, s.Traps, s.StackMaps, s.Calls}, nil)
}

// reseal makes the sum fit.
func reseal(b []byte) {
	if len(b) >= 16 {
		binary.LittleEndian.PutUint64(b[8:], uint64(crc32.Checksum(b[16:], crc32.MakeTable(crc32.Castagnoli))))
	}
}

// FuzzParse: a file with changes that its sum fits is refused, or all that the image refers to is there, and all readers agree that
// the file is one. Nothing of it is executed.
func FuzzParse(f *testing.F) {
	var files [][]byte
	for _, img := range images(f, compile.HostTarget()) {
		files = append(files, image.Append(nil, img))
	}
	for i := range files {
		f.Add([]byte{byte(i)})
		for at := range byte(64) {
			f.Add([]byte{byte(i), 0, at * 4, 1, 0, at, 255})
			f.Add([]byte{byte(i), 1, at, 7})
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 256 {
			return
		}
		good := files[int(b[0])%len(files)]
		file := bytes.Clone(good)
		for e := b[1:]; len(e) >= 3; e = e[3:] {
			at := int(e[1])
			switch e[0] % 3 {
			case 1: // in the tables, at the end
				at = len(file) - 1 - at*(1+int(e[0])/3)
			case 2:
				file = file[:len(file)-len(file)*at/256]
				continue
			}
			if at >= 0 && at < len(file) {
				file[at] ^= e[2]
			}
		}
		if _, err := image.Parse(bytes.Clone(file), false); err == nil && !bytes.Equal(file, good) {
			t.Error("damage goes unnoticed")
		}
		reseal(file)
		img, err := image.Parse(file, false)
		if err != nil {
			var malformed *image.Error
			var damage *meta.DecodeError
			var impossible *meta.InvalidError
			var version *meta.VersionError
			if !errors.As(err, &malformed) && !errors.As(err, &damage) && !errors.As(err, &impossible) && !errors.As(err, &version) {
				t.Errorf("%T: %v", err, err)
			}
			if err := hostile.OneLine(err); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := image.Parse(file, true); err != nil {
			t.Error("a file that is known to be undamaged is refused:", err)
		}
		full, err := img.Sites()
		if err != nil {
			return
		}
		img.Meta = full
		if err := hostile.Bounds(&img.Image); err != nil {
			t.Fatal(err)
		}
		if err := img.Check(); err != nil {
			t.Error("loading the image refuses what reading it has not:", err)
		}
		if _, err := hostile.Link(&img.Image); err != nil {
			t.Error(err)
		}
	})
}
