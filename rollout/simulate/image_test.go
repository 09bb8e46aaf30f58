package simulate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// imageRow is a rollout in which images decide the course. Times are those of a trajectory. Images have 100 MB, which a node
// pulls in 10 s unless the row says otherwise.
type imageRow struct {
	name, why string
	seed      uint64
	spec      []rollouttest.SpecOption
	update    []rollouttest.SpecOption // options of version 2, in addition
	fleet     func(*simulate.Fleet)
	registry  func(*simulate.Registry)
	events    []simulate.Event
	limit     time.Duration
	nodes     map[string]string
	// pulls are the pulls ahead that began, and all pulls that ended, in order.
	pulls []string
	end   simulate.End
}

func imageRows(t *testing.T) []imageRow {
	const mega = 1_000_000
	has := func(image string) func(*simulate.Fleet) {
		return func(f *simulate.Fleet) { f.Pools[0].Images = []string{image} }
	}
	nodes := func(n int) func(*simulate.Fleet) { return func(f *simulate.Fleet) { f.Pools[0].Nodes = n } }
	second := func(s *rollout.Spec) {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
	}
	ahead := func(s *rollout.Spec) {
		s.PreDownload.TimeoutSeconds, s.PreDownload.BackoffLimit = 4, new(int32(1))
	}
	hasty := func(s *rollout.Spec) {
		s.PreDownload.TimeoutSeconds, s.PreDownload.BackoffLimit = 1, new(int32(2))
	}
	third := rollouttest.Spec("agent", rollouttest.Image("agent:v3"), rollouttest.InPlaceIfPossible())
	there := map[string]string{"n-00000": "0s terminating, 10s pending, 11s starting, 20s new"}
	return []imageRow{
		{
			name: "there already", why: "a node that has the image pulls nothing",
			fleet: has("agent:v2"), nodes: there, end: simulate.EndDone,
		},
		{
			name: "there under another name", why: "an image has several spellings",
			fleet: has("docker.io/library/agent:v2"), nodes: there, end: simulate.EndDone,
		},
		{
			name: "nodes of a snapshot", why: "they are of no pool that says another bandwidth than the registry's for nodes: 11 s to 21 s",
			fleet: func(f *simulate.Fleet) {
				snapshot, err := f.Build()
				if err != nil {
					t.Fatal(err)
				}
				*f = simulate.Fleet{Snapshot: &snapshot}
			},
			nodes: map[string]string{"n-00000": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new"},
			pulls: []string{"21s n-00000 a registry 100000000 in 10s"}, end: simulate.EndDone,
		},
		{
			name: "two images", why: `A pod waits for all of its images. They share 10 MB/s: the small one, 50 MB, is there after 10 s, the other after
				15 s, at 26 s.`,
			update:   []rollouttest.SpecOption{second},
			registry: func(r *simulate.Registry) { r.Sizes = map[string]int64{"side:v1": 50 * mega} },
			nodes:    map[string]string{"n-00000": "0s terminating, 10s pending, 11s pulling, 26s starting, 35s new"},
			pulls:    []string{"21s n-00000 a registry 50000000 in 10s", "26s n-00000 a registry 100000000 in 15s"}, end: simulate.EndDone,
		},
		{
			name: "a kubelet that is silent", why: `The image comes at 21 s, while the node is not Ready. The kubelet goes on when it is back, at 25 s:
				its pod is ready 9 s later.`,
			spec:   []rollouttest.SpecOption{rollouttest.Tolerating(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule)},
			events: []simulate.Event{{At: 15 * time.Second, What: simulate.NodeNotReady, For: simulate.Fixed(10 * time.Second)}},
			nodes:  map[string]string{"n-00000": "0s terminating, 10s pending, 11s pulling, 15s lost, 25s starting, 34s new"},
			pulls:  []string{"21s n-00000 a registry 100000000 in 10s"}, end: simulate.EndDone,
		},
		{
			name: "pulls that fail", why: "the first at 21 s, the second 10 s after that and 10 s long, the third 20 s after that: 41 s to 61 s to 71 s",
			registry: func(r *simulate.Registry) { r.FailedPulls = 1 }, limit: 100 * time.Second,
			nodes: map[string]string{"n-00000": "0s terminating, 10s pending, 11s pulling, 21s broken"},
			pulls: []string{
				"21s n-00000 a registry failed 100000000 in 10s", "41s n-00000 a registry failed 100000000 in 10s",
				"1m11s n-00000 a registry failed 100000000 in 10s",
			},
			end: simulate.EndLimit,
		},
		{
			name: "a node that goes while it pulls", why: "4 s of a pull were 40 MB, and nobody has the image for that",
			fleet:  nodes(2),
			events: []simulate.Event{{At: 15 * time.Second, What: simulate.RemoveNode, Node: "n-00001"}},
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s pending, 11s pulling, 15s gone",
				"n-00000": "0s old, 15s terminating, 25s pending, 26s pulling, 36s starting, 45s new",
			},
			pulls: []string{"15s n-00001  registry abandoned 40000000 in 4s", "36s n-00000 a registry 100000000 in 10s"}, end: simulate.EndDone,
		},
		{
			name: "from a peer", why: "1 has the image from the registry when 0, of the same zone, asks at 41 s",
			fleet: nodes(2), registry: func(r *simulate.Registry) { r.PeerToPeer = true },
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
				"n-00000": "0s old, 30s terminating, 40s pending, 41s pulling, 51s starting, 1m0s new",
			},
			pulls: []string{"21s n-00001 a registry 100000000 in 10s", "51s n-00000 a peer 100000000 in 10s"}, end: simulate.EndDone,
		},
		{
			name: "pulls ahead of two nodes that take too long", why: `2 is updated until 90 s. 1 and 0 pull ahead in turn, 1 s each, and again
				10 s and 20 s after that: the third time is the last. Then each pulls for its pod.`,
			fleet: nodes(3), spec: []rollouttest.SpecOption{rollouttest.PreDownload("1"), hasty, rollouttest.MinReadySeconds(60)},
			nodes: map[string]string{
				"n-00002": "0s terminating, 10s pending, 11s pulling, 21s starting, 1m30s new",
				"n-00001": "0s old, 1m30s terminating, 1m40s pending, 1m41s pulling, 1m51s starting, 3m0s new",
				"n-00000": "0s old, 3m0s terminating, 3m10s pending, 3m11s pulling, 3m21s starting, 4m30s new",
			},
			pulls: []string{
				"0s n-00001 a pull ahead of agent:v2", "1s n-00001 a registry abandoned 10000000 in 1s",
				"1s n-00000 a pull ahead of agent:v2", "2s n-00000 a registry abandoned 10000000 in 1s",
				"11s n-00001 a pull ahead of agent:v2", "12s n-00001 a registry abandoned 10000000 in 1s",
				"12s n-00000 a pull ahead of agent:v2", "13s n-00000 a registry abandoned 10000000 in 1s",
				"21s n-00002 a registry 100000000 in 10s",
				"32s n-00001 a pull ahead of agent:v2", "33s n-00001 a registry abandoned 10000000 in 1s",
				"33s n-00000 a pull ahead of agent:v2", "34s n-00000 a registry abandoned 10000000 in 1s",
				"1m51s n-00001 a registry 100000000 in 10s", "3m21s n-00000 a registry 100000000 in 10s",
			},
			end: simulate.EndDone,
		},
		{
			name: "pulls ahead that take too long", why: `0 pulls ahead while 1 is updated, is given up after 4 s, tried again once after a
				back-off of 10 s, and given up for good. Its pod asks itself, at 41 s, and waits as long as it takes.`,
			fleet: nodes(2), spec: []rollouttest.SpecOption{rollouttest.PreDownload("1"), ahead},
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
				"n-00000": "0s old, 30s terminating, 40s pending, 41s pulling, 51s starting, 1m0s new",
			},
			pulls: []string{
				"0s n-00000 a pull ahead of agent:v2", "4s n-00000 a registry abandoned 40000000 in 4s",
				"14s n-00000 a pull ahead of agent:v2", "18s n-00000 a registry abandoned 40000000 in 4s",
				"21s n-00001 a registry 100000000 in 10s", "51s n-00000 a registry 100000000 in 10s",
			},
			end: simulate.EndDone,
		},
		{
			name: "a pull that failed once", why: `An update in place pulls once the container is stopped, here at once. The second pull
				succeeds, and the pull of the next version is the first of its kind: it has not failed before.`,
			seed: 1, spec: []rollouttest.SpecOption{rollouttest.InPlaceIfPossible()},
			registry: func(r *simulate.Registry) { r.FailedPulls = 0.5 },
			events:   []simulate.Event{{At: 5 * time.Minute, What: simulate.SetSpec, Spec: &third}},
			nodes:    map[string]string{"n-00000": "0s pulling, 10s broken, 30s starting, 39s new, 5m0s pulling, 5m10s starting, 5m19s new"},
			pulls: []string{
				"10s n-00000 a registry failed 100000000 in 10s", "30s n-00000 a registry 100000000 in 10s",
				"5m10s n-00000 a registry 100000000 in 10s",
			},
			end: simulate.EndDone,
		},
	}
}

