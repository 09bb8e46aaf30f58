package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
)

// created is when a pod of the fake API server was created: just now.
var created = regexp.MustCompile(`"creationTimestamp":"[^"]*"`)

// largeFleet is a fleet of so many nodes with the names of AWS, in the middle of a rollout: pods that are missing, have failed,
// crash, are of either revision, or are on nodes that are not ready.
func largeFleet(nodes int, strategy string) string {
	objects := []string{fakeapi.Set(strategy), fakeapi.Revision("v1", 1), fakeapi.Revision("v2", 2)}
	for i := range nodes {
		name := fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255)
		node := strings.Replace(fakeapi.Node(name), `"labels":{`, fmt.Sprintf(`"labels":{"rack":"r%d",`, i/50), 1)
		pod := fakeapi.Pod(name, "v1", true)
		switch i % 20 {
		case 0:
			pod = "" // missing
		case 1:
			pod = strings.Replace(fakeapi.Pod(name, "v1", false), `"phase":"Running"`, `"phase":"Failed","reason":"Evicted"`, 1)
		case 2:
			pod = fakeapi.Pod(name, "v2", false)
		case 3, 4:
			pod = fakeapi.Pod(name, "v2", true)
		case 5:
			node = strings.Replace(node, `"status":"True"`, `"status":"False"`, 1)
		}
		objects = append(objects, node)
		if pod != "" {
			objects = append(objects, created.ReplaceAllString(pod, `"creationTimestamp":"2026-03-01T00:00:00Z"`))
		}
	}
	return strings.Join(objects, "\n---\n")
}

// screenLines is how many lines of a terminal of 120 columns a text takes up.
func screenLines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += max(1, (ansi.StringWidth(strings.TrimSuffix(line, "\n"))+119)/120)
	}
	return n
}

// TestPlanOfALargeFleet: the plan of 15,000 nodes fits on a screen of 50 lines and 120 columns, and says how many nodes there are
// of each kind. All of it is in -o wide.
func TestPlanOfALargeFleet(t *testing.T) {
	t.Parallel()
	const strategy = `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"40%"}}`
	const staged = `"annotations":{"daemonplan.io/policy":"stages: [{name: one, selector: {matchLabels: {rack: r1}}}, ` +
		`{name: racks, selector: {matchExpressions: [{key: rack, operator: Exists}]}, key: rack}]"},"namespace":"web"`
	fleet := largeFleet(15_000, strategy)
	for name, input := range map[string]string{
		"plain": fleet, "staged": strings.Replace(fleet, `"namespace":"web"`, staged, 1),
		"on delete": strings.Replace(fleet, strategy, fakeapi.OnDelete, 1),
		"domains": strings.Replace(fleet, `"namespace":"web"`,
			`"annotations":{"daemonplan.io/policy":"domains: [{key: rack, max: 1}]"},"namespace":"web"`, 1),
		"in place": strings.NewReplacer(
			`"apiVersion":"apps/v1","kind":"DaemonSet"`, `"apiVersion":"apps.kruise.io/v1beta1","kind":"DaemonSet"`,
			strategy, `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"40%","rollingUpdateType":"InPlaceIfPossible"}}`,
		).Replace(fleet),
	} {
		for _, args := range [][]string{{"plan"}, {"plan", "--controller", "daemonplan"}} {
			code, stdout, stderr := call(input, append(args, "-f", "-", "--now", "2026-03-02T09:15:00Z")...)
			if code != 0 {
				t.Fatalf("%s %q: exit code %d, %s", name, args, code, stderr)
			}
			if n := screenLines(stdout); n > 50 {
				t.Errorf("%s %q: %d lines:\n%s", name, args, n, stdout)
			}
			if !strings.Contains(stdout, "\nThe fleet is large, and these are groups: -o wide has a line for every node.\n") {
				t.Errorf("%s %q: it does not say where the rest is:\n%s", name, args, stdout)
			}
		}
	}
	_, brief, _ := call(fleet, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z", "--controller", "daemonplan")
	_, wide, _ := call(fleet, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z", "--controller", "daemonplan", "-o", "wide")
	for _, want := range []string{
		"\nDelete 250 pods:\n  250 pods: OutdatedFailed (ip-10-0-0-1.eu-central-1.compute.internal, ip-10-0-0-101.eu-central-1.compute.internal and 248 more)\n",
		"\nCreate 250 pods:\n  250 pods: revision v2, Missing (ip-10-0-0-0.eu-central-1.compute.internal, ip-10-0-0-100.eu-central-1.compute.internal and 248 more)\n",
		"\n12250 nodes wait: ", "\n750 nodes wait: ",
	} {
		if !strings.Contains(brief, want) {
			t.Errorf("it lacks %q:\n%s", want, brief)
		}
	}
	if strings.Contains(wide, "these are groups") || strings.Count(wide, "  OutdatedFailed: ") != 250 || strings.Count(wide, "\n") < 15_500 {
		t.Errorf("-o wide has not all of it: %d lines", strings.Count(wide, "\n"))
	}
}
