// Command regexp searches a log of requests, takes its lines apart and rewrites them with regular expressions.
package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/waot-project/waot/bench/programs/measure"
)

func log(n int) string {
	r := measure.Random(31)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "10.%d.%d.%d - user%d [%02d/Nov/2026:%02d:%02d:%02d] \"%s /%s/%d?q=%x HTTP/1.%d\" %d %d\n",
			r.Below(256), r.Below(256), r.Below(256), r.Below(40), 1+i%28, r.Below(24), r.Below(60), r.Below(60),
			[]string{"GET", "POST", "PUT", "DELETE"}[r.Below(4)], []string{"shop", "images", "admin", "api/v2"}[r.Below(4)],
			r.Below(1000), r.Below(1<<20), r.Below(2), []int{200, 200, 200, 304, 404, 500}[r.Below(6)], r.Below(100_000))
	}
	return b.String()
}

func work() uint64 {
	var sum measure.Sum
	text := log(4000)
	fields := regexp.MustCompile(`(?m)^(\d+\.\d+\.\d+\.\d+) - (\w+) \[([^\]]+)\] "(GET|POST|PUT|DELETE) (\S+) HTTP/(1\.[01])" (\d{3}) (\d+)$`)
	for _, m := range fields.FindAllStringSubmatch(text, -1) {
		for _, f := range m[1:] {
			sum.AddString(f)
		}
	}
	failed := regexp.MustCompile(`(?i)(admin|API/v[0-9]+)/[0-9]*7[0-9]*\?q=([0-9a-f]{4,5}) .*" (404|5..)`)
	for _, at := range failed.FindAllStringSubmatchIndex(text, -1) {
		sum.Add(uint64(at[0] + at[5]))
	}
	hidden := regexp.MustCompile(`user(\d)(\d*)`).ReplaceAllString(text, "person-$2$1")
	sum.AddString(hidden)
	words := regexp.MustCompile(`[a-z]+`)
	upper := words.ReplaceAllStringFunc(hidden[:len(hidden)/2], strings.ToUpper)
	sum.AddString(upper)
	sum.Add(uint64(len(regexp.MustCompile(`\s+|[/?"]`).Split(text, -1))))
	return uint64(sum)
}

func main() { measure.Program("regexp", work) }
