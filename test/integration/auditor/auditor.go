// Package auditor looks at the pods of a cluster past all that is tested: with a watch of its own, from which it keeps the worst
// that was ever seen.
package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// Auditor of the pods of one namespace. The zero value has seen nothing; [Watch] makes one that sees.
//
// The API server tells the changes of pods in the order in which they happened, so each count is of a state that there was. If
// the watch broke for so long that it had to list all pods anew, what was between is not seen.
type Auditor struct {
	mutex sync.Mutex
	pods  map[types.UID]sight
	// versions of the pods as they were last seen: one for each of pods.
	versions map[types.UID]string
	// How many live pods there are of a node and revision, and how many of those of a node serve.
	live    map[revisionOn]int
	serving map[string]int
	// How many pods with an image serve on a node; nodes without one are left out.
	byImage map[string]map[string]int
	// served are the nodes that once had a serving pod; down is how many of them have none: 0 <= down <= len(served).
	served  map[string]bool
	down    int
	seen    Counts
	waiting []*wait
	rules   []func(Instant) error
	broken  error
}

// Instant is a state that there was.
type Instant struct {
	// Disturbed are the nodes that once served, and have now no serving pod, or more than one live pod. Sorted.
	Disturbed []string
	// Images are those of the first containers of the live pods, by node: each once, sorted. A node without a live pod has none.
	Images map[string][]string
}

// Counts are what was seen since [Auditor.Begin].
type Counts struct {
	// Created and Deleted count pods that came, and that went for good.
	Created, Deleted int
	// Peak is the most nodes that were without a serving pod at a time, of those that once had one.
	Peak int
	// Doubled lists the nodes that had two live pods of one revision, with the revision: each once, sorted.
	Doubled []string
}

// sight is what counts of a pod.
type sight struct {
	revisionOn
	image         string
	live, serving bool
}

type revisionOn struct{ node, revision string }

func (r revisionOn) String() string { return r.node + " " + r.revision }

// wait ends when so many nodes serve with an image.
type wait struct {
	image string
	nodes int
	at    chan time.Time
}

// Watch begins to look at the pods of a namespace, and returns when it sees those that are there. It ends with the context.
func Watch(ctx context.Context, config *rest.Config, namespace string) (*Auditor, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	seen := &feed{Auditor: &Auditor{}, listed: make(chan struct{})}
	watch := cache.NewListWatchFromClient(api.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	go cache.NewReflector(watch, &corev1.Pod{}, seen, 0).RunWithContext(ctx)
	select {
	case <-seen.listed:
		return seen.Auditor, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the auditor sees no pods: %w", context.Cause(ctx))
	}
}

// feed takes what a reflector tells. An informer would not do: it tells a new list of all pods one by one, first those that are
// gone, then those that came, and between the two each node that changed would count as down.
type feed struct {
	*Auditor
	once   sync.Once
	listed chan struct{}
}

func (f *feed) Add(object any) error    { return f.tell(object, f.See) }
func (f *feed) Update(object any) error { return f.tell(object, f.See) }
func (f *feed) Delete(object any) error { return f.tell(object, f.Gone) }
func (f *feed) Resync() error           { return nil }

func (f *feed) Replace(objects []any, _ string) error {
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		if err := f.tell(object, func(pod *corev1.Pod) { pods = append(pods, pod) }); err != nil {
			return err
		}
	}
	f.List(pods)
	f.once.Do(func() { close(f.listed) })
	return nil
}

func (f *feed) tell(object any, do func(*corev1.Pod)) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", object)
	}
	do(pod)
	return nil
}

// See takes a new pod, or a new state of one, into account.
func (a *Auditor) See(pod *corev1.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.take(nil, []*corev1.Pod{pod})
}

// Gone takes into account that there is a pod no longer.
func (a *Auditor) Gone(pod *corev1.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.take([]types.UID{pod.UID}, nil)
}

// List takes all pods that there are into account, as one change: nothing is known of what was between what was seen and them.
func (a *Auditor) List(pods []*corev1.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	there := map[types.UID]bool{}
	for _, pod := range pods {
		there[pod.UID] = true
	}
	var gone []types.UID
	for uid := range a.pods {
		if !there[uid] {
			gone = append(gone, uid)
		}
	}
	a.take(gone, pods)
}

// take in what happened at a time: all that ceased, and then all that began.
func (a *Auditor) take(gone []types.UID, pods []*corev1.Pod) {
	if a.pods == nil {
		a.pods, a.versions = map[types.UID]sight{}, map[types.UID]string{}
		a.live, a.serving = map[revisionOn]int{}, map[string]int{}
		a.byImage, a.served = map[string]map[string]int{}, map[string]bool{}
	}
	for _, uid := range gone {
		a.seen.Deleted++
		a.count(a.pods[uid], -1)
		delete(a.pods, uid)
		delete(a.versions, uid)
	}
	began := map[revisionOn]bool{} // to have one more live pod
	for _, pod := range pods {
		before, known := a.pods[pod.UID]
		if !known {
			a.seen.Created++
		}
		now := look(pod)
		a.count(before, -1)
		a.pods[pod.UID], a.versions[pod.UID] = now, pod.ResourceVersion
		if now.live && (!before.live || before.revisionOn != now.revisionOn) {
			began[now.revisionOn] = true
		}
	}
	for _, pod := range pods {
		a.count(a.pods[pod.UID], 1)
	}
	for key := range began {
		if a.live[key] > 1 && !slices.Contains(a.seen.Doubled, key.String()) {
			a.seen.Doubled = append(a.seen.Doubled, key.String())
		}
	}
	slices.Sort(a.seen.Doubled)
	a.judge()
}

