package rollout_test

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

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// stage is where a transcript is played: a set on a simulated cluster in virtual time.
type stage struct {
	cluster  *kit.Cluster
	behavior kit.Behavior
	began    time.Time
	nodes    map[string]*corev1.Node
	told     int               // events that were printed, or are of no interest
	hashes   map[string]string // of revisions, to the names r1, r2, … in the order in which they appear
	// The simulated kubelets make every pod Ready sooner or later. What must stay as it is stands here: pods whose
	// probe fails, and nodes whose kubelet is down.
	failing map[types.UID]bool
	down    map[string]bool
	applied []byte             // the manifest in force, if the spec is that of one
	given   []manifest.Setting // the settings that overrides come from
	kept    rollout.Memory     // what the manifest's status remembers
	single  bool               // no node may hold two pods any more
	before  rollout.Spec       // of the set that was taken over

	text string // of the command that is played, if it has one
	out  []string
}

// do plays one command.
func (s *stage) do(line string) error {
	line, text, hasText := strings.Cut(line, "\n")
	if hasText {
		line = strings.TrimSuffix(line, heredoc)
		text = strings.TrimSuffix(text, endOfText)
	}
	s.text = text
	a := arguments(strings.Fields(line))
	command, ok := map[string]func(*arguments) error{
		"cluster": s.newCluster, "spec": s.changeSpec, "node": s.node, "pod": s.pod,
		"step": s.step, "run": s.run, "install": s.install, "advance": s.advance,
		"status": s.status, "explain": s.explain, "pods": s.pods, "patches": s.patches, "diff": s.diff,
		"manifest": s.manifest, "objects": s.objects,
		"canary": s.canary, "marks": s.marks, "fleet": s.fleet, "ramp": s.ramp, "forget": s.forget, "command": s.command,
		"kubectl": s.kubectl, "behave": s.behave, "edit": s.edit, "annotate": s.annotate, "settings": s.settings,
		"takeover": s.takeover,
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
	if s.text != "" {
		return errors.New("this command takes no text")
	}
	return a.rest()
}

// takeText takes the text of the command.
func (s *stage) takeText() ([]byte, error) {
	if s.text == "" {
		return nil, errors.New("the command wants a text")
	}
	text := s.text
	s.text = ""
	return []byte(text), nil
}

// newCluster: cluster [nodes=a,b] [DELAY=5s]… [lag=2] [failedPulls=1] [IMAGES=v2,v3]… [spec arguments].
//
// An empty cluster with a set of that spec, which is named agent. Pods become Ready after start and are gone after
// stop; containers that change restart after restart and are resized after resizing; controllers of users see to hooks
// after hook; images are pulled ahead within pull. Each of these DELAYs may be never. With a lag it takes so many ticks
// of a second until the planner sees what happens to pods and revisions. The first failedPulls pulls of an image fail on
// each node.
//
// Pods of the revision that has the image and else the spec given here never become Ready with neverReady, and Fail with
// crashing. In place, stuck images cannot be pulled, and those of sameID are other names for what ran before.
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
	if s.behavior, err = behaviorOf(a, spec); err != nil {
		return err
	}
	for _, name := range a.list("nodes") {
		s.nodes[name] = kit.Node(name)
	}
	s.began = kit.Noon()
	return s.begin(spec, rollout.Snapshot{Now: s.began})
}

// begin puts the stage's nodes and the snapshot into a cluster of that spec.
func (s *stage) begin(spec rollout.Spec, snapshot rollout.Snapshot) (err error) {
	for _, node := range s.nodes {
		snapshot.Nodes = append(snapshot.Nodes, node)
	}
	s.cluster, err = kit.NewCluster(spec, snapshot, s.behavior)
	return err
}

