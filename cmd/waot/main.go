// Command waot compiles WebAssembly modules to native code ahead of time, runs
// them, and shows what each stage of the compiler makes of them.
//
// Place in the pipeline: outside of it. It parses flags, calls the packages,
// and prints.
//
// Input: a command line, modules in the binary format, objects.
// Output: objects, text or JSON, and an exit status: 0 done, 1 bad input or a
// trap, 2 wrong usage, or the status that a WASI program exits with.
//
// # Files
//
// Each command is in the file of its name: build.go, c_runtime.go, and so on. What belongs to one is in files that begin with its name,
// such as diff_wazero_linux.go. What several share is in
//
//   - cli_*.go: the command line, flags, files, errors;
//   - compile_*.go: options of compilation, and what becomes of them: commands that compile;
//   - guest*.go: instances, their imports and values, processes for other machines: commands that execute.
//
// The stand-ins for imports are diff's, but run and bisect have them, too.
package main

import (
	"context"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/gcpace"
)

func main() {
	gcpace.Set()
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
	out := &output{to: app.Writer}
	app.Writer = out
	err := app.Run(append([]string{app.Name}, args...))
	if err == nil && out.err != nil {
		err = inFile("standard output", out.err)
	}
	return finish(err, wantsJSON(args), app.Writer, app.ErrWriter)
}

// output is standard output, and the first error of writing to it: what is printed counts as much as what is written to files.
type output struct {
	to  io.Writer
	ctx context.Context // of --timeout, or nil
	err error
}

func (o *output) Write(b []byte) (int, error) {
	w := timedWriter{o.ctx, o.to, true}
	n, err := w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// standardOutput is what programs have for standard output: a file, if waot has one.
func standardOutput(c *cli.Context) io.Writer {
	if o, ok := c.App.Writer.(*output); ok {
		return o.to
	}
	return c.App.Writer
}
