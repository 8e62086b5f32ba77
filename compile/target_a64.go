package compile

import (
	"fmt"

	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// a64CPU is the only level of AArch64 processors so far: the floor.
const a64CPU = "armv8.0-a"

// a64Machine is AArch64.
func a64Machine(cpu string) (*machine, error) {
	if cpu != "" && cpu != a64CPU {
		return nil, fmt.Errorf("compile: unknown processor level %q of AArch64 (want %s)", cpu, a64CPU)
	}
	return &machine{target: a64.New(), arch: "aarch64", cpu: a64CPU, elf: objfile.AArch64,
		property: objfile.BTINote(), c: &aapcs64,
		filler:        0, // udf #0
		relocs:        &reloc.A64,
		instanceAlign: a64.InstanceAlign,
		callReach:     1 << 27,
		veneer:        []byte("\x00\x00\x00\x14"),                 // b
		landing:       []byte("\x5f\x24\x03\xd5"),                 // bti c
		prologue:      []byte("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91"), // stp x29, x30, [sp, #-16]!; mov x29, sp
	}, nil
}
