// Command cache simulates servers behind a cache: a queue of events by time in a heap, a list of entries by last use, goroutines and channels.
package main

import (
	"container/heap"
	"container/list"
	"fmt"

	"github.com/waot-project/waot/bench/programs/measure"
)

// lru keeps the entries that were used last.
type lru struct {
	size    int
	entries map[string]*list.Element
	order   *list.List // of *entry; last used first
}

type entry struct {
	key   string
	value uint64
}

func (c *lru) get(key string) (uint64, bool) {
	e, ok := c.entries[key]
	if !ok {
		return 0, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).value, true
}

func (c *lru) put(key string, value uint64) {
	if len(c.entries) >= c.size {
		last := c.order.Back()
		delete(c.entries, c.order.Remove(last).(*entry).key)
	}
	c.entries[key] = c.order.PushFront(&entry{key, value})
}

// event is something that happens at a time.
type event interface {
	time() uint64
	happen(*world)
}

type events []event

func (q events) Len() int           { return len(q) }
func (q events) Less(i, j int) bool { return q[i].time() < q[j].time() }
func (q events) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)        { *q = append(*q, e.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

type world struct {
	events events
	cache  lru
	random measure.Random
	busy   [4]int
	log    chan<- uint64
}

// request is a client's, which comes again.
type request struct {
	at     uint64
	client int
}

func (r *request) time() uint64 { return r.at }
func (r *request) happen(w *world) {
	key := fmt.Sprintf("page/%d", w.random.Below(1+w.random.Below(9000)))
	if v, ok := w.cache.get(key); ok {
		w.log <- v
	} else {
		server := r.client % len(w.busy)
		w.busy[server]++
		heap.Push(&w.events, &answer{r.at + uint64(40*w.busy[server]+w.random.Below(100)), server, key})
	}
	r.at += 10 + uint64(w.random.Below(300))
	heap.Push(&w.events, r)
}

// answer is a server's.
type answer struct {
	at     uint64
	server int
	key    string
}

func (a *answer) time() uint64 { return a.at }
func (a *answer) happen(w *world) {
	w.busy[a.server]--
	if _, ok := w.cache.get(a.key); !ok {
		w.cache.put(a.key, a.at)
	}
	w.log <- a.at ^ uint64(a.server)
}

func work() uint64 {
	log, total := make(chan uint64, 64), make(chan uint64)
	go func() {
		var sum measure.Sum
		for x := range log {
			sum.Add(x)
		}
		total <- uint64(sum)
	}()
	w := &world{cache: lru{3000, map[string]*list.Element{}, list.New()}, random: 101, log: log}
	for i := range 400 {
		heap.Push(&w.events, &request{uint64(i), i})
	}
	for range 150_000 {
		heap.Pop(&w.events).(event).happen(w)
	}
	close(log)
	return <-total
}

func main() { measure.Program("cache", work) }
