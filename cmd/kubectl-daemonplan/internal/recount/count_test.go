package recount_test

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// down are the states of a node that is to run the pod and has none that serves.
var down = map[string]bool{
	"empty": true, "terminating": true, "pending": true, "pulling": true, "starting": true, "broken": true, "lost": true,
}

var serves = map[string]bool{"old": true, "surging": true, "new": true}

// watched is a node as the history shows it.
type watched struct {
	name, zone, state string
	labels            map[string]string
	// since is when the node came into its state.
	since time.Duration
	// downBefore: it was down when the run began. downAlways: it was down when it was seen first, and has not served since.
	downBefore, downAlways, seen bool
	wave                         int
	begun                        bool
	has, had, given              bool
	course                       []stay
	broke                        bool
}

// stay is the state of a node from an instant on.
type stay struct {
	at    time.Duration
	state string
}

// place is a zone, or the value of a label.
type place struct {
	name     string
	down, of int
}

// counted is what the lines of one run add up to.
type counted struct {
	rows  []row
	nodes map[string]*watched
	list  []*watched // by name
	ended string
	end   time.Duration
	// rateLimited is for how long actions waited for the rate of calls.
	rateLimited time.Duration
	last        time.Duration // when a node last came nearer to its place
	// lastArrival is when a node last came to the new version.
	lastArrival time.Duration

	peak, peakBeside         int
	downTime, downTimeBeside time.Duration
	allServeFrom             time.Duration
	zonePeak                 map[string]int
	keyPeak                  map[string]place // by the key of the label
	atOnce                   map[string]int
	anyDown                  bool

	highestWave, doneWave int

	version    string // the new one
	inForce    string
	replacedAt time.Duration
	firstHad   []time.Duration
	having     int
	mostHad    int
	backAt     time.Duration // when no node had it any more and none was down, after it was given up
	given      int

	created, calls, failedCalls, restarts, crashes, controllerCrashes int
	pulled, fromPeers                                                 int64

	used, limit        int
	budgetPeak, atPeak int
	budgetTime, meanTo time.Duration // of all the run, and of what was until the last change of a node
	waiting            map[string]int
	waits              map[string]time.Duration

	trial  trial
	failed failing
	parts  []*part
}

// trial is what is known of a canary.
type trial struct {
	revision, phase, reason string
	updated, nodes          int
	promoted, failed        time.Duration
	decided                 bool
}

// failing is on how many nodes a version failed.
type failing struct {
	revision          string
	peak, might, away int
	gaveUp            string
	gaveUpAt          time.Duration
}

// part is a part of a stage.
type part struct {
	name, phase  string
	opened, done time.Duration
	revision     string
}

// count adds up the lines of a run, with the places that have the labels of these keys.
func count(rows []row, keys []string) *counted {
	c := &counted{
		rows:  rows,
		nodes: make(map[string]*watched), zonePeak: make(map[string]int), keyPeak: make(map[string]place),
		atOnce: make(map[string]int), waiting: make(map[string]int), waits: make(map[string]time.Duration), replacedAt: never,
		backAt: never,
	}
	for i, r := range rows {
		if i > 0 && r.at > rows[i-1].at {
			c.instant(rows[i-1].at, r.at, keys)
		}
		c.line(r)
	}
	if len(rows) > 0 {
		c.end = rows[len(rows)-1].at
		c.instant(c.end, c.end, keys)
	}
	return c
}

// instant looks at what is true after all lines of an instant, until the next one.
func (c *counted) instant(at, until time.Duration, keys []string) {
	all, beside := 0, 0
	zones := make(map[string]int)
	for _, n := range c.list {
		if last := len(n.course) - 1; last < 0 || n.course[last].state != n.state {
			n.course = append(n.course, stay{at, n.state})
		}
		n.broke = n.broke || n.state == "broken"
		if n.downAlways = down[n.state] && (n.downAlways || !n.seen); n.state != "" {
			n.seen = true
		}
		if down[n.state] {
			all++
			zones[n.zone]++
			if !n.downBefore {
				beside++
			}
		}
	}
	for zone, n := range zones {
		c.zonePeak[zone] = max(c.zonePeak[zone], n)
	}
	for _, key := range keys {
		c.places(key)
	}
	if c.anyDown && all == 0 {
		c.allServeFrom = at
	}
	c.anyDown = all > 0
	if c.failed.gaveUp != "" && at > c.failed.gaveUpAt && all == 0 && c.having == 0 {
		c.backAt = min(c.backAt, at)
	}
	c.peak, c.peakBeside = max(c.peak, all), max(c.peakBeside, beside)
	lasted := until - at
	c.downTime += time.Duration(all) * lasted
	c.downTimeBeside += time.Duration(beside) * lasted
	if c.last == at {
		c.meanTo = c.budgetTime
	}
	c.budgetTime += time.Duration(c.used) * lasted
	for what, n := range c.waiting {
		c.waits[what] += time.Duration(n) * lasted
	}
}