func TestImages(t *testing.T) {
	names := map[string]bool{}
	for _, row := range imageRows(t) {
		if row.name == "" || row.why == "" || names[row.name] {
			t.Fatalf("row %q: name and why must be there, and the name unique", row.name)
		}
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			scenario := simulate.Scenario{
				Seed: row.seed, Fleet: fleetOf(1, row.spec...), Spec: second(append(row.spec, row.update...)...), Events: row.events, Limit: row.limit,
				Model: trajectoryModel(),
			}
			scenario.Fleet.Pools[0].Zones = []string{"a"}
			scenario.Model.Registry = simulate.Registry{NodeBandwidth: 10_000_000, Size: 100_000_000}
			if row.fleet != nil {
				row.fleet(&scenario.Fleet)
			}
			if row.registry != nil {
				row.registry(&scenario.Model.Registry)
			}
			seen := course{nodes: map[string][]passage{}, states: map[string]simulate.NodeState{}}
			var pulls []string
			scenario.History = func(r simulate.Record) {
				seen.record(r)
				switch r.Kind {
				case simulate.PullStarted:
					pulls = append(pulls, fmt.Sprintf("%s %s %s pull ahead of %s", r.At, r.Node, r.Zone, r.Detail))
				case simulate.ImagePulled:
					pulls = append(pulls, fmt.Sprintf("%s %s %s %s %d in %s", r.At, r.Node, r.Zone, r.Detail, r.Bytes, r.Took))
				default:
				}
			}
			report, err := simulate.Run(scenario)
			if err != nil || report.End != row.end {
				t.Fatalf("%v after %v: %v", report.End, report.Elapsed, err)
			}
			nodes := map[string]string{}
			for node, passed := range seen.nodes {
				nodes[node] = passages(passed)
			}
			if diff := cmp.Diff(row.nodes, nodes); diff != "" {
				t.Errorf("%s\n(-by hand +simulated):\n%s", row.why, diff)
			}
			if diff := cmp.Diff(row.pulls, pulls); diff != "" {
				t.Errorf("%s\n(-by hand +simulated):\n%s", row.why, diff)
			}
		})
	}
}

