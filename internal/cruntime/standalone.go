package cruntime

import (
	"embed"

	"github.com/waot-project/waot/objfile"
)

// standalone are the objects of the runtime of executables, which mkblob makes of c/standalone.c.
//
//go:generate go run ./mkblob -dir blob c/standalone.c
//go:embed blob/*.elf
var standalone embed.FS

// Standalone returns the object of the runtime of executables for a machine, nil if there is none.
func Standalone(m objfile.Machine) []byte {
	name, ok := map[objfile.Machine]string{objfile.X86_64: "x86-64", objfile.AArch64: "aarch64"}[m]
	if !ok {
		return nil
	}
	b, err := standalone.ReadFile("blob/" + name + ".elf")
	if err != nil {
		return nil
	}
	return b
}
