package simulate_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// trajectories are rollouts in which no unexpected trouble occurs.
func trajectories() []trajectory {
	const mega = 1_000_000
	tolerant := rollouttest.Tolerating(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule)
	notReady := []simulate.Event{{What: simulate.NodeNotReady, Node: "n-00001", For: simulate.Fixed(time.Minute)}}
	trial := rollouttest.CanaryFor(5*time.Minute, 0)
	return []trajectory{
		{
			name: "one at a time",
			why: `Five nodes, 20 s each, one after the other: 4 at 0 s, 3 at 20 s, 2 at 40 s, 1 at 60 s, 0 at 80 s, done at 100 s.
				One is down all the time: 100 s. The third of five, more than half, is done at 60 s; 90 % of five are all.`,
			scenario: simulate.Scenario{Fleet: fleetOf(5), Spec: second()},
			nodes: map[string]string{
				"n-00004": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00003": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00002": "0s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
				"n-00001": "0s old, 1m0s terminating, 1m10s pending, 1m11s starting, 1m20s new",
				"n-00000": "0s old, 1m20s terminating, 1m30s pending, 1m31s starting, 1m40s new",
			},
			unavailable: "0s 1, 1m40s 0",
			end:         simulate.EndDone, finished: 100 * time.Second, waves: 5, peak: 1, nodeTime: 100 * time.Second,
			reached: "1m0s 1m40s 1m40s 1m40s",
		},
		{
			name:     "two at a time",
			why:      `4 and 3 at 0 s, 2 and 1 at 20 s, 0 alone at 40 s, done at 60 s. Two are down for 40 s and one for 20 s: 100 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(5), Spec: second(rollouttest.MaxUnavailable("2"))},
			nodes: map[string]string{
				"n-00004": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00003": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00002": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00001": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00000": "0s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
			},
			unavailable: "0s 2, 40s 1, 1m0s 0",
			end:         simulate.EndDone, finished: time.Minute, waves: 3, peak: 2, nodeTime: 100 * time.Second,
			reached: "40s 1m0s 1m0s 1m0s",
		},
		{
			name: "surge",
			why: `New pods beside 4 and 3 at 0 s are ready at 10 s, and their places go to 2 and 1, at 20 s to 0, which is done at 30 s.
				Nobody is ever down. Old pods terminate meanwhile, and hold up nobody.`,
			scenario: simulate.Scenario{Fleet: fleetOf(5), Spec: second(rollouttest.MaxSurge("2"))},
			nodes: map[string]string{
				"n-00004": "0s surging, 10s new",
				"n-00003": "0s surging, 10s new",
				"n-00002": "0s old, 10s surging, 20s new",
				"n-00001": "0s old, 10s surging, 20s new",
				"n-00000": "0s old, 20s surging, 30s new",
			},
			unavailable: "0s 0",
			end:         simulate.EndDone, finished: 30 * time.Second, waves: 3, peak: 0, nodeTime: 0,
			reached: "20s 30s 30s 30s",
		},
		{
			name: "in place, with images pulled ahead",
			why: `A node pulls 100 MB at 10 MB/s: 10 s. 3 is begun at 0 s without the image: its container stops at 2 s, has the image at
				12 s, runs at 14 s and is ready 7 s later, at 21 s. Two at a time pull ahead where an update waits: 2 and 1 by 10 s, 0 by
				20 s. So each of them takes 2 + 1 + 1 + 7 = 11 s: 2 until 32 s, 1 until 43 s, 0 until 54 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(4, rollouttest.InPlaceIfPossible()),
				Spec:  second(rollouttest.InPlaceIfPossible(), rollouttest.PreDownload("2")),
				Model: simulate.Model{
					Registry: simulate.Registry{NodeBandwidth: 10 * mega, Size: 100 * mega},
					Kubelets: []simulate.Kubelet{{Restart: simulate.Fixed(2 * time.Second)}},
				},
			},
			nodes: map[string]string{
				"n-00003": "0s starting, 2s pulling, 12s starting, 21s new",
				"n-00002": "0s old, 21s starting, 32s new",
				"n-00001": "0s old, 32s starting, 43s new",
				"n-00000": "0s old, 43s starting, 54s new",
			},
			unavailable: "0s 1, 54s 0",
			end:         simulate.EndDone, finished: 54 * time.Second, waves: 4, peak: 1, nodeTime: 54 * time.Second,
			reached: "32s 54s 54s 54s",
		},
		{
			name: "slow start",
			why: `Two more under way each 30 s. 9 and 8 at 0 s, 7 and 6 in their places at 20 s; at 30 s there are four places: 5 and 4; at
				40 s 3 and 2 in those of 7 and 6, at 50 s 1 and 0 in those of 5 and 4; 3 and 2 are done at 60 s, 1 and 0 at 70 s.
				The longest chains are 9, 7, 3 and 9, 5, 1.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(10),
				Spec:  second(rollouttest.MaxUnavailable("10"), rollouttest.SlowStart(30*time.Second, "2", "100%")),
			},
			nodes: map[string]string{
				"n-00009": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00008": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00007": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00006": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00005": "0s old, 30s terminating, 40s pending, 41s starting, 50s new",
				"n-00004": "0s old, 30s terminating, 40s pending, 41s starting, 50s new",
				"n-00003": "0s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
				"n-00002": "0s old, 40s terminating, 50s pending, 51s starting, 1m0s new",
				"n-00001": "0s old, 50s terminating, 1m0s pending, 1m1s starting, 1m10s new",
				"n-00000": "0s old, 50s terminating, 1m0s pending, 1m1s starting, 1m10s new",
			},
			unavailable: "0s 2, 30s 4, 1m0s 2, 1m10s 0",
			end:         simulate.EndDone, finished: 70 * time.Second, waves: 3, peak: 4, nodeTime: 200 * time.Second,
			reached: "50s 1m10s 1m10s 1m10s",
		},
		{
			name: "a slow registry",
			why: `Four nodes at once ask for 100 MB at 11 s, of a registry of 20 MB/s: 5 MB/s each, 20 s. They have it at 31 s, and are
				ready at 40 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(4), Spec: second(rollouttest.MaxUnavailable("4")),
				Model: simulate.Model{Registry: simulate.Registry{Bandwidth: 20 * mega, Size: 100 * mega}},
			},
			nodes: map[string]string{
				"n-00003": "0s terminating, 10s pending, 11s pulling, 31s starting, 40s new",
				"n-00002": "0s terminating, 10s pending, 11s pulling, 31s starting, 40s new",
				"n-00001": "0s terminating, 10s pending, 11s pulling, 31s starting, 40s new",
				"n-00000": "0s terminating, 10s pending, 11s pulling, 31s starting, 40s new",
			},
			unavailable: "0s 4, 40s 0",
			end:         simulate.EndDone, finished: 40 * time.Second, waves: 1, peak: 4, nodeTime: 160 * time.Second,
			reached: "40s 40s 40s 40s",
		},
		{
			name: "a slow registry and slow nodes",
			why: `Those of pool m can take 2 MB/s each: 80 MB in 40 s, 11 s to 51 s. Those of n share the other 16 of 20 MB/s: 8 MB/s each,
				10 s, 11 s to 21 s. Each is ready 9 s after that. Nobody is left who could use what n leaves at 21 s.`,
			scenario: simulate.Scenario{
				Fleet: simulate.Fleet{
					Pools:   []simulate.Pool{{Name: "m", Nodes: 2, Bandwidth: 2 * mega}, {Name: "n", Nodes: 2}},
					Running: new(rollouttest.Spec("agent")),
				},
				Spec:  second(rollouttest.MaxUnavailable("100%")),
				Model: simulate.Model{Registry: simulate.Registry{Bandwidth: 20 * mega, Size: 80 * mega}},
			},
			nodes: map[string]string{
				"m-00000": "0s terminating, 10s pending, 11s pulling, 51s starting, 1m0s new",
				"m-00001": "0s terminating, 10s pending, 11s pulling, 51s starting, 1m0s new",
				"n-00000": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
				"n-00001": "0s terminating, 10s pending, 11s pulling, 21s starting, 30s new",
			},
			unavailable: "0s 4, 30s 2, 1m0s 0",
			end:         simulate.EndDone, finished: time.Minute, waves: 1, peak: 4, nodeTime: 180 * time.Second,
			reached: "30s 1m0s 1m0s 1m0s",
		},
		{
			name: "a node that is not Ready uses up the budget",
			why: `The template tolerates the taint, so 1 is to run the pod, and does not: that is the one node that may be down. Its pod is
				not Ready and goes at once (B3), but nobody takes it away before the kubelet is back at 60 s. Then it is gone at once, and
				the new one is ready at 70 s. 2 follows until 90 s, and 0 until 110 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(3, tolerant), Spec: second(tolerant), Events: notReady},
			nodes: map[string]string{
				"n-00002": "0s old, 1m10s terminating, 1m20s pending, 1m21s starting, 1m30s new",
				"n-00001": "0s lost, 1m0s pending, 1m1s starting, 1m10s new",
				"n-00000": "0s old, 1m30s terminating, 1m40s pending, 1m41s starting, 1m50s new",
			},
			unavailable: "0s 1, 1m50s 0",
			end:         simulate.EndDone, finished: 110 * time.Second, waves: 3, peak: 1, nodeTime: 110 * time.Second,
			reached: "1m30s 1m50s 1m50s 1m50s",
		},
		{
			name: "a node that is not Ready and not desired",
			why: `Without the toleration the taint keeps new pods away: 1 may keep its pod (P3), is not desired, and uses up nothing (B2). 2 goes
				until 20 s, 0 until 40 s. When 1 is back, at 60 s, it is to run the pod again, and is recreated until 80 s. As it is, and
				not as the planner counts, 1 is without an agent all the time.`,
			scenario: simulate.Scenario{Fleet: fleetOf(3), Spec: second(), Events: notReady},
			nodes: map[string]string{
				"n-00002": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00001": "0s lost, 1m0s terminating, 1m10s pending, 1m11s starting, 1m20s new",
				"n-00000": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
			},
			unavailable: "0s 2, 40s 1, 1m20s 0",
			end:         simulate.EndDone, finished: 80 * time.Second, waves: 3, peak: 2, nodeTime: 120 * time.Second,
			reached: "40s 1m20s 1m20s 1m20s",
		},
		{
			name: "a canary that is promoted by the clock",
			why: `The first by name, 0, tries the revision (C1) and has it at 20 s. 300 s later it is promoted (C2), and 3, 2 and 1 follow, 20 s
				each: 340 s, 360 s, 380 s.`,
			scenario: simulate.Scenario{Fleet: fleetOf(4, trial), Spec: second(trial)},
			nodes: map[string]string{
				"n-00000": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00003": "0s old, 5m20s terminating, 5m30s pending, 5m31s starting, 5m40s new",
				"n-00002": "0s old, 5m40s terminating, 5m50s pending, 5m51s starting, 6m0s new",
				"n-00001": "0s old, 6m0s terminating, 6m10s pending, 6m11s starting, 6m20s new",
			},
			unavailable: "0s 1, 20s 0, 5m20s 1, 6m20s 0",
			end:         simulate.EndDone, finished: 380 * time.Second, waves: 4, peak: 1, nodeTime: 80 * time.Second,
			reached: "5m40s 6m20s 6m20s 6m20s",
		},
		{
			name: "minReadySeconds",
			why:  `A pod is available 10 s after it is ready, so that a node takes 30 s, and is down as long (B5).`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2, rollouttest.MinReadySeconds(10)), Spec: second(rollouttest.MinReadySeconds(10)),
			},
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s pending, 11s starting, 30s new",
				"n-00000": "0s old, 30s terminating, 40s pending, 41s starting, 1m0s new",
			},
			unavailable: "0s 1, 1m0s 0",
			end:         simulate.EndDone, finished: time.Minute, waves: 2, peak: 1, nodeTime: time.Minute,
			reached: "30s 1m0s 1m0s 1m0s",
		},
		{
			name: "a partition",
			why: `Three of five are held, the first by name (T2): 4 is done at 20 s, 3 at 40 s, and that is the end. Two of five are less than
				half.`,
			scenario: simulate.Scenario{Fleet: fleetOf(5), Spec: second(rollouttest.Partition("3"))},
			nodes: map[string]string{
				"n-00004": "0s terminating, 10s pending, 11s starting, 20s new",
				"n-00003": "0s old, 20s terminating, 30s pending, 31s starting, 40s new",
				"n-00002": "0s old", "n-00001": "0s old", "n-00000": "0s old",
			},
			unavailable: "0s 1, 40s 0",
			end:         simulate.EndDone, finished: 40 * time.Second, waves: 2, peak: 1, nodeTime: 40 * time.Second,
			reached: "",
		},
		{
			name: "a controller that sees everything 5 s late",
			why: `1 is begun at 0 s, with what was listed then. Its pod is gone at 10 s, which is seen at 15 s; the new one is ready at 25 s,
				which is seen at 30 s. 0 goes then, is empty from 40 s to 45 s, and done at 55 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(2), Spec: second(), Controller: simulate.Controller{Lag: simulate.Fixed(5 * time.Second)},
			},
			nodes: map[string]string{
				"n-00001": "0s terminating, 10s empty, 15s pending, 16s starting, 25s new",
				"n-00000": "0s old, 30s terminating, 40s empty, 45s pending, 46s starting, 55s new",
			},
			unavailable: "0s 1, 25s 0, 30s 1, 55s 0",
			end:         simulate.EndDone, finished: 55 * time.Second, waves: 2, peak: 1, nodeTime: 50 * time.Second,
			reached: "25s 55s 55s 55s",
		},
	}
}
