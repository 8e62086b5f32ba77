package main

import (
	"fmt"
	"io"
	"slices"
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
  curl https://example.org/app.wasm | waot validate -

MODULE may be -, which is standard input. Options may stand before or behind it; what
follows -- is the program's: waot run app.wasm -- --help.

Exit status: 0 done; 1 bad input, or the program trapped; 2 wrong usage;
run ends with the program's own status.`,
		DisableSliceFlagSeparator: true,
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              onUsageError,
		Action:                    noCommand,
		Flags:                     []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version"}},
		Commands: []*cli.Command{
			buildCommand(), cRuntimeCommand(), runCommand(), validateCommand(), inspectCommand(), printCommand(),
			spectestCommand(), diffCommand(), bisectCommand(), cacheCommand(), versionCommand(), completionCommand(),
		},
	}
	for _, c := range app.Commands {
		// A module may be called "help".
		c.HideHelpCommand = true
		c.OnUsageError = onUsageError
		withNames(c.Flags)
	}
	return app
}

// noCommand runs where no command is named, or an unknown one.
func noCommand(c *cli.Context) error {
	if c.Bool("version") {
		printVersion(c)
		return nil
	}
	if name := c.Args().First(); name != "" {
		return usagef("unknown command %q%s; the commands are %s", name, suggestion(name, "", commandNames(c.App)), strings.Join(commandNames(c.App), ", "))
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
	msg := err.Error()
	msg += usageHint(msg)
	if name, unknown := strings.CutPrefix(msg, "flag provided but not defined: -"); unknown {
		name = strings.TrimLeft(name, "-")
		flags := c.App.Flags
		if c.Command != nil && c.Command.Name != c.App.Name {
			flags = c.Command.Flags
		}
		hint := suggestion(name, "--", flagNames(flags))
		if hint == "" && c.Command != nil && callsExports(c.Command) {
			hint = ": arguments of the program stand behind --"
		}
		msg = "unknown flag --" + name + hint
	}
	if c.Command != nil && c.Command.Name != c.App.Name {
		return usagef("%s (see waot %s --help)", msg, c.Command.Name)
	}
	return usagef("%s (see waot --help)", msg)
}

// flagNames returns the names of flags that are not hidden, of one letter too.
func flagNames(flags []cli.Flag) (names []string) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
			names = append(names, f.Names()...)
		}
	}
	return append(names, "help")
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

// bareFlag is a flag that may stand without a value: what it means then, and what may come behind it as a word of its own. Other values need an equals sign.
type bareFlag struct {
	meaning string
	values  []string
}

var bareFlags = map[string]bareFlag{
	"fuel":     {fuelExact, []string{fuelExact, fuelSlack}},
	"snapshot": {meaning: snapshotDefault},
}

// arrange puts a command's flags before its other arguments, where the flag
// parser wants them, and writes -O1 as -O=1. What follows "--" stays as it is.
func arrange(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	cmd := app.Command(args[0])
	if cmd == nil {
		return args
	}
	valued, calls := valuedFlags(cmd), callsExports(cmd)
	flags, rest := []string{args[0]}, []string{}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(append(append(flags, "--"), rest...), args[i+1:]...)
		case a == "--help" || a == "-h":
			return []string{args[0], "--help"}
		case len(a) < 2 || a[0] != '-', calls && isNegative(a):
			rest = append(rest, a)
		case len(a) == 3 && a[:2] == "-O":
			flags = append(flags, "-O="+a[2:])
		case bareFlags[strings.TrimLeft(a, "-")].meaning != "":
			bare := bareFlags[strings.TrimLeft(a, "-")]
			value := bare.meaning
			if i+1 < len(args) && slices.Contains(bare.values, args[i+1]) {
				i++
				value = args[i]
			}
			flags = append(flags, a+"="+value)
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

// callsExports reports whether a command passes arguments to a program, or to a function of it.
func callsExports(cmd *cli.Command) bool {
	return slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == "invoke" })
}

// isNegative reports whether a word that begins with a dash is a number, as no flag is.
func isNegative(word string) bool {
	x := strings.ToLower(word[1:])
	return x[0] >= '0' && x[0] <= '9' || len(x) > 1 && x[0] == '.' && x[1] >= '0' && x[1] <= '9' ||
		x == "inf" || x == "infinity" || x == "nan" || strings.HasPrefix(x, "nan:") || strings.HasPrefix(x, "nan(")
}

// valuedFlags returns the names of flags that take the next argument.
func valuedFlags(cmd *cli.Command) map[string]bool {
	names := map[string]bool{}
	for _, f := range cmd.Flags {
		if _, ok := f.(boolFlag); ok {
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
