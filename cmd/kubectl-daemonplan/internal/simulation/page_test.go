package simulation

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"golang.org/x/net/html"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// document is a page as a browser reads it.
type document struct{ *html.Node }

func parsed(t *testing.T, text string) document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return document{root}
}

// all are the elements with that name and, unless key is empty, that attribute; value "": with any value.
func (d document) all(name, key, value string) []document {
	var list []document
	for n := range d.Descendants() {
		if n.Type != html.ElementNode || n.Data != name {
			continue
		}
		if key == "" || slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == key && (value == "" || slices.Contains(strings.Fields(a.Val), value) || a.Val == value)
		}) {
			list = append(list, document{n})
		}
	}
	return list
}

func (d document) attribute(key string) string {
	for _, a := range d.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func (d document) text() string {
	var b strings.Builder
	for n := range d.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// rendered is the page about these outcomes.
func rendered(t *testing.T, e *experiment, outcomes ...*outcome) document {
	t.Helper()
	dir := t.TempDir()
	if err := writeReport(dir, command+" simulate --out DIR", e, outcomes); err != nil {
		t.Fatal(err)
	}
	return parsed(t, tree(t, dir)["report.html"])
}

// troubled is the outcome of a run with three nodes, of which one is lost.
func troubled(label string) *outcome {
	o := recorded(label, inOrder(
		updates("first", "a", 10, 20), updates("second", "b", 20, 50),
		[]simulate.Record{
			changed(0, "gone", "b", 0, simulate.NodeOld),
			{At: 30 * time.Second, Kind: simulate.EventHappened, Node: "gone", Zone: "b", Detail: "NodeNotReady"},
			changed(30, "gone", "b", simulate.NodeOld, simulate.NodeLost), changed(90, "gone", "b", simulate.NodeLost, simulate.NodeNew),
			{At: 90 * time.Second, Kind: simulate.EventHappened, Node: "gone", Zone: "b", Detail: "end of NodeNotReady"},
			{At: 95 * time.Second, Kind: simulate.CanaryChanged, Detail: "Failed TooManyRestarts"},
			changed(100, "first", "a", simulate.NodeNew, simulate.NodeBroken),
		},
	)...)
	return o
}

// The policy allows the script of the page, which is the only one, by its hash, and no other.
func TestPagePolicy(t *testing.T) {
	page := rendered(t, &experiment{}, troubled("a"))
	var scripts []string
	for _, s := range page.all("script", "", "") {
		if s.attribute("type") == "application/json" {
			if !json.Valid([]byte(s.FirstChild.Data)) {
				t.Errorf("%s is no JSON", s.attribute("id"))
			}
			continue
		}
		scripts = append(scripts, s.FirstChild.Data)
	}
	if len(scripts) != 1 {
		t.Fatalf("%d scripts", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0]))
	want := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:"
	if got := page.all("meta", "http-equiv", "Content-Security-Policy")[0].attribute("content"); got != want {
		t.Errorf("the policy is\n%s, want\n%s", got, want)
	}
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=…> would need a policy without a hash", n.Data, a.Key)
			}
		}
	}
}

// Names come from clusters of an unknown source.
func TestPageEscapesNodes(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	o := recorded(evil, append(updates(evil, evil, 1, 60), simulate.Record{
		At: time.Second, Kind: simulate.EventHappened, Node: evil, Zone: evil, Detail: "NodeNotReady " + evil,
	})...)
	o.Reports[0].Unused = []string{evil}
	o.Set.Unknown = []string{evil}
	e := &experiment{question: question{Study: studyText{Title: evil, Finding: evil}}, Candidates: []*candidate{o.candidate}}
	page := rendered(t, e, o)
	if n := len(page.all("script", "", "")); n != 3 {
		t.Errorf("%d scripts, want that of the page and two with data", n)
	}
	if n := len(page.all("img", "", "")); n != 0 {
		t.Errorf("%d images of somebody else", n)
	}
	if got := page.all("button", "data-node", "")[0].text(); got != evil {
		t.Errorf("the node is called %q", got)
	}
	var data pageNodes
	if err := json.Unmarshal([]byte(page.all("script", "id", "node-data")[0].FirstChild.Data), &data); err != nil {
		t.Fatal(err)
	}
	if data.Names[0] != evil || data.Zones[0] != evil || data.Panels[0].Label != evil {
		t.Errorf("the data are %+v", data)
	}
}

// The page has a place for every part, and tells what the heat map shows to those who cannot see it.
func TestPageParts(t *testing.T) {
	page := rendered(t, &experiment{}, troubled("careful"), troubled("bold"))
	var heads []string
	for _, h := range page.all("h2", "", "") {
		heads = append(heads, h.text())
	}
	want := []string{"Comparison", "Pictures", "Events", "Which nodes were down when, and why", "Run it again", "Scenario"}
	if !slices.Equal(heads, want) {
		t.Errorf("headings %q, want %q", heads, want)
	}
	for _, part := range []struct {
		name, element, key, value string
		count                     int
	}{
		{"a panel for each candidate", "figure", "data-panel", "", 2},
		{"a picture for each chart, on wide and on narrow screens", "div", "class", "wide", 2},
		{"and on narrow screens", "div", "class", "phone", 2},
		{"search by name", "input", "name", "node", 1},
		{"filter by zone", "select", "name", "zone", 1},
		{"filter by state", "select", "name", "state", 1},
		{"a heat map without scripts", "noscript", "", "", 1},
		{"the nodes that were down longest", "button", "data-node", "gone", 2},
	} {
		if got := len(page.all(part.element, part.key, part.value)); got != part.count {
			t.Errorf("%s: %d, want %d", part.name, got, part.count)
		}
	}
	for _, svg := range page.all("svg", "", "") {
		if svg.attribute("aria-label") == "" || svg.attribute("role") != "img" {
			t.Errorf("a picture has no name: %v", svg.Attr)
		}
	}
	for _, b := range page.all("b", "style", "") {
		if strings.Contains(b.attribute("style"), "Zgot") || !strings.HasPrefix(b.attribute("style"), "background:#") {
			t.Errorf("a square of the legend has the style %q", b.attribute("style"))
		}
	}
}

