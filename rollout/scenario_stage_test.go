package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// stage is where a transcript is played: a set on a simulated cluster in virtual time.
type stage struct {
	cluster *kit.Cluster
	began   time.Time
	nodes   map[string]*corev1.Node
	told    int               // events that were printed, or are of no interest
	hashes  map[string]string // of revisions, to the names r1, r2, … in the order in which they appear
	// The simulated kubelets make every pod Ready sooner or later. What must stay as it is stands here: pods whose
	// probe fails, and nodes whose kubelet is down.
	failing map[types.UID]bool
	down    map[string]bool

	out []string
}

// do plays one command.
func (s *stage) do(line string) error {
	a := arguments(strings.Fields(line))
	command, ok := map[string]func(*arguments) error{
		"cluster": s.newCluster, "spec": s.changeSpec, "node": s.node, "pod": s.pod,
		"step": s.step, "run": s.run, "install": s.install, "advance": s.advance,
		"status": s.status, "explain": s.explain,
	}[a.next()]
	switch {
	case !ok:
		return errors.New("there is no command of that name")
	case s.cluster == nil && !strings.HasPrefix(line, "cluster"):
		return errors.New("there is no cluster yet")
	}
	if err := command(&a); err != nil {
		return err
	}
	return a.rest()
}

// newCluster: cluster [nodes=a,b] [start=5s] [stop=2s] [lag=2] [neverReady=IMAGE] [crashing=IMAGE] [spec arguments].
//
// An empty cluster with a set of that spec, which is named agent. Pods become Ready after start and are gone
// after stop. With a lag it takes so many ticks of a second until the planner sees what happens to pods and
// revisions. Pods of the revision that has the image and else the spec given here never become Ready, or
// Fail.
func (s *stage) newCluster(a *arguments) error {
	options, err := specOptions(a)
	if err != nil {
		return err
	}
	spec := kit.Spec("agent", append([]kit.SpecOption{kit.Image("agent:v1")}, options...)...)
	*s = stage{
		nodes: map[string]*corev1.Node{}, hashes: map[string]string{},
		failing: map[types.UID]bool{}, down: map[string]bool{}, out: s.out,
	}
	var behavior kit.Behavior
	var errs [3]error
	behavior.Start, errs[0] = a.duration("start")
	behavior.Stop, errs[1] = a.duration("stop")
	behavior.Lag, errs[2] = a.integer("lag")
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if image := a.named("neverReady"); image != "" {
		behavior.NeverReady = []string{hashWithImage(spec, image)}
	}
	if image := a.named("crashing"); image != "" {
		behavior.Failing = []string{hashWithImage(spec, image)}
	}
	for _, name := range a.list("nodes") {
		s.nodes[name] = kit.Node(name)
	}
	snapshot := rollout.Snapshot{Now: kit.Noon()}
	for _, node := range s.nodes {
		snapshot.Nodes = append(snapshot.Nodes, node)
	}
	s.began = snapshot.Now
	s.cluster, err = kit.NewCluster(spec, snapshot, behavior)
	return err
}

func hashWithImage(spec rollout.Spec, image string) string {
	spec = spec.Default()
	kit.Image("agent:" + image)(&spec)
	return kit.Hash(spec)
}

// changeSpec: spec [image=v2] [maxUnavailable=1] [maxSurge=30%] [minReadySeconds=30] [type=OnDelete] [paused=true]
// [frozen=true] [burst=2] [historyLimit=1] [nodeSelector=key=value|none] [tolerate=everything|key:Effect].
func (s *stage) changeSpec(a *arguments) error {
	options, err := specOptions(a)
	if err != nil {
		return err
	}
	spec := s.cluster.Spec().Default()
	// The two budgets exclude one another, so that the defaulted one must not be taken for a wish.
	spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = s.cluster.Spec().Strategy.MaxUnavailable, s.cluster.Spec().Strategy.MaxSurge
	for _, option := range options {
		option(&spec)
	}
	spec.Generation++
	return s.cluster.SetSpec(spec)
}

// node: node add NAME [label=k=v,…] [taint=k=v:Effect], node remove NAME, node label NAME k=v|k-,
// node taint NAME k=v:Effect|k-, node cordon NAME, node down NAME, node up NAME.
func (s *stage) node(a *arguments) error {
	verb, name := a.next(), a.next()
	old := s.nodes[name]
	if (old == nil) != (verb == "add") {
		return fmt.Errorf("there is no node %s, or there is one already", name)
	}
	switch verb {
	case "add":
		n := kit.Node(name)
		for _, label := range a.list("label") {
			relabel(n, label)
		}
		for _, taint := range a.list("taint") {
			retaint(n, taint)
		}
		s.setNode(n)
	case "remove":
		delete(s.nodes, name)
		delete(s.down, name)
		s.cluster.RemoveNode(name)
	case "label":
		s.changeNode(name, func(n *corev1.Node) { relabel(n, a.next()) })
	case "taint":
		s.changeNode(name, func(n *corev1.Node) { retaint(n, a.next()) })
	case "cordon":
		s.changeNode(name, kit.Cordoned())
	case "down":
		s.changeNode(name, kit.NotReady())
		s.down[name] = true
		return s.hold()
	case "up":
		fresh := kit.Node(name)
		s.changeNode(name, func(n *corev1.Node) {
			n.Status = fresh.Status
			retaint(n, corev1.TaintNodeNotReady+"-")
		})
		delete(s.down, name)
	default:
		return fmt.Errorf("there is no node command %s", verb)
	}
	return nil
}

func (s *stage) setNode(n *corev1.Node) {
	s.nodes[n.Name] = n
	s.cluster.SetNode(n)
}

