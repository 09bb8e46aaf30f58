package transcript_test

import (
	"errors"
	"fmt"
	"path/filepath"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// A text that comes back as it was is true. What is written below the commands is replaced by what they print.
func ExamplePlay() {
	played, err := transcript.Play(`# The budget of agent: one node at a time.

# Three nodes, installed, and a new image.
cluster nodes=a,b,c image=v1
install
spec image=v2
step
expect actions deletes=1
----
`)
	fmt.Print(played)
	fmt.Println(err)
	// Output:
	// # The budget of agent: one node at a time.
	//
	// # Three nodes, installed, and a new image.
	// cluster nodes=a,b,c image=v1
	// install
	// spec image=v2
	// step
	// expect actions deletes=1
	// ----
	// NAME    DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
	// agent   3         3         3       3            3           <none>          16s
	// now 12:00:16, next wake none; Running (RolloutComplete)
	// NAME    DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
	// agent   3         3         3       0            3           <none>          16s
	// create revision r2 as number 2
	// delete agent-x0003 at r1 on c (Outdated)
	// 2 nodes wait: maxUnavailable 1 is used up by c (a, b)
	// now 12:00:16, next wake none; Updating (RolloutInProgress)
	// <nil>
}

// A spec that is built in Go gets a name for the transcript.
func ExampleWithSpec() {
	_, err := transcript.Play(`# Two at a time.

# The spec is the team's own.
cluster spec=exporter nodes=a,b,c
install
spec image=v2
step
expect actions deletes=2
----
`, transcript.WithSpec("exporter", kit.Spec("exporter", kit.MaxUnavailable("2"))))
	fmt.Println(err)
	// Output: <nil>
}

// Play has no files by itself; here they are in memory.
func ExampleWithFiles() {
	_, err := transcript.Play(`# The manifest is applied.

# One node.
cluster nodes=a
apply agent.yaml
install
expect pod a image=agent:v7
----
`, transcript.WithFiles(func(string) ([]byte, error) {
		return []byte(`{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
			"selector": {"matchLabels": {"app": "agent"}},
			"template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "main", "image": "agent:v7"}]}}
		}}`), nil
	}))
	fmt.Println(err)
	// Output: <nil>
}

// printing is a test that prints how it fails.
type printing struct{}

func (printing) Helper()                           {}
func (printing) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printing) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// In a test t is the *testing.T; here it is one that prints. All of a directory is what RunDir runs.
func ExampleRun() {
	transcript.Run(printing{}, []string{filepath.Join("testdata", "canary.txt")}, false)
	// Output:
}

// Run runs a subtest, as *testing.T does.
func (t printing) Run(name string, test func(printing)) bool {
	fmt.Println(name)
	test(t)
	return true
}

// In a test t is the *testing.T, and this is all that a test of a directory of transcripts is.
func ExampleRunDir() {
	t, update := printing{}, false
	transcript.RunDir(t, filepath.Join("testdata", "rollouts"), update)
	// Output:
	// one-at-a-time
}

// wrong is a transcript that expects what is not so.
const wrong = `# An expectation that does not hold.

# One node.
cluster nodes=a
step
expect actions creates=2
----
`

func ExampleLineError_Error() {
	_, err := transcript.Play(wrong)
	if failure, ok := errors.AsType[*transcript.LineError](err); ok {
		fmt.Println(failure.Error())
	}
	// Output:
	// 6: expect actions creates=2: creates is 1, not 2
	// 	create revision r1 as number 1
	// 	create on a at r1 (Missing)
	// 	at 12:00:00: Updating (RolloutInProgress)
}

func ExampleLineError_Unwrap() {
	_, err := transcript.Play(wrong)
	if failure, ok := errors.AsType[*transcript.LineError](err); ok {
		fmt.Println(failure.Line, failure.Command)
		fmt.Println(failure.Unwrap())
	}
	// Output:
	// 6 expect actions creates=2
	// creates is 1, not 2
	// 	create revision r1 as number 1
	// 	create on a at r1 (Missing)
	// 	at 12:00:00: Updating (RolloutInProgress)
}
