package simulation

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// shardNumber says which runs of a forecast are made: those of every Of-th seed, from seed Index on. The zero value is all of
// them.
type shardNumber struct{ Index, Of int }

// has reports whether the run with that number, from 0 on, is in the shard.
func (s shardNumber) has(run int) bool { return s.Of == 0 || run%s.Of == s.Index }

// jobIndex is the variable that a Kubernetes Indexed Job sets in its pods: the number of the pod, from 0 on.
const jobIndex = "JOB_COMPLETION_INDEX"

// parseShard reads the flag --shard: "2/8" is the second of eight, and "8" is the one of eight whose index an Indexed Job gives,
// from 0 on.
func parseShard(flag, jobs string) (shardNumber, error) {
	if flag == "" {
		return shardNumber{}, nil
	}
	number, count, given := strings.Cut(flag, "/")
	if !given {
		count = number
		index, err := strconv.Atoi(jobs)
		if err != nil {
			return shardNumber{}, fmt.Errorf("--shard %s: it is I/N, such as 2/8; N alone is for the pods of an Indexed Job, in "+
				"which %s is a number from 0 on; here it is %s", quoted(flag), jobIndex, quoted(jobs))
		}
		number = strconv.Itoa(index + 1)
	}
	i, err := strconv.Atoi(number)
	n, err2 := strconv.Atoi(count)
	if err := errors.Join(err, err2); err != nil || n < 1 || i < 1 || i > n {
		return shardNumber{}, fmt.Errorf("--shard %s: it is I/N, where I is one of the N shards, from 1 to N", quoted(flag))
	}
	return shardNumber{Index: i - 1, Of: n}, nil
}

// shard is some of the runs of a forecast, as they are printed: one line of JSON.
type shard struct {
	// Daemonplan says what it is, in which format.
	Daemonplan string `json:"daemonplan"`
	// Shard is its number of Of, from 1 on.
	Shard int `json:"shard"`
	Of    int `json:"of"`
	// Question is the digest of all that the forecast depends on: shards of one question belong together.
	Question string      `json:"question"`
	Seed     uint64      `json:"seed"`
	Seeds    int         `json:"seeds"`
	Notes    []string    `json:"notes"`
	Derived  []string    `json:"derived"`
	Specs    []shardSpec `json:"specs"`
	// Runs are the results, a compressed list of savedOutcome.
	Runs []byte `json:"runs"`

	file string
}

// shardFormat changes when shards of another version of the command cannot be merged.
const shardFormat = "shard of a forecast, format 1"

// shardSpec is what the answer says of a spec beside its runs.
type shardSpec struct {
	Label      string           `json:"label"`
	File       string           `json:"file"`
	Namespace  string           `json:"namespace"`
	Name       string           `json:"name"`
	Group      string           `json:"group"`
	Kind       string           `json:"kind"`
	Controller controllers.Name `json:"controller"`
	Grace      time.Duration    `json:"grace"`
}

// savedOutcome has the runs of one spec that are in a shard, and those with pods that stop at once, if there are any.
type savedOutcome struct {
	Runs, AtOnce []savedRun
}

// savedRun is what a forecast needs of a run. Only that of the first seed has Nodes, Series and Limits.
type savedRun struct {
	Run      int
	Report   simulate.Report
	Version  newVersion
	Left     []leftNodes
	Releases releases
	Reached  time.Duration
	Back     float64
	Serves   float64
	Places   []savedPlaces
	Nodes    []simulate.NodeHistory
	Series   simulate.Series
	Limits   []limitFrom
}

// savedPlaces are places, without what counts them.
type savedPlaces struct {
	Key           string
	Nodes, Values bool
	Worst         place
	Most          int
}