func (s *stage) changeNode(name string, change func(*corev1.Node)) {
	n := s.nodes[name].DeepCopy()
	change(n)
	s.setNode(n)
}

func relabel(n *corev1.Node, label string) {
	if key, ok := strings.CutSuffix(label, "-"); ok {
		delete(n.Labels, key)
		return
	}
	key, value, _ := strings.Cut(label, "=")
	n.Labels[key] = value
}

func retaint(n *corev1.Node, taint string) {
	if key, ok := strings.CutSuffix(taint, "-"); ok {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		return
	}
	taint, effect, _ := strings.Cut(taint, ":")
	key, value, _ := strings.Cut(taint, "=")
	kit.Taint(key, value, corev1.TaintEffect(effect))(n)
}

// pod: pod add NODE name=x [revision=r1] [owner=none] [created=-2h] [state=ready|started|pending], pod delete|fail|unready POD.
//
// POD is the name of a pod, or of a node that holds just one. delete is what kubectl delete does, fail lets the pod
// Fail, unready its readiness probe, for as long as the pod is there.
func (s *stage) pod(a *arguments) error {
	verb, name := a.next(), a.next()
	if verb == "add" {
		return s.addPod(a, name)
	}
	p, err := s.findPod(name)
	if err != nil {
		return err
	}
	p = p.DeepCopy()
	switch verb {
	case "delete":
		kit.Terminating(s.cluster.Now())(p)
	case "fail":
		kit.Failed()(p)
	case "unready":
		kit.Unready()(p)
		s.failing[p.UID] = true
	default:
		return fmt.Errorf("there is no pod command %s", verb)
	}
	s.cluster.SetPod(p)
	return nil
}

func (s *stage) addPod(a *arguments, node string) error {
	options := []kit.PodOption{kit.Of(s.cluster.Spec()), kit.OnNode(node)}
	switch state := a.named("state"); state {
	case "", "ready":
	case "started":
		options = append(options, kit.Ready(s.cluster.Now()))
	case "pending":
		options = append(options, kit.PinnedTo(node))
	default:
		return fmt.Errorf("unknown state %s", state)
	}
	if revision := a.named("revision"); revision != "" {
		for hash, name := range s.hashes {
			if name == revision {
				options = append(options, kit.AtRevision(hash))
			}
		}
	}
	p := kit.Pod(a.named("name"), options...)
	if a.named("owner") == "none" {
		p.OwnerReferences = nil
	}
	created, err := a.duration("created")
	if err != nil {
		return err
	}
	kit.Created(s.cluster.Now().Add(created))(p)
	s.cluster.SetPod(p)
	return nil
}

func (s *stage) findPod(name string) (*corev1.Pod, error) {
	var found []*corev1.Pod
	for _, p := range s.cluster.Snapshot().Pods {
		if node, _ := placement.TargetNode(p); p.Name == name || node == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d pods are called so or are on a node called so", len(found))
	}
	return found[0], nil
}

// advance: advance 30s. Time passes, and nobody plans.
func (s *stage) advance(a *arguments) error {
	d, err := time.ParseDuration(a.next())
	if err != nil {
		return err
	}
	for end := s.cluster.Now().Add(d); s.cluster.Now().Before(end); {
		if err := s.tick(min(time.Second, end.Sub(s.cluster.Now()))); err != nil {
			return err
		}
	}
	s.tellEvents()
	return nil
}

// tick lets a short time pass: a second at most, so that what is held never falls due.
func (s *stage) tick(d time.Duration) error {
	if err := s.hold(); err != nil {
		return err
	}
	s.cluster.Tick(d)
	return nil
}

// hold keeps pods as they are whose probe fails or whose kubelet is down: setting a pod starts its delays anew.
func (s *stage) hold() error {
	if len(s.failing)+len(s.down) == 0 {
		return nil
	}
	if s.cluster.Behind() {
		return errors.New("failing pods and nodes that are down cannot be told together with a lag")
	}
	for _, p := range s.cluster.Snapshot().Pods {
		down := s.down[p.Spec.NodeName]
		if !down && (!s.failing[p.UID] || p.DeletionTimestamp != nil) {
			continue
		}
		if down && p.Status.Phase == corev1.PodRunning {
			p = p.DeepCopy()
			kit.Unready()(p)
		}
		s.cluster.SetPod(p)
	}
	return nil
}

// plan is what the controller sees and decides now, checked by Verify.
func (s *stage) plan() (rollout.Plan, rollout.Claims, error) {
	snapshot := s.cluster.Snapshot()
	claims, err := rollout.Claim(s.cluster.Spec(), snapshot.Pods)
	if err != nil {
		return rollout.Plan{}, claims, err
	}
	snapshot.Pods = claims.Pods
	plan, err := s.cluster.Plan(snapshot)
	if err != nil {
		return rollout.Plan{}, claims, err
	}
	if violations := rollout.Verify(s.cluster.Spec(), snapshot, plan); len(violations) > 0 {
		return rollout.Plan{}, claims, fmt.Errorf("the plan violates %v", violations)
	}
	return plan, claims, nil
}

// execute does what the plan says, and the adoptions before it.
func (s *stage) execute(plan rollout.Plan, claims rollout.Claims) error {
	spec := s.cluster.Spec().Default()
	for _, p := range claims.Adopt {
		adopted := p.DeepCopy()
		adopted.OwnerReferences = append(adopted.OwnerReferences, metav1.OwnerReference{
			APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID, Controller: new(true),
		})
		s.cluster.SetPod(adopted)
	}
	return s.cluster.Apply(plan)
}
