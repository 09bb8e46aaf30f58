package harness

import (
	"fmt"
	"reflect"
)

// Deep copies whose slices have room behind their end, filled with sentinels. An append to such a slice that was not
// cut off first writes to the sentinels, where comparing sees it; with the usual copies it would write to memory
// that nobody looks at.

// spare is the room behind the end of each slice.
const spare = 2

// roomy returns a deep copy with spare room.
func roomy[T any](v T) T {
	to := reflect.New(reflect.TypeFor[T]()).Elem()
	copyInto(to, reflect.ValueOf(&v).Elem())
	return to.Interface().(T) //nolint:errcheck // it was made as a T
}

func copyInto(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyInto(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(roomySlice(from))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for it := from.MapRange(); it.Next(); {
			value := reflect.New(from.Type().Elem()).Elem()
			copyInto(value, it.Value())
			to.SetMapIndex(it.Key(), value)
		}
	case reflect.Struct:
		if opaque(from.Type()) {
			to.Set(from)
			return
		}
		for i := range from.NumField() {
			copyInto(to.Field(i), from.Field(i))
		}
	default:
		to.Set(from)
	}
}

func roomySlice(from reflect.Value) reflect.Value {
	n := from.Len()
	to := reflect.MakeSlice(from.Type(), n+spare, n+spare)
	for i := range n {
		copyInto(to.Index(i), from.Index(i))
	}
	for i := n; i < n+spare; i++ {
		scribble(to.Index(i))
	}
	return to.Slice(0, n)
}

// opaque reports whether a struct keeps its insides to itself, as time.Time and resource.Quantity do. It is copied
// and compared as a whole.
func opaque(t reflect.Type) bool {
	for field := range t.Fields() {
		if !field.IsExported() {
			return true
		}
	}
	return false
}

// difference returns the path at which two roomy copies differ first, spare room included; empty if nowhere.
func difference(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return differs(a.IsNil() != b.IsNil())
		}
		return difference(a.Elem(), b.Elem())
	case reflect.Slice:
		return sliceDifference(a, b)
	case reflect.Map:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return " (number of entries)"
		}
		for it := a.MapRange(); it.Next(); {
			other := b.MapIndex(it.Key())
			if !other.IsValid() {
				return fmt.Sprintf("[%v] (is new or gone)", it.Key())
			}
			if path := difference(it.Value(), other); path != "" {
				return fmt.Sprintf("[%v]%s", it.Key(), path)
			}
		}
		return ""
	case reflect.Struct:
		if opaque(a.Type()) {
			return differs(!reflect.DeepEqual(a.Interface(), b.Interface()))
		}
		for i := range a.NumField() {
			if path := difference(a.Field(i), b.Field(i)); path != "" {
				return "." + a.Type().Field(i).Name + path
			}
		}
		return ""
	default:
		return differs(!reflect.DeepEqual(a.Interface(), b.Interface()))
	}
}

func sliceDifference(a, b reflect.Value) string {
	if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
		return " (length)"
	}
	if a.Cap() != b.Cap() {
		return " (capacity)"
	}
	n := a.Len()
	a, b = a.Slice(0, a.Cap()), b.Slice(0, b.Cap())
	for i := range a.Len() {
		if path := difference(a.Index(i), b.Index(i)); path != "" {
			if i >= n {
				path += " (behind the end)"
			}
			return fmt.Sprintf("[%d]%s", i, path)
		}
	}
	return ""
}

func differs(yes bool) string {
	if yes {
		return " (value)"
	}
	return ""
}

// scribble overwrites everything that can be reached from v, spare room included, so that whoever kept a reference
// to it notices.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		v = v.Slice(0, v.Cap())
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			copyInto(value, v.MapIndex(key))
			scribble(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if opaque(v.Type()) {
			v.SetZero()
			return
		}
		for _, field := range v.Fields() {
			scribble(field)
		}
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(^v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(^v.Uint() & 0xff)
	default: // snapshots and plans have nothing else that can be written
	}
}
