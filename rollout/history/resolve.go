package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// These errors say what breaks the contract of Compile and Resolve.
var (
	// ErrNotCompiled: the Resolver does not come from Compile.
	ErrNotCompiled = errors.New("resolver not made by Compile")
	// ErrNoName: the set, or one of its revisions, has no name.
	ErrNoName = errors.New("no name")
	// ErrNilRevision: an element of the revisions is nil.
	ErrNilRevision = errors.New("nil revision")
	// ErrDuplicateRevision: two revisions have one name.
	ErrDuplicateRevision = errors.New("two revisions of one name")
)

// Set identifies the owner whose revisions these are.
type Set struct {
	Name      string // required
	Namespace string
	// UID of the owner; empty: created revisions have no owner reference.
	UID types.UID
	// APIVersion and Kind of the owner; "" is apps/v1 and DaemonSet.
	APIVersion string
	Kind       string
}

// Carrier is a distinct revision hash that at least one pod carries.
type Carrier struct {
	Hash string
	// Live reports whether at least one such pod is neither marked for deletion nor terminal.
	Live bool
}

// Input is what [Resolver.Resolve] needs to know of the set beside the template.
type Input struct {
	// Revisions are all revisions of the set, and only those, in any order.
	Revisions []*appsv1.ControllerRevision
	// Carriers are the hashes that pods carry, in any order. One given twice counts as live if either is.
	Carriers []Carrier
	// Limit is how many revisions are kept beside the update revision, as spec.revisionHistoryLimit. It has no
	// default here: 0 keeps none, and less than 0 counts as 0.
	Limit int32
	// CollisionCount is the one last stored, nil if none was.
	CollisionCount *int32
	// Canary reports whether new revisions are tried before they are rolled out. The marks of promotions then decide which
	// revision is the stable one (C6).
	Canary bool
	// LastStable is the hash of the revision that was last known to be the stable one; "" if none is. With Canary it counts
	// like a mark that is not seen yet. While there is no mark, it counts even if the revision is not there any more.
	LastStable string
	// Stages reports whether revisions are rolled out in stages (T8). Base is then kept by R4, too.
	Stages bool
	// Nodes are, by hash, on how many nodes that are to run the pod a live pod carries it. With Stages it decides which revision
	// is the base while no revision carries the mark of a rollout that came to its end. Nil: on none.
	Nodes map[string]int32
}

// Revision names a revision, created already or not.
type Revision struct {
	Name string
	Hash string
	// Number is the one the revision has once the Resolution is carried out.
	Number int64
	// Existing is the revision as given, nil if it is yet to be created.
	Existing *appsv1.ControllerRevision
}

// Renumber is a revision whose number is to become Number.
type Renumber struct {
	Revision *appsv1.ControllerRevision
	Number   int64
}

// Resolution says which revisions are the update and the stable one, and what is to be done to the history.
// Its actions may be carried out in any order.
type Resolution struct {
	// Update is the revision of the template.
	Update Revision
	// Stable is the stable revision (C6). Without Input.Canary it is Fallback. With it, the first of these that there is: Update
	// if it is promoted; the highest revision that is promoted, by its mark or by Input.LastStable; Fallback, unless that is
	// Update; the highest other revision that can be read and has not failed; Update. If LastStable names a revision that is
	// not there, Stable has a hash and nothing else.
	Stable Revision
	// Fallback is what is still there of the time before Update, promoted or not: the highest revision with other data that a
	// live pod carries and that has not failed. If there is none, with Input.Canary it is the highest that any pod carries
	// and that has not failed, else the highest failed one that a live pod carries. Else it is Update.
	Fallback Revision
	// Promoted reports whether Update, or a duplicate of it, carries the mark of a promotion, Marked whether any revision
	// does.
	Promoted, Marked bool
	// Base is what nodes get that are not to get Update yet (T8): the highest revision with other data whose rollout came to its
	// end, by its mark, and that has not failed. Without any it is the one with other data that most of Input.Nodes have and that
	// has not failed, of several the highest, else the highest other revision that can be read and has not failed, else Update.
	Base Revision
	// Completed reports whether Update, or a duplicate of it, carries the mark of a rollout that came to its end, AnyCompleted
	// whether any revision does.
	Completed, AnyCompleted bool
	// First reports whether no revision has other data than the template's, so that nothing was rolled out before it.
	First bool
	// Matches are the hashes of all revisions whose data is the template's (R2), sorted: Update.Hash, and those of
	// duplicates. A pod that carries any of them is at the update revision. If a revision with other data has the hash of a
	// duplicate, that hash is left out, because it does not say which of the two a pod is at.
	Matches []string
	// Create is the revision to create, nil if Update exists. If its name turns out to be taken by an object that
	// was not among the revisions, resolve again with a higher CollisionCount.
	Create *appsv1.ControllerRevision
	// Renumber is the update revision with its new number, nil if it keeps the one it has.
	Renumber *Renumber
	// Relabel are the hashes of duplicates, sorted, that pods still carry, to be replaced by Update.Hash.
	Relabel []string
	// Delete are duplicates that no pod carries, then revisions beyond the limit (R4), each oldest first.
	Delete []*appsv1.ControllerRevision
	// CollisionCount is the one to store: as given, unless names were taken.
	CollisionCount *int32
}

