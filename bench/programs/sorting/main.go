// Command sorting sorts records by several keys, groups them in maps and looks them up.
package main

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/waot-project/waot/bench/programs/measure"
)

type person struct {
	name, town string
	age        int
	income     float64
}

// byTown is for package sort, which calls it through an interface.
type byTown []*person

func (l byTown) Len() int      { return len(l) }
func (l byTown) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l byTown) Less(i, j int) bool {
	if l[i].town != l[j].town {
		return l[i].town < l[j].town
	}
	return l[i].age > l[j].age
}

func people(n int) []*person {
	r := measure.Random(23)
	list := make([]*person, n)
	for i := range list {
		list[i] = &person{
			name: "name" + strconv.FormatUint(r.Next()>>44, 36), town: "town" + strconv.Itoa(r.Below(300)),
			age: r.Below(90), income: float64(r.Below(1e7)) / 100,
		}
	}
	return list
}

// totals groups by town and age, and returns the sum of incomes in cents in the order of keys.
func totals(list []*person) []int64 {
	type key struct {
		town string
		age  int
	}
	groups := map[key]int64{}
	for _, p := range list {
		groups[key{p.town, p.age}] += int64(p.income * 100)
	}
	keys := make([]key, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.town, b.town), cmp.Compare(a.age, b.age))
	})
	var sums []int64
	for _, k := range keys {
		sums = append(sums, groups[k])
	}
	return sums
}

// duplicates counts the names that several people have.
func duplicates(list []*person) int {
	seen := map[string]int{}
	for _, p := range list {
		seen[p.name]++
	}
	n := 0
	for _, c := range seen {
		if c > 1 {
			n++
		}
	}
	return n
}

// found counts the incomes that binary search finds again.
func found(list []*person) (n int) {
	incomes := make([]float64, len(list))
	for i, p := range list {
		incomes[i] = p.income
	}
	sort.Float64s(incomes)
	for _, p := range list {
		if i := sort.SearchFloat64s(incomes, p.income); incomes[i] == p.income {
			n += i
		}
	}
	return n
}

func work() uint64 {
	var sum measure.Sum
	list := people(40_000)
	sort.Stable(byTown(list))
	for _, p := range list {
		sum.AddString(p.name)
	}
	slices.SortFunc(list, func(a, b *person) int {
		return cmp.Or(cmp.Compare(a.income, b.income), strings.Compare(a.name, b.name))
	})
	for _, p := range list {
		sum.Add(uint64(p.age))
	}
	for _, t := range totals(list) {
		sum.Add(uint64(t))
	}
	sum.Add(uint64(duplicates(list)))
	sum.Add(uint64(found(list)))
	return uint64(sum)
}

func main() { measure.Program("sorting", work) }
