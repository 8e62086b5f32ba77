package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/bench/objects"
	"github.com/waot-project/waot/bench/suite"
)

// Kotlin's program prints the milliseconds that each of its parts takes. Shorter ones say little.
const (
	nameKotlin = "kotlin-awfy"
	leastPart  = 20e6
)

// objectProgram is a program with garbage collection, which is made in a folder.
type objectProgram struct {
	name string
	make func(dir string) (*program, error)
}

// compareObjects measures programs with garbage collection.
func (s *setup) compareObjects(names []string) (table, error) {
	list, err := s.objectPrograms()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(o objectProgram) bool { return !slices.Contains(names, o.name) })
	}
	found, err := s.comparePeers(len(list), nil, func(i int, dir string) (*program, error) { return list[i].make(dir) })
	if err != nil {
		return nil, err
	}
	return newObjectTable(found), nil
}

// objectPrograms are the kernels, and what is in the folders that the environment names.
func (s *setup) objectPrograms() (list []objectProgram, err error) {
	for _, k := range objects.Kernels() {
		list = append(list, kernel(k))
	}
	if dir := os.Getenv("WAOT_BENCH_DIR"); dir == "" {
		fmt.Fprintln(s.log, "without splay: WAOT_BENCH_DIR does not name a folder")
	} else {
		found, err := suite.Find(dir, regexp.MustCompile("^splay$"), "splay/splay")
		if err != nil {
			return nil, err
		}
		list = append(list, objectProgram{"splay", func(dir string) (*program, error) { return ofSuite(found[0], dir) }})
	}
	if dir := os.Getenv("WAOT_WASM3_DIR"); dir == "" {
		fmt.Fprintln(s.log, "without Kotlin: WAOT_WASM3_DIR does not name a folder")
	} else {
		list = append(list, objectProgram{nameKotlin, func(to string) (*program, error) {
			p := newProgram(nameKotlin, to)
			p.want, p.split = kotlinParts, splitKotlin
			return p, os.Symlink(filepath.Join(dir, nameKotlin+".wasm"), p.module())
		}})
	}
	for _, k := range objects.Parts() {
		list = append(list, kernel(k))
	}
	return list, nil
}

// newProgram is one that needs an empty folder.
func newProgram(name, dir string) *program {
	return &program{name: name, dir: dir, start: func() (string, error) { return os.MkdirTemp(dir, "run") }}
}

func kernel(k objects.Kernel) objectProgram {
	return objectProgram{k.Name, func(dir string) (*program, error) {
		p := newProgram(k.Name, dir)
		p.want, p.split = k.Line(), splitNumbers
		wasm, err := k.Module(k.Size)
		if err != nil {
			return nil, err
		}
		return p, os.WriteFile(p.module(), wasm, 0o666)
	}}
}

// kotlinParts is what splitKotlin leaves of what Kotlin's program should print.
const kotlinParts = "12 parts"

// splitKotlin takes lines of parts that found what they should out of what Kotlin's program prints, and says how many they were.
func splitKotlin(out string) (rest string, times []timed) {
	line := regexp.MustCompile(`(?m)^(\w+) inner=\d+ ok=true ms=(\d+)\n`)
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		ms, _ := strconv.ParseInt(m[2], 10, 64)
		times = append(times, timed{m[1], ms * 1e6})
	}
	return line.ReplaceAllString(out, "") + fmt.Sprintf("%d parts", len(times)), times
}

// What a kernel prints in front of its checksum: microseconds, but for a number.
const (
	partLongest = "longest"
	partNumber  = "number"
	partSum     = "sum"
)

// splitNumbers takes the numbers that pauses prints out of what it prints.
func splitNumbers(out string) (rest string, times []timed) {
	lines := strings.SplitAfter(out, "\n")
	if len(lines) != 5 {
		return out, nil
	}
	for i, name := range []string{partLongest, partNumber, partSum} {
		_, digits, _ := strings.Cut(strings.TrimSpace(lines[i]), " ")
		n, err := strconv.ParseInt(digits, 16, 64)
		if err != nil {
			return out, nil
		}
		times = append(times, timed{name, n})
	}
	return lines[3], times
}

