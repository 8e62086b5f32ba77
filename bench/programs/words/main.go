// Command words reads a text line by line, and counts, cleans and joins its words.
package main

import (
	"bufio"
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/waot-project/waot/bench/programs/measure"
)

// text is lines of words, some of them in other alphabets and in capitals.
func text(lines int) string {
	r := measure.Random(97)
	parts := []string{"ba", "Ke", "lo", "mu", "ri", "STA", "né", "ñu", "до", "ми", "λα", "ßen", "x"}
	var b strings.Builder
	for range lines {
		for range 3 + r.Below(9) {
			for range 1 + r.Below(3) {
				b.WriteString(parts[r.Below(len(parts))])
			}
			b.WriteString([]string{" ", " ", " ", ", ", "; ", " -- ", "\t"}[r.Below(7)])
		}
		b.WriteString(".\n")
	}
	return b.String()
}

func count(text string) map[string]int {
	counts := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		for _, w := range strings.FieldsFunc(lines.Text(), func(r rune) bool { return !unicode.IsLetter(r) }) {
			counts[strings.ToLower(w)]++
		}
	}
	return counts
}

// report lists words, most frequent first.
func report(counts map[string]int) string {
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		a, b := words[i], words[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	var b strings.Builder
	w := bufio.NewWriter(&b)
	for i, x := range words {
		fmt.Fprintf(w, "%5d %-12s %d\n", i, x, counts[x])
	}
	w.Flush()
	return b.String()
}

// clean reverses words, and changes some by strings' functions.
func clean(text string) string {
	replacer := strings.NewReplacer("--", "-", "sta", "stu", "ß", "ss", "до", "do")
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(replacer.Replace(strings.TrimRight(l, " .\t")))
		for i, w := range words {
			if strings.HasPrefix(w, "ba") || strings.Contains(w, "lo") {
				runes := []rune(w)
				for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
					runes[i], runes[j] = runes[j], runes[i]
				}
				words[i] = string(runes)
			}
		}
		out = append(out, strings.Title(strings.Join(words, " ")))
	}
	return strings.Join(out, "\n")
}

func work() uint64 {
	var sum measure.Sum
	t := text(12_000)
	sum.AddString(report(count(t)))
	t = clean(t)
	sum.AddString(t)
	sum.AddString(report(count(t)))
	return uint64(sum)
}

func main() { measure.Program("words", work) }
