package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
)

// call is a function to call, with arguments.
type call struct {
	name string
	args []uint64
}

// startArgs are the arguments of the program, if one runs.
func startArgs(c *cli.Context, calls []call) []string {
	if len(calls) == 1 && calls[0].name == "_start" {
		return c.Args().Tail()
	}
	return nil
}

// planCalls returns what to call: --invoke, or _start, or everything exported.
func planCalls(c *cli.Context, m *meta.Module) ([]call, error) {
	want, named := c.String("invoke"), c.IsSet("invoke")
	var plan []call
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind != abi.ExternFunc {
			continue
		}
		t := &m.Types[m.Funcs[e.Index].Type]
		switch {
		case named && want == e.Name:
			one := call{name: e.Name}
			words := c.Args().Tail()
			if len(words) != len(t.Params) {
				return nil, usagef("diff: %s takes %d arguments %s, got %d", quote.Name(want), len(t.Params), abi.TypeList(t.Params, ", "), len(words))
			}
			var err error
			if one.args, err = parseValues(t.Params, words); err != nil {
				return nil, err
			}
			return []call{one}, nil
		case !named && e.Name == "_start":
			return []call{{name: e.Name}}, nil
		case !named && e.Name != "_initialize":
			plan = append(plan, samples(e.Name, t)...)
		}
	}
	if named {
		return nil, inFile(c.Args().First(), fmt.Errorf("no exported function %q", want))
	}
	return plan, nil
}

// sampleBits are argument values; references are always null.
var sampleBits = [...][3]uint64{
	{0, 0, 0},
	{1, 2, 3},
	{7, 0x40400000, 0x4008000000000000},
	{1<<64 - 1, 0xfffffff8, 1 << 63},
	{0x123456789abcdef0, 0x3fc00000, 0xbff8000000000000},
}

// samples is calls of a function with several sets of arguments; none if it takes a reference that is never null, which there is nothing to make of.
func samples(name string, t *meta.FuncType) []call {
	if slices.ContainsFunc(t.Params, meta.ValType.IsNotNull) {
		return nil
	}
	if len(t.Params) == 0 {
		return []call{{name: name}}
	}
	var out []call
	for k := range sampleBits {
		one := call{name: name}
		for n, p := range t.Params {
			v := sampleBits[k][n%3]
			switch p.Base() {
			case meta.I32, meta.F32:
				v = uint64(uint32(v))
			case meta.FuncRef, meta.ExternRef:
				v = 0
			}
			if one.args = append(one.args, v); p == meta.V128 {
				one.args = append(one.args, sampleBits[k][(n+1)%3])
			}
		}
		out = append(out, one)
	}
	return out
}

func (c *call) describe(t *meta.FuncType) string {
	return c.name + "(" + strings.Join(formatValues(t.Params, c.args), ", ") + ")"
}
