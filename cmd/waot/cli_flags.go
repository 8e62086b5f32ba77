package main

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// The flags of the library look for commas and blanks in their names, with a regular expression, each time that somebody asks for the names. The
// library asks every flag for them once for each flag that a command has: for run, a tenth of the time that a small program takes. The flags here
// are those of the library in all else.
type (
	boolFlag struct {
		*cli.BoolFlag
		names
	}
	stringFlag struct {
		*cli.StringFlag
		names
	}
	stringSliceFlag struct {
		*cli.StringSliceFlag
		names
	}
	intFlag struct {
		*cli.IntFlag
		names
	}
	uint64Flag struct {
		*cli.Uint64Flag
		names
	}
	durationFlag struct {
		*cli.DurationFlag
		names
	}
)

// names is what a flag can be called, its full name first.
type names struct{ list []string }

func namesOf(name string, aliases []string) names {
	return names{slices.Concat([]string{name}, aliases)}
}

// withNames replaces flags of the library by ones that know their names.
func withNames(flags []cli.Flag) {
	for i, f := range flags {
		switch f := f.(type) {
		case *cli.BoolFlag:
			flags[i] = boolFlag{f, namesOf(f.Name, f.Aliases)}
		case *cli.StringFlag:
			flags[i] = stringFlag{f, namesOf(f.Name, f.Aliases)}
		case *cli.StringSliceFlag:
			flags[i] = stringSliceFlag{f, namesOf(f.Name, f.Aliases)}
		case *cli.IntFlag:
			flags[i] = intFlag{f, namesOf(f.Name, f.Aliases)}
		case *cli.Uint64Flag:
			flags[i] = uint64Flag{f, namesOf(f.Name, f.Aliases)}
		case *cli.DurationFlag:
			flags[i] = durationFlag{f, namesOf(f.Name, f.Aliases)}
		}
	}
}

// Names implements cli.Flag.
func (f boolFlag) Names() []string        { return f.list }
func (f stringFlag) Names() []string      { return f.list }
func (f stringSliceFlag) Names() []string { return f.list }
func (f intFlag) Names() []string         { return f.list }
func (f uint64Flag) Names() []string      { return f.list }
func (f durationFlag) Names() []string    { return f.list }
