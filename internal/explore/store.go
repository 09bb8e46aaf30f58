package main

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// now is the instant of every state.
var now = kit.Noon()

// store keeps objects of one kind, each once, and knows them by numbers. An object is never written to.
type store[T any] struct {
	numbers map[string]id // by their JSON
	objects []*T
	older   map[aging]id
	renamed map[renaming]id
}

// id is the number of an object in its store.
type id int16

type aging struct {
	object id
	by     time.Duration
}

type renaming struct {
	object      id
	permutation int8
}

func newStore[T any]() *store[T] {
	return &store[T]{numbers: map[string]id{}, older: map[aging]id{}, renamed: map[renaming]id{}}
}

func (s *store[T]) at(number id) *T { return s.objects[number] }

// put returns the number of the object, which belongs to the store from now on.
func (s *store[T]) put(object *T) id {
	text := encode(object)
	if number, ok := s.numbers[text]; ok {
		return number
	}
	if len(s.objects) > math.MaxInt16 {
		panic("there are more objects of a kind than numbers")
	}
	number := id(len(s.objects))
	s.numbers[text] = number
	s.objects = append(s.objects, object)
	return number
}

func encode(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("an object of a state has no JSON: %v", err))
	}
	return string(text)
}

func decode[T any](text string) *T {
	object := new(T)
	if err := json.Unmarshal([]byte(text), object); err != nil {
		panic(fmt.Sprintf("an object of a state is not read again: %v", err))
	}
	return object
}

// after returns the object as it is when so much time has passed: its times lie further back, cut off as the clock says.
func (s *store[T]) after(number id, clock *clock, by time.Duration) id {
	key := aging{number, by}
	if older, ok := s.older[key]; ok {
		return older
	}
	copied := decode[T](encode(s.at(number)))
	clock.age(reflect.ValueOf(copied).Elem(), by)
	older := s.put(copied)
	s.older[key] = older
	return older
}

// rename returns the object as it is where the nodes have each other's names.
func (s *store[T]) rename(number id, p *permutation) id {
	key := renaming{number, p.number}
	if renamed, ok := s.renamed[key]; ok {
		return renamed
	}
	renamed := s.put(decode[T](p.replacer.Replace(encode(s.at(number)))))
	s.renamed[key] = renamed
	return renamed
}

// permutation gives nodes each other's names.
type permutation struct {
	number   int8
	of       []int // the node that gets the name of node i
	replacer *strings.Replacer
}

// permutations of n nodes, the first of which changes nothing.
func permutations(n int) []*permutation {
	var all []*permutation
	var extend func(of []int)
	extend = func(of []int) {
		if len(of) == n {
			var pairs []string
			for i, j := range of {
				pairs = append(pairs, nodeName(i), nodeName(j))
			}
			p := &permutation{number: int8(len(all)), of: slices.Clone(of), replacer: strings.NewReplacer(pairs...)}
			all = append(all, p)
			return
		}
		for j := range n {
			if !slices.Contains(of, j) {
				extend(append(of, j))
			}
		}
	}
	extend(nil)
	return all
}

// nodeName is such that it is found in no other word.
func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// clock says how times get older.
type clock struct {
	// ages are those that rules ask for, ascending from 0. Another age counts as the next lower one, and beyond the last
	// nothing gets older.
	ages []time.Duration
}

func (c *clock) cut(at time.Time) time.Time {
	if at.IsZero() || at.After(now) {
		return at
	}
	age := now.Sub(at)
	i, found := slices.BinarySearch(c.ages, age)
	if !found {
		i--
	}
	return now.Add(-c.ages[max(i, 0)])
}

var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// age moves all times in a value back, those in texts as well.
func (c *clock) age(v reflect.Value, by time.Duration) {
	back := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return c.cut(at.Add(-by))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.age(v.Elem(), by)
		}
	case reflect.Struct:
		switch object := v.Addr().Interface().(type) {
		case *time.Time:
			*object = back(*object)
			return
		case *metav1.Time:
			object.Time = back(object.Time)
			return
		case *metav1.ObjectMeta:
			if ends := object.DeletionTimestamp; ends != nil && object.DeletionGracePeriodSeconds != nil {
				// What gets older is the request: its place among other instants must not depend on the grace period.
				grace := time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
				defer func() { object.DeletionTimestamp = new(metav1.NewTime(back(ends.Add(-grace)).Add(grace))) }()
				object.DeletionTimestamp = nil
			}
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				c.age(field, by)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			c.age(v.Index(i), by)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.String {
			return
		}
		for _, key := range v.MapKeys() {
			text := reflect.New(v.Type().Elem()).Elem()
			text.SetString(c.ageText(v.MapIndex(key).String(), by))
			v.SetMapIndex(key, text)
		}
	case reflect.String:
		v.SetString(c.ageText(v.String(), by))
	default: // no time is in it
	}
}

func (c *clock) ageText(text string, by time.Duration) string {
	return stamp.ReplaceAllStringFunc(text, func(found string) string {
		at, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found
		}
		return c.cut(at.Add(-by)).UTC().Format(time.RFC3339)
	})
}

// stores are those of one exploration.
type stores struct {
	nodes     *store[corev1.Node]
	pods      *store[corev1.Pod]
	revisions *store[appsv1.ControllerRevision]
	memories  *store[rollout.Memory]
	inFlights *store[rollout.InFlight]
}

func newStores() stores {
	return stores{
		newStore[corev1.Node](), newStore[corev1.Pod](), newStore[appsv1.ControllerRevision](), newStore[rollout.Memory](),
		newStore[rollout.InFlight](),
	}
}
