//go:build linux && amd64

package x64_test

import (
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/regalloc"
)

// misalignment implements isatest.Machine.Misalignment.
var misalignment = []byte{
	0x48, 0x8d, 0x44, 0x24, 0x08, // lea rax, [rsp+8]
	0x83, 0xe0, 0x0f, // and eax, 15
	0xc3, // ret
}

// walker is the state of a machine that knows the instructions of entries and returns. Places are as in isatest.Walk.
type walker struct {
	isatest.Walk
	code  []byte
	pc    int
	regs  [16]int
	mem   map[int]int
	equal bool // of the last comparison
	inner bool // the body has been passed
	given regalloc.PRegSet
}

// original returns the value of a register at the entry; changed returns its value in the body.
func original(r int) int { return 1<<40 + r<<8 }
func changed(r int) int  { return 1<<41 + r<<8 }

// returnAddress is that of the call.
const returnAddress = 1 << 42

// walk implements isatest.Machine.Walk.
func walk(code []byte, registers regalloc.PRegSet) (*isatest.Walk, error) {
	code = append(code[:len(code):len(code)], make([]byte, 8)...) // so that each instruction is whole
	w := &walker{code: code, mem: map[int]int{}, given: registers}
	for r := range w.regs {
		w.regs[r] = original(r)
	}
	w.regs[asm.RSP] = -8
	w.touch(-8)
	w.mem[-8] = returnAddress
	for steps := 0; ; steps++ {
		if steps > 1<<16 || w.pc < 0 || w.pc+8 > len(w.code) {
			return nil, fmt.Errorf("it does not return")
		}
		done, err := w.step()
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
	}
	for s := registers; s != 0; s = s.Remove(s.First()) {
		if r := s.First(); w.regs[r.Enc()] != original(int(r.Enc())) {
			w.Lost = w.Lost.Add(r)
		}
	}
	if w.regs[asm.RBP] != original(int(asm.RBP)) {
		w.Lost = w.Lost.Add(asm.RBP)
	}
	w.End = w.regs[asm.RSP]
	return &w.Walk, nil
}

func (w *walker) touch(at int) { w.Touched = append(w.Touched, at) }

// body is what happens between the entry and the first instruction of the return.
func (w *walker) body() {
	if w.inner {
		return
	}
	w.inner, w.Body = true, w.regs[asm.RSP]
	for s := w.given; s != 0; s = s.Remove(s.First()) {
		w.regs[s.First().Enc()] = changed(int(s.First().Enc()))
	}
}

// at reports whether the code goes on with these bytes, which it then passes.
func (w *walker) at(bytes ...byte) bool {
	for k, b := range bytes {
		if w.code[w.pc+k] != b {
			return false
		}
	}
	w.pc += len(bytes)
	return true
}

func (w *walker) imm8() int {
	w.pc++
	return int(int8(w.code[w.pc-1]))
}

func (w *walker) imm32() int {
	w.pc += 4
	return int(int32(binary.LittleEndian.Uint32(w.code[w.pc-4:])))
}

func (w *walker) pop(r regalloc.PReg) {
	w.touch(w.regs[asm.RSP])
	w.regs[r], w.regs[asm.RSP] = w.mem[w.regs[asm.RSP]], w.regs[asm.RSP]+8
}

