package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// stage is where a transcript is played: a set on a simulated cluster in virtual time.
type stage struct {
	cluster  *harness.Cluster
	behavior harness.Behavior
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

	references
	shown  *rollout.Plan  // the plan that was shown last, if nothing has happened since
	made   []rollout.Plan // those that the last command made and executed
	events int            // how many there were when the stanza began
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

// beginStanza forgets what the stanza before did.
func (s *stage) beginStanza() {
	s.shown, s.made = nil, nil
	if s.cluster != nil {
		s.events = len(s.cluster.Events())
	}
}

// newCluster: cluster [spec=NAME] [nodes=a,b] [DELAY=5s]… [lag=2] [failedPulls=1] [IMAGES=v2,v3]… [spec arguments].
//
// An empty cluster with a set of that spec, which is named agent. Pods become Ready after start and are gone after
// stop; containers that change restart after restart and are resized after resizing; controllers of users see to hooks
// after hook; images are pulled ahead within pull. All of these DELAYs but the first two may be never. With a lag it takes
// so many ticks of a second until the planner sees what happens to pods and revisions. The first failedPulls pulls of an
// image fail on each node.
//
// Pods of the revision that has the image and else the spec given here never become Ready with neverReady, and Fail with
// crashing. In place, stuck images cannot be pulled, and those of sameID are other names for what ran before.
func (s *stage) newCluster(a *arguments) error {
	options, err := specOptions(a)
	if err != nil {
		return err
	}
	spec := kit.Spec("agent")
	if name := a.named("spec"); name != "" {
		if spec, err = s.specCalled(name); err != nil {
			return err
		}
	}
	for _, option := range options {
		option(&spec)
	}
	*s = stage{
		nodes: map[string]*corev1.Node{}, hashes: map[string]string{},
		failing: map[types.UID]bool{}, down: map[string]bool{}, out: s.out, references: s.references,
	}
	if s.behavior, err = behaviorOf(a, spec); err != nil {
		return err
	}
	for _, name := range a.list("nodes") {
		if name == "" || s.nodes[name] != nil {
			return errors.New("each node has a name of its own")
		}
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
	s.cluster, err = harness.NewCluster(spec, snapshot, s.behavior)
	s.told, s.events = 0, 0 // nothing has happened there yet
	return err
}

func behaviorOf(a *arguments, spec rollout.Spec) (harness.Behavior, error) {
	var behavior harness.Behavior
	var errs []error
	for _, known := range []struct {
		key   string
		delay *time.Duration
		read  func(*arguments, string) (time.Duration, error)
	}{
		{"start", &behavior.Start, (*arguments).delay}, {"stop", &behavior.Stop, (*arguments).delay},
		{"restart", &behavior.Restart, (*arguments).delayOrNever}, {"resizing", &behavior.Resize, (*arguments).delayOrNever},
		{"hook", &behavior.Hook, (*arguments).delayOrNever}, {"pull", &behavior.Pull, (*arguments).delayOrNever},
	} {
		var err error
		*known.delay, err = known.read(a, known.key)
		errs = append(errs, err)
	}
	var lag, failedPulls error
	behavior.Lag, lag = a.count("lag")
	behavior.FailedPulls, failedPulls = a.count("failedPulls")
	errs = append(errs, lag, failedPulls)
	for key, images := range map[string]*[]string{"stuck": &behavior.Stuck, "sameID": &behavior.SameID} {
		for _, image := range a.list(key) {
			*images = append(*images, tagged(&spec, image))
		}
	}
	for key, hashes := range map[string]*[]string{"neverReady": &behavior.NeverReady, "crashing": &behavior.Failing} {
		for _, image := range a.list(key) {
			*hashes = append(*hashes, hashWithImage(spec, image))
		}
	}
	return behavior, errors.Join(errs...)
}

// hashWithImage is the hash of the revision that has the image, or that tag of the spec's, and else the template of the spec.
func hashWithImage(spec rollout.Spec, image string) string {
	spec = spec.Default()
	kit.Image(tagged(&spec, image))(&spec)
	return kit.Hash(spec)
}

// tagged is the image of the spec's first container with another tag; an image that has one, or a path, is itself.
func tagged(spec *rollout.Spec, image string) string {
	if strings.ContainsAny(image, ":/@") || len(spec.Template.Spec.Containers) == 0 {
		return image
	}
	name, _, _ := strings.Cut(spec.Template.Spec.Containers[0].Image, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	return name + ":" + image
}

// specCalled is the spec that an option of Play has given that name, with a UID. Its template is a copy: the option that
// sets an image writes it.
func (s *stage) specCalled(name string) (rollout.Spec, error) {
	spec, ok := s.specs[name]
	if !ok {
		return rollout.Spec{}, fmt.Errorf("no spec is called %s; see WithSpec", name)
	}
	if spec.UID == "" {
		spec.UID = types.UID("set-" + spec.Name)
	}
	spec.Template = *spec.Template.DeepCopy()
	return spec, nil
}

// changeSpec: spec [image=v2] [maxUnavailable=1] [maxSurge=30%] [minReadySeconds=30] [type=OnDelete] [paused=true]
// [frozen=true] [burst=2] [historyLimit=1] [nodeSelector=key=value|none] [tolerate=everything|key:Effect]
//
// and for what Advanced DaemonSet has: [partition=10%] [selector=key=value|none] [partitionedScaling=true]
// [holdRevision=true] [method=InPlaceOnly] [resize=true] [sidecars=false]
// [addedTolerations=false] [cgroupV1=true] [envFromMetadata=true] [restartKeys=checksum/,k]
// [serveOn=exporter] [gracePeriod=10] [parallelism=2] [minUpdatedReadyPods=1]
//
// and for what ExtendedDaemonSet has: [canary=2|none] [duration=5m] [noRestarts=5m] [validation=manual] [canaryTimeout=1h]
// [maxRestartsDuration=5m] [maxSlowStart=5m] [canarySelector=key:value] [spread=zone] [slowStart=1m,1,250|none]
// [maxUnschedulable=1]
//
// and of the policy for fleets: [maxExempt=10%] [provenAfter=1h] [touch=true] [domains=rack:1,zone::1|none]
// [stages=ring-0:selector=ring=0:soak=1h,zones:key=zone|none]
//
// and in the template: [requests=cpu:1,memory:1Gi] [limits=cpu:1] [restartToResize=memory] [env=NAME:value]
// [label=key:value] [annotation=key:value].
func (s *stage) changeSpec(a *arguments) error {
	options, err := specOptions(a)
	if err != nil {
		return err
	}
	spec := s.cluster.Spec().Default()
	for _, option := range options {
		option(&spec)
	}
	spec.Generation++
	return s.cluster.SetSpec(spec)
}

// advance: tick [30s]. Time passes, a second unless said otherwise, and nobody plans.
func (s *stage) advance(a *arguments) error {
	d, err := lasting(cmp.Or(a.next(), "1s"))
	if err != nil {
		return err
	}
	step := d
	if s.holds() || s.behavior.Lag > 0 { // a watch that lags shows one state more with each tick
		step = time.Second
	}
	for end := s.cluster.Now().Add(d); s.cluster.Now().Before(end); {
		if err := s.tick(min(step, end.Sub(s.cluster.Now()))); err != nil {
			return err
		}
	}
	s.tellEvents()
	return nil
}

// holds reports whether pods are kept as they are, by hold.
func (s *stage) holds() bool { return len(s.failing)+len(s.down) > 0 }

// tick lets some time pass: a second at most while pods are held, so that what is held never falls due.
func (s *stage) tick(d time.Duration) error {
	if err := s.hold(); err != nil {
		return err
	}
	s.cluster.Tick(d)
	return nil
}

// hold keeps pods as they are whose probe fails or whose kubelet is down: setting a pod starts its delays anew.
func (s *stage) hold() error {
	if !s.holds() {
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
			kubelet.Unready(p, s.cluster.Now())
		}
		s.cluster.SetPod(p)
	}
	return nil
}

// plan is what the controller sees and decides now, checked by the verifier.
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
	s.shown = &plan
	if violations := verify.Plan(s.cluster.Spec(), snapshot, &plan); len(violations) > 0 {
		return rollout.Plan{}, claims, fmt.Errorf("the plan violates %v", violations)
	}
	if err := s.check(s.cluster.Spec(), snapshot, plan); err != nil {
		return rollout.Plan{}, claims, err
	}
	return plan, claims, nil
}

// execute does what the plan says, and before it takes what the set claims and lets go what it does not.
func (s *stage) execute(plan rollout.Plan, claims rollout.Claims) error {
	spec := s.cluster.Spec().Default()
	for _, p := range claims.Adopt {
		adopted := p.DeepCopy()
		adopted.OwnerReferences = append(adopted.OwnerReferences, ownerOf(spec))
		s.cluster.SetPod(adopted)
	}
	for _, p := range claims.Release {
		released := p.DeepCopy()
		released.OwnerReferences = slices.DeleteFunc(released.OwnerReferences,
			func(owner metav1.OwnerReference) bool { return owner.UID == spec.UID })
		s.cluster.SetPod(released)
	}
	if err := s.cluster.Apply(plan); err != nil {
		return err
	}
	s.made = append(s.made, plan)
	return s.doubled()
}
