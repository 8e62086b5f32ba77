package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/quote"
)

func cRuntimeCommand() *cli.Command {
	return &cli.Command{
		Name:      "c-runtime",
		Usage:     "write the runtime that C programs link with objects",
		UsageText: "waot c-runtime --dir DIR",
		Description: `Writes waot_runtime.h and waot_runtime.c into a folder.

Example:
  waot build lib.wasm -o lib.o --header lib.h
  waot c-runtime --dir .
  cc program.c waot_runtime.c lib.o -o program`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "the `FOLDER` to write to; it must exist"}},
		Action: func(c *cli.Context) error {
			dir := c.String("dir")
			switch {
			case c.Args().Present():
				return usagef("c-runtime: unexpected argument %q", c.Args().First())
			case dir == "":
				return usagef("c-runtime: no folder given: --dir FOLDER")
			}
			if err := cruntime.Write(dir); err != nil {
				return inFile(dir, err)
			}
			printf(c, "%s, %s\n", quote.Name(filepath.Join(dir, cruntime.HeaderFile)), quote.Name(filepath.Join(dir, cruntime.SourceFile)))
			return nil
		},
	}
}