// What happened with each candidate is an item of a list, with the causes below it. Only a rollout that did not come to its end is
// marked: a version that a canary gave up is what canaries are for.
func TestPageHeadlines(t *testing.T) {
	done, given, stuck := madeUp("careful", time.Minute, 1, time.Minute), madeUp("canary", 0, 1, time.Minute), madeUp("bold", 0, 9, time.Hour)
	given.Reports[0].Canary = simulate.CanaryReport{Failed: time.Minute}
	stuck.Reports[0].End = simulate.EndStuck
	stuck.Traces[0].Left = []leftNodes{{Cause: "NotReady", Nodes: []string{"w-13"}}}
	page := rendered(t, &experiment{}, done, given, stuck)
	var about, marked []string
	for _, item := range page.all("ul", "class", "verdict")[0].all("li", "", "") {
		if strong := item.all("strong", "", ""); len(strong) > 0 {
			about = append(about, strong[0].text())
		}
		if item.attribute("class") == "warning" {
			marked = append(marked, item.text())
		}
	}
	if want := []string{
		"careful:", "canary:", "bold:", "Most nodes down at once:", "Time without a serving pod, summed over nodes:",
	}; !slices.Equal(about, want) {
		t.Errorf("the list is about %q, want %q", about, want)
	}
	if len(marked) != 1 || !strings.HasPrefix(marked[0], "bold: stuck") || !strings.Contains(marked[0], "1 node: NotReady: w-13") {
		t.Errorf("marked are %q", marked)
	}
	if again := page.all("p", "class", "warning"); len(again) > 0 {
		t.Errorf("below the list is once more: %s", again[0].text())
	}
}

// A quick way to a version that was taken back is not the best one.
func TestTakenBackIsNotBest(t *testing.T) {
	quick, slow := madeUp("quick", 0, 3, time.Minute), madeUp("slow", 0, 3, time.Minute)
	for i, o := range []*outcome{quick, slow} {
		o.Traces[0].Version.Arrivals = slices.Repeat([]time.Duration{time.Duration(i+1) * time.Minute}, 10)
	}
	best := func() int {
		n := 0
		for _, f := range figures([]*outcome{quick, slow}) {
			if strings.HasPrefix(f.Name, "time to ") {
				n += one(f.Cells[0].Best) + one(f.Cells[1].Best)
			}
		}
		return n
	}
	for _, o := range []*outcome{quick, slow} {
		o.Reports[0].Reached = []simulate.Reached{{Percent: 50, After: o.Traces[0].Version.Arrivals[0]}}
	}
	if n := best(); n != 1 {
		t.Errorf("%d times are the best of rollouts that are done, want 1", n)
	}
	quick.Traces[0].Version.Replaced = true
	if n := best(); n != 0 {
		t.Errorf("%d times to a version that was replaced are the best", n)
	}
}

