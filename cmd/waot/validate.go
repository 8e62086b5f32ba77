package main

import (
	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/wasmfront"
)

// moduleInfo is what validate --json prints of a valid module.
type moduleInfo struct {
	File      string `json:"file"`
	Valid     bool   `json:"valid"`
	Bytes     int    `json:"bytes"`
	Name      string `json:"name,omitempty"`
	Types     int    `json:"types"`
	Imports   int    `json:"imports"`
	Functions int    `json:"functions"` // defined in the module
	Tables    int    `json:"tables"`    // from here on imported ones too
	Memories  int    `json:"memories"`
	Globals   int    `json:"globals"`
	Exports   int    `json:"exports"`
	Code      int    `json:"code_bytes"`
	Data      int    `json:"data_bytes"`
}

func validateCommand() *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "decode and validate a module",
		UsageText: "waot validate MODULE [--json] [--timeout TIME]",
		Description: `Checks a module against the rules of WebAssembly 2.0, with relaxed SIMD and extended
constant expressions. Of several errors, the one with the lowest offset is told.

Example:
  waot validate app.wasm && echo valid`,
		Flags:  []cli.Flag{timeoutFlag("give up after `TIME`, such as 1.5s or 2m"), jsonFlag()},
		Action: validateAction,
	}
}

func validateAction(c *cli.Context) error {
	file, err := oneModule(c)
	if err != nil {
		return err
	}
	_, cancel := runContext(c)
	defer cancel()
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	m, err := validated(c.Context, src.b, 0)
	if err != nil {
		return src.fail(err)
	}
	info := describe(file, m)
	if c.Bool("json") {
		writeJSON(c.App.Writer, info)
		return nil
	}
	printf(c, "%s: valid: %d bytes, %d functions, %d imports, %d exports\n",
		quote.Name(file), info.Bytes, info.Functions, info.Imports, info.Exports)
	return nil
}

func describe(file string, m *wasmfront.Module) *moduleInfo {
	info := &moduleInfo{
		File: file, Valid: true, Bytes: len(m.Bytes), Name: m.DecodeNames().Module,
		Types: len(m.Types), Imports: len(m.Imports), Functions: len(m.Code), Tables: len(m.Tables),
		Memories: len(m.Memories), Globals: len(m.Globals), Exports: len(m.Exports),
	}
	for i := range m.Code {
		info.Code += len(m.Code[i].Bytes)
	}
	for i := range m.Data {
		info.Data += len(m.Data[i].Bytes)
	}
	return info
}
