// Command trees makes much work for the garbage collector: short-lived trees beside an ordered set that lives long.
package main

import "github.com/waot-project/waot/bench/programs/measure"

type tree struct{ left, right *tree }

func full(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{full(depth - 1), full(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

// node is of a treap: ordered by key, and a heap by priority.
type node struct {
	key, priority uint64
	value         []byte
	left, right   *node
}

func insert(n *node, key, priority uint64, value []byte) *node {
	switch {
	case n == nil:
		return &node{key: key, priority: priority, value: value}
	case key == n.key:
		n.value = value
	case key < n.key:
		n.left = insert(n.left, key, priority, value)
		if l := n.left; l.priority > n.priority {
			n.left, l.right = l.right, n
			return l
		}
	default:
		n.right = insert(n.right, key, priority, value)
		if r := n.right; r.priority > n.priority {
			n.right, r.left = r.left, n
			return r
		}
	}
	return n
}

func visit(n *node, f func(*node)) {
	if n != nil {
		visit(n.left, f)
		f(n)
		visit(n.right, f)
	}
}

func work() uint64 {
	var sum measure.Sum
	r := measure.Random(53)
	var set *node
	for i := range 150 {
		for range 800 {
			set = insert(set, r.Next()>>48, r.Next(), make([]byte, 8+r.Below(60)))
		}
		sum.Add(uint64(full(9 + i%6).count()))
	}
	visit(set, func(n *node) { sum.Add(n.key + uint64(len(n.value))) })
	return uint64(sum)
}

func main() { measure.Program("trees", work) }
