package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// wasmtime is a judge that is asked through its command, where that is there: it runs the official kind of test script, so
// what an engine did becomes one, and either passes or does not. Memories have no place in scripts, and modules with imports have no say.

// wasmtimeFlag names the command.
func wasmtimeFlag() cli.Flag {
	return &cli.StringFlag{Name: "wasmtime", Usage: "the `COMMAND` of wasmtime, a further judge of differences, or off (default: wasmtime, where it is in the path)"}
}

// wasmtimeCommand returns the command, or nothing if there is none.
func wasmtimeCommand(c *cli.Context) (string, error) {
	name := c.String("wasmtime")
	switch {
	case name == cacheOff:
		return "", nil
	case name == "":
		path, err := exec.LookPath("wasmtime")
		if err != nil {
			return "", nil
		}
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", usagef("--wasmtime=%s: there is no such command", name)
	}
	return path, nil
}

// askWasmtime says with whom wasmtime agrees, nothing if it cannot say.
func askWasmtime(command string, bin []byte, m *meta.Module, calls []call, ours, theirs *execution) (string, error) {
	if command == "" || m.HasImports() || ours.Start == uncaught || theirs.Start == uncaught {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "waot-wasmtime-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	passes := func(script string) bool {
		return err == nil && passesUnder(command, filepath.Join(dir, "outcome.wast"), script, &err)
	}
	plain := ours.Start == "" && theirs.Start == ""
	if plain && !passes(scriptOf(bin, m, nil, &execution{})) {
		return "", err // it does not take the module
	}
	us, them := passes(scriptOf(bin, m, calls, ours)), passes(scriptOf(bin, m, calls, theirs))
	switch {
	case us && them:
		return "both", err
	case us:
		return "waot", err
	case them:
		return "wazero", err
	}
	return "neither", err
}

// passesUnder reports whether a script, which is written to file, passes. *err is why it could not be tried.
func passesUnder(command, file, script string, err *error) bool {
	if *err = os.WriteFile(file, []byte(script), 0o666); *err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), wazeroLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, "wast", file)
	cmd.WaitDelay = time.Second
	e := cmd.Run()
	var exit *exec.ExitError
	if e != nil && !errors.As(e, &exit) && ctx.Err() == nil {
		*err = e
	}
	return e == nil
}

// scriptOf writes the script that passes where a module does what an outcome says.
func scriptOf(bin []byte, m *meta.Module, calls []call, o *execution) string {
	var b bytes.Buffer
	module := "(module binary " + wastString(string(bin)) + ")"
	if o.Start != "" {
		fmt.Fprintf(&b, "(assert_trap %s %s)\n", module, wastTrap(o.Start))
		return b.String()
	}
	b.WriteString(module + "\n")
	for i := range min(len(calls), len(o.Calls)) {
		c, did := &calls[i], &o.Calls[i]
		action := "(invoke " + wastString(c.name)
		for _, a := range formatValues(paramsOf(m, c.name), c.args) {
			action += " " + wastValue(a, true)
		}
		action += ")"
		switch {
		case did.Trap == trapClass(abi.TrapStackOverflow):
			fmt.Fprintf(&b, "(assert_exhaustion %s \"call stack exhausted\")\n", action)
		case did.Trap != "":
			fmt.Fprintf(&b, "(assert_trap %s %s)\n", action, wastTrap(did.Trap))
		case did.Exception != "":
			fmt.Fprintf(&b, "(assert_exception %s)\n", action)
		default:
			b.WriteString(wastReturn(action, did.Results...))
		}
	}
	for _, g := range o.Globals {
		b.WriteString(wastReturn("(get "+wastString(g.Name)+")", g.Value))
	}
	return b.String()
}

// wastReturn asserts what an action gives. There is no way to say that a reference is not null.
func wastReturn(action string, results ...string) string {
	line := "(assert_return " + action
	for _, r := range results {
		v := wastValue(r, false)
		if v == "" {
			return action + "\n"
		}
		line += " " + v
	}
	return line + ")\n"
}

// paramsOf returns the parameters of an exported function.
func paramsOf(m *meta.Module, name string) []meta.ValType {
	for i := range m.Exports {
		if x := &m.Exports[i]; x.Kind == abi.ExternFunc && x.Name == name {
			return m.Types[m.Funcs[x.Index].Type].Params
		}
	}
	return nil
}

// wastTrap is the message of a trap, which need only begin as wasmtime's; a class of several has none.
func wastTrap(trap string) string {
	trap = strings.TrimPrefix(trap, "trap: ")
	if trap == trapClass(abi.TrapUndefinedElement) {
		trap = ""
	}
	return wastString(trap)
}

// wastString is a string of the text format.
func wastString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\%02x", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// wastValue is what formatValue has written as an instruction of the text format, "" for a reference that is not null. NaNs that must be
// exact have their bits; else any that arithmetic may give will do for one of those.
func wastValue(text string, exact bool) string {
	t, v, _ := strings.Cut(text, ":")
	switch {
	case v == "null":
		return "(ref.null " + strings.TrimSuffix(t, "ref") + ")"
	case v == "not null":
		return ""
	case t == "v128":
		return "(v128.const " + strings.NewReplacer(":", " ", ",", " ").Replace(v) + ")"
	case strings.HasPrefix(v, "nan("):
		v = wastNaN(t, strings.TrimSuffix(strings.TrimPrefix(v, "nan("), ")"), exact)
	case strings.HasSuffix(v, "Inf"):
		v = strings.ToLower(v)
	}
	return "(" + t + ".const " + v + ")"
}

// wastNaN is a NaN with these bits, or any quiet one if they are those of one and need not be exact.
func wastNaN(t, bits string, exact bool) string {
	width, mantissa := 32, 23
	if t == "f64" {
		width, mantissa = 64, 52
	}
	x, _ := strconv.ParseUint(bits, 0, width) // formatValue has written it
	if !exact && x>>(mantissa-1)&1 != 0 {
		return "nan:arithmetic"
	}
	sign := ""
	if x>>(width-1) != 0 {
		sign = "-"
	}
	return fmt.Sprintf("%snan:0x%x", sign, x&(1<<mantissa-1))
}
