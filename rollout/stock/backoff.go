package stock

import (
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// backoffMax is the longest back-off of failed pods, as all controllers set it.
const backoffMax = 15 * time.Minute

// backoffs slow down the deletion of failed pods: one for each node, and anew with each generation of the set, or with each
// replica set of an ExtendedDaemonSet. In the memory the generation stands where package rollout has the revision.
type backoffs struct {
	generation string
	initial    time.Duration
	entries    map[string]rollout.Backoff // by node
}

func newBackoffs(snapshot rollout.Snapshot, generation string, initial time.Duration) backoffs {
	b := backoffs{generation, initial, make(map[string]rollout.Backoff)}
	for _, entry := range snapshot.Memory.Backoffs {
		if entry.Since.After(snapshot.Now) {
			entry.Since = snapshot.Now // a clock was set back
		}
		if entry.Revision == b.generation && snapshot.Now.Sub(entry.Since) <= 2*backoffMax {
			b.entries[entry.Node] = entry
		}
	}
	return b
}

// until returns until when no failed pod of the node is deleted; zero: one may be deleted now.
func (b *backoffs) until(node string, now time.Time) time.Time {
	entry, ok := b.entries[node]
	if at := entry.Since.Add(entry.Delay); ok && now.Before(at) {
		return at
	}
	return time.Time{}
}

// next notes that a failed pod of the node is deleted now.
func (b *backoffs) next(node string, now time.Time) {
	delay := b.initial
	if entry, ok := b.entries[node]; ok {
		delay = min(2*entry.Delay, backoffMax)
	}
	b.entries[node] = rollout.Backoff{Node: node, Revision: b.generation, Delay: delay, Since: now}
}

// list returns what the memory is to hold.
func (b *backoffs) list() []rollout.Backoff {
	var list []rollout.Backoff
	for _, entry := range b.entries {
		list = append(list, entry)
	}
	slices.SortFunc(list, func(x, y rollout.Backoff) int { return strings.Compare(x.Node, y.Node) })
	return list
}
