package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// diff describes what an update from one revision to another changes, and whether that can be made in place.
type diff struct {
	// From and To are the hashes of the revisions.
	From string `json:"from"`
	To   string `json:"to"`
	// InPlace reports whether it can be made in place. Restarts reports whether it restarts containers, in place or not.
	InPlace  bool `json:"inPlace"`
	Restarts bool `json:"restarts"`
	// Changes are those that can be made in place.
	Changes []change `json:"changes"`
	// Obstacles are what keeps the update from being made in place, by path.
	Obstacles []obstacle `json:"obstacles,omitempty"`
}

// obstacle is one reason against an update in place.
type obstacle struct {
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// diffs lists the comparisons of this plan, ordered by the hash of the revision that pods come from.
func (r *Result) diffs() []diff {
	var list []diff
	for _, d := range r.Plan.Diffs {
		list = append(list, diff{
			From: d.From, To: d.To, InPlace: d.Update.InPlace(), Restarts: d.Update.Restarts(),
			Changes: inPlaceChanges(d.Update), Obstacles: obstacles(d.From, d.Update),
		})
	}
	slices.SortFunc(list, func(a, b diff) int { return cmp.Compare(a.From, b.From) })
	return list
}

// obstacles lists the obstacles to an update from the revision with that hash.
func obstacles(from string, u *inplace.Update) []obstacle {
	var list []obstacle
	for _, o := range u.Obstacles {
		one := obstacle{o.Path, o.Code.String(), o.Detail}
		if o.Code == inplace.NoTemplate {
			one.Reason = fmt.Sprintf("the history has no readable revision %q", from)
		}
		list = append(list, one)
	}
	return list
}

// String is the obstacle in one line.
func (o obstacle) String() string {
	line := strings.TrimPrefix(o.Path+": "+o.Reason, ": ")
	if o.Detail != "" {
		line += " (" + o.Detail + ")"
	}
	return line
}

// notInPlace is why a pod is not updated in place: what is wrong with the pod, else the first obstacle to the change.
func (r *Result) notInPlace(d *rollout.Decision) string {
	if d.Obstruction != 0 || d.Diff == nil {
		return strings.TrimSuffix(d.Obstruction.String()+": "+r.Plan.Obstructions[d.Node], ": ")
	}
	if all := obstacles(d.Diff.From, d.Diff.Update); len(all) > 0 {
		return all[0].String()
	}
	return ""
}

// reportInPlace prints the comparisons, those of the newest revision first.
func (r *Result) reportInPlace(out io.Writer) {
	list := r.diffs()
	if len(list) == 0 {
		return
	}
	known := make(map[string]Revision)
	for _, one := range r.revisions() {
		known[one.Hash] = one
	}
	slices.SortStableFunc(list, func(a, b diff) int { return cmp.Compare(known[b.From].Number, known[a.From].Number) })
	for _, d := range list {
		from := "revision hash " + d.From
		if one, ok := known[d.From]; ok {
			from = fmt.Sprintf("revision %d (%s)", one.Number, one.Name)
		}
		switch {
		case !d.InPlace:
			fmt.Fprintf(out, "From %s not in place:\n", text.Printable(from))
			for _, line := range lines(d.Obstacles) {
				fmt.Fprintf(out, "  %s\n", text.Printable(line))
			}
			continue
		case d.Restarts:
			fmt.Fprintf(out, "From %s in place, containers restart:\n", text.Printable(from))
		default:
			fmt.Fprintf(out, "From %s in place, nothing restarts:\n", text.Printable(from))
		}
		for _, c := range d.Changes {
			fmt.Fprintf(out, "  %s\n", text.Printable(c.String()))
		}
		if !d.Restarts {
			reportNoRestart(out, d.Changes)
		}
	}
	fmt.Fprintln(out)
}

// reportNoRestart says what an update in place that restarts nothing does not do, if annotations change: some of them stand for a
// configuration that is read when a container starts.
func reportNoRestart(out io.Writer, changes []change) {
	var keys []string
	for _, c := range changes {
		if c.Kind == "annotation" {
			keys = append(keys, c.Name)
		}
	}
	if len(keys) > 0 {
		fmt.Fprintf(out, "  No container restarts: what reads its configuration when it starts goes on with the old one (%s).\n",
			text.Printable(strings.Join(keys, ", ")))
	}
}

// lines are the first of the obstacles, and the number of the others.
func lines(obstacles []obstacle) []string {
	const most = 8
	var list []string
	for i, o := range obstacles {
		if i == most {
			return append(list, fmt.Sprintf("and %d more", len(obstacles)-most))
		}
		list = append(list, o.String())
	}
	return list
}

// verdict compares a revision with the template, to see whether the update can be made in place. It is nil if the set recreates
// its pods whatever changes.
func (r *Result) verdict(data []byte) *inplace.Update {
	strategy := r.Spec.Default().Strategy
	if strategy.Method == inplace.Recreate {
		return nil
	}
	// A revision that cannot be read has no template. Compare reports that as an obstacle.
	template, _ := history.Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
	return inplace.Compare(template, &r.Spec.Template, strategy.InPlace)
}

// consequence is what an update does to the pods of a revision. It does not have the case that pods are held because the update
// cannot be made in place, because no manifest can ask for that.
func consequence(changes []history.Change, update *inplace.Update) string {
	switch {
	case !history.Restarts(changes):
		return "they restart nothing"
	case update == nil:
		return "pods restart"
	case !update.InPlace():
		return "pods are recreated"
	case update.Restarts():
		return "pods are updated in place, with new containers"
	default:
		return "pods are updated in place, without a restart"
	}
}

// reportObstacles prints why the pods of a revision, or some of them, are not updated in place.
func (r *Result) reportObstacles(out io.Writer, hash string, update *inplace.Update) {
	if update == nil {
		return
	}
	for _, line := range lines(obstacles(hash, update)) {
		fmt.Fprintf(out, "  not in place: %s\n", text.Printable(line))
	}
	pods := make(map[inplace.Obstruction]int)
	for _, pod := range r.Snapshot.Pods {
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == hash {
			pods[inplace.Obstruct(pod)]++
		}
	}
	delete(pods, 0)
	for _, obstruction := range slices.Sorted(maps.Keys(pods)) {
		fmt.Fprintf(out, "  not in place for %s: %s\n", text.Counted(pods[obstruction], "pod"), obstruction)
	}
}
