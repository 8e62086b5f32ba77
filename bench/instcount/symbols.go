package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
)

// symbol is a function of generated code.
type symbol struct {
	addr, size uint64
	name       string
}

// loadedText returns the addresses of an object's code, which are found by what was executed.
func (m *machine) loadedText(object string, all []translation) (addressRange, error) {
	f, err := elf.Open(object)
	if err != nil {
		return addressRange{}, err
	}
	defer f.Close()
	s := f.Section(".text")
	if f.Type != elf.ET_REL || s == nil {
		return addressRange{}, fmt.Errorf("%s is no object with code", object)
	}
	code, err := s.Data()
	if err != nil {
		return addressRange{}, err
	}
	base, err := findBase(code, m.step, all)
	if err != nil {
		return addressRange{}, fmt.Errorf("%s: %w", object, err)
	}
	return addressRange{base, base + s.Size}, nil
}

// within returns the translations that begin in a range.
func within(all []translation, r addressRange) []translation {
	return slices.DeleteFunc(slices.Clone(all), func(t translation) bool { return t.addr < r.lo || t.addr >= r.hi })
}

// readSymbols returns the functions of an ELF file's generated code, in the order of addresses.
func (m *machine) readSymbols(file string, all []translation) ([]symbol, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := generatedSection
	if f.Type == elf.ET_REL {
		name = ".text"
	}
	i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no section %s", file, name)
	}
	base := uint64(0)
	if f.Type == elf.ET_REL {
		text, err := m.loadedText(file, all)
		if err != nil {
			return nil, err
		}
		base = text.lo
	}
	table, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	var found []symbol
	for _, s := range table {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && int(s.Section) == i {
			found = append(found, symbol{base + s.Value, s.Size, s.Name})
		}
	}
	slices.SortFunc(found, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	return found, nil
}

// findBase returns the address that code, as an object has it before relocation, was executed at: the
// one that most translations agree on which begin as only one place in code does. The address of each instruction is a multiple of step.
func findBase(code []byte, step int, all []translation) (uint64, error) {
	type start [24]byte
	places := map[start]int{} // offset in code; -1 for several
	for at := 0; at+len(start{}) <= len(code); at += step {
		k := start(code[at:])
		if _, twice := places[k]; twice {
			places[k] = -1
		} else {
			places[k] = at
		}
	}
	votes := map[uint64]int{}
	best := uint64(0)
	for i := range all {
		t := &all[i]
		begin := bytes.Join(t.insts, nil)
		if len(begin) < len(start{}) {
			continue
		}
		at, ok := places[start(begin)]
		if !ok || at < 0 {
			continue
		}
		base := t.addr - uint64(at)
		if votes[base]++; votes[base] > votes[best] {
			best = base
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("nothing of its code was executed")
	}
	return best, nil
}

// symbolAt finds the function at an address, nil if there is none.
func symbolAt(symbols []symbol, addr uint64) *symbol {
	i, found := slices.BinarySearchFunc(symbols, addr, func(s symbol, a uint64) int { return cmp.Compare(s.addr, a) })
	if !found {
		i--
	}
	if i < 0 || addr >= symbols[i].addr+symbols[i].size {
		return nil
	}
	return &symbols[i]
}

// place returns an address in words.
func place(symbols []symbol, addr uint64) string {
	if s := symbolAt(symbols, addr); s != nil {
		return fmt.Sprintf("%s+%#x", s.name, addr-s.addr)
	}
	return fmt.Sprintf("%#x", addr)
}

// executed is a function and the instructions that it has executed, callees aside.
type executed struct {
	name         string
	instructions uint64
}

// hottestFunctions are the n functions that have executed most instructions.
func hottestFunctions(symbols []symbol, all []translation, n int) []executed {
	sums := map[string]uint64{}
	for i := range all {
		t := &all[i]
		name := "elsewhere"
		if s := symbolAt(symbols, t.addr); s != nil {
			name = s.name
		}
		sums[name] += t.runs * uint64(len(t.insts))
	}
	var found []executed
	for name, sum := range sums {
		found = append(found, executed{name, sum})
	}
	slices.SortFunc(found, func(a, b executed) int {
		return cmp.Or(cmp.Compare(b.instructions, a.instructions), cmp.Compare(a.name, b.name))
	})
	return found[:min(n, len(found))]
}
