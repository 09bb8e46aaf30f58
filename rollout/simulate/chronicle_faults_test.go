package simulate_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// faultyChronicles are chronicles of controllers whose calls fail.
func faultyChronicles(t *testing.T) []chronicle {
	t.Helper()
	const mega = 1_000_000
	two := rollouttest.MaxUnavailable("2")
	inPlace := rollouttest.InPlaceIfPossible()
	refused, lost := simulate.Controller{FailedCalls: 1}, simulate.Controller{LostAnswers: 1}
	// rollsOut is the rollout of a spec to n nodes that have version 1.
	rollsOut := func(n int, spec rollout.Spec, c simulate.Controller) simulate.Scenario {
		return simulate.Scenario{Fleet: fleetOf(n), Spec: spec, Controller: c}
	}
	// known is such a rollout to two nodes. The revision exists already, so no call waits for it.
	known := func(c simulate.Controller, options ...rollouttest.SpecOption) simulate.Scenario {
		fleet, spec := fleetOf(2, options...), second(append(options, two)...)
		snapshot, err := fleet.Build()
		if err != nil {
			t.Fatal(err)
		}
		snapshot.Revisions = append(snapshot.Revisions, rollouttest.Revision(spec, 2))
		return simulate.Scenario{Fleet: simulate.Fleet{Pools: []simulate.Pool{}, Snapshot: &snapshot}, Spec: spec, Controller: c}
	}
	// joining is a fleet at rest that so many nodes join.
	joining := func(n, more int, seed uint64, c simulate.Controller) simulate.Scenario {
		return simulate.Scenario{
			Seed: seed, Fleet: fleetOf(n), Spec: rollouttest.Spec("agent"), Controller: c,
			Events: []simulate.Event{{At: time.Second, What: simulate.AddNodes, Join: simulate.Pool{Name: "n", Nodes: more}}},
		}
	}
	// pulling makes the scenario pull images ahead. They have so many MB, a node pulls 10 MB/s, and a pull times out after 30 s.
	pulling := func(s simulate.Scenario, size int64) simulate.Scenario {
		s.Spec = second(inPlace, rollouttest.PreDownload("2"))
		s.Spec.PreDownload.TimeoutSeconds = 30
		s.Model.Registry = simulate.Registry{NodeBandwidth: 10 * mega, Size: size * mega}
		return s
	}
	limit := func(after time.Duration, s simulate.Scenario) simulate.Scenario {
		s.Limit = after
		return s
	}
	return []chronicle{
		{
			name: "every call is refused",
			why: `Nothing that refers to a revision is sent when it could not be made, but the status is. The next plan is a
				second later, and no different.`,
			scenario: limit(2*time.Second, rollsOut(2, second(), refused)),
			want: `
				0s CallFailed create revision agent-7f8746bb65
				0s CallFailed update status
				1s CallFailed create revision agent-7f8746bb65
				1s CallFailed update status
				2s CallFailed create revision agent-7f8746bb65
				2s CallFailed update status
			`,
			report: "limit after 2s, 6 calls, 6 failed calls",
		},
		{
			name: "every answer is lost",
			why: `All takes effect. Nothing follows a revision that is said to have failed; deletes do not depend on each
				other, creates do: one that seems to have failed is the last of its plan (M6). What the watch shows needs no
				second call. After a call that seems to have failed the next plan is a second later, whatever happens meanwhile.`,
			scenario: rollsOut(2, second(two), lost),
			want: `
				0s CallFailed create revision agent-7f8746bb65
				0s RevisionChanged
				0s CallFailed update status
				1s CallFailed delete pod agent-n-00001
				1s PodDeleted n-00001 Outdated
				1s CallFailed delete pod agent-n-00000
				1s PodDeleted n-00000 Outdated
				2s CallFailed update status
				11s CallFailed create pod on n-00000
				11s PodCreated n-00000 Missing
				11s CallFailed update status
				12s ImagePulled n-00000 registry
				12s CallFailed create pod on n-00001
				12s PodCreated n-00001 Missing
				12s CallFailed update status
				13s ImagePulled n-00001 registry
				13s CallFailed update status
				21s CallFailed update status
				22s CallFailed update status
			`,
			report: "done after 23s, 2 created, 2 deleted, 12 calls, 12 failed calls",
		},
		{
			name:     "creates that are refused",
			why:      `Four nodes wait, and the first batch is of one (M6).`,
			scenario: limit(2*time.Second, joining(1, 4, 0, refused)),
			want: `
				0s CallFailed update status
				1s EventHappened AddNodes 4 of pool n
				1s CallFailed create pod on n-00001
				1s CallFailed update status
				2s CallFailed create pod on n-00001
				2s CallFailed update status
			`,
			report: "limit after 2s, 5 calls, 5 failed calls",
		},
		{
			name:     "creates whose answers are lost",
			why:      `One each second, as each seems to be the end of its batch, and none twice.`,
			scenario: joining(1, 4, 0, lost),
			want: `
				0s CallFailed update status
				1s EventHappened AddNodes 4 of pool n
				1s CallFailed create pod on n-00001
				1s PodCreated n-00001 Missing
				1s CallFailed update status
				2s ImagePulled n-00001 registry
				2s CallFailed create pod on n-00002
				2s PodCreated n-00002 Missing
				2s CallFailed update status
				3s ImagePulled n-00002 registry
				3s CallFailed create pod on n-00003
				3s PodCreated n-00003 Missing
				3s CallFailed update status
				4s ImagePulled n-00003 registry
				4s CallFailed create pod on n-00004
				4s PodCreated n-00004 Missing
				4s CallFailed update status
				5s ImagePulled n-00004 registry
				5s CallFailed update status
				11s CallFailed update status
				12s CallFailed update status
				13s CallFailed update status
				14s CallFailed update status
			`,
			report: "done after 15s, 4 created, 14 calls, 14 failed calls",
		},
		{
			name: "a create that is refused in the middle",
			why: `The first batch is one create, the second two, the third four, and the fourth the last (M6). Two of the
				third are refused: the others of it are sent, and the fourth is not before the next plan, which begins with a
				batch of one again.`,
			scenario: limit(2*time.Second, joining(1, 8, 29, simulate.Controller{FailedCalls: 0.3})),
			want: `
				1s EventHappened AddNodes 8 of pool n
				1s PodCreated n-00001 Missing
				1s PodCreated n-00002 Missing
				1s PodCreated n-00003 Missing
				1s CallFailed create pod on n-00004
				1s PodCreated n-00005 Missing
				1s CallFailed create pod on n-00006
				1s PodCreated n-00007 Missing
				2s ImagePulled n-00001 registry
				2s ImagePulled n-00002 registry
				2s ImagePulled n-00003 registry
				2s ImagePulled n-00005 registry
				2s ImagePulled n-00007 registry
				2s PodCreated n-00004 Missing
				2s PodCreated n-00006 Missing
				2s PodCreated n-00008 Missing
			`,
			report: "limit after 2s, 8 created, 14 calls, 2 failed calls",
		},
		{
			name:     "deletes whose answers are lost",
			why:      `Each is asked for once.`,
			scenario: limit(11*time.Second, known(lost)),
			want: `
				0s CallFailed delete pod agent-n-00001
				0s PodDeleted n-00001 Outdated
				0s CallFailed delete pod agent-n-00000
				0s PodDeleted n-00000 Outdated
				0s CallFailed update status
				1s CallFailed update status
				10s CallFailed create pod on n-00000
				10s PodCreated n-00000 Missing
				10s CallFailed update status
				11s ImagePulled n-00000 registry
				11s CallFailed create pod on n-00001
				11s PodCreated n-00001 Missing
				11s CallFailed update status
			`,
			report: "limit after 11s, 2 created, 2 deleted, 8 calls, 8 failed calls",
		},
		{
			name: "some are refused, and the answers of others lost",
			why: `A call comes to nothing, or takes effect and is said to have come to nothing, each half of the time:
				nobody hears of anything that went well.`,
			scenario: known(simulate.Controller{FailedCalls: 0.5, LostAnswers: 0.5}),
			want: `
				0s CallFailed delete pod agent-n-00001
				0s PodDeleted n-00001 Outdated
				0s CallFailed delete pod agent-n-00000
				0s CallFailed update status
				1s CallFailed delete pod agent-n-00000
				1s CallFailed update status
				2s CallFailed delete pod agent-n-00000
				2s PodDeleted n-00000 Outdated
				3s CallFailed update status
				4s CallFailed update status
				10s CallFailed create pod on n-00001
				10s PodCreated n-00001 Missing
				10s CallFailed update status
				11s ImagePulled n-00001 registry
				11s CallFailed update status
				12s CallFailed create pod on n-00000
				12s PodCreated n-00000 Missing
				12s CallFailed update status
				13s ImagePulled n-00000 registry
				13s CallFailed update status
				14s CallFailed update status
				15s CallFailed update status
				20s CallFailed update status
				21s CallFailed update status
				22s CallFailed update status
			`,
			report: "done after 23s, 2 created, 2 deleted, 19 calls, 19 failed calls",
		},
		{
			name:     "refused, at two calls per second",
			why:      `The second after which a controller tries again begins with the last call that came to nothing.`,
			scenario: limit(3*time.Second, known(simulate.Controller{FailedCalls: 1, CallsPerSecond: 2})),
			want: `
				0s CallFailed delete pod agent-n-00001
				500ms CallFailed delete pod agent-n-00000
				1s CallFailed update status
				2s CallFailed delete pod agent-n-00001
				2.5s CallFailed delete pod agent-n-00000
				3s CallFailed update status
			`,
			report: "limit after 3s, 6 calls, 6 failed calls",
		},
		{
			name:     "patches that are refused",
			why:      `The second patch of a pod is not sent in a plan in which the first was refused.`,
			scenario: limit(2*time.Second, known(refused, inPlace)),
			want: `
				0s CallFailed patch pod agent-n-00001
				0s CallFailed patch pod agent-n-00000
				0s CallFailed update status
				1s CallFailed patch pod agent-n-00001
				1s CallFailed patch pod agent-n-00000
				1s CallFailed update status
				2s CallFailed patch pod agent-n-00001
				2s CallFailed patch pod agent-n-00000
				2s CallFailed update status
			`,
			report: "limit after 2s, 9 calls, 9 failed calls",
		},
		{
			name: "patches whose answers are lost",
			why: `The second patch of a pod waits for the next plan. It has its image and its container at 3 s, its update
				is found finished then, and it is ready at 10 s.`,
			scenario: known(lost, inPlace),
			want: `
				0s CallFailed patch pod agent-n-00001
				0s PodPatched n-00001 Outdated
				0s CallFailed patch pod agent-n-00000
				0s PodPatched n-00000 Outdated
				0s CallFailed update status
				1s CallFailed patch pod agent-n-00001
				1s PodPatched n-00001 Begun
				1s CallFailed patch pod agent-n-00000
				1s PodPatched n-00000 Begun
				1s CallFailed update status
				1s ImagePulled n-00000 registry
				1s ImagePulled n-00001 registry
				2s CallFailed update status
				3s ContainerRestarted n-00000 main
				3s ContainerRestarted n-00001 main
				3s CallFailed patch pod agent-n-00000
				3s PodPatched n-00000 InPlaceUnfinished
				3s CallFailed patch pod agent-n-00001
				3s PodPatched n-00001 InPlaceUnfinished
				3s CallFailed update status
				4s CallFailed update status
				10s CallFailed update status
			`,
			report: "done after 11s, 6 patched, 12 calls, 12 failed calls, 2 restarts",
		},
		{
			name: "patches whose answers are lost, and seen 3 s late",
			why: `What is patched at 0 s is seen at 3 s, and patched again; that is seen at 6 s, and the container that runs
				since 5 s at 8 s. The pod is ready at 12 s, and seen so at 15 s.`,
			scenario: known(simulate.Controller{LostAnswers: 1, Lag: simulate.Fixed(3 * time.Second)}, inPlace),
			want: `
				0s CallFailed patch pod agent-n-00001
				0s PodPatched n-00001 Outdated
				0s CallFailed patch pod agent-n-00000
				0s PodPatched n-00000 Outdated
				0s CallFailed update status
				3s CallFailed patch pod agent-n-00001
				3s PodPatched n-00001 Begun
				3s CallFailed patch pod agent-n-00000
				3s PodPatched n-00000 Begun
				3s CallFailed update status
				3s ImagePulled n-00000 registry
				3s ImagePulled n-00001 registry
				5s ContainerRestarted n-00000 main
				5s ContainerRestarted n-00001 main
				6s CallFailed update status
				8s CallFailed patch pod agent-n-00000
				8s PodPatched n-00000 InPlaceUnfinished
				8s CallFailed patch pod agent-n-00001
				8s PodPatched n-00001 InPlaceUnfinished
				8s CallFailed update status
				11s CallFailed update status
				15s CallFailed update status
			`,
			report: "done after 16s, 6 patched, 12 calls, 12 failed calls, 2 restarts",
		},
		{
			name:     "pulls that are refused",
			why:      `They are asked for again after a second.`,
			scenario: limit(2*time.Second, pulling(known(refused, inPlace), 100)),
			want: `
				0s CallFailed patch pod agent-n-00001
				0s CallFailed pull agent:v2 on n-00000
				0s CallFailed update status
				1s CallFailed patch pod agent-n-00001
				1s CallFailed pull agent:v2 on n-00000
				1s CallFailed update status
				2s CallFailed patch pod agent-n-00001
				2s CallFailed pull agent:v2 on n-00000
				2s CallFailed update status
			`,
			report: "limit after 2s, 9 calls, 9 failed calls",
		},
		{
			name: "pulls whose answers are lost",
			why: `Each is under way, and not asked for again. That image comes at 10 s, and the one that the other pod waits
				for since 1 s at 11 s.`,
			scenario: limit(12*time.Second, pulling(known(lost, inPlace), 100)),
			want: `
				0s CallFailed patch pod agent-n-00001
				0s PodPatched n-00001 Outdated
				0s CallFailed pull agent:v2 on n-00000
				0s PullStarted n-00000 agent:v2
				0s CallFailed update status
				1s CallFailed patch pod agent-n-00001
				1s PodPatched n-00001 Begun
				1s CallFailed update status
				2s CallFailed update status
				10s ImagePulled n-00000 registry
				10s CallFailed update status
				11s ImagePulled n-00001 registry
			`,
			report: "limit after 12s, 2 patched, 1 pulls, 7 calls, 7 failed calls",
		},
		{
			name: "pulls that time out",
			why: `400 MB take 40 s, and 30 s are allowed. Those ahead are given up at 30 s, and begun again 10 s later (D2).
				The pod of 2 has its image at 40 s and is done at 49 s. 1 is begun then, and its own pull is the one that goes
				on: its timeout at 70 s ends what the controller waits for, and not what the pod waits for. That of 0 is given
				up.`,
			scenario: limit(89*time.Second, pulling(simulate.Scenario{Fleet: fleetOf(3, inPlace)}, 400)),
			want: `
				0s RevisionChanged
				0s PodPatched n-00002 Outdated
				0s PodPatched n-00002 Outdated
				0s PullStarted n-00001 agent:v2
				0s PullStarted n-00000 agent:v2
				30s ImagePulled n-00001 registry abandoned
				30s ImagePulled n-00000 registry abandoned
				40s ImagePulled n-00002 registry
				40s PullStarted n-00001 agent:v2
				40s PullStarted n-00000 agent:v2
				42s ContainerRestarted n-00002 main
				42s PodPatched n-00002 InPlaceUnfinished
				49s PodPatched n-00001 Outdated
				49s PodPatched n-00001 Outdated
				1m10s ImagePulled n-00000 registry abandoned
				1m20s ImagePulled n-00001 registry
				1m22s ContainerRestarted n-00001 main
				1m22s PodPatched n-00001 InPlaceUnfinished
				1m29s PodPatched n-00000 Outdated
				1m29s PodPatched n-00000 Outdated
			`,
			report: "limit after 1m29s, 8 patched, 4 pulls, 24 calls, 2 restarts",
		},
	}
}