// places counts the nodes that are down by the value of a label.
func (c *counted) places(key string) {
	values := make(map[string]*place)
	var order []*place
	disturbed := make(map[string]bool)
	for _, n := range c.list {
		value, labelled := n.labels[key]
		if !labelled || n.state == "" || n.state == "outside" {
			continue
		}
		if values[value] == nil {
			values[value] = &place{name: value}
			order = append(order, values[value])
		}
		values[value].of++
		if down[n.state] {
			values[value].down++
			if n.state != "lost" && !n.downAlways {
				disturbed[value] = true
			}
		}
	}
	for _, p := range order {
		if p.down > c.keyPeak[key].down {
			c.keyPeak[key] = *p
		}
	}
	c.atOnce[key] = max(c.atOnce[key], len(disturbed))
}

// line takes one line.
func (c *counted) line(r row) {
	switch r.kind {
	case "NodeLabelled":
		c.node(r).labels = labels(r.what)
	case "NodeChanged":
		c.changed(r)
	case "PodCreated", "PodPatched", "PodDeleted":
		c.acted(r)
	case "CallsSent":
		c.calls += r.count
		c.rateLimited += r.took
	case "CallFailed":
		c.failedCalls++
	case "ContainerRestarted":
		c.restarts++
		c.crashes += r.count
	case "ControllerCrashed":
		c.controllerCrashes++
	case "ImagePulled":
		if strings.HasPrefix(r.what, "peer") {
			c.fromPeers += r.bytes
		} else {
			c.pulled += r.bytes
		}
	case "RunEnded":
		c.ended = r.what
	default:
		c.planned(r)
	}
}

// planned takes a line of what a plan says.
func (c *counted) planned(r row) {
	switch r.kind {
	case "Planned":
		if c.version == "" {
			c.version = r.revision
		}
		if c.inForce = r.revision; r.revision == c.version {
			c.replacedAt = never
		} else {
			c.replacedAt = min(c.replacedAt, r.at)
		}
	case "BudgetUsed":
		c.used, c.limit = r.count, r.limit
		if c.used > c.budgetPeak {
			c.budgetPeak, c.atPeak = c.used, c.limit
		}
	case "NodesWait":
		c.waiting[r.what] = r.count
	case "NodesUpdated":
		if c.trial.updated = r.count; c.trial.revision == r.revision && !c.trial.decided {
			c.trial.nodes = max(c.trial.nodes, r.count)
		}
	case "CanaryChanged":
		c.trial.line(r)
	case "NodesFailed", "NodesQuarantined", "RevisionGivenUp":
		c.failed.line(r)
	case "StageChanged":
		c.stage(r)
	}
}

func (c *counted) node(r row) *watched {
	if c.nodes[r.node] == nil {
		c.nodes[r.node] = &watched{name: r.node}
		at, _ := slices.BinarySearchFunc(c.list, r.node, func(n *watched, name string) int { return strings.Compare(n.name, name) })
		c.list = slices.Insert(c.list, at, c.nodes[r.node])
	}
	return c.nodes[r.node]
}

func labels(text string) map[string]string {
	found := make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		found[key] = value
	}
	return found
}

// changed takes the change of a node.
func (c *counted) changed(r row) {
	n := c.node(r)
	n.zone, n.state = r.zone, r.to
	n.downBefore = down[r.to] && (n.downBefore || r.at == 0 && !n.begun)
	has := r.to == "new" && r.revision == c.version
	if c.inForce != c.version {
		has = serves[r.to] && r.revision == c.version
	}
	if c.version == "" { // before the first plan no version is new
		has = false
	}
	if has != n.has {
		n.has = has
		c.having += map[bool]int{true: 1, false: -1}[has]
		c.mostHad = max(c.mostHad, c.having)
	}
	if has && !n.had {
		n.had = true
		c.firstHad = append(c.firstHad, r.at)
		c.give(n)
	}
	if r.from == r.to {
		return
	}
	n.since = r.at
	switch r.to {
	case "new":
		c.lastArrival = r.at
		if n.begun {
			c.doneWave = max(c.doneWave, n.wave)
		}
		n.begun = false
	case "old", "outside", "":
		n.begun = false
	}
	joined := r.from == "" && (r.to == "new" || r.to == "outside")
	left := r.to == "" && (r.from == "new" || r.from == "outside")
	if !joined && !left {
		c.last = r.at
	}
}

func (c *counted) give(n *watched) {
	if !n.given {
		n.given = true
		c.given++
	}
}

// acted takes an action on a pod.
func (c *counted) acted(r row) {
	if r.kind == "PodCreated" {
		c.created++
	}
	if r.node == "" {
		return
	}
	n := c.node(r)
	if r.kind != "PodDeleted" && r.revision == c.version {
		c.give(n)
	}
	if slices.Contains([]string{"Outdated", "OutdatedNotReady", "OutdatedFailed", "Begun"}, r.what) && !n.begun && n.state != "" {
		n.begun, n.wave = true, c.doneWave+1
		c.highestWave = max(c.highestWave, n.wave)
	}
}

