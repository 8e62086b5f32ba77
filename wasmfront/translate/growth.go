package translate

import (
	"bytes"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
)

// limitTables gives the tables that never grow their size as their maximum: those that are neither imported nor exported, in a module
// without table.grow. So the mid-end knows their size.
func limitTables(cm *clif.Module, m *wasmfront.Module) {
	own := 0
	for i := range cm.Tables {
		if t := &cm.Tables[i]; t.Import == nil && !t.Exported {
			own++
		}
	}
	if own == 0 || growsTables(cm, m) {
		return
	}
	for i := range cm.Tables {
		if t := &cm.Tables[i]; t.Import == nil && !t.Exported {
			t.Max, t.HasMax = t.Min, true
		}
	}
}

// growsTables reports whether the body of a function has a table.grow, or is malformed.
func growsTables(cm *clif.Module, m *wasmfront.Module) bool {
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
		cm.Stop.PollAt(int(i))
		if body := m.Body(i); mayGrowTables(cm, body.Bytes) && bodyGrowsTables(cm, m, &allOperators, i) {
			return true
		}
	}
	return false
}

// mayGrowTables reports whether the bytes of a body look like a table.grow, the only operator that grows tables, which few do: a prefix and the number behind it, whose first
// byte has the top bit if it is longer than it must be.
func mayGrowTables(cm *clif.Module, body []byte) bool {
	const prefix, number, long = byte(wasmfront.OpTableGrow >> 8), byte(wasmfront.OpTableGrow & 0xff), 0x80
	for at := bytes.IndexByte(body, prefix); at >= 0 && at+1 < len(body); at = bytes.IndexByte(body, prefix) {
		cm.Stop.Poll()
		if body = body[at+1:]; body[0] == number || body[0] >= long {
			return true
		}
	}
	return false
}

// bodyGrowsTables reports whether the body of function i has a table.grow, or is refused.
func bodyGrowsTables(cm *clif.Module, m *wasmfront.Module, ops *operators, i uint32) bool {
	b := ops.bodyOf(m, i)
	for {
		cm.Stop.Poll()
		op, _ := b.next()
		switch {
		case op == endOfBody:
			return b.refused
		case b.ops.of(op).Has(effect.WriteTableSize):
			return true
		}
	}
}
