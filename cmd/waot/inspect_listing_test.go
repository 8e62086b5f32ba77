package main

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// otherNames are, of mnemonics of x86asm, the names that llvm-mc has for them. What it writes as bytes is a nop with operands.
var otherNames = map[string]string{"cmpsd_xmm": "cmpsd", "mov": "movabs", "nop": ".byte", "data16": ".byte"}

// otherConds are likewise the conditions at the end of a mnemonic.
var otherConds = map[string]string{"nle": "g", "nl": "ge", "nb": "ae", "nbe": "a", "z": "e", "nz": "ne"}

// shorter are encodings of llvm-mc that the encoder does not choose: reg and rm are exchanged.
var shorter = map[string]bool{"c53b11fc": true, "c57311ef": true}

// sameMnemonic reports whether x86asm's name of an instruction is that of llvm-mc.
func sameMnemonic(ours, llvm string) bool {
	if ours == llvm || otherNames[ours] == llvm {
		return true
	}
	for _, stem := range []string{"j", "set", "cmov"} {
		if cond, ok := strings.CutPrefix(ours, stem); ok && otherConds[cond] != "" && stem+otherConds[cond] == llvm {
			return true
		}
	}
	return false
}

// TestDecodeX64: each instruction that the compiler can write for any level, with the bytes that llvm-mc has for it, is decoded
// in its whole length, as what it is.
func TestDecodeX64(t *testing.T) {
	file, err := os.ReadFile("../../backend/isa/x64/asm/testdata/enc.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(file)) {
		digits, want, _ := strings.Cut(strings.TrimSpace(line), "|")
		if shorter[digits] {
			continue
		}
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ = strings.Cut(want, " ")
		text, length := decodeX64(code, 0)
		got, _, _ := strings.Cut(text, " ")
		if length != len(code) || !sameMnemonic(got, want) {
			t.Errorf("%s: %q of %d bytes, want %s", digits, text, length, line)
		}
		n++
	}
	for digits, want := range map[string]string{"f30f1efa": "endbr64", "3effe1": "notrack jmp rcx", "3e41ffe4": "notrack jmp r12"} {
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if text, length := decodeX64(code, 0); length != len(code) || text != want {
			t.Errorf("%s: %q of %d bytes, want %s", digits, text, length, want)
		}
	}
	if n < 10000 {
		t.Errorf("%d instructions", n)
	}
}

// TestDisplacements: displacements below 0 are written as such, and others as they were.
func TestDisplacements(t *testing.T) {
	for digits, want := range map[string]string{
		"488b85d0feffff":         "mov rax, qword ptr [rbp-0x130]",
		"488b8530010000":         "mov rax, qword ptr [rbp+0x130]",
		"488b45f8":               "mov rax, qword ptr [rbp-0x8]",
		"488d848d00000080":       "lea rax, ptr [rbp+rcx*4-0x80000000]",
		"488d848dffffff7f":       "lea rax, ptr [rbp+rcx*4+0x7fffffff]",
		"488d048dfcffffff":       "lea rax, ptr [rcx*4-0x4]",
		"48c785d0feffffffffffff": "mov qword ptr [rbp-0x130], -0x1",
		"48b8f8ffffffffffffff":   "mov rax, -0x8",
	} {
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if got, n := decodeX64(code, 0); got != want || n != len(code) {
			t.Errorf("%s: %s of %d bytes, want %s", digits, got, n, want)
		}
	}
}
