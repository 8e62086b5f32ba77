// Command waot compiles WebAssembly modules to native code ahead of time, runs
// them, and shows what each stage of the compiler makes of them.
//
// Place in the pipeline: outside of it. It parses flags, calls the packages,
// and prints.
//
// Input: a command line, modules in the binary format, objects.
// Output: objects, text or JSON, and an exit status: 0 done, 1 bad input or a
// trap, 2 wrong usage, or the status that a WASI program exits with.
package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func main() {
	// The command lives for one compilation: trade memory for fewer collections.
	debug.SetGCPercent(400)
	followLifeline()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line, without the program's name, and returns the exit
// status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runApp(newApp(stdin, stdout, stderr), args)
}

// runApp is run in an App.
func runApp(app *cli.App, args []string) int {
	if len(args) > 1 && args[0] == completeCommand {
		completeWords(app, args[1:], app.Writer)
		return statusDone
	}
	args = arrange(app, args)
	err := app.Run(append([]string{app.Name}, args...))
	return finish(err, wantsJSON(args), app.Writer, app.ErrWriter)
}
