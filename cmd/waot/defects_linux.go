package main

import (
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// wazero 1.12 has two defects that show as differences:
//
//   - Active data segments survive instantiation, so that memory.init of one finds its bytes. The specification drops them. A
//     difference is this one if it goes away when the module drops them itself: see dropped.
//   - Its compiler takes the size of a memory of 65,536 pages, 2^32 bytes, for 0. Its interpreter does not, and runs in its place.

// survivingSegments names the first defect in reports.
const survivingSegments = "active data segments survive instantiation in wazero"

// maxPages is the number of pages of a memory of 2^32 bytes.
const maxPages = 1 << 16

// maxMemory reports whether a memory of the module begins with 2^32 bytes, or says that it may grow to them.
func maxMemory(bin []byte) bool {
	m, err := wasmfront.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return false
	}
	for i := range m.Memories {
		if x := &m.Memories[i]; x.Min == maxPages || x.HasMax && x.Max == maxPages {
			return true
		}
	}
	return false
}

// dropped returns a module whose start function drops the active data segments first, which makes no difference by the
// specification. It is nil if there is nothing to drop, or no way to look at what was not dropped.
func dropped(bin []byte) []byte {
	wm, err := wasmfront.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil || !wm.HasDataCount {
		return nil
	}
	m, err := wasmedit.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return nil
	}
	var code []wasmedit.Inst
	for i := range m.Data {
		if m.Data[i].Mode == wasmfront.SegmentActive {
			code = append(code, wasmedit.Inst{Op: wasmfront.OpDataDrop, Index: uint32(i)})
		}
	}
	if code == nil {
		return nil
	}
	if m.Start >= 0 {
		code = append(code, wasmedit.Inst{Op: wasmfront.OpCall, Index: uint32(m.Start)})
	}
	m.Start = len(m.Funcs)
	m.Funcs = append(m.Funcs, wasmedit.Func{Code: append(code, wasmedit.Plain(wasmfront.OpEnd))})
	b, err := m.Encode()
	if err != nil {
		return nil
	}
	return b
}
