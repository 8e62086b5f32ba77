//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// envAwake names the variable with the number of the fault that is awake.
const envAwake = "WAOT_PLANTED"

// sleepers are faults that are in one tree, all at once: each is in a copy of its function, which runs instead of the function when the fault is awake.
// So a test program is built once for all of them.
type sleepers struct {
	numbers map[*fault]string
	overlay string            // for the go command
	built   map[string]string // test programs by package
}

// sleep puts faults to sleep that can: those in the body of a function whose parameters have names. The others are planted alone.
func (l *laboratory) sleep(faults []*fault) error {
	byFile := map[string][]*fault{}
	for _, f := range faults {
		byFile[f.file] = append(byFile[f.file], f)
	}
	s := sleepers{map[*fault]string{}, filepath.Join(l.dir, "asleep.json"), map[string]string{}}
	elsewhere, written := map[string]string{}, 0
	write := func(file string, text []byte) error {
		path := filepath.Join(l.dir, fmt.Sprintf("asleep%d.go", written))
		written++
		elsewhere[filepath.Join(l.root, file)] = path
		return os.WriteFile(path, text, 0o666)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		if filepath.Ext(file) != ".go" {
			continue // what Go code embeds is built with each fault
		}
		list := byFile[file]
		src, err := os.ReadFile(filepath.Join(l.root, file))
		if err != nil {
			return err
		}
		text, name, err := s.putIn(file, src, list)
		if err != nil {
			return err
		}
		watch := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar faultAwake = os.Getenv(%q)\n", name, envAwake)
		if err := cmp.Or(write(file, text), write(filepath.Join(filepath.Dir(file), "fault_awake.go"), []byte(watch))); err != nil {
			return err
		}
	}
	l.asleep = s
	return writeOverlay(s.overlay, elsewhere)
}

// putIn returns the text of a file with the faults that can sleep in it, which get numbers, and the name of its package.
func (s *sleepers) putIn(name string, src []byte, faults []*fault) (text []byte, pkg string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var copies bytes.Buffer
	from := 0
	for _, d := range file.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		body := offset(d.Body.Lbrace) + 1
		text, from = append(text, src[from:body]...), body
		for _, f := range faults {
			if f.start < body || f.end >= offset(d.End()) {
				continue
			}
			number := strconv.Itoa(len(s.numbers) + 1)
			copied := d.Name.Name + "_fault" + number
			call := callOf(d, copied)
			if call == "" {
				continue
			}
			s.numbers[f] = number
			text = fmt.Appendf(text, " if faultAwake == %q { %s }\n", number, call)
			fmt.Fprintf(&copies, "\n%s%s%s%s%s\n", src[offset(d.Pos()):offset(d.Name.Pos())], copied, src[offset(d.Name.End()):f.start], f.text, src[f.end:offset(d.End())])
		}
	}
	return append(append(text, src[from:]...), copies.Bytes()...), file.Name.Name, nil
}

// callOf returns statements that call the function with another name and the parameters of d, and return what it does. It is "" if there are none.
func callOf(d *ast.FuncDecl, name string) string {
	if d.Name.Name == "init" || d.Doc != nil && strings.Contains(commentsOf(d.Doc), "//go:") {
		return ""
	}
	if d.Recv != nil {
		of := d.Recv.List[0]
		if len(of.Names) == 0 || of.Names[0].Name == "_" {
			return ""
		}
		name = of.Names[0].Name + "." + name
	}
	if d.Type.TypeParams != nil {
		types, _ := namesOf(d.Type.TypeParams)
		name += "[" + strings.Join(types, ", ") + "]"
	}
	args, ok := namesOf(d.Type.Params)
	if !ok {
		return ""
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if d.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

// namesOf returns the names of fields as arguments, and whether all have one.
func namesOf(fields *ast.FieldList) (names []string, ok bool) {
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			return nil, false
		}
		for _, n := range f.Names {
			name := n.Name
			if name == "_" {
				return nil, false
			}
			if _, variadic := f.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			names = append(names, name)
		}
	}
	return names, true
}

// commentsOf returns the text of comments with their marks.
func commentsOf(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// wake runs tests with the sleeping fault of that number awake, as try does with one that is planted.
func (l *laboratory) wake(ctx context.Context, number string, r run) (verdict, error) {
	binary := l.asleep.built[r.pkg]
	if binary == "" {
		binary = filepath.Join(l.dir, fmt.Sprintf("asleep%d.test", len(l.asleep.built)))
		if out, err := l.build(ctx, binary, r, l.asleep.overlay); err != nil {
			return verdict{}, fmt.Errorf("%v with all faults asleep: %w\n%s", r, err, out)
		}
		l.asleep.built[r.pkg] = binary
	}
	if _, ok := l.without[r]; !ok {
		if err := l.sound(ctx, binary, r, l.asleep.overlay); err != nil {
			return verdict{}, err
		}
	}
	out, _, err := l.test(ctx, binary, r, l.asleep.overlay, number, l.limits(r))
	return judge(ctx, out, err)
}