// saved are the runs of an outcome that there are.
func saved(o *outcome) []savedRun {
	if o == nil {
		return nil
	}
	var list []savedRun
	for run, t := range o.Traces {
		if t == nil {
			continue
		}
		s := savedRun{
			Run: run, Report: o.Reports[run], Version: t.Version, Left: t.Left, Releases: t.Releases,
			Reached: t.reached, Back: t.back, Serves: t.serves,
		}
		if run == 0 {
			s.Nodes, s.Series, s.Limits = t.Nodes, t.Series, t.Limits
		}
		for _, p := range t.Places {
			s.Places = append(s.Places, savedPlaces{p.bounded.Key, p.bounded.nodes, p.bounded.values, p.Worst, p.Most})
		}
		list = append(list, s)
	}
	return list
}

// restore puts a run back into its outcome.
func (s *savedRun) restore(o *outcome) {
	t := &trace{
		Version: s.Version, Left: s.Left, Releases: s.Releases, reached: s.Reached, back: s.Back, serves: s.Serves,
		Nodes: s.Nodes, Series: s.Series, Limits: s.Limits,
	}
	for _, p := range s.Places {
		b := bounded{nodes: p.Nodes, values: p.Values}
		b.Key = p.Key
		t.Places = append(t.Places, &places{bounded: b, Worst: p.Worst, Most: p.Most})
	}
	o.Reports[s.Run], o.Traces[s.Run] = s.Report, t
}

