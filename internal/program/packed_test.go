//go:build linux

package program_test

import (
	"bytes"
	"compress/flate"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestPackedTables: a trap in a program whose tables are packed, in each way that DEFLATE has, is reported as if they were not. What is
// no DEFLATE stream ends the program otherwise than by that trap.
func TestPackedTables(t *testing.T) {
	const functions = 1200
	var text strings.Builder
	text.WriteString(`(module (memory 1)`)
	for i := range functions {
		fmt.Fprintf(&text, `(func $function%dof%d (param i32) (result i32) (local i32)
			(i32.store offset=%d (local.get 0) (local.tee 1 (i32.load offset=%d (local.get 0))))`, i*i, i, 8+i*i%977, 4+i%13)
		if i > 0 {
			fmt.Fprintf(&text, `(i32.add (local.get 1) (call $function%dof%d (i32.sub (local.get 0) (i32.const 1)))))`, (i-1)*(i-1), i-1)
		} else {
			text.WriteString(`(i32.load offset=65536 (i32.load (local.get 0))))`)
		}
	}
	fmt.Fprintf(&text, `(func (export "_start") (drop (call $function%dof%d (i32.const 5000)))))`, (functions-1)*(functions-1), functions-1)
	module := wasm(t, text.String())
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			m := machine(t, target)
			r, err := compile.Module(module, compile.Options{Target: target, Name: "app", OptLevel: opt.O0})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "app")
			end := func() result {
				b, err := program.Link(r.Object, r.Meta, &program.Options{Prefix: "app"})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, b, 0o777); err != nil {
					t.Fatal(err)
				}
				return run(t, m, "", file)
			}
			tables := []string{meta.SectionTraps, meta.SectionCalls}
			plain := make(map[string][]byte)
			for _, name := range tables {
				plain[name] = r.Object.Section(name).Data
				if len(plain[name]) < 4096 {
					t.Fatalf("%s has %d bytes", name, len(plain[name]))
				}
			}
			want := end() // packed as usual
			if want.status != 134 || !strings.Contains(want.stderr, "wasm trap: out of bounds memory access\n") ||
				!strings.Contains(want.stderr, " (function0of0) at") || !strings.Contains(want.stderr, "   9: function 9 (function81of9) at") {
				t.Fatalf("%+v", want)
			}
			for _, way := range []struct {
				name        string
				level, part int // of the table
			}{{"bytes as they are", 0, 1 << 20}, {"no copies", flate.HuffmanOnly, 1 << 20}, {"fast", 1, 1 << 20}, {"best", 9, 1 << 20}, {"fixed codes", 9, 30}} {
				for _, name := range tables {
					r.Object.Section(name).Data = packWith(t, plain[name], way.level, way.part)
				}
				if got := end(); got != want {
					t.Errorf("%s: %+v, want %+v", way.name, got, want)
				}
			}
			b := packWith(t, plain[meta.SectionTraps], 9, 1<<20)
			for i := len(b) / 2; i < len(b); i++ {
				b[i] = 0xff
			}
			r.Object.Section(meta.SectionTraps).Data = b
			if got := end(); got.status == 134 && strings.Contains(got.stderr, "wasm trap") {
				t.Errorf("damaged: %+v", got)
			}
		})
	}
}

// packWith packs a table as meta.Packer does, at another level and in parts.
func packWith(t *testing.T, section []byte, level, part int) []byte {
	const header = 20
	table := section[header+1:]
	b := binary.AppendUvarint(bytes.Clone(section[:header]), uint64(len(table)))
	out := bytes.NewBuffer(b)
	w, err := flate.NewWriter(out, level)
	if err != nil {
		t.Fatal(err)
	}
	for len(table) > 0 {
		n := min(part, len(table))
		w.Write(table[:n])
		if table = table[n:]; len(table) > 0 {
			w.Flush()
		}
	}
	w.Close()
	b = out.Bytes()
	meta.Seal(b)
	return b
}

// TestSize: a large program is no larger than its code, its data, 64 KiB, and 15 % of its code for metadata, frame information and symbols; its
// object has 1.6 times code and data at most, its image 1.25 times.
func TestSize(t *testing.T) {
	testenv.OnlyFull(t, "the Go compiler takes long")
	file := filepath.Join(t.TempDir(), "report.wasm")
	cmd := exec.Command("go", "build", "-o", file, "../../examples/report")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range compile.Targets() {
		r, err := compile.Module(module, compile.Options{Target: target, Name: "app", OptLevel: opt.O1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := program.Link(r.Object, r.Meta, &program.Options{Prefix: "app"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		var code, data, about uint64
		for _, s := range f.Sections {
			switch {
			case s.Type == elf.SHT_NOBITS:
			case s.Name == ".text":
				code += s.Size
			case s.Name == ".rodata" || s.Name == ".data" || s.Name == ".data.rel.ro" || s.Name == ".waot.memory":
				data += s.Size
			case strings.HasPrefix(s.Name, ".waot.") || s.Name == ".eh_frame" || s.Name == ".symtab" || s.Name == ".strtab":
				about += s.Size
			}
		}
		if rest := uint64(len(b)) - code - data - about; uint64(len(b)) > code+data+64<<10+code*15/100 {
			t.Errorf("%s: %d bytes of code, %d of data, %d about them, %d others", target, code, data, about, rest)
		}
		if about*100 > code*15 {
			t.Errorf("%s: %d bytes about %d of code", target, about, code)
		}
		object, err := r.Object.AppendELF(nil)
		if err != nil {
			t.Fatal(err)
		}
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(err)
		}
		compiled := len(r.Object.Section(".text").Data) + len(r.Object.Section(".rodata").Data) + len(r.Object.Section(".data").Data)
		times := func(n int) float64 { return float64(n) / float64(compiled) }
		asObject, asImage := times(len(object)), times(len(image.Append(nil, img)))
		if asObject > 1.6 || asImage > 1.25 {
			t.Errorf("%s: the object has %.2f times code and data, the image %.2f times", target, asObject, asImage)
		}
		t.Logf("%s: %.2f %%; object %.2f, image %.2f", target, 100*float64(about)/float64(code), asObject, asImage)
	}
}
