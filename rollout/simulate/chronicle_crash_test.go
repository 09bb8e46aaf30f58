package simulate_test

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// crashChronicles are chronicles of controllers that crash.
func crashChronicles() []chronicle {
	crashing := simulate.Controller{
		CallsPerSecond: 1, Crash: simulate.Fixed(12500 * time.Millisecond), Restart: simulate.Fixed(5 * time.Second),
	}
	rollsOut := func(seed uint64) simulate.Scenario {
		return simulate.Scenario{Seed: seed, Fleet: fleetOf(3), Spec: second(), Controller: crashing, Limit: 56 * time.Second}
	}
	return []chronicle{
		{
			name: "a controller that crashes while it waits",
			why: `It crashes 12.5 s after each start, and is away for 5 s. At 12.5 s it waits to send its next call, at 30 s
				and 47.5 s for something to do. What it left undone it does when it has come back, and nothing twice.`,
			scenario: rollsOut(0),
			want: `
				0s RevisionChanged
				1s PodDeleted n-00002 Outdated
				11s PodCreated n-00002 Missing
				12s ImagePulled n-00002 registry
				12.5s ControllerCrashed
				17.5s ControllerStarted
				21s PodDeleted n-00001 Outdated
				30s ControllerCrashed
				35s ControllerStarted
				35s PodCreated n-00001 Missing
				36s ImagePulled n-00001 registry
				45s PodDeleted n-00000 Outdated
				47.5s ControllerCrashed
				52.5s ControllerStarted
				55s PodCreated n-00000 Missing
				56s ImagePulled n-00000 registry
			`,
			report: "limit after 56s, 3 created, 3 deleted, 18 calls, 3 controller crashes",
		},
		{
			name: "a controller that crashes at work",
			why: `At 30 s and at 49.5 s it is drawn that it crashes in its next plan, after the only action and before the
				status: at 32 s and at 52 s. It starts 5 s later each time.`,
			scenario: rollsOut(1),
			want: `
				0s RevisionChanged
				1s PodDeleted n-00002 Outdated
				11s PodCreated n-00002 Missing
				12s ImagePulled n-00002 registry
				12.5s ControllerCrashed
				17.5s ControllerStarted
				21s PodDeleted n-00001 Outdated
				31s PodCreated n-00001 Missing
				32s ImagePulled n-00001 registry
				32s ControllerCrashed
				37s ControllerStarted
				41s PodDeleted n-00000 Outdated
				51s PodCreated n-00000 Missing
				52s ImagePulled n-00000 registry
				52s ControllerCrashed
			`,
			report: "limit after 56s, 3 created, 3 deleted, 16 calls, 3 controller crashes",
		},
		{
			name: "a controller that crashes between its calls",
			why: `Three pods are to be deleted, a second apart, and it crashes before the second. It lists what is there at
				20 s and goes on.`,
			scenario: simulate.Scenario{
				Limit: 20 * time.Second, Fleet: fleetOf(3), Spec: second(rollouttest.Paused()), Controller: crashing,
				Events: []simulate.Event{{At: 14 * time.Second, What: simulate.SetSpec, Spec: new(second(rollouttest.MaxUnavailable("3")))}},
			},
			want: `
				0s RevisionChanged
				14s EventHappened SetSpec
				14s PodDeleted n-00002 Outdated
				15s ControllerCrashed
				20s ControllerStarted
				20s PodDeleted n-00001 Outdated
			`,
			report: "limit after 20s, 2 deleted, 4 calls, 1 controller crashes",
		},
		{
			name: "a crash of a controller that is away",
			why: `At 8 s it crashes, until 13 s. At 10 s there is nobody who could crash. The pod that is gone at 10 s is
				replaced at 13 s.`,
			scenario: simulate.Scenario{
				Fleet: fleetOf(1), Spec: second(), Controller: simulate.Controller{Restart: simulate.Fixed(5 * time.Second)},
				Events: []simulate.Event{
					{At: 8 * time.Second, What: simulate.CrashController}, {At: 10 * time.Second, What: simulate.CrashController},
				},
			},
			want: `
				0s RevisionChanged
				0s PodDeleted n-00000 Outdated
				8s EventHappened CrashController
				8s ControllerCrashed
				10s EventHappened CrashController
				13s ControllerStarted
				13s PodCreated n-00000 Missing
				14s ImagePulled n-00000 registry
			`,
			report: "done after 23s, 1 created, 1 deleted, 8 calls, 1 controller crashes",
		},
	}
}
