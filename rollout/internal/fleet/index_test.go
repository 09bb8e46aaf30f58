package fleet

import (
	"hash/maphash"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
)

// TestIndex: over many changes an index finds what a map finds, refuses a key that another ordinal has, and leaves the indexes
// that it comes from as they were. Hashes are bad on purpose, so that keys collide.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := func(key int) uint64 { return uint64(key%5) * 0x9e3779b97f4a7c15 }
		keys := make([]int, rapid.IntRange(1, 60).Draw(t, "ordinals")) // by ordinal; negative: it has none
		has := func(keys []int, key int) func(int32) bool { return func(i int32) bool { return keys[i] == key } }
		x := newIndex(len(keys))
		for i := range keys {
			keys[i] = i
			if other := x.add(int32(i), hash(i), has(keys, i)); other != None {
				t.Fatalf("ordinal %d: key %d is taken by %d", i, i, other)
			}
		}
		check := func(x *index, keys []int, what string) {
			want := map[int]int32{}
			for i, key := range keys {
				want[key] = int32(i)
			}
			for key := range 80 {
				i, found := want[key]
				if !found {
					i = None
				}
				if got := x.find(hash(key), has(keys, key)); got != i {
					t.Fatalf("%s: key %d is found at %d: want %d", what, key, got, i)
				}
			}
		}
		check(&x, keys, "new")
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			before, keysBefore := x, slices.Clone(keys)
			slots, late := slices.Clone(before.slots), slices.Clone(before.late)
			changed := rapid.SliceOfNDistinct(rapid.IntRange(0, len(keys)-1), 0, 4, rapid.ID[int]).Draw(t, "ordinals that change")
			edited, hasRoom := before.edit(len(changed))
			for _, i := range changed {
				keys[i] = -1
			}
			if !hasRoom {
				edited = newIndex(len(keys))
				for i, key := range keys {
					if key >= 0 {
						edited.add(int32(i), hash(key), has(keys, key))
					}
				}
			}
			for _, i := range changed {
				key := rapid.IntRange(0, 79).Draw(t, "key")
				keys[i] = key // as the records are written before their keys are added
				other := edited.add(int32(i), hash(key), has(keys, key))
				want := int32(None)
				for j, k := range keys {
					if j != i && k == key {
						want = int32(j)
					}
				}
				if other != want {
					t.Fatalf("key %d of ordinal %d is taken by %d: want %d", key, i, other, want)
				}
				if other != None {
					keys[i] = -1
				}
			}
			x = edited
			check(&x, keys, "changed")
			check(&before, keysBefore, "before the change")
			if !slices.Equal(slots, before.slots) || !slices.Equal(late, before.late) {
				t.Fatal("a change wrote to the index that it was made from")
			}
		}
	})
}

// TestPointers: over many changes a table of pointers tells which objects of a list are new to it and which of its own are
// missing there, whatever the order, and knows how many it has.
func TestPointers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPointers(maphash.MakeSeed(), []*int{new(int), nil, new(int)})
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			list := slices.DeleteFunc(slices.Clone(p.objects), func(object *int) bool { return object == nil })
			going := rapid.IntRange(0, min(3, len(list))).Draw(t, "going")
			list = rapid.Permutation(list).Draw(t, "list")
			list = list[going:]
			var came []*int
			for range rapid.IntRange(0, 4).Draw(t, "coming") {
				came = append(came, new(int))
			}
			list = rapid.Permutation(append(list, came...)).Draw(t, "now")
			differs := p.compare(list)
			if len(differs.strange) != len(came) || len(differs.gone) != going || differs.twice {
				t.Fatalf("%+v: want %d strange and %d gone", differs, len(came), going)
			}
			for _, i := range differs.strange {
				if !slices.Contains(came, list[i]) {
					t.Fatalf("element %d is no stranger", i)
				}
			}
			for _, i := range differs.gone {
				if slices.Contains(list, p.objects[i]) {
					t.Fatalf("ordinal %d is not gone", i)
				}
			}
			free := differs.gone
			for i, object := range p.objects {
				if object == nil {
					free = append(free, int32(i))
				}
			}
			for n := len(p.objects); len(free) < len(came); n++ {
				free = append(free, int32(n))
			}
			before := slices.Clone(p.objects)
			next := p.with(differs.gone, free[:len(came)], came)
			if !slices.Equal(before, p.objects) {
				t.Fatal("a change wrote to the table that it was made from")
			}
			p = next
			if p.count != len(list) {
				t.Fatalf("the table has %d objects by its own count: want %d", p.count, len(list))
			}
			if differs := p.compare(append(list, nil)); len(differs.strange) != 1 || len(differs.gone) > 0 {
				t.Fatalf("its own objects and nil: %+v: want that only nil is strange", differs)
			}
			if len(list) > 0 && !p.compare(append(list, list[0])).twice {
				t.Fatal("an object is there twice: want it to be found")
			}
		}
	})
}
