package remote_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/remote"
	"github.com/waot-project/waot/spectest/script"
)

// serveEnv makes the test binary a process that serves, by the interpreter, which takes modules for objects.
const serveEnv = "WAOT_TEST_SERVE"

const about = "the interpreter"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		if err := remote.Serve(&interpengine.Engine{}, about, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func process(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

func config() remote.Config {
	return remote.Config{Name: "remote", Features: (&interpengine.Engine{}).Features(), About: about,
		Compile: func(wasm []byte) ([]byte, error) {
			// Refusals are this side's: a module that is invalid does not reach the other.
			s, err := (&interpengine.Engine{}).NewStore()
			if err != nil {
				return nil, err
			}
			defer s.Close()
			_, err = s.Compile(wasm)
			return wasm, err
		}}
}

func start(t *testing.T) (*remote.Engine, *exec.Cmd) {
	t.Helper()
	cmd := process(t)
	e, err := remote.Start(cmd, config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, cmd
}

// TestScripts: scripts that use everything a store has give the same as without a process between.
func TestScripts(t *testing.T) {
	s, err := script.OpenWazero()
	if err != nil {
		t.Skip(err)
	}
	g, err := s.Group("v2")
	if err != nil {
		t.Fatal(err)
	}
	e, _ := start(t)
	for _, name := range []string{"imports", "linking", "ref_func", "ref_is_null", "table_get", "table_set", "table_grow", "elem", "data", "global",
		"exports", "func", "i64", "f32", "traps", "start", "binary", "bulk", "call_indirect"} {
		sc, err := g.Script(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := spectest.Run(sc, &interpengine.Engine{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := spectest.Run(sc, e)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -here +there\n%s", name, d)
		}
		if got.Passed == 0 {
			t.Errorf("%s: nothing passed", name)
		}
	}
}

// twice imports m.f: (i32, i64) -> (i64, i32), and exports it as f, and a g that calls it with its arguments.
const twice = "\x00asm\x01\x00\x00\x00" +
	"\x01\x08\x01\x60\x02\x7f\x7e\x02\x7e\x7f" +
	"\x02\x07\x01\x01m\x01f\x00\x00" +
	"\x03\x02\x01\x00" +
	"\x07\x09\x02\x01f\x00\x00\x01g\x00\x01" +
	"\x0a\x0a\x01\x08\x00\x20\x00\x20\x01\x10\x00\x0b"

// TestHostFunc: a function of this side is called, with arguments and results, while this side waits, and may use the
// store meanwhile.
func TestHostFunc(t *testing.T) {
	e, _ := start(t)
	s, err := e.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	var ref uint64
	f, err := s.NewFunc(clif.Signature{Params: []clif.Type{clif.I32, clif.I64}, Results: []clif.Type{clif.I64, clif.I32}},
		func(args, results []uint64) {
			ref = s.ExternRef(77)
			results[0], results[1] = args[1]+1, args[0]+1
		})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Compile([]byte(twice))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Instantiate(m, func(_, _ string) (spectest.Extern, bool) { return nil, false }); err == nil {
		t.Error("instantiated without the import")
	} else if u := spectest.Unlinkable(nil); !errors.As(err, &u) || u.Unlinkable() != "unknown import" {
		t.Error(err)
	}
	i, err := s.Instantiate(m, func(module, name string) (spectest.Extern, bool) { return f, module == "m" && name == "f" })
	if err != nil {
		t.Fatal(err)
	}
	got, err := i.Invoke("g", []uint64{5, 1 << 40})
	if want := []spectest.Value{{Type: clif.I64, Bits: 1<<40 + 1}, {Type: clif.I32, Bits: 6}}; err != nil || !cmp.Equal(got, want) {
		t.Error(got, err)
	}
	if n, ok := s.ExternNumber(ref); !ok || n != 77 {
		t.Error(n, ok)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := i.Invoke("g", []uint64{5, 0}); err == nil {
		t.Error("called after the store was closed")
	}
}

// TestDeath: whatever is asked of a process that has been killed says so.
func TestDeath(t *testing.T) {
	cmd := process(t)
	e, err := remote.Start(cmd, config())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	for range 2 {
		if _, err := s.NewMemory(1, 2); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Error(err)
		}
	}
	if _, err := e.NewStore(); err == nil {
		t.Error("a store in a dead process")
	}
	if err := s.Close(); err == nil {
		t.Error("closed a store in a dead process")
	}
	if err := e.Close(); err != nil {
		t.Error(err) // it has been said
	}
}

// TestAbout: a process for another machine is refused.
func TestAbout(t *testing.T) {
	c := config()
	c.About = "another machine"
	if _, err := remote.Start(process(t), c); err == nil || !strings.Contains(err.Error(), about) {
		t.Error(err)
	}
}

// TestTrapCrosses: a trap is a trap on this side, too.
func TestTrapCrosses(t *testing.T) {
	e, _ := start(t)
	s, err := e.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	// f: () -> (), unreachable.
	m, err := s.Compile([]byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x00\x0a\x05\x01\x03\x00\x00\x0b"))
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Instantiate(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.Invoke("f", nil)
	var trap spectest.Trapper
	if !errors.As(err, &trap) || trap.TrapCode() != abi.TrapUnreachable {
		t.Error(err)
	}
}
