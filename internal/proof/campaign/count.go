package campaign

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// What is counted in a program while the judge runs it.
const (
	countEntries  = iota // of loops
	countRounds          // of loops, the first included
	countIndirect        // calls
	countGrow            // of memories, tried
	numCounters
)

// counters returns the names of the globals that count.
func counters() (names []string) {
	for i := range numCounters {
		names = append(names, fmt.Sprintf("counter %d", i))
	}
	return names
}

// counting returns a module that does the same, and counts. It counts the operators itself.
func (f *Figures) counting(wasm []byte) ([]byte, error) {
	m, err := wasmedit.Decode(wasm, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, err
	}
	first := uint32(len(m.Globals))
	for i, name := range counters() {
		m.Globals = append(m.Globals, wasmedit.Global{Type: wasmfront.GlobalType{Type: wasmfront.I64, Mutable: true},
			Init: []wasmfront.ConstOp{{Op: wasmfront.OpI64Const}}})
		m.Exports = append(m.Exports, wasmedit.Export{Name: name, Kind: abi.ExternGlobal, Index: first + uint32(i)})
	}
	one := wasmedit.Inst{Op: wasmfront.OpI64Const, Raw: []byte{byte(wasmfront.OpI64Const), 1}}
	for i := range m.Funcs {
		fn := &m.Funcs[i]
		var code []wasmedit.Inst
		count := func(n int) {
			g := first + uint32(n)
			code = append(code, wasmedit.Inst{Op: wasmfront.OpGlobalGet, Index: g}, one, wasmedit.Plain(wasmfront.OpI64Add),
				wasmedit.Inst{Op: wasmfront.OpGlobalSet, Index: g})
		}
		for _, in := range fn.Code {
			if f.Operators++; in.Op.Info().Feature&(wasmfront.FeatureSIMD|wasmfront.FeatureRelaxedSIMD) != 0 {
				f.VectorOperators++
			}
			switch in.Op {
			case wasmfront.OpLoop:
				count(countEntries)
			case wasmfront.OpCallIndirect:
				count(countIndirect)
			case wasmfront.OpMemoryGrow:
				count(countGrow)
			}
			code = append(code, in)
			if in.Op == wasmfront.OpLoop {
				count(countRounds)
			}
		}
		fn.Code = code
	}
	return m.Encode()
}
