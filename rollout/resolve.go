package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// resolve is step 3: which revision is the update revision, which the stable one (R rules), and which pods are at
// the update revision (R5).
func (r *run) resolve() error {
	var err error
	r.revision, err = r.resolver.Resolve(history.Input{
		Revisions:      r.snapshot.Revisions,
		Carriers:       r.carriers(),
		Limit:          *r.spec.RevisionHistoryLimit,
		CollisionCount: r.remembered.CollisionCount,
	})
	if err != nil {
		return &SnapshotError{Field: "Revisions", Problem: err.Error()}
	}
	matches := setOf(r.revision.Matches)
	relabel := setOf(r.revision.Relabel)
	for i := range r.hashes {
		h := &r.hashes[i]
		h.current = matches[h.value]
		h.relabel = relabel[h.value]
	}
	for _, pods := range [...][]pod{r.pods, r.ignored} {
		for i := range pods {
			if p := &pods[i]; r.hashes[p.hash].current || p.traits.has(byGeneration) {
				p.traits |= current
			}
		}
	}
	for _, create := range r.snapshot.InFlight.Creates {
		i := r.index.find(create.Node)
		switch {
		case i == none:
		case create.Revision == "" || matches[create.Revision]:
			r.nodes[i].requested = requestedCurrent
		case r.nodes[i].requested == requestedNothing:
			r.nodes[i].requested = requestedOther
		}
	}
	return nil
}

// carriers lists the revisions that pods carry, those requested and not observed yet included.
func (r *run) carriers() []history.Carrier {
	carriers := make([]history.Carrier, 0, len(r.hashes))
	for _, h := range r.hashes {
		carriers = append(carriers, history.Carrier{Hash: h.value, Live: h.live})
	}
	for _, create := range r.snapshot.InFlight.Creates {
		if create.Revision == "" {
			continue // the update revision, which is never deleted
		}
		i, ok := r.ids[create.Revision]
		if !ok {
			i = int32(len(carriers))
			r.ids[create.Revision] = i
			carriers = append(carriers, history.Carrier{Hash: create.Revision})
		}
		carriers[i].Live = true
	}
	return carriers
}

// templateOf is the template of the revision with that hash; nil if there is none, or two, or it cannot be read. It is
// decoded once per plan.
func (r *run) templateOf(hash string) *corev1.PodTemplateSpec {
	if hash == "" {
		return nil
	}
	if r.templates == nil {
		r.templates = make(map[string]*olderTemplate, len(r.snapshot.Revisions))
		for _, revision := range r.snapshot.Revisions {
			hash := history.HashOf(revision)
			if r.templates[hash] != nil {
				revision = nil
			}
			r.templates[hash] = &olderTemplate{revision: revision}
		}
	}
	t := r.templates[hash]
	if t == nil {
		return nil
	}
	if t.revision != nil {
		t.template, _ = history.Template(t.revision)
		t.revision = nil
	}
	return t.template
}

// olderTemplate is the template of a revision, which is decoded when somebody asks.
type olderTemplate struct {
	revision *appsv1.ControllerRevision // not decoded yet; nil: done, or there are two of that hash
	template *corev1.PodTemplateSpec    // nil: cannot be read
}