// Resolver finds one template in histories. [Compile] makes it. It is immutable and safe for concurrent use.
type Resolver struct {
	set      Set
	data     []byte
	marks    []mark
	document *document // nil if this package cannot decode the data of the template; then only equal bytes match
	sum      uint32
	labels   map[string]string
}

// Compile prepares a template for Resolve; the template is not retained. Errors: ErrNoName for a set without a
// name, ErrNoTemplate for a nil template, and a template that JSON cannot express.
func Compile(set Set, template *corev1.PodTemplateSpec) (*Resolver, error) {
	if set.Name == "" {
		return nil, fmt.Errorf("set: %w", ErrNoName)
	}
	data, err := Data(template)
	if err != nil {
		return nil, err
	}
	set.APIVersion = cmp.Or(set.APIVersion, "apps/v1")
	set.Kind = cmp.Or(set.Kind, "DaemonSet")
	r := &Resolver{
		set:    set,
		data:   data,
		marks:  marksOf(data),
		sum:    templateSum(template),
		labels: maps.Clone(template.Labels),
	}
	if doc, err := decode(data); err == nil {
		r.document = doc
	}
	return r, nil
}

// Data returns a copy of the data that a revision of the template stores, nil if the Resolver is not compiled.
func (r *Resolver) Data() []byte {
	if r == nil {
		return nil
	}
	return slices.Clone(r.data)
}

// Hash returns the hash that a revision of the template has if it is created with this collision count, "" if the
// Resolver is not compiled. The revision may exist with another one: see Resolution.Update.
func (r *Resolver) Hash(collisionCount *int32) string {
	if r == nil || r.data == nil {
		return ""
	}
	return encodeHash(r.sum, collisionCount)
}

// Resolve finds the template in a history (R2) and returns what is to be done to the history (R3 duplicates and numbers,
// R4 trimming). When all of it is carried out, resolving again gives the same update revision and nothing more to do.
//
// Errors: ErrNotCompiled, ErrNilRevision, ErrNoName, ErrDuplicateRevision. A revision whose data cannot be read is
// no error: it matches nothing but the same bytes, and is kept and trimmed like any other.
func (r *Resolver) Resolve(in Input) (Resolution, error) {
	if r == nil || r.data == nil {
		return Resolution{}, ErrNotCompiled
	}
	// A usual history fits, and sorting it then allocates nothing.
	var space [24]*appsv1.ControllerRevision
	revisions, err := sorted(append(space[:0], in.Revisions...))
	if err != nil {
		return Resolution{}, err
	}

	var duplicates []*appsv1.ControllerRevision
	var update *appsv1.ControllerRevision
	others := revisions[:0]
	for _, revision := range revisions {
		switch {
		case !r.matches(revision.Data.Raw):
			others = append(others, revision)
		case update == nil:
			update = revision
		default: // R3: the highest is kept
			duplicates = append(duplicates, update)
			update = revision
		}
	}
	next := nextNumber(others)

	var out Resolution
	if in.CollisionCount != nil {
		out.CollisionCount = new(*in.CollisionCount)
	}
	if update == nil {
		out.Update = r.create(others, next, &out)
	} else {
		out.Update = reviewed(update)
		if update.Revision < next {
			out.Update.Number = next
			out.Renumber = &Renumber{Revision: update, Number: next}
		}
	}
	out.First = len(others) == 0
	out.Promoted = Promoted(update) || slices.ContainsFunc(duplicates, Promoted)
	out.Marked = out.Promoted || slices.ContainsFunc(others, Promoted)
	if hasHash(duplicates, in.LastStable) {
		in.LastStable = out.Update.Hash
	}
	carried := newCarried(in.Carriers)
	out.Fallback = older(&out, others, in, carried)
	out.Stable = stable(&out, others, in)
	out.Completed = Completed(update) || slices.ContainsFunc(duplicates, Completed)
	out.AnyCompleted = out.Completed || slices.ContainsFunc(others, Completed)
	if in.Stages && !out.Completed {
		out.Base = base(&out, others, in)
	}
	r.deduplicate(&out, duplicates, others, carried)
	trim(&out, others, in, carried)
	return out, nil
}