// shardOf is the shard of the runs that were made.
func (e *experiment) shardOf(outcomes []*outcome) (*shard, error) {
	question, err := e.digest()
	if err != nil {
		return nil, err
	}
	s := &shard{
		Daemonplan: shardFormat, Shard: e.shard.Index + 1, Of: e.shard.Of, Question: question, Seed: e.Seed, Seeds: e.Seeds,
		Notes: e.Notes, Derived: e.Derived,
	}
	var all []savedOutcome
	for _, o := range outcomes {
		spec := shardSpec{
			Label: o.Label, File: o.File.Name, Namespace: o.Set.Spec.Namespace, Name: o.Set.Spec.Name, Group: o.Set.Group,
			Kind: o.Set.Spec.Kind, Controller: o.Controller,
		}
		if o.Derived != nil {
			spec.Grace = o.Derived.Grace
		}
		s.Specs = append(s.Specs, spec)
		all = append(all, savedOutcome{Runs: saved(o), AtOnce: saved(o.AtOnce)})
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if err := errors.Join(gob.NewEncoder(zip).Encode(all), zip.Close()); err != nil {
		return nil, err
	}
	s.Runs = packed.Bytes()
	return s, nil
}

// digest is that of all that the runs depend on.
func (e *experiment) digest() (string, error) {
	type candidate struct {
		Label, Controller string
		Spec              rollout.Spec
		Fleet             simulate.Fleet
		Model             simulate.Model
		Controlled        simulate.Controller
	}
	var list []candidate
	for _, c := range e.Candidates {
		s := e.scenario(c, 0)
		list = append(list, candidate{c.Label, string(c.Controller), c.Set.Spec, c.Fleet, s.Model, s.Controller})
	}
	data, err := json.Marshal(struct {
		Candidates  []candidate
		Events      []simulate.Event
		Seed, Seeds any
		Until       time.Duration
	}{list, e.World.Events, e.Seed, e.Seeds, e.Until})
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%x", sum[:16]), err
}

// readShards reads shards, one in each line that is JSON. Other lines, as logs may have them, are left out.
func readShards(name string, data []byte) ([]*shard, error) {
	var list []*shard
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		s := &shard{file: name}
		if err := json.Unmarshal(line, s); err != nil {
			return nil, fmt.Errorf("%s: a shard of it is cut off or changed: %w", name, err)
		}
		if s.Daemonplan != shardFormat {
			return nil, fmt.Errorf("%s: it is %s; this version of the command merges what is: %s", name, quoted(s.Daemonplan),
				shardFormat)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: there is no shard in it; a shard is what kubectl daemonplan forecast --shard prints", name)
	}
	return list, nil
}

// complete refuses shards that do not belong together, and says which are missing or there twice.
func complete(shards []*shard) error {
	first := shards[0]
	var wrong []error
	files := make(map[int]string)
	for _, s := range shards {
		switch before, twice := files[s.Shard]; {
		case s.Question != first.Question || s.Of != first.Of || s.Seeds != first.Seeds || len(s.Specs) != len(first.Specs):
			return fmt.Errorf("%s and %s are shards of different forecasts: the flags, the files or the versions of the command "+
				"were not the same", first.file, s.file)
		case s.Shard < 1 || s.Shard > s.Of || s.Of > s.Seeds || s.Seeds > maxSeeds:
			return fmt.Errorf("%s: there is no shard %d of %d", s.file, s.Shard, s.Of)
		case twice:
			wrong = append(wrong, fmt.Errorf("shard %d of %d is there twice: in %s and in %s", s.Shard, s.Of, before, s.file))
		default:
			files[s.Shard] = s.file
		}
	}
	var missing []string
	for i := range first.Of {
		if _, there := files[i+1]; !there {
			missing = append(missing, strconv.Itoa(i+1))
		}
	}
	if len(missing) > 0 {
		wrong = append(wrong, fmt.Errorf("of %s these are missing: %s", text.Counted(first.Of, "shard"), text.Some(missing)))
	}
	return errors.Join(wrong...)
}

// merge makes one forecast of its shards.
func merge(shards []*shard) (*experiment, []*outcome, error) {
	if err := complete(shards); err != nil {
		return nil, nil, err
	}
	first := slices.MinFunc(shards, func(a, b *shard) int { return a.Shard - b.Shard })
	e := &experiment{
		question: question{Seed: first.Seed, Seeds: first.Seeds}, Notes: first.Notes, Derived: first.Derived,
	}
	var outcomes []*outcome
	for _, spec := range first.Specs {
		outcomes = append(outcomes, spec.outcome(first.Seeds))
	}
	for _, s := range shards {
		if err := s.restore(outcomes); err != nil {
			return nil, nil, fmt.Errorf("%s: shard %d: %w", s.file, s.Shard, err)
		}
	}
	for _, o := range outcomes {
		if run := slices.Index(o.Traces, nil); run >= 0 || o.AtOnce != nil && slices.Contains(o.AtOnce.Traces, nil) {
			return nil, nil, fmt.Errorf("%s: a run of its shard is missing: the shards are not whole", o.Label)
		}
		e.Candidates = append(e.Candidates, o.candidate)
	}
	return e, outcomes, nil
}

// restore puts the runs of a shard where they belong.
func (s *shard) restore(outcomes []*outcome) error {
	zip, err := gzip.NewReader(bytes.NewReader(s.Runs))
	if err != nil {
		return err
	}
	var all []savedOutcome
	if err := gob.NewDecoder(zip).Decode(&all); err != nil {
		return err
	}
	if len(all) != len(outcomes) {
		return fmt.Errorf("it has runs of %d specs, not of %d", len(all), len(outcomes))
	}
	for i, o := range outcomes {
		if err := errors.Join(s.put(all[i].Runs, o), s.put(all[i].AtOnce, o.AtOnce)); err != nil {
			return err
		}
	}
	return nil
}

// put puts runs of the shard into their outcome; nil: there are to be none.
func (s *shard) put(runs []savedRun, into *outcome) error {
	of := shardNumber{s.Shard - 1, s.Of}
	for i := range runs {
		if run := runs[i].Run; into == nil || run < 0 || run >= s.Seeds || !of.has(run) {
			return fmt.Errorf("run %d is not one of it", run)
		}
		runs[i].restore(into)
	}
	return nil
}

// outcome is one without runs so far.
func (s *shardSpec) outcome(seeds int) *outcome {
	c := &candidate{Label: s.Label, Controller: s.Controller, Set: &objects.Set{Group: s.Group}}
	c.File.Name = s.File
	c.Set.Spec.Namespace, c.Set.Spec.Name, c.Set.Spec.Kind = s.Namespace, s.Name, s.Kind
	empty := func() *outcome {
		return &outcome{candidate: c, Reports: make([]simulate.Report, seeds), Traces: make([]*trace, seeds)}
	}
	o := empty()
	if s.Grace > 0 {
		c.Derived = &Derived{Grace: s.Grace}
		o.AtOnce = empty()
	}
	return o
}
