package verify

import "slices"

// entry is what the records of a table have in common.
type entry[O any] struct {
	object *O
	// lost: in this walk its place has another object, and it was not found anywhere else yet.
	lost bool
}

func (e *entry[O]) common() *entry[O] { return e }

// record is a pointer to a record R of an object O.
type record[O, R any] interface {
	*R
	common() *entry[O]
}

// table keeps a record of each object of one kind from snapshot to snapshot: of those of the last one, and of no others. Two
// objects with one key are two states of one thing, and have one record.
type table[K comparable, O, R any, P record[O, R]] struct {
	key   func(*O) K
	byKey map[K]P
	// objects are those of the last snapshot in its order, and records theirs, at the same places. Most often most of them are
	// where they were, so that a walk only compares pointers.
	objects []*O
	records []P
	// byObject finds objects at other places; nil until a list comes in another order.
	byObject map[*O]P

	// Of the last walk:

	changed []P // the records whose object is new or another than before
	dropped []P // those of the objects that are gone, until forget is called
	added   bool
	moved   []int // places with another object than before
	spare   []P
}

// walk goes over the objects of a snapshot. It returns false if one is nil or has no key, or if two have one key; the table is
// good for nothing then.
func (t *table[K, O, R, P]) walk(objects []*O, key func(*O) K) bool {
	t.key, t.added = key, false
	t.changed, t.moved = t.changed[:0], t.moved[:0]
	if t.byKey == nil {
		t.byKey = make(map[K]P, len(objects))
		t.addSpare(len(objects))
	}
	for i, object := range objects {
		if i >= len(t.objects) || t.objects[i] != object {
			t.moved = append(t.moved, i)
		}
	}
	t.lose(len(objects))
	for _, i := range t.moved {
		r := t.recordOf(objects[i])
		if r == nil || !r.common().lost { // its place has it, or it was met before
			return false
		}
		e := r.common()
		if e.lost = false; e.object != objects[i] {
			if t.byObject != nil {
				delete(t.byObject, e.object)
				t.byObject[objects[i]] = r
			}
			e.object = objects[i]
			t.changed = append(t.changed, r)
		}
		t.objects[i], t.records[i] = objects[i], r
	}
	t.dropped = slices.DeleteFunc(t.dropped, func(r P) bool { return !r.common().lost })
	for _, r := range t.dropped {
		delete(t.byKey, key(r.common().object))
		delete(t.byObject, r.common().object)
	}
	return true
}

// lose takes the records out of the places that have moved, and makes room for so many objects.
func (t *table[K, O, R, P]) lose(objects int) {
	const many = 16
	if t.byObject == nil && len(t.moved) > max(many, objects/4) && len(t.records) > many {
		t.byObject = make(map[*O]P, len(t.records))
		for i, r := range t.records {
			t.byObject[t.objects[i]] = r
		}
	}
	lose := func(r P) {
		r.common().lost = true
		t.dropped = append(t.dropped, r) // unless it is found
	}
	for _, i := range t.moved {
		if i < len(t.records) {
			lose(t.records[i])
		}
	}
	for i := objects; i < len(t.records); i++ {
		lose(t.records[i])
	}
	t.objects, t.records = resized(t.objects, objects), resized(t.records, objects)
}

// recordOf returns the record that the object had, or that another state of it had, or a new one; nil: it has no key.
func (t *table[K, O, R, P]) recordOf(object *O) P {
	if object == nil {
		return nil
	}
	if r := t.byObject[object]; r != nil {
		return r
	}
	key := t.key(object)
	if key == *new(K) {
		return nil
	}
	r := t.byKey[key]
	if r == nil {
		if len(t.spare) == 0 {
			t.addSpare(max(1, len(t.records)/64))
		}
		r = t.spare[len(t.spare)-1]
		t.spare = t.spare[:len(t.spare)-1]
		r.common().lost = true // until it has its place
		t.byKey[key], t.added = r, true
	}
	return r
}

func (t *table[K, O, R, P]) addSpare(count int) {
	records := make([]R, count)
	for i := range records {
		t.spare = append(t.spare, &records[count-1-i]) // the last is taken first
	}
}

// forget gives up the records of the objects that are gone.
func (t *table[K, O, R, P]) forget() {
	for _, r := range t.dropped {
		*r = *new(R)
		t.spare = append(t.spare, r)
	}
	clear(t.dropped)
	t.dropped = t.dropped[:0]
}

// resized is the list with so many elements, which the caller is to set. None is left beyond them.
func resized[E any](list []E, size int) []E {
	if size < len(list) {
		clear(list[size:])
	}
	return slices.Grow(list[:0], size)[:size]
}