// The longest outage is told so that its time can be found in the heat map.
func TestPageTellsOutages(t *testing.T) {
	for _, tt := range []struct {
		records []simulate.Record
		want    string
	}{
		{updates("x", "", 60, 90), "30s, from 1m to 1m30s"},
		{updates("x", "", 260_000, 260_100), "1m40s, after 3d00h"},
		{[]simulate.Record{
			changed(0, "x", "", 0, simulate.NodeOld), changed(60, "x", "", simulate.NodeOld, simulate.NodeLost),
			changed(90, "y", "", 0, simulate.NodeNew),
		}, "at least 30s, from 1m on, still down"},
	} {
		if got := rendered(t, &experiment{}, recorded("a", tt.records...)).all("td", "class", "when")[0].text(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The legend has every state that the page shows: in a large fleet also those of a few nodes.
func TestPageLegend(t *testing.T) {
	var all [][]simulate.Record
	for i := range 3000 {
		all = append(all, updates(fmt.Sprintf("n%04d", i), "a", 10, 20))
	}
	all = append(all, []simulate.Record{
		changed(0, "n1500-sick", "a", 0, simulate.NodeOld), changed(12, "n1500-sick", "a", simulate.NodeOld, simulate.NodeBroken),
		changed(20, "n1500-sick", "a", simulate.NodeBroken, simulate.NodeNew),
	}, []simulate.Record{changed(50, "joins", "a", 0, simulate.NodeNew)})
	var got []string
	for _, item := range rendered(t, &experiment{}, recorded("a", inOrder(all...)...)).all("ul", "class", "legend")[0].all("li", "", "") {
		got = append(got, item.text())
	}
	want := []string{
		"another version serves", "new version available", "starting, not ready", "crashing or failed", "needs no pod, or is gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the legend has %q, want %q", got, want)
	}
}

// Tables say which cells head what. What scrolls can be reached without a pointer, and has a name.
func TestPageTables(t *testing.T) {
	page := rendered(t, &experiment{}, troubled("careful"), troubled("bold"))
	for _, cell := range page.all("th", "", "") {
		if scope := cell.attribute("scope"); scope != "col" && scope != "row" || cell.text() == "" {
			t.Errorf("the head %q has the scope %q", cell.text(), scope)
		}
	}
	tables, rows := page.all("table", "", ""), page.all("tr", "", "")
	if len(tables) != 4 || len(page.all("th", "scope", "row")) != len(rows)-len(tables) {
		t.Errorf("%d tables with %d rows have %d heads of rows", len(tables), len(rows), len(page.all("th", "scope", "row")))
	}
	var names []string
	for _, box := range page.all("div", "class", "scroll") {
		if box.attribute("tabindex") != "0" || box.attribute("role") != "region" {
			t.Errorf("the keyboard cannot scroll %v", box.Attr)
		}
		names = append(names, box.attribute("aria-label"))
	}
	if want := []string{"Comparison", "Events", "Longest down: careful", "Longest down: bold"}; !slices.Equal(names, want) {
		t.Errorf("the parts that scroll are %q, want %q", names, want)
	}
	for _, panel := range page.all("figure", "data-panel", "") {
		if id := panel.attribute("aria-labelledby"); id == "" || len(page.all("h3", "id", id)) != 1 {
			t.Errorf("a panel has no name: %v", panel.Attr)
		}
	}
}

// Candidates with times of their own are on the page with axes of their own, and it says so.
func TestPageSaysWhichAxisIsItsOwn(t *testing.T) {
	slow, quick := recorded("slow", updates("x", "", 1, 1000)...), recorded("quick", updates("x", "", 1, 60)...)
	panels := newPageNodes([]*outcome{slow, quick}, newHeatmap([]*outcome{slow, quick})).Panels
	if panels[0].Own || !panels[1].Own {
		t.Errorf("own axes: %v and %v", panels[0].Own, panels[1].Own)
	}
	if !strings.Contains(pageScript, ", on a time axis of its own") {
		t.Error("the script does not say so")
	}
}

// The style has a rule for each way in which the page is read. What the rules do was looked at in a browser.
func TestPageStyle(t *testing.T) {
	style := rendered(t, &experiment{}, troubled("a")).all("style", "", "")[0].FirstChild.Data
	for _, want := range []struct{ name, rule string }{
		{"the first column stays", "position: sticky; left: 0"}, {"the table scrolls", ".scroll { overflow-x: auto"},
		{"paper cannot scroll", ".scroll { overflow: visible"}, {"dark", "@media screen and (prefers-color-scheme: dark)"},
		{"phone", "@media screen and (max-width: 640px)"}, {"print", "@media print"},
		{"folded parts are printed", "details::details-content { content-visibility: visible"},
		{"paper has every column", ".words .why, .words .when { position: static; min-width: 0;"},
		{"paper has nothing to click", ".screen, .bar button, #filter, .tip, .mark, .cross { display: none !important; }"},
		{"paper has the legend beside the picture", "h2, h3, summary, .legend { break-after: avoid; }"},
		{"a long command is seen whole", ".command { white-space: pre-wrap;"},
		{"a table shows that there is more", "linear-gradient(to left, var(--shade)"},
		{"lines", "--line-0: " + hex(lineColors[0]) + ";"}, {"lines on a dark page", "--line-0: " + hex(darkLineColors[0]) + ";"},
	} {
		if !strings.Contains(style, want.rule) {
			t.Errorf("%s: the style lacks %s", want.name, want.rule)
		}
	}
	if strings.Contains(style, "ZgotmplZ") {
		t.Error("a value in the style was refused")
	}
	if !strings.Contains(pageScript, `"beforeprint"`) {
		t.Error("browsers without details-content would print folded parts folded")
	}
}

// No colour of a chart is fixed, so that a dark page shows it in its own colours.
func TestChartsAreThemed(t *testing.T) {
	page := rendered(t, &experiment{}, troubled("a"), troubled("b"))
	for _, name := range []string{"wide", "phone"} {
		for _, div := range page.all("div", "class", name) {
			for _, path := range div.all("path", "style", "") {
				if style := path.attribute("style"); strings.Contains(style, "#") {
					t.Errorf("%s: a line has the style %s", name, style)
				}
			}
		}
	}
}

// What a reader of the page must know stands on it: the title and the finding of the study, and the warnings.
func TestPageSaysWhatStudyFound(t *testing.T) {
	q, f, err := study("not-ready-nodes")
	if err != nil {
		t.Fatal(err)
	}
	if want := "3 % of the nodes are not ready when the rollout begins: 1,000 nodes"; q.Study.Title != want {
		t.Errorf("the title is %q, want %q", q.Study.Title, want)
	}
	if !strings.HasPrefix(q.Study.Finding, "30 nodes have lost their kubelet, ") || !strings.HasSuffix(q.Study.Finding, "nodes that were down before their update.") {
		t.Errorf("the finding is %q", q.Study.Finding)
	}
	e, err := q.load(f)
	if err != nil {
		t.Fatal(err)
	}
	few := troubled("a")
	few.Reports[0].Nodes = 60
	page := rendered(t, e, few)
	for _, element := range []string{"h1", "title"} { // of the nodes of this run
		if got, want := page.all(element, "", "")[0].text(), "3 % of the nodes are not ready when the rollout begins: 60 nodes"; got != want {
			t.Errorf("%s: %q, want %q", element, got, want)
		}
	}
	finding := page.all("p", "class", "finding")[0].text()
	if !strings.Contains(finding, q.Study.Finding) || !strings.Contains(finding, "other flags") {
		t.Errorf("of a run with other flags the page says %q", finding)
	}
	dir := t.TempDir()
	if err := writeReport(dir, command+" study not-ready-nodes --out DIR", e, []*outcome{troubled("a")}); err != nil {
		t.Fatal(err)
	}
	page = parsed(t, tree(t, dir)["report.html"])
	if text := page.all("p", "class", "finding")[0].text(); strings.Contains(text, "other flags") {
		t.Errorf("of the study as it is the page says %q", text)
	}
	if got := page.all("h1", "", "")[0].text(); got != q.Study.Title {
		t.Errorf("the page has another title than the study: %q", got)
	}
	dir = t.TempDir()
	answer(t, "study", "bad-version", "--scale", "0.01", "--out", dir)
	if text := parsed(t, tree(t, dir)["report.html"]).all("p", "class", "finding")[0].text(); !strings.Contains(text, "other flags") {
		t.Errorf("with --scale the page says %q", text)
	}
}

func TestPageWarns(t *testing.T) {
	world := write(t, "world.yaml", "model: {kubelets: [{ready: 1s}, {nodes: {mis: spelt}, ready: 2s}]}\nevents: [{at: 1s, what: NodeNotReady, nodes: {no: such}}]\n")
	dir := t.TempDir()
	_, _, stderr := call(2, false, "simulate", "--nodes", "6", "--from", oldManifest, "--spec", newManifest, "--world", world, "--out", dir)
	var warnings []string
	for _, p := range parsed(t, tree(t, dir)["report.html"]).all("p", "class", "warning") {
		warnings = append(warnings, p.text())
	}
	want := []string{
		world + ": model.kubelets[1]: this rule applied to no pod", world + ": events[0]: this event happened to no node",
	}
	for _, w := range want {
		if !slices.Contains(warnings, w) || !strings.Contains(stderr, w) {
			t.Errorf("the page warns of %q, standard error has\n%s", warnings, stderr)
		}
	}
}

// Where times come from is no warning, and stands on the page once, as on standard error.
func TestPageNotes(t *testing.T) {
	dir := t.TempDir()
	_, _, stderr := call(2, false, "simulate", "--nodes", "6", "--spec", newManifest, "--out", dir)
	page := parsed(t, tree(t, dir)["report.html"])
	for class, want := range map[string]string{"warning": "nothing takes any time", "note": "this is a first installation"} {
		list := page.all("p", "class", class)
		if len(list) != 1 || !strings.Contains(list[0].text(), want) || !strings.Contains(stderr, list[0].text()) {
			t.Errorf("want one %s with %q, as on standard error:\n%s", class, want, stderr)
		}
	}
}

func TestMarks(t *testing.T) {
	outcomes := []*outcome{troubled("careful"), troubled("bold")}
	outcomes[1].Reports[0].Canary.Promoted = 50 * time.Second
	lost := func(at float64, node string) simulate.Record {
		return simulate.Record{
			At: time.Duration(at * float64(time.Second)), Kind: simulate.EventHappened, Node: node, Detail: "NodeNotReady",
		}
	}
	for _, r := range []simulate.Record{lost(31, "x"), lost(32, "y"), lost(80, "z")} {
		h, _ := happened(&r)
		outcomes[0].Traces[0].Happened = append(outcomes[0].Traces[0].Happened, h)
	}
	slices.SortStableFunc(outcomes[0].Traces[0].Happened, func(a, b happening) int { return int(a.At - b.At) })
	var got []string
	for _, m := range marks(axis{To: 100 * time.Second}, outcomes) {
		got = append(got, m.When()+"|"+m.Who()+"|"+m.Text())
	}
	want := []string{
		"30s to 32s|careful|3 nodes lost (NotReady)", "30s|bold|gone lost (NotReady)", "50s|bold|new version promoted",
		"1m20s|careful|z lost (NotReady)", "1m30s|all|gone ready again", "1m35s|all|new version given up: TooManyRestarts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("marks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for what, name := range eventWords {
		if r := (simulate.Record{Kind: simulate.EventHappened, Detail: what}); what != "CrashController" {
			if h, ok := happened(&r); !ok || h.What != name {
				t.Errorf("%s is told as %q", what, h.What)
			}
		}
	}
}

// Every event of a world file has words.
func TestEventsHaveWords(t *testing.T) {
	for what := simulate.AddNodes; what <= simulate.SetClock; what++ {
		if eventWords[what.String()] == "" {
			t.Errorf("%v has no words", what)
		}
	}
}

// Texts of marks do not overlap, and stay within the plot. Those for which there is no room are left out; the page lists them.
func TestMarkLabelsDoNotOverlap(t *testing.T) {
	for _, width := range []vg.Length{phoneWidth - 60, pictureWidth - 60} {
		for _, instants := range [][]int{{0}, {99}, {0, 1, 2, 3}, {50, 51, 97, 98, 99}, {10, 20, 30, 40, 50, 60, 70, 80, 90}} {
			c := &chart{Axis: axis{To: 100 * time.Second}}
			for _, at := range instants {
				from := time.Duration(at) * time.Second
				c.Marks = append(c.Marks, mark{From: from, To: from, What: "new version given up: TooManyRestarts", Of: []string{"policy"}})
			}
			labels, rows := c.labels(50, 50+width)
			if len(labels) != len(instants) || rows < 1 || rows > maxMarkRows || labels[0].Row != 0 {
				t.Errorf("%v: %d labels on %d lines", instants, len(labels), rows)
			}
			for i, l := range labels {
				if l.Row >= 0 && (l.Left < 49 || l.Right > 51+width) {
					t.Errorf("%v: %q is from %v to %v, beyond the plot", instants, l.Text, l.Left, l.Right)
				}
				for _, o := range labels[:i] {
					if l.Row >= 0 && l.Row == o.Row && l.Left < o.Right && o.Left < l.Right {
						t.Errorf("%v: %q overlaps %q", instants, l.Text, o.Text)
					}
				}
			}
		}
	}
}

// The data take the width of the picture, on a logarithmic axis, too.
func TestChartsAreWide(t *testing.T) {
	for _, a := range []axis{{To: time.Hour}, {From: time.Second, To: 10 * time.Hour, Log: true}} {
		for _, width := range []vg.Length{pictureWidth, phoneWidth} {
			c := progressChart(a, []*outcome{troubled("a")})
			var at area
			drawn, err := svg(width, chartHeight, func(canvas draw.Canvas) { at = c.draw(canvas) })
			if err != nil {
				t.Fatal(err)
			}
			if at.X0 > 50 || at.X1 < float64(width)-25 {
				t.Errorf("logarithmic %v, %v points wide: the data are from %.0f to %.0f", a.Log, width, at.X0, at.X1)
			}
			if !strings.Contains(string(drawn), a.name()) {
				t.Errorf("the picture lacks %q", a.name())
			}
		}
	}
}

// The marks are in the picture, with their texts.
func TestChartShowsMarks(t *testing.T) {
	outcomes := []*outcome{troubled("a")}
	for _, c := range charts(&experiment{}, outcomes) {
		for _, width := range []vg.Length{pictureWidth, phoneWidth} {
			drawn, err := svg(width, chartHeight, func(canvas draw.Canvas) { c.draw(canvas) })
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"30s gone lost (NotReady)", "1m30s gone ready again", "1m35s new version given up: TooManyRestarts"} {
				if !strings.Contains(string(drawn), want) {
					t.Errorf("%s at %v points lacks %q", c.File, width, want)
				}
			}
		}
	}
}

// Lines with nearly equal values are drawn apart, limits above lines. Where a line hides nothing, it is drawn at its value: a line
// that shares its zeros with others is not drawn above the limit that it keeps.
func TestLinesDoNotHideEachOther(t *testing.T) {
	flat := func(v float64) []float64 { return slices.Repeat([]float64{v}, columns) }
	rising, burst := make([]float64, columns), make([]float64, columns)
	for i := range rising {
		rising[i] = float64(i) + 100
		if i < columns/4 {
			burst[i] = 99
		}
	}
	const first, last = 0, columns - 1
	for _, tt := range []struct {
		name   string
		lines  [][]float64
		limits []limit
		column int
		want   []float64 // how far above the values, in gaps
	}{
		{"one", [][]float64{flat(1)}, nil, first, []float64{0}},
		{"different", [][]float64{flat(1), flat(50), rising}, nil, last, []float64{0, 0, 0}},
		{"three equal", [][]float64{flat(1), flat(1), flat(1)}, nil, first, []float64{0, 1, 2}},
		{"two pairs", [][]float64{flat(1), flat(2), flat(1), flat(2)}, nil, first, []float64{0, 0, 1, 1}},
		{"at the limit", [][]float64{flat(3), flat(2)}, []limit{{Value: 3}}, first, []float64{0, 0, 1}},
		{"nearly equal", [][]float64{flat(100), flat(100.1)}, nil, first, []float64{0, 0.9}},
		{"equal at the end", [][]float64{flat(0), burst}, []limit{{Value: 100}}, last, []float64{0, 1, 0}},
		{"and not at the beginning", [][]float64{flat(0), burst}, []limit{{Value: 100}}, first, []float64{0, 0, 0}},
		{"one that falls away from another", [][]float64{flat(99), burst}, nil, last, []float64{0, 0}},
		{"a crossing", [][]float64{flat(200), rising}, nil, columns / 4, []float64{0, 0}},
		{"at the top", [][]float64{flat(100), flat(100), flat(100), flat(50)}, nil, first, []float64{-2, -1, 0, 0}},
		{"below the top", [][]float64{flat(99.5), flat(99.5)}, nil, first, []float64{-0.45, 0.55}},
	} {
		c := &chart{}
		if strings.Contains(tt.name, "the top") {
			c.Most, c.Top = 100, 104
		}
		var values [][]float64
		for _, v := range tt.lines {
			c.Lines = append(c.Lines, line{Values: v})
			values = append(values, v)
		}
		for _, l := range tt.limits {
			values = append(values, l.values())
		}
		c.Limits = tt.limits
		gap := apart * c.top()
		for i, height := range c.heights() {
			if c.Most > 0 && (slices.Max(height) > c.Most || slices.Min(height) < 0) {
				t.Errorf("%s: line %d is drawn from %v to %v", tt.name, i, slices.Min(height), slices.Max(height))
			}
			if above := (height[tt.column] - values[i][tt.column]) / gap; math.Abs(above-tt.want[i]) > 0.05 {
				t.Errorf("%s: line %d is drawn %.2f gaps above its value, want %v", tt.name, i, above, tt.want[i])
			}
		}
		if slices.Max(tt.want) > 0 && !c.overlap() {
			t.Errorf("%s: no line is drawn apart", tt.name)
		}
	}
	same := []*outcome{recorded("a", updates("x", "", 1, 60)...), recorded("b", updates("x", "", 1, 60)...)}
	for _, c := range charts(&experiment{}, same) {
		drawn, err := svg(pictureWidth, chartHeight, func(canvas draw.Canvas) { c.draw(canvas) })
		if err != nil {
			t.Fatal(err)
		}
		path := func(color string) string {
			before, _, _ := strings.Cut(string(drawn), `" style="fill:none;stroke:`+color+";stroke-width:1.6")
			return before[strings.LastIndex(before, `d="`):]
		}
		if a, b := path(hex(lineColors[0])), path(hex(lineColors[1])); a == b || !strings.HasPrefix(a, `d="M`) {
			t.Errorf("%s: both lines are at %.80s", c.File, a)
		}
		if !strings.Contains(c.Note, "Where a line would hide another, it is drawn just above it") {
			t.Errorf("%s: the note is %q", c.File, c.Note)
		}
	}
}

// Every value under the pointer has its unit.
func TestValuesHaveUnits(t *testing.T) {
	o := troubled("a")
	o.Traces[0].Sent = []sent{{From: 0, To: 50 * time.Second, Bytes: 5e9}}
	list := charts(&experiment{}, []*outcome{o})
	for i, want := range []string{"1.0 %", "1 node", "1 MB/s"} {
		if got := list[i].Show(1); got != want {
			t.Errorf("%s shows 1 as %q, want %q", list[i].File, got, want)
		}
		if list[i].YLabel == "" || !strings.Contains(list[i].YLabel, strings.TrimSuffix(strings.Fields(want)[1], "s")) {
			t.Errorf("%s: the axis is called %q", list[i].File, list[i].YLabel)
		}
	}
}

func TestWorstNodes(t *testing.T) {
	o := troubled("a")
	list := o.longestDown(2)
	if len(list) != 2 {
		t.Fatalf("%d nodes", len(list))
	}
	got, want := list[0], outage{
		Node: "gone", Zone: "b", Total: time.Minute, From: 30 * time.Second, To: 90 * time.Second, Ended: true,
		State: "node not ready", Why: "event: lost (NotReady); ",
	}
	if got != want {
		t.Errorf("the worst node is\n%+v, want\n%+v", got, want)
	}
	if list[1].Node != "second" || list[1].Total != 30*time.Second {
		t.Errorf("the next is %+v", list[1])
	}
	out, _ := longestOutage(&simulate.NodeHistory{Changes: []simulate.Change{
		{At: 0, State: simulate.NodeOld}, {At: 10, State: simulate.NodeEmpty}, {At: 20, State: simulate.NodeBroken}, {At: 90, State: simulate.NodeNew},
		{At: 95, State: simulate.NodeLost},
	}}, 200)
	if out.Total != 185 || out.From != 95 || out.To != 200 || out.Ended || out.State != "node not ready" {
		t.Errorf("got %+v", out)
	}
	if _, ok := longestOutage(&simulate.NodeHistory{Changes: []simulate.Change{{State: simulate.NodeNew}}}, 100); ok {
		t.Error("a node that serves was down")
	}
}

// What a plan says of a node is kept when it changes, with neither the name of the pod nor that of the nodes that use up the budget.
func TestExplanations(t *testing.T) {
	e := loaded(t, func(q *question) {
		q.Nodes, q.From, q.Specs = 12, oldManifest, []string{newManifest}
		q.World = write(t, "world.yaml", "model: {kubelets: [{ready: 20s}]}\nevents: [{at: 5s, what: NodeNotReady, share: 10%, for: 1m}]\n")
	})
	o, _ := traced(t, e, e.Candidates[0])
	said := o.Traces[0].Explanations
	if said == nil || len(said.Of) != 12 {
		t.Fatalf("explanations of %d nodes", len(said.Of))
	}
	for _, text := range said.Texts {
		if strings.Contains(text, "node-0") {
			t.Errorf("the text is of one node only: %s", text)
		}
	}
	for _, want := range []string{"maxUnavailable", "is used up by other nodes", "event: lost (NotReady)", "event: ready again", "pod replaced: the pod is outdated"} {
		if !slices.ContainsFunc(said.Texts, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("nobody says %q, but\n%s", want, strings.Join(said.Texts, "\n"))
		}
	}
	for name, n := range said.Of {
		for i, s := range n.List {
			if i > 0 && s.At < n.List[i-1].At {
				t.Errorf("%s: the texts are not in order", name)
			}
		}
	}
}

// script runs the functions of the page that know nothing of the page, with the nodes of these outcomes.
func script(t *testing.T, outcomes ...*outcome) func(expression string) any {
	t.Helper()
	data, err := json.Marshal(newPageNodes(outcomes, newHeatmap(outcomes)))
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	run := func(code string) any {
		t.Helper()
		v, err := vm.RunString(code)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		return v.Export()
	}
	run(pageScript)
	run("const data = " + string(data) + "; const panel = data.panels[0], nodes = nodesOf(data, panel), end = panel.ticks;" +
		"const tick = s => Math.round(s / panel.span * panel.ticks);")
	return run
}

// The script finds in the data what was recorded.
func TestScriptDescribes(t *testing.T) {
	run := script(t, troubled("a"))
	for _, tt := range []struct{ expression, want string }{
		{`nodes.map(n => n.name).join()`, "first,second,gone"},
		{`describe(data, panel, {nodes: [nodes[2]]}, tick(60)).join("; ")`,
			"gone, b, at 1m; node not ready since 30s, for 1m; 30s: event: lost (NotReady)"},
		{`describe(data, panel, {nodes: [nodes[2]]}, tick(10)).join("; ")`, "gone, b, at 10s; another version serves since 0s, for 30s"},
		{`describe(data, panel, {label: "b", nodes: nodes.slice(1)}, tick(25)).join("; ")`,
			"b, at 25s; 1 of 2 nodes: another version serves; 1 of 2 nodes: starting, not ready"},
		{`count(999) + " " + count(15000) + " " + count(1234567)`, "999 15,000 1,234,567"},
		{`ticksOf(0, 100).map(t => t[0]).join()`, "0 s,20 s,40 s,60 s,80 s,100 s"},
		{`ticksOf(3600, 7200).map(t => t.join("@")).join()`, "60 min@0,70 min@0.16666666666666666,80 min@0.3333333333333333,90 min@0.5," +
			"100 min@0.6666666666666666,110 min@0.8333333333333334,120 min@1"},
	} {
		if got := fmt.Sprint(run(tt.expression)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.expression, got, tt.want)
		}
	}
}

// The script writes durations as the tables do, so that a reader can compare them.
func TestScriptTimes(t *testing.T) {
	run := script(t, troubled("a"))
	for _, seconds := range []float64{
		0, 0.004, 0.09, 0.994, 0.999, 1, 1.23, 9.994, 9.999, 10, 59.4, 59.6, 60, 61, 90, 3599, 3599.7, 3600, 3630, 5400, 86_399, 172_799, 172_800,
		1_000_000,
	} {
		want := asDuration(seconds * 1e9)
		if got := run(fmt.Sprintf("time(%v)", seconds)); got != want {
			t.Errorf("%v seconds: the script says %v, the tables %v", seconds, got, want)
		}
	}
}

// Names that differ at the end still differ when they are cut.
func TestScriptShortens(t *testing.T) {
	run := script(t, troubled("a"))
	run(`aws = ["ip-10-0-1-17.eu-central-1.compute.internal", "ip-10-0-2-33.eu-central-1.compute.internal"]`)
	run(`gke = ["gke-cluster-pool-1-abcd1234-x7kq", "gke-cluster-pool-1-abcd1234-x7k2", "node-a"]`)
	run(`middle = ["production-cluster-17-general-purpose", "production-cluster-18-general-purpose"]`)
	for _, tt := range []struct{ expression, want string }{
		{`shortened("zone-a", 11)`, "zone-a"},
		{`shortened("eu-central-1a-availability-zone", 11)`, "eu-…ty-zone"},
		{`shortened("gke-prod-pool-1-3f9c-x7k2", 11)`, "gke…9c-x7k2"},
		{`shortened("gke-prod-pool-1-3f9c-x7k3", 11)`, "gke…9c-x7k3"},
		{`aws.map(name => shortened(name, 16, alike(aws, 16))).join(" ")`, "ip-10-0-1-17… ip-10-0-2-33…"},
		{`aws.map(name => shortened(name, 8, alike(aws, 8))).join(" ")`, "ip…1-17… ip…2-33…"},
		{`gke.map(name => shortened(name, 11, alike(gke, 11))).join(" ")`, "gke-cl…x7kq gke-cl…x7k2 node-a"},
		{`middle.map(name => shortened(name, 10, alike(middle, 10))).join(" ")`, "produc…17… produc…18…"},
	} {
		if got := run(tt.expression); got != tt.want {
			t.Errorf("%s: got %v, want %s", tt.expression, got, tt.want)
		}
	}
}

// The form says of which candidate how many nodes are shown.
func TestScriptCountsMatches(t *testing.T) {
	run := script(t, troubled("a"))
	for _, tt := range []struct{ panels, want string }{
		{`[{label: "a", found: 3, all: 3}, {label: "b", found: 3, all: 3}]`, ""},
		{`[{label: "a", found: 1, all: 3}]`, "1 of 3 nodes match"},
		{`[{label: "a", found: 0, all: 15000}, {label: "b", found: 2000, all: 15000}]`, "a: 0 of 15,000, b: 2,000 of 15,000 nodes match"},
	} {
		if got := run("found(" + tt.panels + ")"); got != tt.want {
			t.Errorf("got %v, want %s", got, tt.want)
		}
	}
}

func TestScriptFilters(t *testing.T) {
	run := script(t, troubled("a"))
	for _, tt := range []struct{ filter, from, to, want string }{
		{`{name: "", zone: "", state: ""}`, "0", "end", "first,second,gone"},
		{`{name: " SEC", zone: "", state: ""}`, "0", "end", "second"},
		{`{name: "", zone: "a", state: ""}`, "0", "end", "first"},
		{`{name: "o", zone: "a", state: ""}`, "0", "end", ""},
		{`{name: "", zone: "", state: "down"}`, "0", "end", "first,second,gone"},
		{`{name: "", zone: "", state: "down"}`, "tick(60)", "tick(80)", "gone"},
		{`{name: "", zone: "", state: "9"}`, "0", "end", "gone"},
		{`{name: "", zone: "", state: "8"}`, "0", "tick(99)", ""},
	} {
		got := run(fmt.Sprintf(`matching(data, nodes, %s, %s, %s, end).map(n => n.name).join()`, tt.filter, tt.from, tt.to))
		if got != tt.want {
			t.Errorf("%s from %s to %s: got %s, want %s", tt.filter, tt.from, tt.to, got, tt.want)
		}
	}
	for i, want := range map[int]string{8: "crashing or failed", 9: "node not ready"} {
		if looks[i].Text != want {
			t.Errorf("state %d is %s", i, looks[i].Text)
		}
	}
}

// Many nodes are rows of their zones, those of one zone are parts of it, and few nodes are a row each.
func TestScriptRows(t *testing.T) {
	run := script(t, troubled("a"))
	run(`const many = []; for (let i = 0; i < 15000; i++) many.push({name: "n" + i, zone: "z" + i % 3});`)
	for _, tt := range []struct{ expression, want string }{
		{`rowsOf(many, 300).map(r => r.label + " " + r.nodes.length).join()`, "z0 5000,z1 5000,z2 5000"},
		{`const one = rowsOf(many, 300)[0].nodes, parts = rowsOf(one, 300); parts.length + " " + parts[0].label + " " + parts[16].label`,
			"17 nodes 1 to 295 nodes 4,721 to 5,000"},
		{`parts[16].short`, "4,721–5,000"},
		{`parts.reduce((sum, p) => sum + p.nodes.length, 0)`, "5000"},
		{`rowsOf(parts[0].nodes, 300).length`, "295"},
		{`rowsOf(nodes, 300).map(r => r.label).join()`, "first,second,gone"},
		{`rowsOf([], 300).length`, "0"},
	} {
		if got := fmt.Sprint(run(tt.expression)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.expression, got, tt.want)
		}
	}
}

