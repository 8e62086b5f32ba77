// Package effect names what an operator of WebAssembly or an instruction of CLIF does besides computing its results: which parts of an
// instance it reads and writes, and how it changes what runs next.
//
// Place in the pipeline: a leaf, imported by the front end and CLIF, whose tables of operators and of opcodes have a column of it. All
// that skips, moves, removes or summarises code reads these columns, and nothing else, to know what it may do.
//
// Input: nothing.
// Output: constants and pure functions.
package effect

// Set is a set of effects. The zero Set is not "no effects": it is Unknown. Readers of bodies of WebAssembly refuse an operator that has it, and no opcode of CLIF
// may have it, as a test of their table demands.
type Set uint32

// Unknown is what an operator has whose row does not say it, and what is not in a table.
const Unknown Set = 0

// The effects. What may not go on to the next operator has Traps, Calls or Control.
const (
	Pure       Set = 1 << iota // none: it may be removed, merged with an equal one, and repeated
	Traps                      // may trap
	Calls                      // runs a function, and may do all that the function does
	Control                    // begins, ends or leaves a block
	WriteLocal                 // writes a local, of WebAssembly
	firstRead
)

// The parts of an instance that are read, and those that are written.
const (
	ReadMemory      = firstRead << iota // contents of memories
	ReadMemorySize                      // sizes of memories
	ReadTable                           // contents of tables
	ReadTableSize                       // sizes of tables
	ReadSegments                        // lengths and contents of segments
	ReadFuel                            // the count of fuel
	ReadException                       // the exception that is under way
	ReadHeap                            // contents of collected objects
	ReadGlobal                          // a global
	WriteMemory                         // as those above
	WriteMemorySize                     // what is new in a memory that grows was not there to be read
	WriteTable
	WriteTableSize // as WriteMemorySize
	WriteSegments
	WriteFuel
	WriteException
	WriteHeap
	WriteGlobal
	end

	// Reads is all that is read, Writes all that is written: All is both.
	Reads  = WriteMemory - ReadMemory
	Writes = end - WriteMemory
	All    = Reads | Writes
)

// Parts is a set of the parts of an instance.
type Parts uint16

// The parts, in the order of the effects.
const (
	Memory Parts = 1 << iota
	MemorySize
	Table
	TableSize
	Segments
	Fuel
	Exception
	Heap
	Global
)

// Has reports whether s has one of the effects e.
func (s Set) Has(e Set) bool { return s&e != 0 }

// Read returns the parts that s reads.
func (s Set) Read() Parts { return Parts(s & Reads / ReadMemory) }

// Written returns the parts that s writes.
func (s Set) Written() Parts { return Parts(s & Writes / WriteMemory) }

// Sound reports whether s makes sense as what a row says: it is known, and pure only without another effect.
func (s Set) Sound() bool { return s != Unknown && (s == Pure || !s.Has(Pure)) && s < end }
