package simulation

import (
	"regexp"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

// forecastPage is the forecast of two specs, one of which has a name that must be escaped, as Prometheus reads it.
func forecastPage(t *testing.T) string {
	t.Helper()
	return answer(t, "forecast", "--nodes", "12", "--from", oldManifest, "--world", worldFileIn, "--spec", newManifest,
		"--spec", `a"b\c=`+surging, "-o", formatPrometheus)
}

func TestPrometheus(t *testing.T) { golden(t, "forecast.prom", forecastPage(t)) }

// TestPrometheusForm reads the page by the grammar of the text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats.
func TestPrometheusForm(t *testing.T) {
	const name, label = `[a-zA-Z_:][a-zA-Z0-9_:]*`, `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`
	help := regexp.MustCompile(`^# HELP (` + name + `) [^\\]+$`)
	kind := regexp.MustCompile(`^# TYPE (` + name + `) gauge$`)
	line := regexp.MustCompile(`^(` + name + `)(\{` + label + `(?:,` + label + `)*\}) (?:\d+(?:\.\d+)?|\+Inf)$`)
	page, rest := strings.CutSuffix(forecastPage(t), "\n")
	if !rest {
		t.Error("the last line has no end")
	}
	family, typed, seen := "", false, make(map[string]bool)
	for text := range strings.SplitSeq(page, "\n") {
		if parts := help.FindStringSubmatch(text); len(parts) == 2 {
			family, typed = parts[1], false
			if seen[family] {
				t.Errorf("%s is there twice", family)
			}
			seen[family] = true
			continue
		}
		if parts := kind.FindStringSubmatch(text); len(parts) == 2 && parts[1] == family && !typed {
			typed = true
			continue
		}
		parts := line.FindStringSubmatch(text)
		if len(parts) != 3 || parts[1] != family || !typed || seen[parts[1]+parts[2]] {
			t.Fatalf("in %s: %s", family, text)
		}
		seen[parts[1]+parts[2]] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d lines only", len(seen))
	}
}

// A rollout that never ends takes longer than any; the gates count as with other formats.
func TestPrometheusNever(t *testing.T) {
	code, stdout, stderr := call(2, false, "forecast", "--nodes", "12", "--from", oldManifest, "--world", stuckWorld(t), "--spec", newManifest,
		"--seeds", "2", "-o", formatPrometheus)
	for _, want := range []string{
		`daemonplan_forecast_duration_seconds{namespace="monitoring",name="agent",kind="DaemonSet",controller="kubernetes",spec="v2",quantile="0.9"} +Inf` + "\n",
		`spec="v2",ending="stuck"} 2` + "\n", `daemonplan_forecast_updated_nodes{namespace="monitoring",name="agent",kind="DaemonSet",controller="kubernetes",spec="v2"} 11` + "\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("lacks %s\n%s", want, stdout)
		}
	}
	if code != exit.Negative || !strings.HasPrefix(stderr, "error: v2: stuck: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
