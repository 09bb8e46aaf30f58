package canary

// heap is a binary heap with the least element first. With it a few of many candidates are chosen without sorting all.
type heap[T any] struct {
	items []T
	less  func(a, b *T) bool
}

// init puts items into heap order.
func (h *heap[T]) init() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// first is the least element, nil if there is none. After changing it, call fix.
func (h *heap[T]) first() *T {
	if len(h.items) == 0 {
		return nil
	}
	return &h.items[0]
}

// fix restores the order after the first element was changed.
func (h *heap[T]) fix() { h.down(0) }

// pop removes the first element.
func (h *heap[T]) pop() {
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.down(0)
}

// down moves the element at i below all elements that are less.
func (h *heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if right := child + 1; right < len(h.items) && h.less(&h.items[right], &h.items[child]) {
			child = right
		}
		if !h.less(&h.items[child], &h.items[i]) {
			return
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
}
