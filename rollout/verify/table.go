package verify

// entry is what the records of a table have in common.
type entry[O any] struct {
	object *O
	at     int  // its place in the list of the last snapshot that has it
	walk   int  // the walk in which it was last met
	known  bool // what the object says has been read
}

func (e *entry[O]) common() *entry[O] { return e }

// record is a pointer to a record R of an object O.
type record[O, R any] interface {
	*R
	common() *entry[O]
}

// table keeps a record of each object of one kind from snapshot to snapshot: of those of the last one, and of no others. Two
// objects with one key are two states of one thing, and have one record. A snapshot is walked between begin and end.
type table[K comparable, O, R any, P record[O, R]] struct {
	key    func(*O) K
	byKey  map[K]P
	listed []P // in the order of the snapshot
	// before are those of the snapshot before, and next the place there where the next object is looked for: most often
	// nothing has changed. Only if it is not there it is looked for in byObject, which is nil until then.
	before   []P
	next     int
	byObject map[*O]P
	walk     int
	regroups bool // a record was added or dropped in the last walk
	spare    []P  // records of objects that are gone
}

// begin starts the walk over a snapshot with so many objects.
func (t *table[K, O, R, P]) begin(objects int, key func(*O) K) {
	if t.byKey == nil {
		t.byKey = make(map[K]P, objects)
		t.listed, t.before = make([]P, 0, objects), make([]P, 0, objects)
		t.addSpare(objects)
	}
	t.key, t.regroups, t.next = key, false, 0
	t.listed, t.before = t.before[:0], t.listed
	t.walk++
}

// enter returns the record of the next object of the snapshot; nil: it has no key, or another one with its key came before it.
func (t *table[K, O, R, P]) enter(object *O) P {
	r := t.find(object)
	if r == nil {
		r = t.recordFor(object)
	}
	if r == nil || r.common().walk == t.walk {
		return nil
	}
	e := r.common()
	if e.object != object {
		if t.byObject != nil {
			delete(t.byObject, e.object)
			t.byObject[object] = r
		}
		e.object, e.known = object, false
	}
	t.next = e.at + 1
	e.at, e.walk = len(t.listed), t.walk
	t.listed = append(t.listed, r)
	return r
}

// find returns the record of an object that the snapshot before had, too; nil: it had not.
func (t *table[K, O, R, P]) find(object *O) P {
	if t.next < len(t.before) {
		if r := t.before[t.next]; r.common().object == object {
			return r
		}
	}
	if t.byObject == nil && len(t.before) > 0 {
		t.byObject = make(map[*O]P, len(t.before))
		for _, r := range t.before {
			t.byObject[r.common().object] = r
		}
	}
	return t.byObject[object]
}

// recordFor returns the record of an object that the snapshot before had in another state, or a new one; nil: it has no key.
func (t *table[K, O, R, P]) recordFor(object *O) P {
	key := t.key(object)
	if key == *new(K) {
		return nil
	}
	if r := t.byKey[key]; r != nil {
		return r
	}
	if len(t.spare) == 0 {
		t.addSpare(max(1, len(t.before)/64))
	}
	r := t.spare[len(t.spare)-1]
	t.spare = t.spare[:len(t.spare)-1]
	r.common().at = t.next - 1 // what comes after it came after the one before it
	t.byKey[key] = r
	t.regroups = true
	return r
}

func (t *table[K, O, R, P]) addSpare(count int) {
	records := make([]R, count)
	for i := range records {
		t.spare = append(t.spare, &records[count-1-i]) // the last is taken first
	}
}

// end drops the records of the objects that the snapshot does not have.
func (t *table[K, O, R, P]) end() {
	if len(t.listed) == len(t.byKey) {
		return
	}
	for _, r := range t.before {
		e := r.common()
		if e.walk == t.walk {
			continue
		}
		delete(t.byKey, t.key(e.object))
		delete(t.byObject, e.object)
		*r = *new(R)
		t.spare = append(t.spare, r)
		t.regroups = true
	}
}
