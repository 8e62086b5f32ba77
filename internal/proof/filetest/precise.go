package filetest

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/text"
)

// isExpected reports whether a line is part of an expected text: a comment
// that is neither a directive nor, with two semicolons, for people.
func isExpected(line string) bool {
	return strings.HasPrefix(line, ";") && !strings.HasPrefix(line, ";;") && !isDirective(line)
}

// precise compares a command's output for each function with the comment
// below the function, or writes it there.
func (j *job) precise(t test, command Command) {
	file := j.parse()
	var out []string
	done, changed := 0, false
	for i := range file.Funcs {
		f := &file.Funcs[i]
		got, err := command(file, f.Func, t.options)
		if err != nil {
			j.fail(f.Line, "%s: %v", t.name, err)
			continue
		}
		end := f.End
		for end < len(j.lines) && isExpected(j.lines[end]) {
			end++
		}
		lines := commented(got)
		diff := Diff(j.lines[f.End:end], lines)
		if diff != "" && !j.Update {
			j.fail(f.Line, "%s of %q is different (+):\n%s", t.name, f.Name, diff)
		}
		changed = changed || diff != ""
		out = append(append(out, j.lines[done:f.End]...), lines...)
		done = end
	}
	if j.Update && changed {
		out = append(out, j.lines[done:]...)
		j.Updated = []byte(strings.Join(out, "\n"))
	}
}

// commented is text as lines of comments.
func commented(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("; "+line, " \t")
	}
	return lines
}

// Diff compares lines: those only in a with a minus, those only in b with a
// plus, around them up to three that are in both. It is empty if a equals b.
func Diff(a, b []string) string {
	// The longest common subsequence of the parts that differ.
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	if pre == len(a) && pre == len(b) {
		return ""
	}
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= pre; i-- {
		for k := len(b) - 1; k >= pre; k-- {
			if a[i] == b[k] {
				n[i][k] = n[i+1][k+1] + 1
			} else {
				n[i][k] = max(n[i+1][k], n[i][k+1])
			}
		}
	}
	var lines []string
	for _, s := range a[:pre] {
		lines = append(lines, "  "+s)
	}
	for i, k := pre, pre; i < len(a) || k < len(b); {
		switch {
		case i < len(a) && k < len(b) && a[i] == b[k]:
			lines = append(lines, "  "+a[i])
			i, k = i+1, k+1
		case k == len(b) || i < len(a) && n[i+1][k] >= n[i][k+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[k])
			k++
		}
	}
	return context(lines)
}

// context keeps the lines that are at most three from a change.
func context(lines []string) string {
	const around = 3
	keep := make([]bool, len(lines))
	for i, s := range lines {
		if s[0] == ' ' {
			continue
		}
		for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
			keep[k] = true
		}
	}
	var b strings.Builder
	for i, s := range lines {
		switch {
		case keep[i]:
			b.WriteString(s + "\n")
		case i > 0 && keep[i-1]:
			b.WriteString("  ...\n")
		}
	}
	return b.String()
}

// domtree lists the blocks in reverse postorder with their immediate
// dominators and loops.
func domtree(_ *text.File, f *clif.Func, _ []string) (string, error) {
	var cfg analysis.CFG
	var dom analysis.DomTree
	var loops analysis.Loops
	cfg.Compute(f)
	dom.Compute(&cfg)
	loops.Compute(f, &cfg)
	var b strings.Builder
	for _, blk := range cfg.Order() {
		b.WriteString(blk.String())
		if idom := dom.Idom(blk); idom != clif.NoBlock {
			fmt.Fprintf(&b, ": idom %v", idom)
		}
		for h := loops.Innermost(blk); h != clif.NoBlock; h = loops.Around(h) {
			fmt.Fprintf(&b, ", loop %v", h)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
