package rollout

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout/failure"
)

// newBackoffs takes over the entries of the memory that have not expired. Of two entries of one key, which only a damaged memory
// has, the one that waits longer counts.
func newBackoffs(memory Memory, now time.Time) backoffs {
	b := backoffs{now: now}
	for _, entry := range memory.Backoffs {
		if entry.Since.After(now) {
			// A clock was set back. Obeying the entry could block a node for years, and forgetting it could delete failed pods
			// without end.
			entry.Since = now
		}
		if entry.expired(now) {
			continue
		}
		key := backoffKey{entry.Node, entry.Revision}
		if old, ok := b.entries[key]; !ok || longer(entry, old) {
			set(&b.entries, key, entry)
		}
	}
	return b
}

func longer(a, b Backoff) bool {
	return cmp.Or(a.until().Compare(b.until()), cmp.Compare(a.Delay, b.Delay)) > 0
}

func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// due reports whether failed pods may be deleted now, and if not, when.
func (b *backoffs) due(key backoffKey) (bool, time.Time) {
	entry, ok := b.entries[key]
	if !ok || !b.now.Before(entry.until()) {
		return true, time.Time{}
	}
	return false, entry.until()
}

// deleted records that this plan deletes a failed pod of that key. Several of them count once.
func (b *backoffs) deleted(key backoffKey) {
	if _, known := b.changed[key]; known {
		return
	}
	entry := b.entries[key]
	entry.Node, entry.Revision = key.node, key.revision
	set(&b.changed, key, entry.next(b.now))
}

// follow records that a pod, which has been unavailable since then, is one of those that this plan deletes of that key (F1).
func (b *backoffs) follow(key backoffKey, pod types.UID, since time.Time) {
	entry := b.changed[key]
	if entry.First.IsZero() || since.Before(entry.First) {
		entry.First = since
	}
	if at, there := slices.BinarySearch(entry.Going, pod); !there {
		entry.Going = slices.Insert(slices.Clip(entry.Going), at, pod)
	}
	b.changed[key] = entry
}

// isGoing reports whether the pod is known to be one that an earlier plan deletes of that key.
func (b *backoffs) isGoing(key backoffKey, pod types.UID) bool {
	_, known := slices.BinarySearch(b.entries[key].Going, pod)
	return known
}

// countGone counts the deletions that were asked for and have taken place (F1). Those of one node that are seen together count
// once.
func (b *backoffs) countGone(isThere func(pod types.UID) bool) {
	for key, entry := range b.entries {
		var there []types.UID
		for _, pod := range entry.Going {
			if isThere(pod) {
				there = append(there, pod)
			}
		}
		if len(there) == len(entry.Going) {
			continue
		}
		entry.Deleted, entry.Going = min(entry.Deleted, math.MaxInt32-1)+1, there
		b.entries[key] = entry
	}
}

// beginAnew forgets what earlier rollouts of the revision say of failures (F1). How long failed pods have to wait stays.
func (b *backoffs) beginAnew(revision string) {
	for key := range b.entries {
		if key.revision == revision {
			b.endSeries(key)
		}
	}
}

// hasSeries reports whether failed pods of that key make a series (F1).
func (b *backoffs) hasSeries(key backoffKey) bool {
	entry := b.entries[key]
	return !entry.First.IsZero() || entry.Deleted > 0 || len(entry.Going) > 0
}

// endSeries forgets the series of that key (F1). How long failed pods have to wait stays.
func (b *backoffs) endSeries(key backoffKey) {
	entry := b.entries[key]
	entry.First, entry.Deleted, entry.Going = time.Time{}, 0, nil
	b.entries[key] = entry
}

// knows reports whether failed pods of the revision were deleted on the node a short time ago.
func (b *backoffs) knows(node, revision string) bool {
	_, known := b.entries[backoffKey{node, revision}]
	return known
}

// series returns what is remembered of failed pods of the revision on the node.
func (b *backoffs) series(node, revision string) failure.Series {
	entry := b.entries[backoffKey{node, revision}]
	return failure.Series{First: entry.First, Deleted: entry.Deleted}
}

// forgotten returns when the first series of failed pods of the revision is forgotten, on a node or with "" on any; zero: there
// is none.
func (b *backoffs) forgotten(node, revision string) time.Time {
	var first time.Time
	for key, entry := range b.entries {
		if key.revision == revision && (node == "" || key.node == node) {
			first = earlier(first, entry.Since.Add(backoffForget+1))
		}
	}
	return first
}

// memory lists the entries of nodes that still exist, in the order of Memory.Backoffs.
func (b *backoffs) memory(exists func(node string) bool) []Backoff {
	entries := maps.Clone(b.entries)
	for key, entry := range b.changed {
		set(&entries, key, entry)
	}
	keys := slices.SortedFunc(maps.Keys(entries), func(x, y backoffKey) int {
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.revision, y.revision))
	})
	var list []Backoff
	for _, key := range keys {
		if exists(key.node) {
			entry := entries[key]
			entry.Going = slices.Clone(entry.Going) // the snapshot's memory is the caller's
			list = append(list, entry)
		}
	}
	return list
}

// The back-off of failed pods (M2).
const (
	backoffInitial = time.Second
	backoffMax     = 15 * time.Minute
	backoffForget  = 2 * backoffMax
)

// until returns when the next deletion is due. A delay beyond backoffMax, as only a damaged memory has, counts as backoffMax.
func (b Backoff) until() time.Time {
	return b.Since.Add(min(max(b.Delay, 0), backoffMax))
}

// expired reports whether the entry may be forgotten.
func (b Backoff) expired(now time.Time) bool {
	return now.Sub(b.Since) > backoffForget
}

// next returns the entry after another deletion at now: the delay doubles, up to backoffMax.
func (b Backoff) next(now time.Time) Backoff {
	delay := backoffInitial
	if b.Delay > 0 {
		delay = min(2*min(b.Delay, backoffMax), backoffMax)
	}
	next := b
	next.Delay, next.Since = delay, now
	return next
}
