package main

import (
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// wazero 1.12 has three defects that show as differences:
//
//   - Active data segments survive instantiation, so that memory.init of one finds its bytes. The specification drops them.
//   - An active element segment that does not fit into its table is ignored, with those behind it. By the specification instantiation traps.
//   - Its compiler takes the size of a memory of 65,536 pages, 2^32 bytes, for 0. Its interpreter does not, and runs in its place.
//
// A difference is one of the first two if it goes away when the module's start function does by operators what wazero does wrongly. It is never both, as
// nothing happens behind a segment that does not fit.

// defect is one of the first two.
type defect struct {
	name string // for reports
	// byHand changes m, and returns code with which the start function is to begin; none if m cannot show the defect.
	byHand func(m *wasmedit.Module) []wasmedit.Inst
}

var (
	survivingSegments = defect{"active data segments survive instantiation in wazero", dropData}
	ignoredSegments   = defect{"wazero ignores active element segments that do not fit", initTables}
)

// equivalent is a module that means the same by the specification but does not show a defect.
type equivalent struct {
	bin   []byte
	known string // the defect
}

// withoutDefects returns a module for each defect that bin may show.
func withoutDefects(bin []byte) (list []equivalent) {
	for _, d := range [...]*defect{&survivingSegments, &ignoredSegments} {
		if b := d.without(bin); b != nil {
			list = append(list, equivalent{b, d.name})
		}
	}
	return list
}

// without returns a module whose start function first does what the defect is about. It is nil if bin cannot show the defect.
func (d *defect) without(bin []byte) []byte {
	m, err := wasmedit.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return nil
	}
	code := d.byHand(m)
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

// dropData drops the active data segments. Without a count of segments no operator looks at what was not dropped.
func dropData(m *wasmedit.Module) (code []wasmedit.Inst) {
	for i := range m.Data {
		if m.Counted && m.Data[i].Mode == wasmfront.SegmentActive {
			code = append(code, wasmedit.Inst{Op: wasmfront.OpDataDrop, Index: uint32(i)})
		}
	}
	return code
}

// initTables makes the active element segments passive, copies them into their tables, and drops them.
func initTables(m *wasmedit.Module) (code []wasmedit.Inst) {
	for i := range m.Elems {
		e := &m.Elems[i]
		if e.Mode != wasmfront.SegmentActive {
			continue
		}
		code = append(code, wasmedit.Constant(e.Offset)...)
		code = append(code, wasmedit.I32(0), wasmedit.I32(uint32(len(e.Items))),
			wasmedit.Inst{Op: wasmfront.OpTableInit, Index: uint32(i), Index2: e.Table}, wasmedit.Inst{Op: wasmfront.OpElemDrop, Index: uint32(i)})
		e.Mode, e.Table, e.Offset = wasmfront.SegmentPassive, 0, nil
	}
	return code
}

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