func look(pod *corev1.Pod) sight {
	node, _ := placement.TargetNode(pod)
	now := sight{revisionOn: revisionOn{node, pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]}}
	if pod.DeletionTimestamp == nil && !lifecycle.Terminal(pod) {
		now.live, now.serving = true, lifecycle.Ready(pod)
	}
	if len(pod.Spec.Containers) > 0 {
		now.image = pod.Spec.Containers[0].Image
	}
	return now
}

// count adds a pod that begins to count, or takes one off.
func (a *Auditor) count(s sight, by int) {
	if s.live {
		add(a.live, s.revisionOn, by)
	}
	if !s.serving {
		return
	}
	if a.byImage[s.image] == nil {
		a.byImage[s.image] = map[string]int{}
	}
	add(a.byImage[s.image], s.node, by)
	before := a.serving[s.node]
	switch after := add(a.serving, s.node, by); {
	case before == 0 && !a.served[s.node]:
		a.served[s.node] = true
	case before == 0:
		a.down--
	case after == 0:
		a.down++
	}
}

// add changes a count, and keeps none that is zero.
func add[K comparable](counts map[K]int, key K, by int) int {
	counts[key] += by
	after := counts[key]
	if after == 0 {
		delete(counts, key)
	}
	return after
}

func (a *Auditor) judge() {
	a.seen.Peak = max(a.seen.Peak, a.down)
	if len(a.rules) > 0 && a.broken == nil {
		now := a.instant()
		for _, rule := range a.rules {
			if a.broken == nil {
				a.broken = rule(now)
			}
		}
	}
	left := a.waiting[:0]
	for _, w := range a.waiting {
		if len(a.byImage[w.image]) >= w.nodes {
			w.at <- time.Now()
			continue
		}
		left = append(left, w)
	}
	a.waiting = left
}

// instant is the state that there is. It looks at all pods, so it is made for those only that have rules.
func (a *Auditor) instant() Instant {
	live := map[string]int{}
	now := Instant{Images: map[string][]string{}}
	for _, s := range a.pods {
		if !s.live {
			continue
		}
		live[s.node]++
		if at, known := slices.BinarySearch(now.Images[s.node], s.image); !known {
			now.Images[s.node] = slices.Insert(now.Images[s.node], at, s.image)
		}
	}
	for node := range a.served {
		if a.serving[node] == 0 || live[node] > 1 {
			now.Disturbed = append(now.Disturbed, node)
		}
	}
	slices.Sort(now.Disturbed)
	return now
}

// Always has every state judged from now on, the present one included. [Auditor.Sound] reports the first error. A rule is called
// while the auditor is locked: it must not call it.
func (a *Auditor) Always(rule func(Instant) error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.rules = append(a.rules, rule)
	a.judge()
}

// Begin forgets the worst so far. Rules stay, and so does what they found.
func (a *Auditor) Begin() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.seen = Counts{}
}

// Counts are what was seen since Begin.
func (a *Auditor) Counts() Counts {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	counts := a.seen
	counts.Doubled = append([]string(nil), a.seen.Doubled...)
	return counts
}

// Current tells whether the newest that was seen is what there is: these pods, in these versions, and no other. What it counts
// lags behind the API server as any watch does.
func (a *Auditor) Current(pods []corev1.Pod) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for i := range pods {
		if a.versions[pods[i].UID] != pods[i].ResourceVersion {
			return false
		}
	}
	return len(a.versions) == len(pods)
}

// Sound reports what must never be seen: two live pods of one revision on a node, and what breaks a rule.
func (a *Auditor) Sound() error {
	if doubled := a.Counts().Doubled; len(doubled) > 0 {
		return fmt.Errorf("two live pods of one revision on %v", doubled)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.broken
}

// Await waits until so many nodes have a serving pod whose first container has this image, and returns when that was seen.
func (a *Auditor) Await(ctx context.Context, image string, nodes int) (time.Time, error) {
	w := &wait{image, nodes, make(chan time.Time, 1)}
	a.mutex.Lock()
	a.waiting = append(a.waiting, w)
	a.judge()
	a.mutex.Unlock()
	select {
	case at := <-w.at:
		return at, nil
	case <-ctx.Done():
		a.mutex.Lock()
		defer a.mutex.Unlock()
		err := fmt.Errorf("%d of %d nodes serve with image %s", len(a.byImage[image]), nodes, image)
		return time.Time{}, errors.Join(err, context.Cause(ctx))
	}
}
