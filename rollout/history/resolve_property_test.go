package history_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// world is a set, its template and its history.
type world struct {
	template *corev1.PodTemplateSpec
	in       history.Input
}

func (w world) GoString() string {
	out := fmt.Sprintf("template %s, limit %d, carriers %v", mustData(w.template), w.in.Limit, w.in.Carriers)
	for _, r := range w.in.Revisions {
		out += fmt.Sprintf("\n%s number %d, labels %v, %s", r.Name, r.Revision, r.Labels, r.Data.Raw)
	}
	return out
}

func worlds() *rapid.Generator[world] {
	return rapid.Custom(func(t *rapid.T) world {
		var w world
		images := rapid.SampledFrom([]string{"v1", "v2", "v3", "v4"})
		w.template = image(images.Draw(t, "template"))
		w.in.Limit = rapid.Int32Range(-1, 4).Draw(t, "limit")
		if rapid.Bool().Draw(t, "counted") {
			w.in.CollisionCount = new(rapid.SampledFrom([]int32{0, 1, math.MaxInt32, math.MinInt32}).Draw(t, "count"))
		}
		own := history.Hash(w.template, w.in.CollisionCount)
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{own, "a", "b", "c", "d", "e", "f", "g"}), 0, 7, rapid.ID[string])
		hashes := rapid.SampledFrom([]string{own, "a", "b", "c", "d", "e", "", "-", "-"})
		for _, name := range names.Draw(t, "names") {
			revision := &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Name: "agent-" + name},
				Revision:   rapid.SampledFrom([]int64{-1, 0, 1, 2, 3, 4, 5, math.MaxInt64}).Draw(t, "number"),
			}
			switch hash := hashes.Draw(t, "hash"); hash {
			case "-":
				revision.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: name}
			case "":
			default:
				revision.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}
			}
			data := mustData(image(images.Draw(t, "image")))
			if rapid.IntRange(0, 4).Draw(t, "respelled") == 0 {
				data = respell(t, data)
			}
			revision.Data = runtime.RawExtension{Raw: data}
			w.in.Revisions = append(w.in.Revisions, revision)
			if rapid.IntRange(0, 2).Draw(t, "carried") == 0 {
				carrier := history.Carrier{Hash: history.HashOf(revision), Live: rapid.Bool().Draw(t, "live")}
				if !slices.ContainsFunc(w.in.Carriers, func(c history.Carrier) bool { return c.Hash == carrier.Hash }) {
					w.in.Carriers = append(w.in.Carriers, carrier)
				}
			}
		}
		return w
	})
}

type resolving func(*history.Resolver, history.Input) (history.Resolution, error)

// resolvesWell: everything that Resolve promises, told naively.
func resolvesWell(resolve resolving) func(world) error {
	return func(w world) error {
		resolver, err := history.Compile(history.Set{Name: "agent", UID: "u"}, w.template)
		if err != nil {
			return err
		}
		before := copied(w.in)
		got, err := resolve(resolver, w.in)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(before, w.in) {
			return errors.New("the input was written to")
		}
		for _, check := range []func(world, history.Resolution) error{findsUpdate, findsStable, matchesWell, deletesWell} {
			if err := check(w, got); err != nil {
				return err
			}
		}
		if err := ignoresOrder(resolver, resolve, w.in, got); err != nil {
			return err
		}
		return settles(resolver, resolve, w.in, got)
	}
}

func copied(in history.Input) history.Input {
	out := in
	out.Carriers = slices.Clone(in.Carriers)
	if in.CollisionCount != nil {
		out.CollisionCount = new(*in.CollisionCount)
	}
	out.Revisions = nil
	for _, revision := range in.Revisions {
		out.Revisions = append(out.Revisions, revision.DeepCopy())
	}
	return out
}

func split(w world) (matching, others []*appsv1.ControllerRevision) {
	data := mustData(w.template)
	for _, revision := range w.in.Revisions {
		if naiveSame(data, revision.Data.Raw) {
			matching = append(matching, revision)
		} else {
			others = append(others, revision)
		}
	}
	order := func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(matching, order)
	slices.SortFunc(others, order)
	return matching, others
}