// Pulls ahead are in flight from when they are asked for until they have ended and the controller has seen that, so that no pull
// is asked for twice. Without lag the controller sees the present state.
func TestPullsAheadAreInFlight(t *testing.T) {
	for _, lag := range []time.Duration{0, 5 * time.Second} {
		t.Run(lag.String(), func(t *testing.T) {
			options := []rollouttest.SpecOption{rollouttest.InPlaceIfPossible(), rollouttest.PreDownload("3")}
			fleet := simulate.Fleet{Running: new(rollouttest.Spec("agent", options...))}
			for i, name := range []string{"a", "b", "c"} { // the middle one is the slowest
				fleet.Pools = append(fleet.Pools, simulate.Pool{Name: name, Nodes: 3, Bandwidth: []int64{9, 4, 7}[i] * 1_000_000})
			}
			underWay := map[predownload.Request]bool{}
			scenario := simulate.Scenario{Fleet: fleet, Spec: second(options...), Model: trajectoryModel()}
			scenario.Model.Registry.Size = 100_000_000
			scenario.History = func(r simulate.Record) {
				switch request := (predownload.Request{Node: r.Node, Image: "agent:v2"}); r.Kind {
				case simulate.PullStarted:
					underWay[request] = true
				case simulate.ImagePulled:
					delete(underWay, request)
				default:
				}
			}
			if lag > 0 {
				scenario.Controller.Lag = simulate.Fixed(lag)
			}
			s, err := simulate.New(scenario)
			if err != nil {
				t.Fatal(err)
			}
			before := map[string]*corev1.Node{}
			report, err := s.Run(nil, func(s *simulate.Simulation, step *simulate.Step) error {
				if failed := step.Snapshot.FailedPulls; len(failed) > 0 {
					t.Errorf("at %v pulls have failed that did not: %v", step.At, failed)
				}
				inFlight := map[predownload.Request]bool{}
				for _, request := range step.Snapshot.InFlight.Pulls {
					inFlight[request] = true
				}
				for request := range underWay {
					if !inFlight[request] {
						t.Errorf("at %v the pull on %s is under way, and not in flight", step.At, request.Node)
					}
				}
				if lag == 0 && len(inFlight) != len(underWay) {
					t.Errorf("at %v %d pulls are in flight, and %d are under way", step.At, len(inFlight), len(underWay))
				}
				if lag == 0 && !slices.Equal(step.Snapshot.Nodes, s.Nodes()) {
					t.Errorf("at %v the controller sees other nodes than there are", step.At)
				}
				for _, node := range step.Snapshot.Nodes {
					if old := before[node.Name]; old != nil && old != node && old.ResourceVersion == node.ResourceVersion {
						t.Errorf("at %v node %s has changed, and has the version that it had", step.At, node.Name)
					}
					before[node.Name] = node
				}
				return nil
			})
			if err != nil || report.End != simulate.EndDone || report.Updated != 9 {
				t.Fatalf("%v after %v: %v", report.End, report.Elapsed, err)
			}
			// The first node pulls when its pod is updated. The other nodes pull ahead, each once.
			if report.Pulls != 8 || report.PulledBytes != 900_000_000 {
				t.Errorf("%d pulls ahead and %d bytes, want 8 and those of nine images", report.Pulls, report.PulledBytes)
			}
		})
	}
}
