package rollout_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// shapeVariable tells a run of the tests which shape to plan, and with how many elements: "crowd 800".
const shapeVariable = "DAEMONPLAN_SHAPE"

// TestShapes plans each shape, has the plan verified, and explains every node.
func TestShapes(t *testing.T) {
	wanted, n := "", 60
	if text := os.Getenv(shapeVariable); text != "" {
		if _, err := fmt.Sscan(text, &wanted, &n); err != nil {
			t.Fatal(err)
		}
	}
	for _, shape := range shapes() {
		if wanted != "" && wanted != shape.name {
			continue
		}
		t.Run(shape.name, func(t *testing.T) {
			spec, snapshot := shape.build(t, n)
			planner, err := rollout.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := planner.Plan(snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if violations := verify.Plan(spec, snapshot, plan); violations != nil {
				t.Fatalf("%d violations, the first: %v", len(violations), violations[0])
			}
			for _, node := range snapshot.Nodes {
				if plan.Explain(node.Name) == "" {
					t.Fatalf("nothing is said of node %s", node.Name)
				}
			}
		})
	}
}

// TestShapesStayLinear counts how often each block of the code runs for some elements and for four times as many. A clock would
// tell less, and something else each time; the counts are always the same. What sorts is allowed its logarithm. Loops of the
// standard library are counted where they call back, as slices.ContainsFunc does; slices.Contains is not seen.
func TestShapesStayLinear(t *testing.T) {
	t.Parallel()
	const some, factor, most, few = 300, 4, 8, 3000
	binary := filepath.Join(t.TempDir(), "rollout.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "-covermode", "count", "-coverpkg",
		"./...,../placement,../inplace,../lifecycle,../predownload,../tolerations,../status", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, shape := range shapes() {
		small, large := shapeCounts(t, binary, shape.name, some), shapeCounts(t, binary, shape.name, factor*some)
		for block, count := range large {
			if count > few && count > most*small[block] {
				t.Errorf("%s: %d times as many elements run %s %d times instead of %d", shape.name, factor, block, count, small[block])
			}
		}
	}
}

// shapeCounts are how often each block runs, by its place in the source.
func shapeCounts(t *testing.T, binary, shape string, n int) map[string]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.Command(binary, "-test.run", "^TestShapes$", "-test.coverprofile", profile)
	run.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", shapeVariable, shape, n))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s of %d: %v:\n%s", shape, n, err, out)
	}
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // place, statements, count
		if len(fields) != 3 {
			continue // the mode
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		counts[fields[0]] += count
	}
	if err := lines.Err(); err != nil || len(counts) == 0 {
		t.Fatalf("%d blocks counted: %v", len(counts), err)
	}
	return counts
}
