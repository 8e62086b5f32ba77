// Command wasm2gorun translates modules to Go for bench/compare, and has the Go compiler build programs of them:
//
//	wasm2gorun compile MODULE.wasm OUT
//	wasm2gorun run OUT --dir .
//
// compile reports the processor time of both steps, run that between the marks, as bench/protocol says.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/waot-project/waot/bench/nested"
	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/wasi"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "compile":
		err = compile(args[1], args[2])
	case len(args) == 4 && args[0] == "run" && args[2] == "--dir" && args[3] == ".":
		err = syscall.Exec(args[1], args[1:2], os.Environ())
	default:
		err = errors.New("usage: wasm2gorun compile MODULE.wasm OUT | run OUT --dir .")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wasm2gorun:", err)
		os.Exit(1)
	}
}

func compile(in, out string) error {
	peers, err := nested.Dir("bench/peers")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "wasm2go")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	translator, err := exec.Command("go", "-C", peers, "tool", "-n", "wasm2go").Output()
	if err != nil {
		return err
	}
	guest, functions, overlay := filepath.Join(dir, "guest.go"), filepath.Join(dir, "wasi.go"), filepath.Join(dir, "overlay.json")
	program := filepath.Join(peers, "wasm2gorun", "program")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(program, "guest", "guest.go"): guest,
		filepath.Join(program, "host", "wasi.go"):   functions,
	}})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(functions, methods(), 0o666), os.WriteFile(overlay, replace, 0o666)); err != nil {
		return err
	}
	// With unsafe the accesses of memory, which are checked all the same, take less.
	translation, err := spend(strings.TrimSpace(string(translator)), "-unsafe", "-pkg", "guest", "-o", guest, in)
	if err != nil {
		return err
	}
	if err := makeNew(guest); err != nil {
		return err
	}
	build, err := spend("go", "-C", program, "build", "-overlay", overlay, "-o", out, ".")
	if err != nil {
		return err
	}
	r := protocol.Result{CompileCPUNS: (translation + build).Nanoseconds()}
	return r.Emit()
}

// spend runs a command, and returns the processor time that it and what it starts take.
func spend(argv ...string) (time.Duration, error) {
	c := exec.Command(argv[0], argv[1:]...)
	if out, err := c.CombinedOutput(); err != nil {
		line, _, _ := bytes.Cut(out, []byte("\n"))
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, line)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// makeNew adds a comment to a file, so that Go's cache does not have it.
func makeNew(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\n// %d\n", time.Now().UnixNano())
	return errors.Join(err, f.Close())
}

// methods is the source of the functions of WASI as a translated module wants them.
func methods() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "package host")
	for i, f := range wasi.Functions() {
		var params, args []string
		for n, t := range f.Params {
			if t == 'l' {
				params, args = append(params, fmt.Sprintf("a%d int64", n)), append(args, fmt.Sprintf("uint64(a%d)", n))
			} else {
				params, args = append(params, fmt.Sprintf("a%d int32", n)), append(args, fmt.Sprintf("uint64(uint32(a%d))", n))
			}
		}
		result, give := "", ""
		if f.Results != "" {
			result, give = "int32 ", "return "
		}
		fmt.Fprintf(&b, "func (h *Host) X%s(%s) %s{ %sh.call(%d, %s) }\n", f.Name, strings.Join(params, ", "), result, give, i, strings.Join(args, ", "))
	}
	return b.Bytes()
}
