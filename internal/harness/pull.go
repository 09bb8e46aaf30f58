package harness

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// pull is an image that a node pulls ahead of an update.
type pull struct {
	node, image string
	since       time.Time
	timeout     time.Duration
}

// startPull is refused where there is no such node, and where the pull is under way already.
func (c *Cluster) startPull(action *rollout.Pull) {
	p := &pull{node: action.Node, image: action.Image, since: c.now, timeout: action.Timeout}
	again := slices.ContainsFunc(c.pulls, func(other *pull) bool { return other.node == p.node && other.image == p.image })
	kind := PullStarted
	if again || c.nodes[p.node] == nil {
		kind = Refused
	} else {
		c.pulls = append(c.pulls, p)
	}
	c.events = append(c.events, Event{At: c.now, Kind: kind, Node: p.node, Object: p.image, Revision: action.Revision})
}

// pullEnds says when the pull is over, and how it ends. One that takes longer than its timeout has failed.
func (c *Cluster) pullEnds(p *pull) happening {
	h := happening{pull: p, kind: PullDone}
	delay := c.behavior.delay(p.node+" "+p.image, c.behavior.Pull, defaultPull)
	if failed := c.behavior.FailedPulls; failed < 0 || c.failures(p) < failed {
		h.kind = PullFailed
	}
	never := c.behavior.Pull < 0 || c.silent(p.node)
	if p.timeout > 0 && (never || delay > p.timeout) {
		h.kind, delay = PullFailed, p.timeout
	} else if never {
		return happening{}
	}
	h.at = c.after(p.since, delay)
	return h
}

// failures is how often the image could not be pulled on the node, in a row.
func (c *Cluster) failures(p *pull) int {
	for _, f := range c.failedPulls {
		if f.Node == p.node && f.Image == p.image {
			return int(f.Count)
		}
	}
	return 0
}

func (c *Cluster) endPull(p *pull, kind EventKind) {
	count := c.failures(p)
	c.pulls = slices.DeleteFunc(slices.Clone(c.pulls), func(other *pull) bool { return other == p })
	c.failedPulls = slices.DeleteFunc(slices.Clone(c.failedPulls), func(f predownload.Failure) bool {
		return f.Node == p.node && f.Image == p.image
	})
	if kind == PullDone {
		c.haveImage(p.node, p.image)
	} else {
		c.failedPulls = append(c.failedPulls, predownload.Failure{
			Node: p.node, Image: p.image, Count: int32(min(count, 1<<30)) + 1, At: c.now,
		})
		slices.SortFunc(c.failedPulls, func(a, b predownload.Failure) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Image, b.Image))
		})
	}
	c.events = append(c.events, Event{At: c.now, Kind: kind, Node: p.node, Object: p.image})
}

// haveImage makes the node report the image.
func (c *Cluster) haveImage(node, image string) {
	n := c.nodes[node].DeepCopy()
	n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{image}})
	c.nodes[node] = n
}
