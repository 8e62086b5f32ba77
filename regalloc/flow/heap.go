package flow

// Heap holds numbers, the least of them first.
type Heap []uint64

// Push adds x.
func (h *Heap) Push(x uint64) {
	*h = append(*h, x)
	l := *h
	i := len(l) - 1
	for i > 0 && l[(i-1)/2] > x {
		l[i] = l[(i-1)/2]
		i = (i - 1) / 2
	}
	l[i] = x
}

// Pop removes the least number.
func (h *Heap) Pop() {
	n := len(*h) - 1
	x := (*h)[n]
	l := (*h)[:n]
	*h = l
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && l[c+1] < l[c] {
			c++
		}
		if l[c] >= x {
			break
		}
		l[i] = l[c]
		i = c
	}
	if n > 0 {
		l[i] = x
	}
}
