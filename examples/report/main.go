// Command report analyses text and prints a report: words, sentences, a
// frequency table, JSON records that survive a round trip, checksums and
// compression. Without arguments it analyses text that it makes up, so that its
// output is always the same; arguments are files to analyse instead.
//
// It is an ordinary Go program. Built with GOOS=wasip1 GOARCH=wasm it is a WASI
// program of some 2,000 functions, and a test of everything that a compiler
// has to get right: goroutines, maps, closures, garbage collection, floats.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
)

// vocabulary is what made-up text consists of.
var vocabulary = strings.Fields(`a the of and register value block compiler machine code moves
memory trap table stack frame loop branch label island veneer every no each some fast small correct
proves checks lowers allocates emits spills splits colours folds links loads runs reads writes
32 64 0x7f 3.14 2.718 1e6 function module operand instruction constant address`)

// random is a small linear congruential generator.
type random uint64

func (r *random) next(n int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r) >> 33 % uint64(n))
}

// makeText makes up n sentences.
func makeText(n int) string {
	r := random(42)
	var b strings.Builder
	for i := range n {
		words := 4 + r.next(12)
		for w := range words {
			word := vocabulary[r.next(len(vocabulary))]
			if w == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
		b.WriteString([]string{". ", "! ", "? ", ";\n"}[r.next(4)])
		if i%7 == 6 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// Report is what one text gives; it is also a JSON record.
type Report struct {
	Name      string         `json:"name"`
	Bytes     int            `json:"bytes"`
	Words     int            `json:"words"`
	Distinct  int            `json:"distinct"`
	Sentences int            `json:"sentences"`
	Numbers   []float64      `json:"numbers,omitempty"`
	Top       []Count        `json:"top"`
	Lengths   map[string]int `json:"lengths"`
	Mean      float64        `json:"mean"`
	Deviation float64        `json:"deviation"`
	SHA256    string         `json:"sha256"`
	CRC32     uint32         `json:"crc32"`
	Deflated  int            `json:"deflated"`
}

// Count is a word and how often it occurs.
type Count struct {
	Word string `json:"word"`
	N    int    `json:"n"`
}

var (
	wordPattern     = regexp.MustCompile(`[A-Za-z]+`)
	numberPattern   = regexp.MustCompile(`\b\d+(?:\.\d+)?(?:e\d+)?\b`)
	sentencePattern = regexp.MustCompile(`[.!?;](?:\s|$)`)
)

// analyse makes the report of a text.
func analyse(name, text string) (*Report, error) {
	r := &Report{Name: name, Bytes: len(text), Lengths: map[string]int{}}
	freq := map[string]int{}
	var sum, squares float64
	for _, w := range wordPattern.FindAllString(text, -1) {
		w = strings.ToLower(w)
		freq[w]++
		r.Words++
		r.Lengths[fmt.Sprintf("%02d", len(w))]++
		sum += float64(len(w))
		squares += float64(len(w)) * float64(len(w))
	}
	if r.Words > 0 {
		r.Mean = sum / float64(r.Words)
		r.Deviation = math.Sqrt(squares/float64(r.Words) - r.Mean*r.Mean)
	}
	seen := map[string]bool{}
	for _, s := range numberPattern.FindAllString(text, -1) {
		var x float64
		if _, err := fmt.Sscan(s, &x); err == nil && !seen[s] {
			seen[s] = true
			r.Numbers = append(r.Numbers, x)
		}
	}
	sort.Float64s(r.Numbers)
	r.Sentences = len(sentencePattern.FindAllStringIndex(text, -1))
	r.Distinct = len(freq)
	for w, n := range freq {
		r.Top = append(r.Top, Count{w, n})
	}
	sort.Slice(r.Top, func(i, j int) bool {
		if r.Top[i].N != r.Top[j].N {
			return r.Top[i].N > r.Top[j].N
		}
		return r.Top[i].Word < r.Top[j].Word
	})
	r.Top = r.Top[:min(8, len(r.Top))]
	h := sha256.Sum256([]byte(text))
	r.SHA256, r.CRC32 = hex.EncodeToString(h[:]), crc32.ChecksumIEEE([]byte(text))
	var err error
	r.Deflated, err = deflate(text)
	return r, err
}

// deflate compresses a text, checks that it comes back, and gives the compressed size.
func deflate(text string) (int, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	n := b.Len()
	back, err := io.ReadAll(flate.NewReader(&b))
	if err == nil && string(back) != text {
		err = errors.New("what was compressed differs from what came back")
	}
	return n, err
}

// print writes a report after a round trip through JSON.
func (r *Report) print(out io.Writer) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil {
		return err
	}
	fmt.Fprintf(out, "== %s ==\n", back.Name)
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "bytes\t%d\tdeflated\t%d (%.1f %%)\n", back.Bytes, back.Deflated,
		100*float64(back.Deflated)/math.Max(1, float64(back.Bytes)))
	fmt.Fprintf(tw, "words\t%d\tdistinct\t%d\n", back.Words, back.Distinct)
	fmt.Fprintf(tw, "sentences\t%d\tnumbers\t%v\n", back.Sentences, back.Numbers)
	fmt.Fprintf(tw, "word length\t%.3f\tdeviation\t%.3f\n", back.Mean, back.Deviation)
	fmt.Fprintf(tw, "crc32\t%08x\tjson\t%d bytes\n", back.CRC32, len(b))
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "sha256 %s\n", back.SHA256)
	for _, c := range back.Top {
		bar := strings.Repeat("#", c.N*40/back.Top[0].N)
		fmt.Fprintf(out, "%12s %6d %s\n", c.Word, c.N, bar)
	}
	return nil
}

// inputs reads the files named, or makes up three texts.
func inputs(names []string) (map[string]string, []string, error) {
	texts := map[string]string{}
	if len(names) == 0 {
		for _, n := range []int{10, 400, 4000} {
			name := fmt.Sprintf("%d sentences", n)
			texts[name], names = makeText(n), append(names, name)
		}
		return texts, names, nil
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		texts[name] = string(b)
	}
	return texts, names, nil
}

func run(args []string, out io.Writer) error {
	texts, names, err := inputs(args)
	if err != nil {
		return err
	}
	reports, errs := make([]*Report, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Add(1)
		go func() {
			defer wg.Done()
			reports[i], errs[i] = analyse(name, texts[name])
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, r := range reports {
		if err := r.print(out); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}
