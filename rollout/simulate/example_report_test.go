package simulate_test

import (
	"fmt"
	"os"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// reportFleet is the scenario of the examples: two zones of two nodes that run version 1. Pods take 2 s to stop and 4 s to start.
func reportFleet(spec rollout.Spec) simulate.Scenario {
	running := rollouttest.Spec("agent", rollouttest.Image("agent:v1"))
	return simulate.Scenario{
		Spec: spec,
		Fleet: simulate.Fleet{
			Pools:   []simulate.Pool{{Name: "web", Nodes: 4, Zones: []string{"a", "b"}}},
			Running: &running,
		},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{
			{Stop: simulate.Fixed(2 * time.Second), Start: simulate.Fixed(4 * time.Second)},
		}},
	}
}

func reportSpec(unavailable string) rollout.Spec {
	return rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable(unavailable))
}

// This is the report of a rollout by two nodes at a time.
func ExampleReport_String() {
	report, err := simulate.Run(reportFleet(reportSpec("2")))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(report)
	// Output:
	// agent, seed 0: done after 12s
	//   nodes        4, 4 to run the pod, 4 of them updated
	//   reached      50% after 6s, 90% after 12s, 99% after 12s, 100% after 12s
	//   waves        2
	//   unavailable  at most 2, first after 0s; 24s summed over nodes
	//                zone "a" of 2: at most 1, first after 0s; 12s summed over nodes
	//                zone "b" of 2: at most 1, first after 0s; 12s summed over nodes
	//   budget       maxUnavailable 2, used at most 2, on average 2.0
	//   pods         created 4, deleted 4, patched 0
	//   calls        18 of 9 plans, 0 failed
	//   waited for   NotReady: 16s summed over nodes
	//                Budget (maxUnavailable): 12s summed over nodes
	//                Terminating: 8s summed over nodes
}

func ExampleUnavailable_String() {
	report, _ := simulate.Run(reportFleet(reportSpec("2")))
	fmt.Println(report.Unavailable)
	// Output:
	// at most 2, first after 0s; 24s summed over nodes
}

func ExampleBudgetReport_String() {
	report, _ := simulate.Run(reportFleet(reportSpec("2")))
	fmt.Println(report.Budget)
	// Output:
	// maxUnavailable 2, used at most 2, on average 2.0
}

func ExampleWaitReport_String() {
	report, _ := simulate.Run(reportFleet(reportSpec("2")))
	fmt.Println(report.Waits[0])
	// Output:
	// NotReady: 16s summed over nodes
}

func ExampleCompare() {
	one, _ := simulate.Run(reportFleet(reportSpec("1")))
	two, _ := simulate.Run(reportFleet(reportSpec("50%")))
	table := simulate.Compare([]string{"one by one", "half at once"}, []simulate.Report{one, two})
	fmt.Println("compared:\n" + table.String())
	// Output:
	// compared:
	//                      one by one  half at once
	// outcome                    done          done
	// done after                  24s           12s
	// 50% after                   12s            6s
	// 90% after                   24s           12s
	// 99% after                   24s           12s
	// 100% after                  24s           12s
	// updated                  4 of 4        4 of 4
	// waves                         4             2
	// unavailable at most           1             2
	// unavailable, sum            24s           24s
	// budget                        1             2
	// budget used, mean           1.0           2.0
	// plans                        17             9
	// calls                        26            18
	// pods created                  4             4
	// pods patched                  0             0
	// from registry               0 B           0 B
	// from peers                  0 B           0 B
	// crashes                       0             0
	// canary                        -             -
	// waited longest for       Budget      NotReady
}

func ExampleTable_String() {
	fmt.Println(simulate.Table{
		Header: []string{"fleet", "small", "large"},
		Rows:   [][]string{{"nodes", "3", "15000"}, {"done", "yes", ""}},
	})
	// Output:
	// fleet  small  large
	// nodes      3  15000
	// done     yes
}

// The series has the data for a picture of the progress.
func ExampleRecorder_Series() {
	var recorder simulate.Recorder
	scenario := reportFleet(reportSpec("2"))
	scenario.History = recorder.Record
	if _, err := simulate.Run(scenario); err != nil {
		fmt.Println(err)
	}
	for _, p := range recorder.Series().Points {
		fmt.Printf("%v: %d old, %d new, %d of %d unavailable\n", p.At, p.Count(simulate.NodeOld), p.Count(simulate.NodeNew),
			p.Unavailable(), p.Desired())
	}
	// Output:
	// 0s: 2 old, 0 new, 2 of 4 unavailable
	// 2s: 2 old, 0 new, 2 of 4 unavailable
	// 6s: 0 old, 2 new, 2 of 4 unavailable
	// 8s: 0 old, 2 new, 2 of 4 unavailable
	// 12s: 0 old, 4 new, 0 of 4 unavailable
}

// The histories of nodes have the data for a picture of nodes over time.
func ExampleRecorder_Nodes() {
	var recorder simulate.Recorder
	scenario := reportFleet(reportSpec("2"))
	scenario.History = recorder.Record
	if _, err := simulate.Run(scenario); err != nil {
		fmt.Println(err)
	}
	for _, n := range recorder.Nodes() {
		fmt.Print(n.Zone, " ", n.Node)
		for _, change := range n.Changes {
			fmt.Printf(", %v %v", change.At, change.State)
		}
		fmt.Println()
	}
	// Output:
	// a web-00000, 0s old, 6s terminating, 8s starting, 12s new
	// a web-00002, 0s terminating, 2s starting, 6s new
	// b web-00001, 0s old, 6s terminating, 8s starting, 12s new
	// b web-00003, 0s terminating, 2s starting, 6s new
}

