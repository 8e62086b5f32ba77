package translate

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// declareDatas declares data segments. Compilers write a segment for each run of bytes between zeroes, tens of thousands in large
// modules; static ones that are close become one, with the zeroes. The function bodies can name an active segment, but they
// run after it has been dropped.
func declareDatas(cm *clif.Module, m *wasmfront.Module) {
	static := countStatic(cm, m)
	cm.WasmDatas = make([]uint32, len(m.Data))
	mergeStatic(cm, m.Data[:static])
	for i := range m.Data {
		cm.Stop.Poll()
		d := &m.Data[i]
		if i < static && d.Mode == wasmfront.SegmentActive || d.Mode == wasmfront.SegmentPassive && len(d.Bytes) == 0 {
			cm.WasmDatas[i] = clif.DataDropped // what has no bytes is the same whether it has been dropped or not
			continue
		}
		cm.WasmDatas[i] = uint32(len(cm.Datas))
		cm.Datas = append(cm.Datas, clif.DataDecl{Bytes: d.Bytes})
	}
}

// countStatic returns how many segments come before the first active one that is not static: whose place is not
// a constant, or not inside the memory as it is at first. A memory that is imported has contents
// already. If a table is imported, functions put there by an instantiation
// that fails later could see what had not been written yet.
func countStatic(cm *clif.Module, m *wasmfront.Module) int {
	for i := range cm.Tables {
		if cm.Tables[i].Import != nil {
			return 0
		}
	}
	for i := range m.Data {
		d := &m.Data[i]
		if d.Mode != wasmfront.SegmentActive {
			continue
		}
		at, ok := constBits(&d.OffExpr)
		mem := &cm.Memories[d.Memory]
		if !ok || mem.Import != nil || at+uint64(len(d.Bytes)) > mem.Min*abi.PageSize {
			return i
		}
	}
	return len(m.Data)
}

// maxGap is how many zeroes between two segments cost less than a segment of its own: its alignment, two words of the
// instance data with a relocation, its entry in the metadata, and its code in the init function, in bytes.
const maxGap = 128

// mergeStatic declares the static ones among segments. The memory is zero before, so what lies between them may be written; where they
// overlap, the last one counts.
func mergeStatic(cm *clif.Module, segments []wasmfront.DataSegment) {
	var order []int
	for i := range segments {
		if d := &segments[i]; d.Mode == wasmfront.SegmentActive && len(d.Bytes) != 0 {
			order = append(order, i)
		}
	}
	place := func(i int) (memory clif.MemoryIndex, at uint64) {
		at, _ = constBits(&segments[i].OffExpr)
		return clif.MemoryIndex(segments[i].Memory), at
	}
	slices.SortStableFunc(order, func(i, j int) int {
		m, x := place(i)
		n, y := place(j)
		if m != n {
			return int(m) - int(n)
		}
		return int(int64(x) - int64(y))
	})
	for len(order) > 0 {
		memory, start := place(order[0])
		end := start + uint64(len(segments[order[0]].Bytes))
		n := 1
		for ; n < len(order); n++ {
			cm.Stop.Poll()
			m, at := place(order[n])
			if m != memory || at > end+maxGap {
				break
			}
			end = max(end, at+uint64(len(segments[order[n]].Bytes)))
		}
		bytes := segments[order[0]].Bytes
		if n > 1 {
			bytes = make([]byte, end-start)
			slices.Sort(order[:n]) // the order in which they are written
			for _, i := range order[:n] {
				cm.Stop.Poll()
				_, at := place(i)
				copy(bytes[at-start:], segments[i].Bytes)
			}
		}
		cm.Datas = append(cm.Datas, clif.DataDecl{Bytes: bytes, Static: true, Memory: memory, Offset: start})
		order = order[n:]
	}
}

// initDatas copies the active segments: the static ones, which fit, and then the others.
func (t *Translator) initDatas() {
	for i := range t.cm.Datas {
		t.f.Stop.Poll()
		if x := &t.cm.Datas[i]; x.Static {
			t.b.Src = 0
			t.copyData(uint32(i), uint32(x.Memory), t.b.Iconst(clif.I64, x.Offset))
		}
	}
	for i := range t.m.Data {
		t.f.Stop.Poll()
		d := &t.m.Data[i]
		n := t.cm.WasmDatas[i]
		if d.Mode != wasmfront.SegmentActive || n == clif.DataDropped {
			continue
		}
		t.b.Src = uint32(d.Offset)
		to := t.wide(t.constExpr(&d.OffExpr))
		size := t.b.Iconst(clif.I64, uint64(len(d.Bytes)))
		t.checkEnd(to, size, t.b.Entity(clif.OpMemorySize, clif.Invalid, d.Memory), abi.TrapMemoryOutOfBounds)
		t.copyData(n, d.Memory, to)
	}
}

// copyData copies as many bytes as the segment has left, none where the host has put them in place, and drops it.
func (t *Translator) copyData(i, memory uint32, to clif.Value) {
	left := t.b.Entity(clif.OpDataLen, clif.Invalid, i)
	t.b.EntityEffect(clif.OpMemoryInit, clif.Invalid, memory, i, to, t.b.Iconst(clif.I64, 0), left)
	t.b.EntityEffect(clif.OpDataDrop, clif.Invalid, i, 0)
}
