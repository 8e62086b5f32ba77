package inspect

import "encoding/json"

// Function is all that a page knows of one function. Its JSON is read by page.js. In it, an index that may be missing is one
// higher, and 0 if it is missing.
type Function struct {
	Index uint32 `json:"index"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type"`
	// Dropped: the object has no code of the function, as nothing refers to it.
	Dropped bool `json:"dropped,omitempty"`
	Bytes   int  `json:"bytes"` // of machine code
	Frame   int  `json:"frame"`
	// Places in the module, which rows refer to.
	Places []Place `json:"places"`
	// Locations are the names of registers and slots.
	Locations []Location `json:"locations"`
	Stages    []Stage    `json:"stages"`
	// Pool has the rows of CLIF: most of them are the same after many passes.
	Pool   []Row   `json:"pool"`
	Blocks []Block `json:"blocks"` // of VCode
	// VRegs are the values that each virtual register holds.
	VRegs [][]int `json:"vregs"`
	// Segments say where values are; Omitted, why they are not there.
	Segments []Segment `json:"segments"`
	Omitted  string    `json:"omitted,omitempty"`
}

// Place is a place in the module.
type Place struct {
	Text string
	// Offset is that of the operator of the function itself: of a call, if the place is in a function that was inlined.
	Offset uint32
}

// MarshalJSON writes p as an array, as the page has many.
func (p Place) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Text, p.Offset}) }

// Location is a register, a spill slot or an incoming argument on the stack.
type Location struct {
	Name string `json:"n"`
	// Kind is "int", "float", "slot" or "arg".
	Kind string `json:"k"`
	// Number is that of the register or word.
	Number int `json:"i"`
}

// StageKind says what the rows of a stage are.
type StageKind string

// The kinds of stages.
const (
	StageWasm      StageKind = "wasm"
	StageCLIF      StageKind = "clif"
	StageVCode     StageKind = "vcode"
	StageAllocated StageKind = "alloc"
	StageMachine   StageKind = "asm"
)

// Stage is a function as it is after one stage.
type Stage struct {
	ID    string    `json:"id"`
	Kind  StageKind `json:"kind"`
	Title string    `json:"title"`
	// Main stages are shown at first.
	Main bool  `json:"main,omitempty"`
	Rows []Row `json:"rows,omitempty"`
	// Pooled are the rows of CLIF, indices of Function.Pool.
	Pooled []int `json:"pooled,omitempty"`
}

// RowKind says what a row is.
type RowKind int

// The kinds of rows.
const (
	RowInst  RowKind = iota // an operator or instruction
	RowBlock                // the head of a block
	RowEdge                 // a way out of a block
	RowEdit                 // a move, swap or rematerialisation between instructions
	RowTitle                // a heading
)

// Row is a line of a stage.
type Row struct {
	Kind  RowKind `json:"k,omitempty"`
	Label string  `json:"l,omitempty"` // offset or number
	Text  string  `json:"t"`
	Depth int     `json:"d,omitempty"` // indentation
	Place int     `json:"p,omitempty"` // of Function.Places, plus 1
	Block int     `json:"b,omitempty"` // plus 1: of CLIF in CLIF, else of VCode
	Inst  int     `json:"i,omitempty"` // of VCode, plus 1
	Edit  int     `json:"e,omitempty"` // of the allocation, plus 1
	// Operands of an instruction with its allocations, or the values that an edit moves.
	Operands []Operand `json:"o,omitempty"`
	Move     string    `json:"m,omitempty"` // of an edit: "spill", "reload", "move", "swap" or "remat"
	Bytes    string    `json:"x,omitempty"` // of machine code, in hexadecimal
	Notes    string    `json:"n,omitempty"`
}

// Operand is a virtual register and where it is.
type Operand struct {
	VReg     int
	Location int // of Function.Locations, -1 if it is nowhere
	Access   int // regalloc.Access
}

// MarshalJSON writes o as an array, as the page has many.
func (o Operand) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int{o.VReg, o.Location, o.Access})
}

// Block is a block of VCode.
type Block struct {
	Orig  int  `json:"o,omitempty"` // the block of CLIF, plus 1
	Depth int  `json:"d,omitempty"` // of loops
	Head  bool `json:"h,omitempty"` // of a loop
	Cold  bool `json:"c,omitempty"`
	// Frequency is how often the allocator thinks that the block runs for each call of the function.
	Frequency float64 `json:"f"`
}

// Segment says that a location holds a virtual register from one position to another, both included. Row r of the allocated stage has position 2r, where
// it reads, and 2r+1, where it has written.
type Segment struct{ VReg, Location, From, To int }

// MarshalJSON writes s as an array, as the page has many.
func (s Segment) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int{s.VReg, s.Location, s.From, s.To})
}