// The shares of a column are those of the time within it, and add up to all nodes.
func TestScriptShares(t *testing.T) {
	run := script(t, troubled("a"))
	for _, tt := range []struct {
		columns, column int
		want            map[int]float64 // by state
	}{
		{10, 0, map[int]float64{0: 1}}, {10, 1, map[int]float64{0: 2. / 3, 7: 1. / 3}},
		{10, 4, map[int]float64{2: 1. / 3, 7: 1. / 3, 9: 1. / 3}}, {10, 9, map[int]float64{2: 1}},
		{4, 0, map[int]float64{0: 2.2 / 3, 7: 0.6 / 3, 2: 0.2 / 3}}, // states change within the column
	} {
		sum := 0.0
		for state := range looks {
			var value float64
			expression := fmt.Sprintf("sharesOf(nodes, 0, tick(100), end, %d, data.states.length)[%d][%d]", tt.columns, state, tt.column)
			if _, err := fmt.Sscan(fmt.Sprint(run(expression)), &value); err != nil {
				t.Fatal(err)
			}
			sum += value
			if diff := value - tt.want[state]; diff > 0.001 || diff < -0.001 {
				t.Errorf("column %d of %d: the share of %q is %v, want %v", tt.column, tt.columns, looks[state].Text, value, tt.want[state])
			}
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("column %d of %d: the shares add up to %v", tt.column, tt.columns, sum)
		}
	}
}

