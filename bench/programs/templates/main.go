// Command templates formats values by reflection: a page by text/template, and tables by fmt.
package main

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/waot-project/waot/bench/programs/measure"
)

const page = `{{define "row"}}<tr class="{{if .Odd}}odd{{else}}even{{end}}"><td>{{.Name | html}}</td><td>{{printf "%08.3f" .Price}}</td>
{{- range $i, $t := .Tags}}{{if $i}}, {{end}}{{$t | upper}}{{end}}</tr>
{{end -}}
<h1>{{.Title}}</h1>
{{range .Groups}}<h2>{{.Name}} ({{len .Items}})</h2>
{{range .Items}}{{if and (gt .Price 10.0) (ne .Name "")}}{{template "row" .}}{{end}}{{else}}<p>none</p>{{end}}
{{- with .Total}}<b>{{. | printf "%.2f"}}</b>{{end}}
{{end}}`

type item struct {
	Name  string
	Price float64
	Odd   bool
	Tags  []string
}

type group struct {
	Name  string
	Items []item
}

// Total is called by the template.
func (g group) Total() float64 {
	t := 0.0
	for _, i := range g.Items {
		t += i.Price
	}
	return t
}

func groups() []group {
	r := measure.Random(61)
	var list []group
	for g := range 60 {
		items := make([]item, r.Below(60))
		for i := range items {
			items[i] = item{fmt.Sprintf("<item %d & %d>", g, i), float64(r.Below(1e5)) / 128, i%2 == 1, []string{"new", "cheap", "blue"}[:r.Below(4)]}
		}
		list = append(list, group{fmt.Sprintf("group %d", g), items})
	}
	return list
}

// table formats with most verbs of fmt.
func table(list []group) string {
	var b strings.Builder
	for n, g := range list {
		fmt.Fprintf(&b, "%-20s|%6d|%#x|%t|%q\n", g.Name, len(g.Items), n*7919, n%2 == 0, g.Name)
		for _, i := range g.Items {
			fmt.Fprintf(&b, "%*d %12.4e %g %v %+v\n", 5, len(i.Name), i.Price, i.Price, i.Tags, i)
		}
	}
	return b.String()
}

func work() uint64 {
	var sum measure.Sum
	t := template.Must(template.New("page").Funcs(template.FuncMap{"upper": strings.ToUpper}).Parse(page))
	list := groups()
	for range 8 {
		var b strings.Builder
		if err := t.Execute(&b, map[string]any{"Title": "Items", "Groups": list}); err != nil {
			panic(err)
		}
		sum.AddString(b.String())
		sum.AddString(table(list))
	}
	return uint64(sum)
}

func main() { measure.Program("templates", work) }