func behaviorOf(a *arguments, spec rollout.Spec) (kit.Behavior, error) {
	var behavior kit.Behavior
	var errs []error
	for key, delay := range map[string]*time.Duration{
		"start": &behavior.Start, "stop": &behavior.Stop, "restart": &behavior.Restart, "resizing": &behavior.Resize,
		"hook": &behavior.Hook, "pull": &behavior.Pull,
	} {
		var err error
		*delay, err = a.delay(key)
		errs = append(errs, err)
	}
	for key, number := range map[string]*int{"lag": &behavior.Lag, "failedPulls": &behavior.FailedPulls} {
		var err error
		*number, err = a.integer(key)
		errs = append(errs, err)
	}
	for key, images := range map[string]*[]string{"stuck": &behavior.Stuck, "sameID": &behavior.SameID} {
		for _, image := range a.list(key) {
			*images = append(*images, "agent:"+image)
		}
	}
	for key, hashes := range map[string]*[]string{"neverReady": &behavior.NeverReady, "crashing": &behavior.Failing} {
		for _, image := range a.list(key) {
			*hashes = append(*hashes, hashWithImage(spec, image))
		}
	}
	return behavior, errors.Join(errs...)
}

func hashWithImage(spec rollout.Spec, image string) string {
	spec = spec.Default()
	kit.Image("agent:" + image)(&spec)
	return kit.Hash(spec)
}

// changeSpec: spec [image=v2] [maxUnavailable=1] [maxSurge=30%] [minReadySeconds=30] [type=OnDelete] [paused=true]
// [frozen=true] [burst=2] [historyLimit=1] [nodeSelector=key=value|none] [tolerate=everything|key:Effect]
//
// and for what Advanced DaemonSet has: [partition=10%] [selector=key=value|none] [partitionedScaling=true]
// [holdRevision=true] [method=InPlaceOnly] [resize=true] [cgroupV1=true] [envFromMetadata=true] [gracePeriod=10]
// [parallelism=2] [minUpdatedReadyPods=1]
//
// and for what ExtendedDaemonSet has: [canary=2|none] [duration=5m] [noRestarts=5m] [validation=manual] [canaryTimeout=1h]
// [maxRestartsDuration=5m] [maxSlowStart=5m] [canarySelector=key:value] [spread=zone] [slowStart=1m,1,250|none]
// [maxUnschedulable=1]
//
// and in the template: [requests=cpu:1,memory:1Gi] [limits=cpu:1] [restartToResize=memory] [env=NAME:value]
// [label=key:value] [annotation=key:value].
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

// node: node add NAME [label=k=v,…] [taint=k=v:Effect], node add 200 (n001 and so on), node remove NAME, node label NAME k=v|k-,
// node taint NAME k=v:Effect|k-, node annotate NAME k=v|k-, node cordon|uncordon|drain NAME, node down|up NAME,
// node unreachable|reachable NAME.
func (s *stage) node(a *arguments) error {
	verb, name := a.next(), a.next()
	if count, err := strconv.Atoi(name); err == nil && verb == "add" {
		for i := range count {
			s.setNode(kit.Node(fmt.Sprintf("n%03d", i+1)))
		}
		return nil
	}
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
	case "annotate":
		s.changeNode(name, func(n *corev1.Node) { reannotate(n, a.next()) })
	case "cordon":
		s.changeNode(name, kit.Cordoned())
	case "uncordon":
		s.changeNode(name, kit.Uncordoned())
	case "drain":
		s.drain(name)
	case "unreachable":
		s.unreachable(name)
	case "reachable":
		s.reachable(name)
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

func relabel(object metav1.Object, label string) {
	labels := object.GetLabels()
	if key, ok := strings.CutSuffix(label, "-"); ok {
		delete(labels, key)
		return
	}
	key, value, _ := strings.Cut(label, "=")
	labels[key] = value
}

func reannotate(n *corev1.Node, annotation string) {
	if key, ok := strings.CutSuffix(annotation, "-"); ok {
		delete(n.Annotations, key)
		return
	}
	key, value, _ := strings.Cut(annotation, "=")
	kit.NodeAnnotation(key, value)(n)
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
		adopted.OwnerReferences = append(adopted.OwnerReferences, ownerOf(spec))
		s.cluster.SetPod(adopted)
	}
	if err := s.cluster.Apply(plan); err != nil {
		return err
	}
	return s.doubled()
}
