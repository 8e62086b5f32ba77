package compile

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront/translate"
)

// a64Machine is AArch64.
func a64Machine(cpu string) (*machine, error) {
	if cpu == "" {
		cpu = a64.Baseline
	}
	features, err := a64.Level(cpu)
	if err != nil {
		return nil, err
	}
	relaxed := translate.RelaxedA64
	if features&asm.DotProduct != 0 {
		relaxed = translate.RelaxedA64Dot
	}
	veneer, _ := asm.Append(nil, &backend.Inst{Op: asm.B}, nil, nil)
	return &machine{target: a64.New(features), fuelled: func() *backend.Target { return a64.NewFuelled(features) }, arch: "aarch64", cpu: cpu, relaxed: relaxed, elf: objfile.AArch64,
		property: objfile.BTINote(), c: &aapcs64,
		filler:        0, // udf #0
		relocs:        &reloc.A64,
		instanceAlign: a64.InstanceAlign,
		callReach:     1 << 27,
		veneer:        veneer,
		cfi:           a64.CFI(),
	}, nil
}
