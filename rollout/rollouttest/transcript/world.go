package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What happens to a cluster in the middle of a story: its machines change, somebody edits an object, another set takes the
// pods over.

// behave: behave [DELAY=5s]… [crashes=2] [IMAGES=v2,v3]… [waiting=v2:ErrImagePull] [full=a,b]. The cluster behaves in another
// way from now on; what is not named stays as it was, and the word none empties a list. DELAYs and neverReady are those of
// newCluster, and there is one more: the containers of a new pod are created within create, or never.
//
// Containers of crashLoop images end as soon as they have started, again and again, or as often as crashes says; those of a
// waiting image wait for that reason. Nodes that are full have no room for another pod.
func (s *stage) behave(a *arguments) error {
	b := s.cluster.Behavior()
	var errs []error
	given := func(key string) bool {
		return slices.ContainsFunc(*a, func(word string) bool { return strings.HasPrefix(word, key+"=") })
	}
	for _, known := range []struct {
		key   string
		delay *time.Duration
		read  func(*arguments, string) (time.Duration, error)
	}{
		{"start", &b.Start, (*arguments).delay}, {"stop", &b.Stop, (*arguments).delay},
		{"create", &b.Create, (*arguments).delayOrNever}, {"hook", &b.Hook, (*arguments).delayOrNever},
	} {
		if given(known.key) {
			var err error
			*known.delay, err = known.read(a, known.key)
			errs = append(errs, err)
		}
	}
	if given("crashes") {
		var err error
		b.Crashes, err = a.count("crashes")
		errs = append(errs, err)
	}
	for key, hashes := range map[string]*[]string{"crashLoop": &b.Crashing, "neverReady": &b.NeverReady} {
		if images := a.list(key); images != nil {
			*hashes = nil
			for _, image := range leavingOut(images, "none") {
				*hashes = append(*hashes, hashWithImage(s.cluster.Spec(), image))
			}
		}
	}
	if nodes := a.list("full"); nodes != nil {
		b.Full = leavingOut(nodes, "none")
	}
	if waiting := a.list("waiting"); waiting != nil {
		b.Waiting = map[string]string{}
		for _, w := range leavingOut(waiting, "none") {
			tag, reason, ok := strings.Cut(w, ":")
			if !ok || tag == "" || reason == "" {
				return fmt.Errorf("%s must be image:reason", w)
			}
			b.Waiting[hashWithImage(s.cluster.Spec(), tag)] = reason
		}
	}
	s.setBehavior(b)
	return errors.Join(errs...)
}

// setBehavior lets the cluster behave so, and any cluster that comes in its place.
func (s *stage) setBehavior(b harness.Behavior) {
	s.behavior = b
	s.cluster.SetBehavior(b)
}

func leavingOut(list []string, word string) []string {
	return slices.DeleteFunc(list, func(w string) bool { return w == word })
}

// drain cordons the node and evicts what runs there, daemon pods too: kubectl drain leaves out only those that a DaemonSet
// controls.
func (s *stage) drain(name string) {
	s.changeNode(name, objects.Uncordoned())
	s.changeNode(name, kit.Cordoned())
	for _, p := range s.cluster.PodsOn(name) {
		if p.DeletionTimestamp != nil {
			continue
		}
		p = p.DeepCopy()
		p.Status.Conditions = append(slices.Clip(p.Status.Conditions), corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
			LastTransitionTime: metav1.NewTime(s.cluster.Now()),
		})
		kit.Terminating(s.cluster.Now())(p)
		s.cluster.SetPod(p)
	}
}

// silence lets the kubelet of the node do nothing.
func (s *stage) silence(name string) {
	b := s.cluster.Behavior()
	if !slices.Contains(b.Silent, name) {
		b.Silent = append(slices.Clone(b.Silent), name)
	}
	s.setBehavior(b)
}

// heed ends that.
func (s *stage) heed(name string) {
	b := s.cluster.Behavior()
	b.Silent = leavingOut(slices.Clone(b.Silent), name)
	s.setBehavior(b)
}

// loseReadiness is what the control plane does to the pods of a node that has fallen silent: it takes them for not ready.
func (s *stage) loseReadiness(name string) {
	for _, p := range s.cluster.PodsOn(name) {
		if p.Status.Phase != corev1.PodRunning {
			continue
		}
		p = p.DeepCopy()
		kit.Unready()(p)
		s.cluster.SetPod(p)
	}
}

// edit: edit PATH=VALUE…. What kubectl edit does with the manifest that was applied last: PATH has dots between the keys
// and numbers for the places in lists, VALUE is YAML in one word, and nothing takes the key away.
func (s *stage) edit(a *arguments) error {
	if len(*a) == 0 {
		return errors.New("what is edited is not said")
	}
	return s.patchManifest(func(data []byte) ([]byte, error) {
		var object any
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, err
		}
		for word := a.next(); word != ""; word = a.next() {
			path, text, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("%s must be path=value", word)
			}
			var value any
			if err := yaml.Unmarshal([]byte(text), &value); err != nil {
				return nil, err
			}
			if err := set(object, strings.Split(path, "."), value); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		return yaml.Marshal(object)
	})
}

// set puts a value into decoded YAML; nil takes the key away.
func set(object any, path []string, value any) error {
	key := path[0]
	switch object := object.(type) {
	case map[string]any:
		switch {
		case len(path) > 1:
			if object[key] == nil {
				object[key] = map[string]any{}
			}
			return set(object[key], path[1:], value)
		case value == nil:
			delete(object, key)
		default:
			object[key] = value
		}
		return nil
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(object) || len(path) == 1 {
			return fmt.Errorf("there is no %s in the list", key)
		}
		return set(object[i], path[1:], value)
	default:
		return fmt.Errorf("%s is in no object", key)
	}
}

