package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/program"
)

// grantFlags are the flags of build that say what an executable is given.
func grantFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "dir", Usage: "of an executable, and of the program while --snapshot runs it: give it a directory, `HOST::GUEST`, or one name for both; :ro behind it makes it read-only"},
		&cli.StringSliceFlag{Name: "env", Usage: "of an executable, and of the program while --snapshot runs it: set a variable, `K=V`"},
		&cli.BoolFlag{Name: "inherit-env", Aliases: []string{"env-inherit"}, Usage: "of an executable: give it the variables of whoever starts it"},
		&cli.BoolFlag{Name: "grants", Usage: "of an executable: let its first arguments, --waot-dir and --waot-env, give it more"},
		stackFlag("of an executable: end it when its calls need more than `N` bytes of stack"),
		&cli.Uint64Flag{Name: "max-heap", Usage: "of an executable: end it when its structures and arrays need more than `N` bytes", DefaultText: "1 GiB"},
		&cli.BoolFlag{Name: "strip", Usage: "of an executable: leave out the symbol table"},
	}
}

// outputKind is what build writes.
type outputKind string

// The kinds of output.
const (
	outObject     outputKind = "object"
	outImage      outputKind = "image"
	outExecutable outputKind = "executable"
	outModule     outputKind = "module"
)

func (k outputKind) withArticle() string {
	if k == outModule {
		return "a " + string(k)
	}
	return "an " + string(k)
}

// kindOf returns what the name of an output asks for.
func kindOf(out string) outputKind {
	switch filepath.Ext(out) {
	case ".o":
		return outObject
	case ".img":
		return outImage
	case ".wasm":
		return outModule
	}
	return outExecutable
}

// checkOutput refuses flags that are for another kind of output.
func checkOutput(c *cli.Context, out string, kind outputKind) error {
	if out == standardOutputName {
		return usagef("build: -o %s: its name decides what build writes: an object is NAME.o, an image NAME.img, an executable any other name", out)
	}
	if ext := filepath.Ext(out); ext == ".wasm" && !c.IsSet("snapshot") || ext == ".wat" {
		return usagef("build: -o %s: is a module's name; an object is NAME.o, an image NAME.img, an executable any other name", out)
	}
	refused := []string{"sign", "header", "name"}
	switch kind {
	case outImage:
		refused = []string{"header"}
	case outObject:
		refused = nil
	}
	for _, name := range refused {
		if c.IsSet(name) {
			return usagef("build: --%s is for objects, and %s is %s: objects are OUT.o", name, out, kind.withArticle())
		}
	}
	if kind == outExecutable || c.IsSet("header") {
		if c.IsSet("fuel") {
			return usagef("build: --fuel is for Go programs and waot run: executables and C programs do not count fuel")
		}
		if kind == outExecutable {
			return nil
		}
	}
	for _, f := range grantFlags() {
		name := f.Names()[0]
		if c.IsSet("snapshot") && (name == "dir" || name == "env") {
			continue
		}
		if c.IsSet(name) {
			return usagef("build: --%s is for executables, and %s is %s", name, out, kind.withArticle())
		}
	}
	return nil
}

// readGrants reads grantFlags. The variables of whoever builds are not those of who starts the executable: none gets into it that --env does not name.
func readGrants(c *cli.Context) (*program.Options, error) {
	env, err := givenEnv(c)
	if err != nil {
		return nil, err
	}
	dirs, err := programDirs(c)
	if err != nil {
		return nil, err
	}
	stack, err := readStack(c)
	if err != nil {
		return nil, err
	}
	if stack > program.MaxStack {
		return nil, usagef("--max-stack=%d: must be at most %d", stack, program.MaxStack)
	}
	heap := c.Uint64("max-heap")
	if c.IsSet("max-heap") && heap == 0 {
		return nil, usagef("--max-heap=0: must be at least 1")
	}
	o := &program.Options{Stripped: c.Bool("strip"), MaxStack: stack, MaxHeap: heap, Grants: program.Grants{Env: env, InheritEnv: c.Bool("inherit-env"), AtRunTime: c.Bool("grants")}}
	for _, d := range dirs {
		o.Grants.Dirs = append(o.Grants.Dirs, program.Dir{Host: d.Host, Guest: d.Guest, ReadOnly: d.ReadOnly})
	}
	return o, nil
}
