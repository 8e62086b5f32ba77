package wasmfront

// Item is a kind of thing of which a module may have many, in few bytes each.
type Item uint8

// The items. Elements and bytes of names are counted apart from what they are in.
const (
	ItemSection Item = iota // of any kind, custom ones included
	ItemType
	ItemTypeValue // a parameter or result of a type
	ItemImport
	ItemFunc // defined here
	ItemTable
	ItemMemory
	ItemTag
	ItemGlobal
	ItemExport
	ItemElemSegment
	ItemElem     // a function of an element segment
	ItemElemExpr // an element that is an expression
	ItemDataSegment
	ItemConstOp   // an operator of a constant expression
	ItemNameByte  // of an import or export
	ItemDataByte  // of a data segment
	ItemDebugByte // of the name section
	NumItems      = iota
)

// Price is what the decoder charges for items, and how much it may charge. A nil Price charges nothing.
type Price struct {
	Each [NumItems]int64
	// Most is how much may be charged; 0 is any amount. More of it is an error about the limit that is called What, with the limit Limit.
	Most  int64
	What  string
	Limit uint64
}

// charge charges n items, which begin at offset at, and fails if they cost too much. It comes before anything is allocated for them.
func (d *decoder) charge(at int, x Item, n int) {
	p := d.price
	if p == nil {
		return
	}
	d.m.Cost += p.Each[x] * int64(n)
	if p.Most != 0 && d.m.Cost > p.Most {
		d.FailLimit(at, LimitError{What: p.What, Limit: p.Limit}, "the compiler needs too much memory")
	}
}