// line takes a change of the canary.
func (t *trial) line(r row) {
	phase, reason, _ := strings.Cut(r.what, " ")
	promoted := reason == "Promoted" || reason == "Validated"
	if phase == "Idle" && !promoted {
		return
	}
	if r.revision != t.revision {
		*t = trial{revision: r.revision, updated: t.updated}
	}
	if !t.decided {
		t.nodes = max(t.nodes, t.updated)
	}
	if promoted && t.promoted == 0 {
		t.promoted = r.at
	}
	if phase == "Failed" && t.failed == 0 {
		t.failed = r.at
	}
	t.decided = t.decided || promoted || phase == "Failed"
	t.phase, t.reason = phase, reason
}

// line takes a line about failures.
func (f *failing) line(r row) {
	if r.revision != f.revision {
		if r.count == 0 && r.what == "" {
			return
		}
		*f = failing{revision: r.revision}
	}
	switch r.kind {
	case "NodesFailed":
		if r.count > f.peak {
			f.peak, f.might = r.count, r.limit
		}
	case "NodesQuarantined":
		f.away = max(f.away, r.count)
	case "RevisionGivenUp":
		if f.gaveUp = r.what; r.what != "" {
			f.gaveUpAt = r.at
		}
	}
}

// stage takes a change of a part of a stage.
func (c *counted) stage(r row) {
	phase, name, _ := strings.Cut(r.what, " ")
	i := slices.IndexFunc(c.parts, func(p *part) bool { return p.name == name && p.revision == r.revision })
	if i < 0 {
		i = len(c.parts)
		c.parts = append(c.parts, &part{name: name, revision: r.revision, opened: never, done: never})
	}
	p := c.parts[i]
	p.phase = phase
	if phase != "Waiting" && phase != "Approving" && phase != "Skipped" {
		p.opened = min(p.opened, r.at)
	}
	if phase != "Done" && phase != "Soaking" {
		p.done = never
	} else {
		p.done = min(p.done, r.at)
	}
}

// partsNow are the parts of the version in force.
func (c *counted) partsNow() []*part {
	return slices.DeleteFunc(slices.Clone(c.parts), func(p *part) bool { return p.revision != c.inForce })
}

// present are the nodes that are there at the end, and desired those that are to run the pod.
func (c *counted) present() int { return c.number(func(n *watched) bool { return n.state != "" }) }

func (c *counted) desired() int {
	return c.number(func(n *watched) bool { return n.state != "" && n.state != "outside" })
}

// left is how many nodes are to have the new version and do not.
func (c *counted) left() int { return c.desired() - c.having }

// onlyDownBefore reports whether nodes are left, and each was down when the run began and has not served since.
func (c *counted) onlyDownBefore() bool {
	before := c.number(func(n *watched) bool { return n.state == "lost" && n.downBefore && !n.has })
	return c.left() > 0 && before == c.left()
}

func (c *counted) number(of func(*watched) bool) int {
	sum := 0
	for _, n := range c.list {
		if of(n) {
			sum++
		}
	}
	return sum
}

// canaryFailed reports whether the canary gave its version up.
func (c *counted) canaryFailed() bool {
	return c.trial.promoted == 0 && (c.trial.failed > 0 || c.trial.phase == "Failed")
}

// givenUp reports whether the new version was given up.
func (c *counted) givenUp() bool { return c.canaryFailed() || c.failed.gaveUp != "" }

func (c *counted) replaced() bool { return c.inForce != c.version }

// ending is how the run ended.
func (c *counted) ending() string {
	switch {
	case c.givenUp():
		return "given up"
	case c.replaced():
		return "replaced"
	case c.ended != "done" && c.onlyDownBefore():
		return butBefore
	case c.ended == "limit":
		return "time is up"
	}
	return c.ended
}

// reached is when that percentage of the nodes had the new version.
func (c *counted) reached(percent int) time.Duration {
	arrivals := c.firstHad
	if !c.givenUp() && !c.replaced() {
		arrivals = nil
		for _, n := range c.list {
			if n.state == "new" {
				arrivals = append(arrivals, n.since)
			}
		}
	}
	arrivals = slices.Sorted(slices.Values(arrivals))
	rank := (c.desired()*percent + 99) / 100
	if rank == 0 || rank > len(arrivals) {
		return never
	}
	return arrivals[rank-1]
}

// meanUsed is the mean of the budget in use.
func (c *counted) meanUsed() float64 {
	sum, to := c.budgetTime, c.end
	if c.ended == "done" {
		sum, to = c.meanTo, c.last
	}
	if to == 0 {
		return 0
	}
	return float64(sum) / float64(to)
}

// longest is what nodes waited for, the longest of all first.
func longestWait(runs []*counted) (string, time.Duration) {
	sums := make(map[string]time.Duration)
	for _, c := range runs {
		for what, lasted := range c.waits {
			sums[what] += lasted
		}
	}
	best := ""
	for _, what := range slices.Sorted(maps.Keys(sums)) {
		if sums[what] > sums[best] {
			best = what
		}
	}
	if sums[best] == 0 {
		return "", 0
	}
	reason, limit, _ := strings.Cut(best, " ")
	if limit == "none" {
		limit = reason
	}
	return limit, sums[best] / time.Duration(len(runs))
}
