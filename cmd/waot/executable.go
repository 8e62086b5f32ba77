package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/program"
)

// grantFlags are the flags of build that say what an executable is given.
func grantFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "dir", Usage: "of an executable: give it a directory, `HOST::GUEST`, or one name for both; :ro behind it makes it read-only"},
		&cli.StringSliceFlag{Name: "env", Usage: "of an executable: set a variable, `K=V`"},
		&cli.BoolFlag{Name: "inherit-env", Usage: "of an executable: give it the variables of whoever starts it"},
		&cli.BoolFlag{Name: "grants", Usage: "of an executable: let its first arguments, --waot-dir and --waot-env, give it more"},
		&cli.BoolFlag{Name: "strip", Usage: "of an executable: leave out the symbol table"},
	}
}

// readGrants reads grantFlags. It returns nil if the output is an object, which has none.
func readGrants(c *cli.Context, out string) (*program.Options, error) {
	if filepath.Ext(out) == ".o" {
		for _, f := range grantFlags() {
			if name := f.Names()[0]; c.IsSet(name) {
				return nil, usagef("build: --%s is for executables, and %s is an object", name, out)
			}
		}
		return nil, nil
	}
	if ext := filepath.Ext(out); ext == ".wasm" || ext == ".wat" {
		return nil, usagef("build: -o %s: is a module's name; an object is NAME.o, an executable any other name", out)
	}
	for _, name := range []string{"sign", "header", "name"} {
		if c.IsSet(name) {
			return nil, usagef("build: --%s is for objects, and %s is an executable: objects are OUT.o", name, out)
		}
	}
	cfg, err := programOptions(c, "")
	if err != nil {
		return nil, err
	}
	o := &program.Options{Stripped: c.Bool("strip"), Grants: program.Grants{Env: cfg.Env, InheritEnv: c.Bool("inherit-env"), AtRunTime: c.Bool("grants")}}
	for _, d := range cfg.Dirs {
		o.Grants.Dirs = append(o.Grants.Dirs, program.Dir{Host: d.Host, Guest: d.Guest, ReadOnly: d.ReadOnly})
	}
	return o, nil
}