// objectTable is the result for programs with garbage collection.
type objectTable struct {
	Programs *programTable `json:"programs"`
	// Parts are kernels that do one thing only.
	Parts *programTable `json:"parts"`
}

// newObjectTable takes parts apart from programs, and leaves out what is too short.
func newObjectTable(all *programTable) *objectTable {
	t := &objectTable{&programTable{Peers: all.Peers}, &programTable{Peers: all.Peers}}
	for _, row := range all.Programs {
		name := row.Name
		if row.Of != "" {
			name = row.Of
		}
		switch {
		case slices.ContainsFunc(objects.Parts(), func(k objects.Kernel) bool { return k.Name == name }):
			t.Parts.Programs = append(t.Parts.Programs, row)
		case row.Of == "" || !slices.ContainsFunc(row.WallNS, func(ns int64) bool { return ns > 0 && ns < leastPart }):
			t.Programs.Programs = append(t.Programs.Programs, row)
		}
	}
	return t
}

func (t *objectTable) write(w io.Writer) {
	const wall, cpu = "Running, wall time", "Running, processor time"
	if len(t.Programs.Programs) > 0 {
		t.Programs.writeAll(w, []ratios{{cpu, nameV8, running}, {cpu, nameShipped, running}, {cpu, nameWasmtime, running},
			{cpu, nameWaot, running}, {wall, nameV8, elapsed}, {wall, nameShipped, elapsed}})
	}
	if len(t.Parts.Programs) > 0 {
		t.writeParts(w)
	}
}

// writeParts prints what single operations take under each peer.
func (t *objectTable) writeParts(w io.Writer) {
	fmt.Fprintf(w, "| | %s |\n|---|%s\n", strings.Join(t.Parts.Peers, " | "), strings.Repeat("---|", len(t.Parts.Peers)))
	each := func(name string) float64 { return float64(size(name)) }
	// What pauses and dropped allocate, in MiB, and what lives in pauses.
	const garbage, live = 8 * 1024 * 160_000 >> 20, 64
	const ms = 1e6
	one := func(unit float64) func(...float64) float64 {
		return func(x ...float64) float64 { return x[0] / unit }
	}
	for _, line := range []struct {
		title string
		needs []string
		of    func(x ...float64) float64
		times times
	}{
		{"an allocation of 24 bytes that a ring keeps, ns", []string{"alloc"}, one(each("alloc")), running},
		{"the ring alone, ns", []string{"ring"}, one(each("ring")), running},
		{"a cast, ns", []string{"casts", "loads"}, func(ns ...float64) float64 { return (ns[0] - ns[1]) / each("casts") }, running},
		{"collections for each MiB of garbage with 64 MiB alive, ms", []string{"pauses", "dropped"},
			func(ns ...float64) float64 { return (ns[0] - ns[1]) / ms / garbage }, running},
		{"wall time: the longest burst of allocations with 64 MiB alive, ms", []string{partLongest}, one(1e3), elapsed},
		{"bursts of 5 ms or more", []string{partNumber}, one(1), elapsed},
		{"one of them, for each MiB alive, ms", []string{partSum, partNumber}, func(x ...float64) float64 { return x[0] / x[1] / live / 1e3 }, elapsed},
	} {
		if cells := t.cells(line.needs, line.of, line.times); cells != nil {
			fmt.Fprintf(w, "| %s | %s |\n", line.title, strings.Join(cells, " | "))
		}
	}
}

// size is that of a kernel.
func size(name string) int {
	for _, k := range objects.Parts() {
		if k.Name == name {
			return k.Size
		}
	}
	return 0
}

// cells computes a number for each peer from medians of rows, or returns nil if a row is not there.
func (t *objectTable) cells(needs []string, of func(...float64) float64, times times) (cells []string) {
	for i := range t.Parts.Peers {
		var x []float64
		for _, name := range needs {
			at := slices.IndexFunc(t.Parts.Programs, func(r programRow) bool { return r.Name == name })
			if at < 0 {
				return nil
			}
			x = append(x, float64(times(&t.Parts.Programs[at])[i]))
		}
		if slices.Contains(x, 0) {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, fmt.Sprintf("%.2f", of(x...)))
	}
	return cells
}
