package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
)

func printCommand() *cli.Command {
	return &cli.Command{
		Name:      "print",
		Usage:     "write a module in the text format",
		UsageText: "waot print MODULE [-o OUT.wat]",
		Description: `Writes text that every command takes for the same module. Identifiers come from the
module's names. The module need not be valid.

Examples:
  waot print app.wasm | less
  waot print app.wasm -o app.wat && waot build app.wat -o app.o`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the text to write, `OUT.wat` (default: standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "print errors as JSON"},
		},
		Action: printAction,
	}
}

func printAction(c *cli.Context) error {
	file, err := oneModule(c)
	if err != nil {
		return err
	}
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	out := c.String("output")
	write := func(w io.Writer) error { return printer.Module(w, src.b) }
	if out == "" || out == standardOutputName {
		err = write(c.App.Writer)
	} else {
		err = inFile(out, objfile.WriteAtomic(out, 0o666, write))
	}
	var refused *wasmfront.Error
	if errors.As(err, &refused) {
		return src.fail(refused)
	}
	return err
}
