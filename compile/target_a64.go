package compile

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront/translate"
)

// a64CPU is the only level of AArch64 processors so far: the floor.
const a64CPU = "armv8.0-a"

// a64Machine is AArch64.
func a64Machine(cpu string) (*machine, error) {
	if cpu != "" && cpu != a64CPU {
		return nil, fmt.Errorf("compile: unknown processor level %q of AArch64 (want %s)", cpu, a64CPU)
	}
	veneer, _ := asm.Append(nil, &backend.Inst{Op: asm.B}, nil, nil)
	return &machine{target: a64.New(), arch: "aarch64", cpu: a64CPU, relaxed: translate.RelaxedA64, elf: objfile.AArch64,
		property: objfile.BTINote(), c: &aapcs64,
		filler:        0, // udf #0
		relocs:        &reloc.A64,
		instanceAlign: a64.InstanceAlign,
		callReach:     1 << 27,
		veneer:        veneer,
		cfi:           a64.CFI(),
	}, nil
}
