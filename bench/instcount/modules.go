package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/waot-project/waot/bench/programs"
)

// buildPrograms builds those programs of bench/programs whose names match only into folder dir, as modules with what they print natively.
func buildPrograms(dir string, only *regexp.Regexp) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range programs.Names() {
		if !only.MatchString(name) {
			continue
		}
		native := filepath.Join(dir, name)
		if err := errors.Join(programs.Native(name, native), programs.Module(name, native+".wasm")); err != nil {
			return err
		}
		out, err := exec.Command(native).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		// What lies beside the modules is copied for each run.
		if err := errors.Join(os.WriteFile(native+".stdout.expected", out, 0o666), os.Remove(native)); err != nil {
			return err
		}
	}
	return nil
}
