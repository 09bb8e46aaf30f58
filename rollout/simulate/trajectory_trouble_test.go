package simulate_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// troubled are trajectories of rollouts in which something fails, or another change happens.
func troubled() []trajectory {
	const mega = 1_000_000
	failing := func(rule simulate.Kubelet) simulate.Model {
		rule.Image = "agent:v2"
		return simulate.Model{Kubelets: []simulate.Kubelet{rule}}
	}
	happens := func(e simulate.Event) []simulate.Event { return []simulate.Event{e} }
	third := second(rollouttest.Image("agent:v3"))
	hook := []rollouttest.SpecOption{
		rollouttest.PreDeleteHook(rollouttest.HookLabel("drain", "wanted")), rollouttest.PodTemplateLabel("drain", "wanted"),
	}
	everywhere := rollouttest.Spec("agent")
	zoneA := rollouttest.Changed(everywhere, rollouttest.TemplateNodeSelector(corev1.LabelTopologyZone, "a"))
	trial := []rollouttest.SpecOption{
		rollouttest.Canary("1"), rollouttest.AutoPause(canary.AutoPause{Disabled: true}),
		rollouttest.AutoFail(canary.AutoFail{MaxRestarts: new(int32(0))}),
	}
	return []trajectory{
		{
			name: "containers that crash twice",
			why: `The container runs at 13 s and crashes at 16 s. After 10 s of back-off and 2 s it runs at 28 s, crashes at 31 s, and after
				20 s and 2 s runs at 53 s, for good: ready at 60 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(1), Spec: second(), Model: failing(simulate.Kubelet{Crash: simulate.Fixed(3 * time.Second), Crashes: 2}),
			},
			nodes: map[string]string{
				"n-00000": "0s terminating, 10s pending, 11s starting, 16s broken, 28s starting, 31s broken, 53s starting, 1m0s new",
			},
			unavailable: "0s 1, 1m0s 0",
			end:         simulate.EndDone, finished: time.Minute, waves: 1, peak: 1, nodeTime: time.Minute,
			reached: "1m0s 1m0s 1m0s 1m0s",
		},
		{
			name: "an image that is not there",
			why: `2 is begun and cannot get its image at 11 s. It uses up the budget, so nobody follows. The last that happens is that ten
				minutes after its pod was created, at 10 s, nobody waits for it any more (P-A).`,
			scenario: simulate.Scenario{Fleet: fleetOf(3), Spec: second(), Model: failing(simulate.Kubelet{NoImage: new(true)})},
			nodes: map[string]string{
				"n-00002": "0s terminating, 10s pending, 11s broken", "n-00001": "0s old", "n-00000": "0s old",
			},
			unavailable: "0s 1",
			end:         simulate.EndStuck, finished: 0, waves: 1, peak: 1, nodeTime: 10*time.Minute + 10*time.Second,
			reached: "",
		},
		{
			name: "a canary that fails",
			why: `0 tries the revision (C1). Its container runs at 13 s and crashes at 16 s, which counts as a restart, although that is yet to
				come: more than 0, so it has failed (C4). Its pod goes and is gone at 26 s, the new one of the stable revision is ready at
				36 s. Nobody else was ever down.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3, trial...), Spec: second(trial...), Model: failing(simulate.Kubelet{Crash: simulate.Fixed(3 * time.Second)}),
			},
			nodes: map[string]string{
				"n-00000": "0s terminating, 10s pending, 11s starting, 16s terminating, 26s pending, 27s starting, 36s old",
				"n-00001": "0s old", "n-00002": "0s old",
			},
			unavailable: "0s 1, 36s 0",
			end:         simulate.EndDone, finished: 36 * time.Second, waves: 1, peak: 1, nodeTime: 36 * time.Second,
			reached: "",
		},
		{
			name: "a node that joins",
			why: `3 joins at 15 s and gets a pod at once (M1), at the update revision: ready at 25 s. It is unavailable until then (B2), so when 2
				is done at 20 s, 1 has to wait until 25 s: 45 s, and 0 until 65 s. Four nodes: two are done at 25 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3), Spec: second(),
				Events: happens(simulate.Event{At: 15 * time.Second, What: simulate.AddNodes, Join: simulate.Pool{Name: "n", Nodes: 1}}),
			},
			nodes: map[string]string{
				"n-00003": "15s pending, 16s starting, 25s new",
				"n-00002": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00001": "0s old, 25s terminating, 35s pending, 36s starting, 45s new",
				"n-00000": "0s old, 45s terminating, 55s pending, 56s starting, 1m5s new",
			},
			unavailable: "0s 1, 15s 2, 20s 1, 1m5s 0",
			end:         simulate.EndDone, finished: 65 * time.Second, waves: 3, peak: 2, nodeTime: 70 * time.Second,
			reached: "25s 1m5s 1m5s 1m5s",
		},
		{
			name: "a node that goes",
			why: `2 goes at 5 s, while its pod terminates, so that the place is free: 1 until 25 s, 0 until 45 s. The first of two nodes is half.
				1 did not wait until anything was done, so the longest chain is 1, 0.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3), Spec: second(),
				Events: happens(simulate.Event{At: 5 * time.Second, What: simulate.RemoveNode, Node: "n-00002"}),
			},
			nodes: map[string]string{
				"n-00002": "0s terminating, 5s gone",
				"n-00001": "0s old, 5s terminating, 15s pending, 16s starting, 25s new",
				"n-00000": "0s old, 25s terminating, 35s pending, 36s starting, 45s new",
			},
			unavailable: "0s 1, 45s 0",
			end:         simulate.EndDone, finished: 45 * time.Second, waves: 2, peak: 1, nodeTime: 45 * time.Second,
			reached: "25s 45s 45s 45s",
		},
		{
			name: "another version on the way",
			why: `2 has version 2 at 20 s, and 1 terminates when version 3 comes at 25 s. 2 is old again then. 1 gets version 3 at once when it
				is empty at 30 s: ready at 40 s. 2 again until 60 s, 0 until 80 s. The chain is 2, 1, 2, 0.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3), Spec: second(),
				Events: happens(simulate.Event{At: 25 * time.Second, What: simulate.SetSpec, Spec: &third}),
			},
			nodes: map[string]string{
				"n-00002": "0s terminating, 10s pending, 11s starting, 20s new, 25s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
				"n-00001": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00000": "0s old, 1m0s terminating, 1m10s pending, 1m11s starting, 1m20s new",
			},
			unavailable: "0s 1, 1m20s 0",
			end:         simulate.EndDone, finished: 80 * time.Second, waves: 4, peak: 1, nodeTime: 80 * time.Second,
			reached: "1m0s 1m20s 1m20s 1m20s",
		},
		{
			name: "a pod that is evicted",
			why: `0 loses its pod at 5 s. It is Failed, has nothing to stop, and is deleted and gone at once (M2; the API server gives ended pods
				no grace). The new one is of version 2 (T1), ready at 15 s. So two are down from 5 s to 15 s, and when 2 is done at 20 s,
				only 1 is left: 40 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3), Spec: second(),
				Events: happens(simulate.Event{At: 5 * time.Second, What: simulate.EvictPod, Node: "n-00000"}),
			},
			nodes: map[string]string{
				"n-00002": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00001": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00000": "0s old, 5s pending, 6s starting, 15s new",
			},
			unavailable: "0s 1, 5s 2, 15s 1, 40s 0",
			end:         simulate.EndDone, finished: 40 * time.Second, waves: 2, peak: 2, nodeTime: 50 * time.Second,
			reached: "20s 40s 40s 40s",
		},
		{
			name: "a call per second",
			why: `The revision is created at 0 s, the pods of 2, 1 and 0 are deleted at 1 s, 2 s and 3 s, and the status is written at 4 s. 2 is empty
				at 11 s: its pod is created then, and the status written at 12 s. The next call is that of a plan at 13 s, when 1 and 0 are
				empty: 0 gets its pod at 13 s and 1 at 14 s. Each is ready 10 s after that.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(3), Spec: second(rollouttest.MaxUnavailable("3")), Controller: simulate.Controller{CallsPerSecond: 1},
			},
			nodes: map[string]string{
				"n-00002": "0s old, 1s terminating, 11s pending, 12s starting, 21s new",
				"n-00001": "0s old, 2s terminating, 12s empty, 14s pending, 15s starting, 24s new",
				"n-00000": "0s old, 3s terminating, 13s pending, 14s starting, 23s new",
			},
			unavailable: "0s 0, 1s 1, 2s 2, 3s 3, 21s 2, 23s 1, 24s 0",
			end:         simulate.EndDone, finished: 24 * time.Second, waves: 1, peak: 3, nodeTime: 62 * time.Second,
			reached: "23s 24s 24s 24s",
		},
		{
			name: "a plan each twelve seconds",
			why: `There is always something new to plan for, so plans are made at 0 s, 12 s, 24 s, 36 s. 1 goes at 0 s, is empty at 10 s, and has a
				pod from 12 s, ready at 22 s. 0 goes at 24 s, is empty at 34 s, and has a pod from 36 s, ready at 46 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2), Spec: second(), Controller: simulate.Controller{Interval: 12 * time.Second},
			},
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s empty, 12s pending, 13s starting, 22s new",
				"n-00000": "0s old, 24s terminating, 34s empty, 36s pending, 37s starting, 46s new",
			},
			unavailable: "0s 1, 22s 0, 24s 1, 46s 0",
			end:         simulate.EndDone, finished: 46 * time.Second, waves: 2, peak: 1, nodeTime: 44 * time.Second,
			reached: "22s 46s 46s 46s",
		},
		{
			name: "peers",
			why: `3 and 2, one in each zone, share the registry's 20 MB/s: 100 MB from 11 s to 21 s, ready at 30 s. 1 and 0 find it in their zones
				and have it at 50 MB/s, from 41 s to 43 s, ready at 52 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(4), Spec: second(rollouttest.MaxUnavailable("2")),
				Model: simulate.Model{Registry: simulate.Registry{
					Bandwidth: 20 * mega, NodeBandwidth: 50 * mega, Size: 100 * mega, PeerToPeer: true,
				}},
			},
			nodes: map[string]string{
				"n-00003": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
				"n-00002": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
				"n-00001": "0s old, 30s terminating, 40s pending, 41s pulling, 43s starting, 52s new",
				"n-00000": "0s old, 30s terminating, 40s pending, 41s pulling, 43s starting, 52s new",
			},
			unavailable: "0s 2, 52s 0",
			end:         simulate.EndDone, finished: 52 * time.Second, waves: 2, peak: 2, nodeTime: 104 * time.Second,
			reached: "30s 52s 52s 52s",
		},
		{
			name: "in place, after a grace period",
			why: `A pod is made not ready, is changed 5 s later (I4), stops 2 s after that, runs 2 s later and is ready after 7 s more: 16 s. The
				other one follows until 32 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2, rollouttest.InPlaceIfPossible()), Spec: second(rollouttest.InPlaceIfPossible(), rollouttest.GracePeriod(5)),
				Model: simulate.Model{Kubelets: []simulate.Kubelet{{Restart: simulate.Fixed(2 * time.Second)}}},
			},
			nodes:       map[string]string{"n-00001": "0s starting, 16s new", "n-00000": "0s old, 16s starting, 32s new"},
			unavailable: "0s 1, 32s 0",
			end:         simulate.EndDone, finished: 32 * time.Second, waves: 2, peak: 1, nodeTime: 32 * time.Second,
			reached: "16s 32s 32s 32s",
		},
		{
			name: "a hook before deletion",
			why: `A pod that waits for its hook does not serve (B2). The hook is seen to after 5 s; then the pod terminates for 10 s, and the new
				one takes 10 s: 25 s each.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2, hook...), Spec: second(hook...), Model: simulate.Model{Hooks: simulate.Fixed(5 * time.Second)},
			},
			nodes: map[string]string{
				"n-00001": "0s terminating, 15s pending, 16s starting, 25s new",
				"n-00000": "0s old, 25s terminating, 40s pending, 41s starting, 50s new",
			},
			unavailable: "0s 1, 50s 0",
			end:         simulate.EndDone, finished: 50 * time.Second, waves: 2, peak: 1, nodeTime: 50 * time.Second,
			reached: "25s 50s 50s 50s",
		},
		{
			name: "another node selector, and back",
			why: `From 10 s to 30 s only zone a is to run the pod: 0 gets the revision of that until 30 s, and 1 loses its pod. Then 1 gets a
				pod of the first revision again, ready at 40 s, and 0 follows until 60 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(2), Spec: rollouttest.Spec("agent"), Events: []simulate.Event{
				{At: 10 * time.Second, What: simulate.SetSpec, Spec: &zoneA}, {At: 30 * time.Second, What: simulate.SetSpec, Spec: &everywhere},
			}},
			nodes: map[string]string{
				"n-00000": "0s new, 10s terminating, 20s pending, 21s starting, 30s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
				"n-00001": "0s new, 10s outside, 30s pending, 31s starting, 40s new",
			},
			unavailable: "0s 0, 10s 1, 1m0s 0",
			end:         simulate.EndDone, finished: time.Minute, waves: 2, peak: 1, nodeTime: 50 * time.Second,
			reached: "40s 1m0s 1m0s 1m0s",
		},
	}
}