func findsUpdate(w world, got history.Resolution) error {
	matching, others := split(w)
	next := int64(1)
	for _, other := range others {
		if other.Revision == math.MaxInt64 {
			next = math.MaxInt64
		} else {
			next = max(next, other.Revision+1)
		}
	}
	if len(matching) > 0 {
		last := matching[len(matching)-1]
		switch {
		case got.Create != nil || got.Update.Existing != last || got.Update.Name != last.Name ||
			got.Update.Hash != history.HashOf(last):
			return fmt.Errorf("update %+v, want %s", got.Update, last.Name)
		case got.Update.Number != max(last.Revision, next):
			return fmt.Errorf("number %d", got.Update.Number)
		case (got.Renumber != nil) != (last.Revision < next):
			return errors.New("wrongly renumbered, or not renumbered")
		case got.Renumber != nil && (got.Renumber.Number != next || got.Renumber.Revision != last):
			return fmt.Errorf("renumber %+v", got.Renumber)
		case !gocmp.Equal(got.CollisionCount, w.in.CollisionCount):
			return errors.New("collision count changed without a collision")
		}
		return nil
	}
	if got.Create == nil || got.Renumber != nil || got.Update.Existing != nil {
		return errors.New("not created")
	}
	hash := history.Hash(w.template, got.CollisionCount)
	if got.Create.Name != "agent-"+hash || got.Create.Revision != next || history.HashOf(got.Create) != hash ||
		got.Update.Name != got.Create.Name || got.Update.Hash != hash || got.Update.Number != next {
		return fmt.Errorf("created %+v, update %+v", got.Create, got.Update)
	}
	for _, other := range others {
		if other.Name == got.Create.Name || history.HashOf(other) == hash {
			return errors.New("created under a name or hash that is taken")
		}
	}
	return nil
}

func findsStable(w world, got history.Resolution) error {
	_, others := split(w)
	want := got.Update.Name
	for _, other := range others {
		hash := history.HashOf(other)
		if hash != got.Update.Hash && slices.Contains(w.in.Carriers, history.Carrier{Hash: hash, Live: true}) {
			want = other.Name
		}
	}
	if got.Stable.Name != want {
		return fmt.Errorf("stable %s, want %s", got.Stable.Name, want)
	}
	return nil
}

func carried(in history.Input, hash string) bool {
	return slices.ContainsFunc(in.Carriers, func(c history.Carrier) bool { return c.Hash == hash })
}

func matchesWell(w world, got history.Resolution) error {
	matching, others := split(w)
	ambiguous := map[string]bool{}
	for _, other := range others {
		ambiguous[history.HashOf(other)] = true
	}
	matches, relabel := map[string]bool{got.Update.Hash: true}, map[string]bool{}
	for _, revision := range matching {
		if hash := history.HashOf(revision); hash != got.Update.Hash && !ambiguous[hash] {
			matches[hash] = true
			if carried(w.in, hash) {
				relabel[hash] = true
			}
		}
	}
	for name, lists := range map[string][2][]string{
		"matches": {got.Matches, keysOf(matches)}, "relabel": {got.Relabel, keysOf(relabel)},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			return fmt.Errorf("%s %v, want %v", name, lists[0], lists[1])
		}
	}
	return nil
}