func ExampleRecorder_Record() {
	recorder := simulate.Recorder{WithoutNodes: true}
	recorder.Record(simulate.Record{Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeOld})
	recorder.Record(simulate.Record{
		At: 3 * time.Millisecond, Kind: simulate.ImagePulled, Node: "x", Bytes: 900, Took: 2 * time.Millisecond, Detail: "registry",
	})
	for _, span := range recorder.Series().Traffic {
		fmt.Println(span.From, span.To, span.Registry, span.Peers)
	}
	// Output:
	// 0s 1ms 0 0
	// 1ms 2ms 450 0
	// 2ms 3ms 450 0
	// 3ms 4ms 0 0
}

func ExampleSeries_WriteCSV() {
	var recorder simulate.Recorder
	scenario := reportFleet(reportSpec("4"))
	scenario.History = recorder.Record
	if _, err := simulate.Run(scenario); err != nil {
		fmt.Println(err)
	}
	fmt.Println(recorder.Series().WriteCSV(os.Stdout))
	// Output:
	// seconds,outside,empty,terminating,pending,pulling,starting,broken,lost,old,surging,new,desired,unavailable
	// 0,0,0,4,0,0,0,0,0,0,0,0,4,4
	// 2,0,0,0,0,0,4,0,0,0,0,0,4,4
	// 6,0,0,0,0,0,0,0,0,0,0,4,4,0
	// <nil>
}

func ExampleNewCSVWriter() {
	scenario := reportFleet(reportSpec("4"))
	scenario.Fleet.Pools[0].Nodes = 1
	history := simulate.NewCSVWriter(os.Stdout)
	scenario.History = history.Record
	_, err := simulate.Run(scenario)
	fmt.Println(err, history.Flush())
	// Output:
	// seconds,step,kind,node,zone,pod,revision,from,to,bytes,took,detail,count,limit
	// 0,0,NodeLabelled,web-00000,a,,,,,,,"daemonplan.io/pool=web,kubernetes.io/hostname=web-00000,topology.kubernetes.io/zone=a",,
	// 0,0,NodeChanged,web-00000,a,,67fcf8cd76,,old,,,,,
	// 0,1,Planned,,,,7f8746bb65,,,,,2,,
	// 0,1,BudgetUsed,,,,,,,,,maxUnavailable,1,4
	// 0,1,NodesUpdated,,,,7f8746bb65,,,,,,,
	// 0,1,RevisionChanged,,,,agent-7f8746bb65,,,,,,,
	// 0,1,PodDeleted,web-00000,a,agent-web-00000,67fcf8cd76,,,,,Outdated,,
	// 0,1,NodeChanged,web-00000,a,,,old,terminating,,,,,
	// 0,1,CallsSent,,,,,,,,,,3,
	// 0,2,Planned,,,,7f8746bb65,,,,,0,,
	// 0,2,NodesWait,,,,,,,,,Terminating none,1,
	// 0,2,CallsSent,,,,,,,,,,1,
	// 2,2,NodeChanged,web-00000,a,,,terminating,empty,,,,,
	// 2,3,Planned,,,,7f8746bb65,,,,,1,,
	// 2,3,NodesWait,,,,,,,,,Terminating none,,
	// 2,3,NodeChanged,web-00000,a,,,empty,pending,,,,,
	// 2,3,PodCreated,web-00000,a,agent-00002,7f8746bb65,,,,,Missing,,
	// 2,3,CallsSent,,,,,,,,,,2,
	// 2,3,NodeChanged,web-00000,a,,,pending,pulling,,,,,
	// 2,3,NodeChanged,web-00000,a,,,pulling,starting,,,,,
	// 2,3,ImagePulled,web-00000,a,,,,,,,registry,,
	// 2,4,Planned,,,,7f8746bb65,,,,,0,,
	// 2,4,NodesWait,,,,,,,,,NotReady none,1,
	// 2,4,NodesUpdated,,,,7f8746bb65,,,,,,1,
	// 2,4,CallsSent,,,,,,,,,,1,
	// 6,4,NodeChanged,web-00000,a,,7f8746bb65,starting,new,,,,,
	// 6,5,Planned,,,,7f8746bb65,,,,,0,,
	// 6,5,BudgetUsed,,,,,,,,,maxUnavailable,,4
	// 6,5,NodesWait,,,,,,,,,NotReady none,,
	// 6,5,CallsSent,,,,,,,,,,1,
	// 6,5,RunEnded,,,,,,,,,done,,
	// <nil> <nil>
}

func ExampleNewJSONLinesWriter() {
	history := simulate.NewJSONLinesWriter(os.Stdout)
	history.Record(simulate.Record{At: time.Second, Step: 2, Kind: simulate.NodeChanged, Node: "x", To: simulate.NodeNew})
	fmt.Println(history.Flush())
	// Output:
	// {"at":1000000000,"step":2,"kind":"NodeChanged","node":"x","to":"new"}
	// <nil>
}

func ExampleWriter_Record() {
	history := simulate.NewCSVWriter(os.Stdout)
	history.Record(simulate.Record{At: 1500 * time.Millisecond, Step: 2, Kind: simulate.EventHappened, Detail: "a node joins"})
	fmt.Println(history.Flush())
	// Output:
	// seconds,step,kind,node,zone,pod,revision,from,to,bytes,took,detail,count,limit
	// 1.5,2,EventHappened,,,,,,,,,a node joins,,
	// <nil>
}

func ExampleWriter_Flush() {
	history := simulate.NewCSVWriter(os.Stdout)
	fmt.Println(history.Flush())
	// Output:
	// seconds,step,kind,node,zone,pod,revision,from,to,bytes,took,detail,count,limit
	// <nil>
}
