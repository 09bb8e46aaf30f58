//go:build teeth

package recount_test

import (
	"slices"
	"strings"
	"testing"
)

// altered is the text with its last number one higher in its last digit; false: it has none.
func altered(text string) (string, bool) {
	i := strings.LastIndexAny(text, "0123456789")
	if i < 0 {
		return text, false
	}
	return text[:i] + string('0'+(text[i]-'0'+1)%10) + text[i+1:], true
}

// Whatever number is altered on a page, above the table, in it, or below it, the count objects.
func TestCountSeesAlteredPages(t *testing.T) {
	for _, s := range simulations[:2] {
		found := simulate(t, s.study, s.flags, s.seeds)
		tried := 0
		try := func(what string, cell *string) {
			before := *cell
			if text, ok := altered(before); ok {
				tried++
				*cell = text
				if len(objections(found.page, found.columns)) == 0 {
					t.Errorf("%s: %s: nobody sees that %q is altered to %q", s.name, what, before, text)
				}
			}
			*cell = before
		}
		for i := range found.page.verdicts {
			try("above the table", &found.page.verdicts[i].text)
		}
		for _, cells := range found.page.rows {
			for i := range cells[1:] {
				try(cells[0], &cells[i+1])
			}
		}
		for _, table := range found.page.outages {
			for _, cells := range table {
				for _, i := range []int{0, 1, 4} {
					try("down longest", &cells[i])
				}
			}
		}
		try("number of runs", &found.page.runs)
		if tried < 50 {
			t.Errorf("%s: only %d numbers were altered", s.name, tried)
		}
	}
}

// A line of the history that is altered, or is not there, changes what is counted.
func TestCountSeesAlteredHistories(t *testing.T) {
	s := simulations[0]
	found := simulate(t, s.study, s.flags, s.seeds)
	rows := found.columns[1].runs[0].rows
	more := func(r *row) bool { r.count++; return true }
	later := func(r *row) bool { r.at += 1e12; return true }
	gone := func(*row) bool { return false }
	for _, c := range []struct {
		kind, why string
		which     func(r row) bool
		alter     func(*row) bool
	}{
		{kind: "NodeChanged", why: "a node that comes to the new version does so later", alter: later,
			which: func(r row) bool { return r.to == "new" }},
		{kind: "NodeChanged", why: "a node never goes down", alter: gone, which: func(r row) bool { return r.from == "old" }},
		{kind: "ImagePulled", why: "more bytes came", alter: func(r *row) bool { r.bytes += 1e9; return true }},
		{kind: "CallsSent", why: "one call more was sent", alter: more},
		{kind: "PodCreated", why: "a pod was not created", alter: gone},
		{kind: "ContainerRestarted", why: "a container did not start again", alter: gone},
		{kind: "BudgetUsed", why: "more of the budget was used", alter: func(r *row) bool { r.count += 1000; return true }},
		{kind: "NodesWait", why: "more nodes waited", alter: func(r *row) bool { r.count += 100000; return true }},
		{kind: "NodesUpdated", why: "the canary had more nodes", which: func(r row) bool { return r.count > 0 },
			alter: func(r *row) bool { r.count = 77; return true }},
		{kind: "CanaryChanged", why: "the canary did not fail", alter: gone,
			which: func(r row) bool { return strings.HasPrefix(r.what, "Failed") }},
	} {
		i := slices.IndexFunc(rows, func(r row) bool { return r.kind == c.kind && (c.which == nil || c.which(r)) })
		if i < 0 {
			t.Errorf("%s, %s: there is no such line", c.kind, c.why)
			continue
		}
		changed := slices.Clone(rows)
		if !c.alter(&changed[i]) {
			changed = slices.Delete(changed, i, i+1)
		}
		columns := slices.Clone(found.columns)
		columns[1] = column{columns[1].label, []*counted{count(changed, found.page.keys())}}
		if len(objections(found.page, columns)) == 0 {
			t.Errorf("%s, %s: nobody sees it", c.kind, c.why)
		}
	}
}