func keysOf(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// deletesWell is R3 and R4 by counting, with nothing of how trim goes about it.
func deletesWell(w world, got history.Resolution) error {
	matching, others := split(w)
	var want []string
	for _, revision := range matching {
		hash := history.HashOf(revision)
		if revision != got.Update.Existing && (hash == got.Update.Hash || !carried(w.in, hash)) {
			want = append(want, revision.Name)
		}
	}
	var spare []string
	for _, revision := range others {
		if !carried(w.in, history.HashOf(revision)) && revision != got.Stable.Existing {
			spare = append(spare, revision.Name)
		}
	}
	excess := max(0, len(others)-int(max(0, w.in.Limit)))
	want = append(want, spare[:min(excess, len(spare))]...)
	var have []string
	for _, revision := range got.Delete {
		have = append(have, revision.Name)
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("deletes %v, want %v", have, want)
	}
	return nil
}

func ignoresOrder(resolver *history.Resolver, resolve resolving, in history.Input, want history.Resolution) error {
	in.Revisions, in.Carriers = slices.Clone(in.Revisions), slices.Clone(in.Carriers)
	for range len(in.Revisions) + 1 {
		slices.Reverse(in.Revisions)
		slices.Reverse(in.Carriers)
		for range 2 {
			got, err := resolve(resolver, in)
			if err != nil || !reflect.DeepEqual(got, want) {
				return fmt.Errorf("another order gives another resolution: %+v, want %+v", got, want)
			}
			if len(in.Revisions) > 1 {
				in.Revisions = append(in.Revisions[1:len(in.Revisions):len(in.Revisions)], in.Revisions[0])
			}
		}
	}
	for i := range 40 { // so many are not looked up like a few
		in.Carriers = append(in.Carriers, history.Carrier{Hash: fmt.Sprintf("gone%d", i), Live: i%2 == 0})
	}
	if got, err := resolve(resolver, in); err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("carriers of revisions that are gone give another resolution: %+v, want %+v", got, want)
	}
	return nil
}

// settles: carrying out what is to be done leads to a history in which nothing is, and the update revision stays.
func settles(resolver *history.Resolver, resolve resolving, in history.Input, got history.Resolution) error {
	update := got.Update
	in = copied(in)
	for round := range 4 {
		if got.Update.Name != update.Name || got.Update.Hash != update.Hash || got.Update.Number != update.Number {
			return fmt.Errorf("round %d: the update revision became %+v, was %+v", round, got.Update, update)
		}
		idle := got.Create == nil && got.Renumber == nil && len(got.Relabel)+len(got.Delete) == 0
		if idle {
			return nil
		}
		if got.Create != nil {
			in.Revisions = append(in.Revisions, got.Create)
		}
		for _, revision := range in.Revisions {
			if got.Renumber != nil && revision.Name == got.Renumber.Revision.Name {
				revision.Revision = got.Renumber.Number
			}
		}
		in.Revisions = slices.DeleteFunc(in.Revisions, func(revision *appsv1.ControllerRevision) bool {
			return slices.ContainsFunc(got.Delete, func(d *appsv1.ControllerRevision) bool { return d.Name == revision.Name })
		})
		for i, carrier := range in.Carriers {
			if slices.Contains(got.Relabel, carrier.Hash) {
				in.Carriers[i].Hash = got.Update.Hash
			}
		}
		in.CollisionCount = got.CollisionCount
		var err error
		if got, err = resolve(resolver, copied(in)); err != nil {
			return err
		}
	}
	return errors.New("still something to do after four rounds")
}

func TestResolveProperty(t *testing.T) {
	rapid.Check(t, resolveProperty)
}

func FuzzResolve(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(resolveProperty))
}

func resolveProperty(t *rapid.T) {
	if err := resolvesWell((*history.Resolver).Resolve)(worlds().Draw(t, "world")); err != nil {
		t.Fatal(err)
	}
}

// An order of twenty-five revisions is beyond what Resolve keeps on its stack.
func TestResolveLongHistory(t *testing.T) {
	var in history.Input
	for i := range 60 {
		in.Revisions = append(in.Revisions, revisionOf(t, fmt.Sprintf("%02d", i), int64(60-i), image(fmt.Sprint(i))))
	}
	in.Limit = 10
	w := world{image("0"), in}
	if err := resolvesWell((*history.Resolver).Resolve)(w); err != nil {
		t.Fatal(err)
	}
}

func TestResolveAllocations(t *testing.T) {
	template := realistic("v2")
	in := history.Input{Limit: 20, Carriers: []history.Carrier{{Hash: "update", Live: true}}}
	for i := range 20 {
		in.Revisions = append(in.Revisions, revisionOf(t, fmt.Sprint(i), int64(i), realistic(fmt.Sprint(i))))
	}
	in.Revisions = append(in.Revisions, revisionOf(t, "update", 30, template))
	resolver := compile(t, template)
	allocations := testing.AllocsPerRun(100, func() {
		if _, err := resolver.Resolve(in); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 2 {
		t.Errorf("%v allocations in steady state", allocations)
	}
}