// annotate: annotate KEY=VALUE|KEY-…. What kubectl annotate does with the object of the set. Names of revisions stand for
// their hashes.
func (s *stage) annotate(a *arguments) error {
	if len(*a) == 0 {
		return errors.New("which annotation is not said")
	}
	return s.patchManifest(func(data []byte) ([]byte, error) {
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, err
		}
		for word := a.next(); word != ""; word = a.next() {
			key, value, _ := strings.Cut(word, "=")
			var given any = s.unnamed(value)
			if off, ok := strings.CutSuffix(word, "-"); ok && value == "" {
				key, given = off, nil
			}
			if err := set(object, []string{"metadata", "annotations", key}, given); err != nil {
				return nil, err
			}
		}
		return yaml.Marshal(object)
	})
}

// unnamed is the opposite of named, for a name at the end.
func (s *stage) unnamed(text string) string {
	for hash, name := range s.hashes {
		if text == name {
			return hash
		}
		if before, ok := strings.CutSuffix(text, "-"+name); ok {
			return before + "-" + hash
		}
	}
	return text
}

// patchManifest changes the manifest that was applied last, and applies it again.
func (s *stage) patchManifest(change func([]byte) ([]byte, error)) error {
	if s.applied == nil {
		return errors.New("no manifest was applied yet")
	}
	object, err := yaml.YAMLToJSON(s.applied)
	if err != nil {
		return err
	}
	if object, err = change(object); err != nil {
		return err
	}
	return s.apply(object)
}

// settings: settings <<EOF. The ExtendedDaemonsetSettings that there are from now on.
func (s *stage) settings(*arguments) error {
	text, err := s.takeText()
	if err != nil {
		return err
	}
	s.given = nil
	for object, err := range manifest.Objects(text) {
		if err != nil {
			return err
		}
		setting, err := object.Setting()
		if err != nil {
			return err
		}
		s.given = append(s.given, setting)
	}
	spec := s.cluster.Spec()
	spec.Overrides = manifest.Overrides(spec, s.given)
	return s.cluster.SetSpec(spec)
}

// takeover: takeover [orphans=true] [predecessor=true] [again=true] <<EOF. The set of the manifest takes the place of the one
// that there was, whose controller is stopped for good. With orphans its object was deleted, and its pods and revisions were left
// behind without a controller (kubectl delete --cascade=orphan); else it is still there. The new set knows of it if the
// manifest names it (old-daemonset), or with predecessor, which is for whoever writes a controller. Again is for another manifest
// in the place of that of the last takeover, which has done nothing yet.
//
// From here on no node may ever hold two pods, of whatever set. A manifest that is refused takes nothing over.
func (s *stage) takeover(a *arguments) error {
	text, err := s.takeText()
	if err != nil {
		return err
	}
	orphans, errOrphans := a.truth("orphans")
	told, errTold := a.truth("predecessor")
	again, errAgain := a.truth("again")
	if err := errors.Join(errOrphans, errTold, errAgain); err != nil {
		return err
	}
	set, err := manifest.Decode(text)
	if err != nil {
		return s.refused(set.Spec, err)
	}
	old, spec := s.cluster.Spec(), set.Spec
	if again {
		old = s.before
	}
	if spec.UID = types.UID(strings.ToLower(spec.Kind) + "-" + spec.Name); spec.UID == old.UID {
		return errors.New("this is the set that there is")
	}
	if _, err := rollout.New(spec); err != nil {
		return s.refused(spec, err)
	}
	s.before = old
	if told || set.OldDaemonSet != "" && set.OldDaemonSet == old.Name {
		spec.Predecessor = new(manifest.PredecessorOf(old))
	}
	snapshot := s.cluster.Snapshot()
	snapshot = rollout.Snapshot{Now: snapshot.Now, Pods: snapshot.Pods, Revisions: snapshot.Revisions}
	if orphans {
		for i, p := range snapshot.Pods {
			snapshot.Pods[i] = p.DeepCopy()
			snapshot.Pods[i].OwnerReferences = nil
		}
		for i, r := range snapshot.Revisions {
			snapshot.Revisions[i] = r.DeepCopy()
			snapshot.Revisions[i].OwnerReferences = nil
		}
	}
	claims, err := rollout.ClaimRevisions(spec, snapshot.Revisions)
	if err != nil {
		return err
	}
	snapshot.Revisions = claims.Revisions
	for i, r := range snapshot.Revisions {
		snapshot.Revisions[i] = r.DeepCopy()
		snapshot.Revisions[i].OwnerReferences = []metav1.OwnerReference{ownerOf(spec.Default())}
	}
	s.applied, s.given, s.single, s.began = text, nil, true, snapshot.Now
	return s.begin(spec, snapshot)
}

// ownerOf is the controller reference to the set of a spec with defaults.
func ownerOf(spec rollout.Spec) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID, Controller: new(true),
	}
}

// doubled tells which node holds two pods although none may.
func (s *stage) doubled() error {
	if !s.single {
		return nil
	}
	for name := range s.nodes {
		if pods := s.cluster.PodsOn(name); len(pods) > 1 {
			return fmt.Errorf("node %s holds %d pods", name, len(pods))
		}
	}
	return nil
}
