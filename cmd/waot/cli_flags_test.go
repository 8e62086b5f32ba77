package main

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestFlagNames: all flags of commands are of the kinds that know their names, and have those that the library finds.
func TestFlagNames(t *testing.T) {
	for _, c := range newApp(nil, nil, nil).Commands {
		for _, f := range c.Flags {
			var want []string
			switch f := f.(type) {
			case boolFlag:
				want = f.BoolFlag.Names()
			case stringFlag:
				want = f.StringFlag.Names()
			case stringSliceFlag:
				want = f.StringSliceFlag.Names()
			case intFlag:
				want = f.IntFlag.Names()
			case uint64Flag:
				want = f.Uint64Flag.Names()
			case durationFlag:
				want = f.DurationFlag.Names()
			default:
				t.Errorf("%s: %T", c.Name, f)
			}
			if !slices.Equal(f.Names(), want) {
				t.Errorf("%s: %q, want %q", c.Name, f.Names(), want)
			}
			if _, ok := f.(cli.DocGenerationFlag); !ok {
				t.Errorf("%s: %q has no help", c.Name, f.Names())
			}
		}
	}
}