// step executes one instruction; done says that it was the return.
func (w *walker) step() (done bool, err error) {
	sp := &w.regs[asm.RSP]
	switch {
	case w.at(0xf3, 0x0f, 0x1e, 0xfa): // endbr64
	case w.at(0x55):
		w.push(asm.RBP)
	case w.at(0x50): // which only lowers the stack pointer
		w.push(asm.RAX)
	case w.at(0x48, 0x8d, 0x65): // lea rsp, [rbp+disp8]
		w.body()
		*sp = w.regs[asm.RBP] + w.imm8()
	case w.at(0x48, 0x89, 0xe5), w.at(0x48, 0x8b, 0xec): // mov rbp, rsp
		w.regs[asm.RBP] = *sp
	case w.at(0x48, 0x83, 0xec): // sub rsp, imm8
		*sp -= w.imm8()
	case w.at(0x48, 0x81, 0xec): // sub rsp, imm32
		*sp -= w.imm32()
	case w.at(0x4c, 0x8d, 0x9c, 0x24): // lea r11, [rsp+disp32]
		w.regs[asm.R11] = *sp + w.imm32()
	case w.at(0x48, 0x39, 0x24, 0x24), w.at(0x48, 0x3b, 0x24, 0x24): // cmp [rsp], rsp
		w.touch(*sp)
	case w.at(0x4c, 0x39, 0xdc), w.at(0x49, 0x39, 0xe3), w.at(0x49, 0x3b, 0xe3), w.at(0x4c, 0x3b, 0xdc): // cmp rsp, r11
		w.equal = *sp == w.regs[asm.R11]
	case w.at(0x75): // jne
		if d := w.imm8(); !w.equal {
			w.pc += d
		}
	case w.at(0xc9): // leave
		w.body()
		*sp = w.regs[asm.RBP]
		w.pop(asm.RBP)
	case w.at(0x48, 0x39, 0x64, 0x24), w.at(0x48, 0x3b, 0x64, 0x24): // cmp [rsp+disp8], rsp
		w.touch(*sp + w.imm8())
	case w.at(0x48, 0x39, 0xa4, 0x24), w.at(0x48, 0x3b, 0xa4, 0x24): // cmp [rsp+disp32], rsp
		w.touch(*sp + w.imm32())
	case w.at(0xff, 0x74, 0x24): // push [rsp+disp8]
		w.copy(*sp+w.imm8(), -8)
	case w.at(0xff, 0xb4, 0x24): // push [rsp+disp32]
		w.copy(*sp+w.imm32(), -8)
	case w.at(0x8f, 0x44, 0x24): // pop [rsp+disp8]
		w.popTo(w.imm8())
	case w.at(0x8f, 0x84, 0x24): // pop [rsp+disp32]
		w.popTo(w.imm32())
	case w.at(0x48, 0x83, 0xc4): // add rsp, imm8
		*sp += w.imm8()
	case w.at(0x48, 0x81, 0xc4): // add rsp, imm32
		*sp += w.imm32()
	case w.at(0xc3): // ret
		return true, w.leave(0)
	case w.at(0xc2): // ret imm16
		return true, w.leave(int(binary.LittleEndian.Uint16(w.code[w.pc:])))
	case w.at(0xe9): // jmp
		return true, w.leave(0)
	default:
		return false, w.saved()
	}
	return false, nil
}

// copy copies the word at a place to where the stack pointer is when it has moved by n.
func (w *walker) copy(from, n int) {
	w.regs[asm.RSP] += n
	w.touch(from)
	w.touch(w.regs[asm.RSP])
	w.mem[w.regs[asm.RSP]] = w.mem[from]
}

// popTo pops a word to the place n bytes above the stack pointer behind that.
func (w *walker) popTo(n int) {
	from := w.regs[asm.RSP]
	w.regs[asm.RSP] += 8
	w.touch(w.regs[asm.RSP] + n)
	w.mem[w.regs[asm.RSP]+n] = w.mem[from]
}

// leave pops the return address, as the callee of a tail call will do, and n bytes of arguments.
func (w *walker) leave(n int) error {
	if w.mem[w.regs[asm.RSP]] != returnAddress {
		return fmt.Errorf("the return address is not on top of the stack")
	}
	w.regs[asm.RSP] += 8 + n
	return nil
}

func (w *walker) push(r regalloc.PReg) {
	sp := w.regs[asm.RSP] - 8
	w.regs[asm.RSP] = sp
	w.touch(sp)
	w.mem[sp] = w.regs[r]
}

// pushed executes push r or pop r; ok says that it was one.
func (w *walker) pushed() (ok bool) {
	op, n := w.code[w.pc], 1
	if op == 0x41 { // REX.B
		op, n = w.code[w.pc+1], 2
	}
	r := regalloc.PReg(op&7 | uint8(n-1)<<3)
	switch op &^ 7 {
	case 0x50:
		w.push(r)
		w.Stored = min(w.Stored, w.regs[asm.RSP])
	case 0x58:
		w.body()
		w.pop(r)
	default:
		return false
	}
	w.pc += n
	return true
}

// saved executes push r, pop r, mov [rbp+disp], r or mov r, [rbp+disp].
func (w *walker) saved() error {
	if w.pushed() {
		return nil
	}
	b := w.code[w.pc:]
	if b[0]&^4 != 0x48 || b[1] != 0x89 && b[1] != 0x8b || b[2]&7 != 5 {
		return fmt.Errorf("unknown instruction at %#x: %x", w.pc, b[:8])
	}
	r := int(b[2]>>3&7 | b[0]&4<<1)
	load := b[1] == 0x8b
	w.pc += 3
	var at int
	switch b[2] >> 6 {
	case 1:
		at = w.regs[asm.RBP] + w.imm8()
	case 2:
		at = w.regs[asm.RBP] + w.imm32()
	default:
		return fmt.Errorf("unknown address at %#x", w.pc)
	}
	w.touch(at)
	if load {
		w.body()
		w.regs[r] = w.mem[at]
		return nil
	}
	w.mem[at] = w.regs[r]
	w.Stored = min(w.Stored, at)
	return nil
}
