package simulation

import (
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// Shards that are merged say what one run says, byte for byte: of one spec and of several, with times that are given and derived, with
// rollouts that end and that do not, and in every format.
func TestMergeIsOneRun(t *testing.T) {
	stages := policyFile(t)
	for _, q := range []struct {
		name string
		args []string
	}{
		{"two specs", []string{"--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--spec", "again=" + newManifest, "--world", stuckWorld(t)}},
		{"a dump", []string{"--dump", someDump, "--name", "node-agent"}},
		{"a dump with a world", []string{"--dump", someDump, "--name", "node-agent", "--world", worldFileIn}},
		{"stages and failures", []string{"--nodes", "24", "--from", oldManifest, "--spec", stages, "--world", stuckWorld(t), "--controller", "daemonplan", "--until", "3h"}},
	} {
		args := append([]string{"forecast", "--seeds", "7"}, q.args...)
		var files []string
		for _, i := range []string{"3", "1", "2"} {
			code, shard, stderr := call(2, false, append(args, "--shard", i+"/3")...)
			if code != exit.OK {
				t.Fatalf("%s: shard %s: exit code %d\n%s", q.name, i, code, stderr)
			}
			files = append(files, write(t, i+".json", "a line of a log\n"+shard))
		}
		for _, form := range [][]string{nil, {"-o", "json"}, {"-o", "prometheus"}, {"--fail-if", "p90>1m", "--fail-if", "peak>=1"}} {
			code, stdout, stderr := call(2, false, append(args, form...)...)
			merged, out, err := call(2, false, append(append([]string{"merge"}, files...), form...)...)
			if merged != code || out != stdout || err != stderr {
				t.Errorf("%s %v: exit code %d, want %d; it says\n%s%s\nwant\n%s%s", q.name, form, merged, code, out, err, stdout, stderr)
			}
		}
	}
}

func policyFile(t *testing.T) string {
	policy := `annotations: {daemonplan.io/policy: '{"domains": [{"key": "kubernetes.io/hostname", "max": 1}], "failures": {"action": "Rollback", "maxFailed": 1, "deadline": "1m"}}'}, `
	return write(t, "policy.yaml", strings.Replace(read(t, newManifest), "metadata: {name: agent,", "metadata: {"+policy+"name: agent,", 1))
}

// Shards that are lost, done twice, cut off or of another forecast are noticed.
func TestMergeRefuses(t *testing.T) {
	question := []string{"forecast", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", stuckWorld(t), "--seeds", "4"}
	shard := func(args ...string) string {
		_, stdout, _ := call(2, false, append(question, args...)...)
		return stdout
	}
	one, two := shard("--shard", "1/2"), shard("--shard", "2/2")
	for _, row := range []struct{ name, files, err string }{
		{"one is lost", one, "of 2 shards these are missing: 2"},
		{"twice", one + two + two, "shard 2 of 2 is there twice"},
		{"other seeds", one + shard("--shard", "2/2", "--seed", "2"), "shards of different forecasts"},
		{"other numbers", one + shard("--shard", "2/3"), "shards of different forecasts"},
		{"other time", one + shard("--shard", "2/2", "--until", "2h"), "shards of different forecasts"},
		{"cut off", one + two[:len(two)/2], "cut off or changed"},
		{"no shard", "hello\n", "there is no shard in it"},
		{"other JSON", "{}\n", "this version of the command merges"},
		{"fewer runs", one + strings.Replace(two, `"seeds":4`, `"seeds":9`, 1), "shards of different forecasts"},
		{"too many", strings.Replace(one, `"of":2`, `"of":1000000000`, 1), "there is no shard 1 of 1000000000"},
		{"no runs", strings.NewReplacer(`"seeds":4`, `"seeds":0`).Replace(one), "there is no shard 1 of 2"},
		{"changed runs", two + strings.Replace(one, `"runs":"H4sI`, `"runs":"H4sJ`, 1), "shard 1: "},
		{"no such number", strings.Replace(one, `"shard":1`, `"shard":5`, 1), "there is no shard 5 of 2"},
		{"runs of another", strings.Replace(one, `"shard":1`, `"shard":2`, 1) + strings.Replace(two, `"shard":2`, `"shard":1`, 1), "is not one of it"},
	} {
		code, stdout, stderr := call(2, false, "merge", write(t, "shards.json", row.files))
		if code != exit.Failed || stdout != "" || !strings.Contains(stderr, row.err) {
			t.Errorf("%s: exit code %d, %s%s; want %q", row.name, code, stdout, stderr, row.err)
		}
	}
	for _, row := range []struct {
		args []string
		err  string
	}{
		{[]string{"merge"}, "there is no shard"},
		{append(question, "--shard", "0/2"), "from 1 to N"},
		{append(question, "--shard", "3/2"), "from 1 to N"},
		{append(question, "--shard", "a/2"), "from 1 to N"},
		{append(question, "--shard", "2"), "JOB_COMPLETION_INDEX"},
		{append(question, "--shard", "1/5"), "more shards than --seeds has runs"},
		{append(question, "--shard", "1/2", "-o", "json"), "are for kubectl daemonplan merge"},
		{append(question, "--shard", "1/2", "--fail-if", "peak>1"), "are for kubectl daemonplan merge"},
	} {
		if code, stdout, stderr := call(2, false, row.args...); code != exit.Failed || stdout != "" || !strings.Contains(stderr, row.err) {
			t.Errorf("%v: exit code %d, %s%s; want %q", row.args, code, stdout, stderr, row.err)
		}
	}
}

// In a pod of an Indexed Job the number of the shard is that of the pod.
func TestShardOfJob(t *testing.T) {
	for flag, want := range map[string]shardNumber{"": {}, "8": {Index: 3, Of: 8}, "2/8": {Index: 1, Of: 8}, "4": {Index: 3, Of: 4}} {
		if got, err := parseShard(flag, "3"); err != nil || got != want {
			t.Errorf("--shard %s: %+v, %v; want %+v", flag, got, err, want)
		}
	}
	for _, value := range []string{"", "x", "8"} {
		if got, err := parseShard("8", value); err == nil {
			t.Errorf("the job says %q, and it is %+v", value, got)
		}
	}
	for seeds := range 20 {
		for of := 1; of <= 5; of++ {
			for run := range seeds {
				n := 0
				for i := range of {
					n += one(shardNumber{i, of}.has(run))
				}
				if n != 1 || !(shardNumber{}).has(run) {
					t.Fatalf("run %d is in %d of %d shards", run, n, of)
				}
			}
		}
	}
}

// The manifest of the Indexed Job makes as many shards as it has pods, with flags that there are.
func TestForecastJob(t *testing.T) {
	var job batchv1.Job
	if err := yaml.UnmarshalStrict([]byte(read(t, "../../forecast-job/job.yaml")), &job); err != nil {
		t.Fatal(err)
	}
	args := job.Spec.Template.Spec.Containers[0].Args
	for i := range *job.Spec.Completions {
		if of, err := parseShard(strings.TrimPrefix(args[len(args)-1], "--shard="), strconv.Itoa(int(i))); err != nil || of != (shardNumber{int(i), int(*job.Spec.Completions)}) {
			t.Fatalf("pod %d of %d makes %+v: %v", i, *job.Spec.Completions, of, err)
		}
	}
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion {
		t.Errorf("pods have no index: %s", *job.Spec.CompletionMode)
	}
	t.Chdir(t.TempDir())
	// All flags are known: what is wrong is that the files are not there.
	if code, _, stderr := call(2, false, append(args[:len(args)-1:len(args)-1], "--shard=1/100")...); code != exit.Failed || !strings.Contains(stderr, "dump.json") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
