package cruntime_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/objfile"
)

// TestStandalone checks that the runtime's objects are what the sources make.
func TestStandalone(t *testing.T) {
	for _, m := range []objfile.Machine{objfile.X86_64, objfile.AArch64} {
		o, err := objfile.ReadELF(cruntime.Standalone(m))
		if err != nil || o.Machine != m || o.Symbol("_start") == nil {
			t.Errorf("machine %d: %v", m, err)
		}
	}
	if cruntime.Standalone(3) != nil {
		t.Error("an object for a machine that does not exist")
	}
	testenv.OnlyFull(t, "clang compiles the runtime for both machines")
	const clang = "clang-19"
	version, err := exec.Command(clang, "--version").Output()
	if err != nil {
		testenv.Missing(t, "no "+clang)
	}
	made, err := os.ReadFile("blob/compiler")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(version, made) {
		testenv.Missing(t, fmt.Sprintf("the objects were made by %s, and here is %s: go generate ./internal/cruntime makes them anew", bytes.TrimSpace(made), bytes.SplitN(version, []byte("\n"), 2)[0]))
	}
	if out, err := exec.Command("go", "run", "./mkblob", "-check", "-dir", "blob", "c/standalone.c").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
