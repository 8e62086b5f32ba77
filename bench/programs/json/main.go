// Command json encodes and decodes orders by reflection and as values of any type.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/waot-project/waot/bench/programs/measure"
)

type order struct {
	ID       int               `json:"id"`
	Customer customer          `json:"customer"`
	Lines    []line            `json:"lines"`
	Notes    map[string]string `json:"notes,omitempty"`
	Paid     bool              `json:"paid"`
}

type customer struct {
	Name    string  `json:"name"`
	Email   *string `json:"email"`
	Balance float64 `json:"balance"`
}

type line struct {
	Article  string  `json:"article"`
	Quantity uint16  `json:"quantity"`
	Price    float64 `json:"price"`
}

func orders(n int) []order {
	r := measure.Random(11)
	list := make([]order, n)
	for i := range list {
		o := &list[i]
		*o = order{ID: i, Paid: r.Below(2) == 0, Notes: map[string]string{}}
		o.Customer = customer{Name: fmt.Sprintf("Zoë \"%d\" <Miller>", r.Below(500)), Balance: float64(r.Below(1e6)) / 64}
		if r.Below(3) > 0 {
			mail := fmt.Sprintf("c%d@example.org", r.Below(500))
			o.Customer.Email = &mail
		}
		for range 1 + r.Below(6) {
			o.Lines = append(o.Lines, line{fmt.Sprintf("article-%05x", r.Below(1<<20)), uint16(r.Below(50)), float64(r.Below(1e5)) / 100})
		}
		for range r.Below(3) {
			o.Notes[fmt.Sprintf("note%d", r.Below(9))] = "deliver\tto the back door\n"
		}
	}
	return list
}

// walk adds all of a decoded value to the sum.
func walk(sum *measure.Sum, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			sum.AddString(k)
			walk(sum, v[k])
		}
	case []any:
		for _, e := range v {
			walk(sum, e)
		}
	case string:
		sum.AddString(v)
	case float64:
		sum.Add(uint64(int64(v * 64)))
	case bool:
		sum.AddString(fmt.Sprint(v))
	case nil:
		sum.Add(0)
	}
}

func work() uint64 {
	var sum measure.Sum
	list := orders(1500)
	for range 4 {
		b, err := json.Marshal(list)
		if err != nil {
			panic(err)
		}
		sum.AddString(string(b))
		list = nil
		if err := json.Unmarshal(b, &list); err != nil {
			panic(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, b, "", "  "); err != nil {
			panic(err)
		}
		var all any
		if err := json.Unmarshal(indented.Bytes(), &all); err != nil {
			panic(err)
		}
		walk(&sum, all)
	}
	return uint64(sum)
}

func main() { measure.Program("json", work) }
