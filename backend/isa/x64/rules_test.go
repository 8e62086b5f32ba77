//go:build linux && amd64

package x64_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/clif"
)

// TestMain runs all tests and then, if all of them ran, checks that each named rule of the package has
// fired in one.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !testing.Short() && !selected() {
		if missing := unfired(); len(missing) > 0 {
			os.Stderr.WriteString("FAIL: rules that no test fires:\n")
			for _, n := range missing {
				os.Stderr.WriteString("\t" + n + "\n")
			}
			code = 1
		}
	}
	os.Exit(code)
}

// selected reports whether only some tests run.
func selected() bool {
	for _, a := range os.Args {
		if regexp.MustCompile(`^-?-test\.(run|bench|list|fuzz|skip)=.`).MatchString(a) && a != "-test.bench=" {
			return true
		}
	}
	return false
}

// unfired lists the rules named in the package's source that have not fired.
func unfired() (names []string) {
	files, _ := filepath.Glob("*.go")
	re := regexp.MustCompile(`l\.Rule\("([^"]+)"\)`)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		for _, m := range re.FindAllSubmatch(src, -1) {
			if n := string(m[1]); fired[n] == 0 && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestComplete: every opcode but nop and uextend, which the driver handles, has a lowering.
func TestComplete(t *testing.T) {
	target := x64.New(x64.V2)
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		if has := target.Lower[op] != nil; has == (op == clif.OpNop || op == clif.OpUextend) {
			t.Errorf("%v: lowering %v", op, has)
		}
	}
}
