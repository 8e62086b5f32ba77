package printer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// modules visits the modules of the official suite, the benchmark modules, and random ones.
func modules(t *testing.T, visit func(t *testing.T, name string, b []byte)) {
	t.Helper()
	s, err := script.Locate()
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	for _, group := range s.Groups() {
		t.Run(group, func(t *testing.T) {
			suitetest.Modules(t, s, group, func(sc *script.Script, c *script.Command, b []byte) {
				visit(t, fmt.Sprintf("%s:%d", sc.Source, c.Line), b)
			})
		})
	}
	for seed := range testenv.Cases(uint64(20), 50, 500) {
		visit(t, fmt.Sprintf("seed %d", seed), wasmgen.Generate(seed, wasmgen.Config{Tails: seed%3 == 1}).Wasm)
	}
	for _, pattern := range []string{"../../testdata/wasm/*.wasm", os.Getenv("WAOT_BENCH_DIR") + "/*/*.wasm"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			visit(t, f, b)
		}
	}
}

// printed returns the text of a module. It is false if the module is malformed, or needs what is not supported.
func printed(t *testing.T, name string, b []byte) ([]byte, bool) {
	t.Helper()
	var text bytes.Buffer
	err := Module(&text, b)
	var e *wasmfront.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("%s: %v", name, err)
	}
	return text.Bytes(), err == nil
}

// TestRead: the reader makes the same module of the text, and the same text is printed for that. The text of a module that
// is not valid may be refused, as numbers can be too large for the text format.
func TestRead(t *testing.T) {
	n, equal, refused, compared := 0, 0, 0, 0
	modules(t, func(t *testing.T, name string, b []byte) {
		text, ok := printed(t, name, b)
		if !ok {
			return
		}
		n++
		m, err := wat.Assemble(text)
		if err != nil {
			if _, invalid := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures}); invalid == nil {
				t.Errorf("%s: %v", name, err)
			}
			refused++
			return
		}
		if bytes.Equal(b, m.Wasm) {
			equal++
			return
		}
		if compared++; compared%testenv.Cases(10, 5, 1) == 0 { // which takes long
			if d := difference(b, m.Wasm, exact); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		if again, _ := printed(t, name, m.Wasm); !bytes.Equal(text, again) {
			t.Errorf("%s: another text: %s", name, cmp.Diff(string(text), string(again)))
		}
	})
	t.Logf("%d modules, %d read back with the same bytes, %d refused", n, equal, refused)
}

// notInWabt are words of texts that wabt does not know: operators that got another name later, identifiers in quotes, and exceptions that are not the legacy ones.
var notInWabt = []string{"relaxed_dot", ` $"`, "try_table", "throw_ref", "exnref", "noexn", " exn"}

// TestWabt: wabt's assembler makes the same module of the text of a valid one. It reads neither all names nor custom sections, so these
// are not compared.
func TestWabt(t *testing.T) {
	tool, err := exec.LookPath("wat2wasm")
	if err != nil {
		testenv.Missing(t, "no wat2wasm")
	}
	dir := t.TempDir()
	every, n, compared, unknown := testenv.Cases(50, 20, 1), 0, 0, 0
	modules(t, func(t *testing.T, name string, b []byte) {
		text, ok := printed(t, name, b)
		if _, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures &^ (wasmfront.FeatureWideArithmetic | wasmfront.FeatureFunctionReferences | wasmfront.FeatureGC)}); !ok || err != nil {
			return
		}
		if n++; n%every != 0 {
			return
		}
		if slices.ContainsFunc(notInWabt, func(word string) bool { return bytes.Contains(text, []byte(word)) }) {
			unknown++
			return
		}
		compared++
		in, out := filepath.Join(dir, "m.wat"), filepath.Join(dir, "m.wasm")
		if err := os.WriteFile(in, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if msg, err := exec.Command(tool, "--enable-all", "--no-check", "-o", out, in).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, msg)
			return
		}
		again, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if d := difference(b, again, !exact); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	})
	t.Logf("%d modules, %d compared, %d not since wabt does not know what they have", n, compared, unknown)
}
