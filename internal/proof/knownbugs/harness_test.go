package knownbugs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
)

// check runs a case on wazero's interpreter, which is the judge, on the CLIF interpreter and as native code of each level, at the full level of the other
// machine, too, and reports where these differ. In an emulator it leaves out the interpreter of what the mid-end gives.
func check(t *testing.T, c *compare.Case) *compare.History {
	t.Helper()
	h := here()
	h.Elsewhere = other.engines(t)
	return h.Check(t, c)
}

// here is what check compares, without the other machine.
func here() *compare.Harness {
	interpreters := compare.Interpreters()
	if emulated() {
		interpreters = interpreters[:1]
	}
	return &compare.Harness{Judge: wazeroEngine{}, JudgeTraps: wazeroTraps, Engines: append(interpreters, compare.Natives()...)}
}

// otherMachine is the process in an emulator that executes code of the other machine. It is started when it is first needed.
type otherMachine struct {
	lock    sync.Mutex // of the start
	warning sync.Once
	process *compare.Process
	dir     *emulate.Folder
	list    []*compare.Elsewhere
}

var other otherMachine

// engines are those of the other machine. Without an emulator there are none, or the test fails where that must not be.
func (o *otherMachine) engines(t *testing.T) []*compare.Elsewhere {
	t.Helper()
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.process != nil || !testenv.Full() || emulated() {
		return o.list
	}
	i := slices.IndexFunc(compile.Targets(), func(s string) bool { return compile.GOARCH(s) != runtime.GOARCH })
	target := compile.Targets()[i]
	m, err := emulate.For(compile.GOARCH(target), "")
	if err != nil {
		if testenv.CI() {
			t.Fatal(err)
		}
		o.warning.Do(func() { fmt.Fprintf(os.Stderr, "WARNING: code for %s is not run: %v\n", target, err) })
		return nil
	}
	if o.dir, err = emulate.NewFolder("waot-knownbugs-"); err != nil {
		t.Fatal(err)
	}
	program, err := m.Build(context.Background(), o.dir.Path, ".", "test", "-c", "-ldflags=-w")
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(context.Background(), program)
	cmd.Env, cmd.Stderr = append(cmd.Env, envServe+"=1"), os.Stderr
	if o.process, err = compare.StartProcess(cmd); err != nil {
		t.Fatal(err)
	}
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		o.list = append(o.list, o.process.With(fmt.Sprintf("%s-O%d", target, level), compile.Options{OptLevel: level, Target: target, Verify: true, Jobs: 1}))
	}
	return o.list
}

func (o *otherMachine) close() error {
	if o.dir == nil {
		return nil
	}
	var err error
	if o.process != nil {
		err = o.process.Close()
	}
	return errors.Join(err, o.dir.Remove())
}

// assemble returns the bytes of a module.
func assemble(t *testing.T, text string) []byte {
	t.Helper()
	wasm, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// start instantiates a module without imports in a new store of an engine. The end of the test closes the store.
func start(t *testing.T, e spectest.Engine, wasm []byte) spectest.Instance {
	t.Helper()
	s, err := e.NewStore()
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	t.Cleanup(func() { s.Close() })
	mod, err := s.Compile(wasm)
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	inst, err := s.Instantiate(mod, nil)
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	return inst
}

// memoryOf is the memory that an instance exports.
func memoryOf(t *testing.T, inst spectest.Instance) []byte {
	t.Helper()
	mem, err := compare.Memory(inst)
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// inprocTrap gives a trap of package inproc the method that spectest asks for.
type inprocTrap struct{ *inproc.Trap }

func (t inprocTrap) TrapCode() abi.TrapCode { return t.Code }

// wasmError makes an error of inproc one that trapOf understands.
func wasmError(err error) error {
	if trap, ok := err.(*inproc.Trap); ok {
		return inprocTrap{trap}
	}
	return err
}

// trapOf is the message of the trap that err is, or err's text, or "".
func trapOf(err error) string {
	var t spectest.Trapper
	switch {
	case err == nil:
		return ""
	case errors.As(err, &t):
		return t.TrapCode().Message()
	}
	return err.Error()
}

// TestNotInlined: functions that begin with wat.NotInlined are called, others as small are not.
func TestNotInlined(t *testing.T) {
	for start, want := range map[string]int{"": 1, wat.NotInlined: 0} {
		inlined := 0
		wasm := assemble(t, `(module (func $one (param i64) (result i64) `+start+`(local.get 0)) (func (export "f") (param i64) (result i64) (call $one (local.get 0))))`)
		_, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1, AfterPass: func(pass string, _ *clif.Func) {
			if pass == inline.Pass {
				inlined++
			}
		}})
		if err != nil || inlined != want {
			t.Errorf("with %q: inlined %d times, want %d (%v)", start, inlined, want, err)
		}
	}
}
