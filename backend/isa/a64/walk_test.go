package a64_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/regalloc"
)

// misalignment implements isatest.Machine.Misalignment.
var misalignment = []byte{
	0xe0, 0x03, 0x00, 0x91, // mov x0, sp
	0x00, 0x0c, 0x40, 0x92, // and x0, x0, #15
	0xc0, 0x03, 0x5f, 0xd6, // ret
}

// sp is the number of the stack pointer in walker.regs, and of the zero register where that is meant.
const sp = 31

// walker is the state of a machine that knows the instructions of entries and returns. Places are as in isatest.Walk.
type walker struct {
	isatest.Walk
	pc    int // number of the next instruction
	regs  [64]int
	mem   map[int]int
	equal bool // of the last comparison
	inner bool // the body has been passed
	given regalloc.PRegSet
}

// original returns the value of a register at the entry; changed returns its value in the body.
func original(r int) int { return 1<<40 + r<<8 }
func changed(r int) int  { return 1<<41 + r<<8 }

// walk implements isatest.Machine.Walk.
func walk(code []byte, registers regalloc.PRegSet) (*isatest.Walk, error) {
	w := &walker{mem: map[int]int{}, given: registers}
	for r := range w.regs {
		w.regs[r] = original(r)
	}
	w.regs[sp] = 0
	for steps, done := 0, false; !done; steps++ {
		if steps > 1<<16 || w.pc < 0 || 4*w.pc+4 > len(code) {
			return nil, fmt.Errorf("it does not return")
		}
		word := binary.LittleEndian.Uint32(code[4*w.pc:])
		w.pc++
		var err error
		if done, err = w.step(word); err != nil {
			return nil, fmt.Errorf("at %#x: %w", 4*w.pc-4, err)
		}
	}
	for _, r := range []regalloc.PReg{asm.FP, asm.LR} {
		registers = registers.Add(r)
	}
	for s := registers; s != 0; s = s.Remove(s.First()) {
		if r := s.First(); w.regs[r] != original(int(r)) {
			w.Lost = w.Lost.Add(r)
		}
	}
	w.End = w.regs[sp]
	return &w.Walk, nil
}

// body is what happens between the entry and the first instruction of the return.
func (w *walker) body() {
	if w.inner {
		return
	}
	w.inner, w.Body = true, w.regs[sp]
	for s := w.given.Add(asm.LR); s != 0; s = s.Remove(s.First()) {
		w.regs[s.First()] = changed(int(s.First()))
	}
}

// step executes one instruction; done says that it was the return.
func (w *walker) step(word uint32) (done bool, err error) {
	field := func(at, n int) int { return int(word >> at & (1<<n - 1)) }
	d, n, m := field(0, 5), field(5, 5), field(16, 5)
	imm12 := field(10, 12) << (12 * field(22, 1))
	switch {
	case word == 0xd503245f: // bti c
	case word == 0xd65f03c0, word&0xfc000000 == 0x14000000: // ret, b
		return true, nil
	case word == 0xb94003ff: // ldr wzr, [sp]
		w.Touched = append(w.Touched, w.regs[sp])
	case word&0xffe00fff == 0xb84003ff: // ldur wzr, [sp, #offset]
		w.Touched = append(w.Touched, w.regs[sp]+int(int32(word)<<11>>23))
	case word&0xff800000 == 0x91000000: // add d, n, #imm
		if d == sp && n == int(asm.FP) {
			w.body()
		}
		w.regs[d] = w.regs[n] + imm12
	case word&0xff800000 == 0xd1000000: // sub d, n, #imm
		w.regs[d] = w.regs[n] - imm12
	case word&0x7f800000 == 0x52800000: // movz
		w.regs[d] = field(5, 16) << (16 * field(21, 2))
	case word&0x7f800000 == 0x72800000: // movk
		w.regs[d] |= field(5, 16) << (16 * field(21, 2))
	case word&0x7f800000 == 0x32000000 && n == sp: // mov d, #bits
		w.regs[d] = int(bitmask(word))
	case word&0xffe0fc00 == 0xcb206000 && n == sp: // sub d, sp, m, uxtx
		w.regs[d] = w.regs[n] - w.regs[m]
	case word&0xffe0fc1f == 0xeb20601f && n == sp: // cmp sp, m, uxtx
		w.equal = w.regs[n] == w.regs[m]
	case word&0xff00001f == 0x54000001: // b.ne
		if !w.equal {
			w.pc += int(int32(word)<<8>>13) - 1
		}
	case word&0x3a000000 == 0x28000000: // pairs
		return false, w.pair(word)
	case word&0xbb000000 == 0xb9000000: // one register of 64 bits, unsigned offset
		return false, w.one(word, w.regs[n]+8*imm12&0x7ff8)
	case word&0xbb200c00 == 0xb8000000: // one register of 64 bits, signed offset
		return false, w.one(word, w.regs[n]+int(int32(word)<<11>>23))
	default:
		return false, fmt.Errorf("unknown instruction %#x", word)
	}
	return false, nil
}

// bitmask returns the immediate of a logical instruction: ones, rotated within an element, and that repeated.
func bitmask(word uint32) (x uint64) {
	size := bits.Len32(word>>22&1<<6|^word>>10&0x3f) - 1
	element, ones, rotated := 1<<size, int(word>>10)&(1<<size-1)+1, int(word>>16)&(1<<size-1)
	for k := range 32 << (word >> 31) {
		if (k%element+rotated)%element < ones {
			x |= 1 << k
		}
	}
	return x
}

// pair executes ldp or stp of 64 bits with an offset, or one before or behind.
func (w *walker) pair(word uint32) error {
	bank, load, mode := 32*int(word>>26&1), word>>22&1 != 0, word>>23&7
	if size := word >> 30; size != 2 && bank == 0 || size != 1 && bank != 0 || mode == 0 || mode > 3 {
		return fmt.Errorf("unknown pair %#x", word)
	}
	base := &w.regs[word>>5&31]
	at, next := *base, *base+8*int(int32(word)<<10>>25)
	if mode != 1 { // not behind
		at = next
	}
	if mode == 2 {
		next = *base
	}
	for k, r := range []int{int(word & 31), int(word >> 10 & 31)} {
		w.move(bank+r, at+8*k, load)
	}
	*base = next
	return nil
}

// one executes ldr or str of a register at a place.
func (w *walker) one(word uint32, at int) error {
	opc := word >> 22 & 3
	if word>>30 != 3 || opc > 1 {
		return fmt.Errorf("unknown access %#x", word)
	}
	w.move(32*int(word>>26&1)+int(word&31), at, opc == 1)
	return nil
}

// move loads or stores a register; 31 is the zero register.
func (w *walker) move(r, at int, load bool) {
	w.Touched = append(w.Touched, at)
	switch {
	case load && r == sp:
	case load:
		w.body()
		w.regs[r] = w.mem[at]
	default:
		w.mem[at] = w.regs[r]
		w.Stored = min(w.Stored, at)
	}
}