// The data of 15,000 nodes and three candidates fit into a page that can be sent to somebody.
func TestPageSize(t *testing.T) {
	const nodes = 15_000
	var outcomes []*outcome
	for range 3 {
		kept := &trace{Explanations: newExplanations()}
		for i := range nodes {
			n := simulate.NodeHistory{Node: fmt.Sprintf("ip-10-%d-%d.example.internal", i/256, i%256), Zone: "zone-" + string(rune('a'+i%5))}
			states := []simulate.NodeState{
				simulate.NodeOld, simulate.NodeTerminating, simulate.NodeEmpty, simulate.NodePending, simulate.NodePulling,
				simulate.NodeStarting, simulate.NodeNew,
			}
			for j, state := range states {
				at := time.Duration(j) * time.Duration(i+1) * 17 * time.Millisecond
				n.Changes = append(n.Changes, simulate.Change{At: at, State: state})
				if j > 0 {
					kept.Explanations.node(n.Node).List = append(kept.Explanations.node(n.Node).List, said{at, kept.Explanations.text(state.String())})
				}
			}
			kept.Nodes = append(kept.Nodes, n)
		}
		outcomes = append(outcomes, &outcome{candidate: &candidate{Label: "a"}, Traces: []*trace{kept}})
	}
	h := &heatmap{}
	for range outcomes {
		h.Panels = append(h.Panels, &panel{Span: time.Hour})
	}
	data, err := json.Marshal(newPageNodes(outcomes, h))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 3_000_000 {
		t.Errorf("the nodes of the page are %d bytes", len(data))
	}
}

// Nothing on the page depends on the order of a map.
func TestThemedIsStable(t *testing.T) {
	found := make(map[string]bool)
	for range 20 {
		found[themed(`<path style="fill:#FFFFFF;stroke:#5985E4"/>`)] = true
	}
	if len(found) != 1 || !found[`<path style="fill:var(--paper);stroke:var(--line-0)"/>`] {
		t.Errorf("%v", slices.Collect(maps.Keys(found)))
	}
}
