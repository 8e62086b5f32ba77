package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/compile"
)

// reproError is a compilation that failed through a bug, with the folder that
// has what is needed to see it again.
type reproError struct {
	error
	dir string
}

func (e *reproError) Unwrap() error { return e.error }

// reproducer writes the first function that a bug stops; it is compile.Options.Crash.
type reproducer struct {
	bin []byte
	opt compile.Options
	// rewrites is the flags that say which rewrites happen, each after a space.
	rewrites string
	dir      string // empty if nothing was written
}

// crash writes module, function and options to a new folder for temporary files.
// What cannot be written is left out: the error itself is reported anyway.
func (r *reproducer) crash(c *compile.Crash) {
	if r.dir != "" || errors.Is(c.Error, backend.ErrUnsupported) {
		return
	}
	dir, err := os.MkdirTemp("", "waot-repro-")
	if err != nil {
		return
	}
	r.dir = dir
	o := &r.opt
	report := fmt.Sprintf("%v\n\nwaot %s\nfunction %d, stage %s\n-O%d --target=%s --cpu=%s --regalloc=%s --regalloc-check=%s --spectre=%s --bounds=%s --deterministic=%t --fuel=%s --verify=%t%s\n",
		c.Error, buildVersion(), c.Error.Func, c.Error.Stage, o.OptLevel, o.Target, o.CPU, o.Regalloc, onOff(!o.SkipChecker), onOff(!o.NoSpectre), boundsName(o.ExplicitBounds), o.Deterministic, fuelName(o.Fuel, o.FuelSlack), o.Verify, r.rewrites)
	for name, text := range map[string]string{
		"report.txt": report, "module.wasm": string(r.bin), "function.clif": clifText(c),
	} {
		_ = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
}

// onOff returns the value of a flag that is on or off.
func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// clifText returns the function as far as it can be printed: the bug may have left it
// in no good state.
func clifText(c *compile.Crash) (s string) {
	defer func() {
		if recover() != nil {
			s = "; the function cannot be printed\n"
		}
	}()
	if c.CLIF.Mod != nil {
		s = c.CLIF.Mod.String()
	}
	return s + c.CLIF.String()
}

// wrap adds the folder to err, if there is one.
func (r *reproducer) wrap(err error) error {
	if err == nil || r.dir == "" {
		return err
	}
	return &reproError{err, r.dir}
}

// firstLine is err without the stack of a caught panic.
func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// boundsName is the value of --bounds.
func boundsName(explicit bool) string {
	if explicit {
		return "explicit"
	}
	return "guard"
}
