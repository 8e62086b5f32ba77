package main

import (
	"fmt"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// What --fuel can be; alone it is the first.
const (
	fuelExact = "exact"
	fuelSlack = "slack"
)

// fuelFlags are flags of commands that compile.
func fuelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "fuel", Usage: "count what operators cost, as `MODE` says: exact, or no mode at all, ends the code in front of what it cannot pay, slack some time later", DefaultText: "off"},
		&cli.StringFlag{Name: "fuel-costs", Usage: "with --fuel: read what operators cost from `FILE`, lines of names and numbers"},
	}
}

// fuelLimitFlag is a flag of commands that run code.
func fuelLimitFlag() cli.Flag {
	return &cli.Uint64Flag{Name: "fuel-limit", Usage: "end the program when it has consumed `N` units of fuel; a module is compiled with --fuel then", DefaultText: "no limit"}
}

// readFuel reads fuelFlags.
func (o *options) readFuel(c *cli.Context) error {
	mode := c.String("fuel")
	if mode == "" && c.IsSet("fuel-limit") {
		mode = fuelExact
	}
	if mode == "" {
		if c.IsSet("fuel") {
			return usagef("--fuel=: must be %s or %s", fuelExact, fuelSlack)
		}
		if c.IsSet("fuel-costs") {
			return usagef("--fuel-costs: counts only with --fuel")
		}
		return nil
	}
	if err := oneOf("fuel", mode, fuelExact, fuelSlack); err != nil {
		return err
	}
	o.fuelSlack = mode == fuelSlack
	text := []byte(nil)
	if c.IsSet("fuel-costs") {
		var err error
		if text, err = readFile(c, c.String("fuel-costs"), input.Costs); err != nil {
			return err
		}
	}
	costs, err := fuel.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", c.String("fuel-costs"), err)
	}
	o.fuel = costs
	return nil
}

// fuelName is the flag as it was.
func fuelName(costs *fuel.Costs, slack bool) string {
	switch {
	case costs == nil:
		return "off"
	case slack:
		return fuelSlack
	}
	return fuelExact
}

// fuelLimit returns how much fuel the program has.
func fuelLimit(c *cli.Context) uint64 {
	if c.IsSet("fuel-limit") {
		return c.Uint64("fuel-limit")
	}
	return math.MaxInt64
}

// tellFuel says how much fuel a program has consumed, if --time asks what it costs and its code counts.
func tellFuel(c *cli.Context, g *guest) {
	if c.Bool("time") && g.counts {
		all := ""
		if g.store.Fuel() == 0 {
			all = ", all there were"
		}
		fmt.Fprintf(c.App.ErrWriter, "waot: consumed %d units of fuel%s\n", min(fuelLimit(c), math.MaxInt64)-g.store.Fuel(), all)
	}
}
