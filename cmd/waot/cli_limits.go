package main

import (
	"math"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/gcpace"
)

// maxModuleFlag is the name of the flag that bounds what is read, too.
const maxModuleFlag = "max-module-bytes"

// limitFlags bound what a compilation may take.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Uint64Flag{Name: maxModuleFlag, Usage: "refuse modules of more than `N` bytes, and texts of 32 times as many, without reading more", DefaultText: "1 GiB"},
		&cli.Uint64Flag{Name: "max-functions", Usage: "refuse modules of more than `N` functions, with imports", DefaultText: "1000000"},
		&cli.Uint64Flag{Name: "max-function-bytes", Usage: "refuse function bodies of more than `N` bytes", DefaultText: "7654321"},
		&cli.Uint64Flag{Name: "max-code-bytes", Usage: "give up at `N` bytes of code and of tables that describe it", DefaultText: "512 MiB"},
		&cli.Uint64Flag{Name: "max-memory", Usage: "give up when the compiler counts `N` bytes of its own tables", DefaultText: "no limit"},
	}
}

// stackFlag bounds the stack of compiled code that runs.
func stackFlag(usage string) cli.Flag {
	return &cli.Uint64Flag{Name: "max-stack", Usage: usage, DefaultText: "8 MiB"}
}

// readStack reads stackFlag: 0 is the default.
func readStack(c *cli.Context) (uint64, error) {
	n := c.Uint64("max-stack")
	if c.IsSet("max-stack") && n < abi.MinStack {
		return 0, usagef("--max-stack=%d: must be at least %d", n, abi.MinStack)
	}
	return n, nil
}

// readLimits reads limitFlags.
func readLimits(c *cli.Context) (l compile.Limits, err error) {
	for _, f := range []struct {
		name string
		to   *uint64
	}{
		{maxModuleFlag, &l.ModuleBytes}, {"max-functions", &l.Functions}, {"max-function-bytes", &l.FunctionBytes},
		{"max-code-bytes", &l.CodeBytes}, {"max-memory", &l.Memory},
	} {
		if *f.to = c.Uint64(f.name); c.IsSet(f.name) && *f.to == 0 {
			return l, usagef("--%s=0: must be at least 1", f.name)
		}
	}
	if l.Memory != 0 {
		gcpace.Within(min(l.Memory, math.MaxUint64/2) * 2) // the rest of what is promised, as much again, is for what the system counts beside
	}
	return l, nil
}