func (r *Resolver) matches(data []byte) bool {
	if bytes.Equal(r.data, data) {
		return true
	}
	if r.document == nil {
		return false
	}
	switch scan(r.data, data, r.marks) {
	case same:
		return true
	case different:
		return false
	default: // unsure: only decoding can tell
		return sameAs(r.document, data)
	}
}

// create plans a revision of the template under a name that is free (R3).
func (r *Resolver) create(others []*appsv1.ControllerRevision, number int64, out *Resolution) Revision {
	hash := r.Hash(out.CollisionCount)
	for r.isTaken(hash, others) {
		out.CollisionCount = nextCollision(out.CollisionCount)
		hash = r.Hash(out.CollisionCount)
	}
	labels := make(map[string]string, len(r.labels)+1)
	maps.Copy(labels, r.labels)
	labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	out.Create = &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      r.set.Name + "-" + hash,
			Namespace: r.set.Namespace,
			Labels:    labels,
		},
		Data:     runtime.RawExtension{Raw: slices.Clone(r.data)},
		Revision: number,
	}
	if r.set.UID != "" {
		out.Create.OwnerReferences = []metav1.OwnerReference{{
			APIVersion:         r.set.APIVersion,
			Kind:               r.set.Kind,
			Name:               r.set.Name,
			UID:                r.set.UID,
			Controller:         new(true),
			BlockOwnerDeletion: new(true),
		}}
	}
	return Revision{Name: out.Create.Name, Hash: hash, Number: number}
}

// isTaken reports whether a new revision cannot have this hash. Kubernetes asks only for the name, but a revision
// with another name may be labelled with the hash, and its pods would pass for updated.
func (r *Resolver) isTaken(hash string, others []*appsv1.ControllerRevision) bool {
	name := r.set.Name + "-" + hash
	return slices.ContainsFunc(others, func(other *appsv1.ControllerRevision) bool {
		return other.Name == name || HashOf(other) == hash
	})
}

// deduplicate plans the end of all matching revisions but the update revision (R3). A duplicate is deleted only when no
// pod is seen to carry it: if it were deleted while pods are relabelled, a patch that fails would leave a pod of an
// unknown revision.
func (r *Resolver) deduplicate(
	out *Resolution, duplicates, others []*appsv1.ControllerRevision, carried carriedHashes,
) {
	out.Matches = []string{out.Update.Hash}
	if len(duplicates) == 0 {
		return
	}
	told := make(map[string]bool, len(others)) // hashes that are in Matches, or of other data
	for _, other := range others {
		told[HashOf(other)] = true
	}
	for _, duplicate := range duplicates {
		hash := HashOf(duplicate)
		if hash == out.Update.Hash {
			out.Delete = append(out.Delete, duplicate)
			continue
		}
		if !carried.by(hash) {
			out.Delete = append(out.Delete, duplicate)
		}
		if told[hash] {
			continue
		}
		told[hash] = true
		out.Matches = append(out.Matches, hash)
		if carried.by(hash) {
			out.Relabel = append(out.Relabel, hash)
		}
	}
	slices.Sort(out.Matches)
	slices.Sort(out.Relabel)
}

func reviewed(revision *appsv1.ControllerRevision) Revision {
	return Revision{
		Name: revision.Name, Hash: HashOf(revision), Number: revision.Revision, Existing: revision,
	}
}

// sorted checks the revisions and sorts them, oldest first.
func sorted(revisions []*appsv1.ControllerRevision) ([]*appsv1.ControllerRevision, error) {
	for _, revision := range revisions {
		if revision == nil {
			return nil, ErrNilRevision
		}
		if revision.Name == "" {
			return nil, fmt.Errorf("revision: %w", ErrNoName)
		}
	}
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(revisions); i++ {
		if revisions[i].Name == revisions[i-1].Name {
			return nil, fmt.Errorf("%w: %q", ErrDuplicateRevision, revisions[i].Name)
		}
	}
	slices.SortFunc(revisions, byAge)
	return revisions, nil
}

func byAge(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
}

// nextNumber returns the number above those of the given revisions, at least 1. At the end of the numbers it stays
// there, and the order is then by name.
func nextNumber(revisions []*appsv1.ControllerRevision) int64 {
	var highest int64
	for _, revision := range revisions {
		highest = max(highest, revision.Revision)
	}
	if highest == math.MaxInt64 {
		return highest
	}
	return highest + 1
}

// nextCollision counts one more collision. After the greatest count comes 0, which nil is not.
func nextCollision(count *int32) *int32 {
	switch {
	case count == nil:
		return new(int32(1))
	case *count == math.MaxInt32:
		return new(int32(0))
	}
	return new(*count + 1)
}

func hasHash(revisions []*appsv1.ControllerRevision, hash string) bool {
	return slices.ContainsFunc(revisions, func(revision *appsv1.ControllerRevision) bool {
		return HashOf(revision) == hash
	})
}
