package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// newApp returns the command line's grammar.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:      "waot",
		Usage:     "compile WebAssembly to native code, ahead of time",
		UsageText: "waot COMMAND [OPTIONS] MODULE",
		Description: `MODULE is a file in the binary or in the text format of WebAssembly (.wasm, .wat).

Examples:
  waot build app.wasm -o app.o            an ELF object with native code
  waot run app.wasm --dir .::/ -- arg     compile in memory and run
  waot run app.o                          run what build made
  waot inspect app.wasm --func main --emit=clif,asm

Exit status: 0 done; 1 bad input, or the program trapped; 2 wrong usage;
run ends with the program's own status.`,
		Version:                   buildVersion(),
		HideVersion:               true,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true,
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              onUsageError,
		BashComplete:              completeCommands,
		Action:                    noCommand,
		Commands: []*cli.Command{
			buildCommand(), runCommand(), validateCommand(), inspectCommand(), printCommand(),
			spectestCommand(), diffCommand(), bisectCommand(), versionCommand(), completionCommand(),
		},
	}
	for _, c := range app.Commands {
		// A module may be called "help".
		c.HideHelpCommand = true
		c.OnUsageError = onUsageError
		c.BashComplete = completeFlags
	}
	return app
}

// noCommand runs where no command is named, or an unknown one.
func noCommand(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return usagef("unknown command %q; the commands are %s", name, strings.Join(commandNames(c.App), ", "))
	}
	return usagef("no command; the commands are %s", strings.Join(commandNames(c.App), ", "))
}

func commandNames(app *cli.App) []string {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	msg := strings.Replace(err.Error(), "flag provided but not defined: ", "unknown flag ", 1)
	if c.Command != nil && c.Command.Name != c.App.Name {
		return usagef("%s (see waot %s --help)", msg, c.Command.Name)
	}
	return usagef("%s (see waot --help)", msg)
}

// oneModule returns the only positional argument of a command that has one.
func oneModule(c *cli.Context) (string, error) {
	switch c.Args().Len() {
	case 0:
		return "", usagef("%s: no module given (see waot %[1]s --help)", c.Command.Name)
	case 1:
		return c.Args().First(), nil
	}
	return "", usagef("%s: one module expected, got %q too", c.Command.Name, c.Args().Get(1))
}

// arrange puts a command's flags before its other arguments, where the flag
// parser wants them, and writes -O1 as -O=1. What follows "--" stays as it is.
func arrange(app *cli.App, args []string) []string {
	if len(args) == 0 || args[len(args)-1] == "--generate-bash-completion" {
		return args
	}
	cmd := app.Command(args[0])
	if cmd == nil {
		return args
	}
	valued := valuedFlags(cmd)
	flags, rest := []string{args[0]}, []string{}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(append(append(flags, "--"), rest...), args[i+1:]...)
		case len(a) < 2 || a[0] != '-':
			rest = append(rest, a)
		case len(a) == 3 && a[:2] == "-O":
			flags = append(flags, "-O="+a[2:])
		default:
			flags = append(flags, a)
			if !valued[strings.TrimLeft(a, "-")] {
				break
			}
			if i++; i == len(args) {
				return flags // the parser will say what is missing
			}
			flags = append(flags, args[i])
		}
	}
	return append(append(flags, "--"), rest...)
}

// valuedFlags returns the names of flags that take the next argument.
func valuedFlags(cmd *cli.Command) map[string]bool {
	names := map[string]bool{}
	for _, f := range cmd.Flags {
		if _, ok := f.(*cli.BoolFlag); ok {
			continue
		}
		for _, n := range f.Names() {
			names[n] = true
		}
	}
	return names
}

// wantsJSON reports whether a program reads the output, errors included.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "":
			if a == "--" {
				return false
			}
		case "json", "json=true":
			if a[0] == '-' {
				return true
			}
		}
	}
	return false
}

// oneOf returns an error unless value is one of those allowed.
func oneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return usagef("--%s=%s: must be one of %s", flag, value, strings.Join(allowed, ", "))
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON, errors included"}
}

func printf(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.Writer, format, args...)
}
