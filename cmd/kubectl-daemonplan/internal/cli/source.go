package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// source is where a command reads from, and which set is meant.
type source struct {
	*program
	kube     *genericclioptions.ConfigFlags
	files    []string
	example  string
	all      bool
	now      string
	memory   string
	settings plan.Settings
	// controller is the flag for whose plan it is; settings have it when it has been checked.
	controller string
	timing     bool
	timeout    time.Duration // of a watch; 0: it has none
	learn      string        // file that a watch writes a world into; empty: none

	// These two are for plan, explain and diff.
	change     string
	changeNote string // what was planned instead of the set that is there
	caseFile   string

	reader  objects.Files
	input   *objects.Input   // what was read from files, which can be read only once
	cluster *cluster.Cluster // nil: files, or not connected yet
}

// flags adds the flags of a command that reads a set.
func (s *source) flags(c *cobra.Command) {
	s.reader.Stdin = s.streams.In
	f := c.Flags()
	s.inputFlags(f)
	f.StringVar(&s.now, "now", "", "plan for this `TIME` (RFC 3339); by default the fleet's with --example, else the present")
	f.StringVar(&s.memory, "memory", "", "begin with the memory of an earlier plan, a `FILE` that plan -o json printed")
	s.settingFlags(f)
	s.controllerFlag(f)
	f.BoolVar(&s.timing, "timing", false, "print to standard error how long reading and planning took")
	s.clusterFlags(f)
	c.ValidArgsFunction = s.complete
	_ = c.RegisterFlagCompletionFunc("example", cobra.FixedCompletions(examples[:], cobra.ShellCompDirectiveNoFileComp))
}

// inputFlags adds the flags that say where objects are read from, and in which namespace the set is.
func (s *source) inputFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&s.files, "filename", "f", nil, "read objects from a `FILE` that kubectl printed, from every "+
		".yaml, .yml and .json file of a directory, or from standard input (-), instead of the cluster; repeatable")
	f.BoolVarP(&s.all, "all-namespaces", "A", false, "look for the set in all namespaces")
	f.StringVar(&s.example, "example", "", "take an embedded `FLEET` instead of the cluster: kubernetes, kruise or eds")
}

// settingFlags adds the flags for what a manifest does not contain.
func (s *source) settingFlags(f *pflag.FlagSet) {
	f.BoolVar(&s.settings.Resize, "resize", false,
		"Advanced DaemonSet: cpu and memory are changed in place (feature gate InPlaceWorkloadVerticalScaling)")
	f.BoolVar(&s.settings.CgroupV1, "cgroup-v1", false,
		"Advanced DaemonSet, with --resize: there are nodes with cgroup v1, where a resize and a new image take two rollouts")
	f.BoolVar(&s.settings.PreDownload, "pre-download", false, "Advanced DaemonSet: images are pulled ahead even if no "+
		"annotation of the set asks for it, one pull at a time (feature gate PreDownloadImageForDaemonSetUpdate)")
}

// controllerFlag adds the flag for whose plan is shown.
func (s *source) controllerFlag(f *pflag.FlagSet) {
	f.StringVar(&s.controller, "controller", "", controllers.Usage)
}

// clusterFlags adds the flags that kubectl has for connections.
func (s *source) clusterFlags(f *pflag.FlagSet) {
	s.kube = genericclioptions.NewConfigFlags(true)
	s.kube.CacheDir = nil // nothing is cached
	kube := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.kube.AddFlags(kube)
	f.AddFlagSet(kube)
}

// changeFlags adds the flags of commands that plan other things than what is there.
func (s *source) changeFlags(f *pflag.FlagSet) {
	f.StringVar(&s.change, "change", "", "plan the set with the spec that it has in this `FILE`, a manifest as helm "+
		"template or kustomize prints it (- is standard input)")
	f.StringVar(&s.caseFile, "case", "", "plan a `FILE` with the case that a simulation left behind, "+
		"in its own time and with its own memory")
}

// check refuses flags that contradict each other.
func (s *source) check(c *cobra.Command) error {
	given := func(name string) bool { f := c.Flags().Lookup(name); return f != nil && f.Changed }
	for _, name := range []string{
		"filename", "example", "memory", "change", "case", "now", "context", "kubeconfig", "namespace", "controller",
	} {
		isEmpty := given(name) && c.Flags().Lookup(name).Value.String() == ""
		if isEmpty || name == "filename" && slices.Contains(s.files, "") {
			return fmt.Errorf("--%s must not be empty", name)
		}
	}
	switch {
	case s.example != "" && !slices.Contains(examples[:], s.example):
		return fmt.Errorf("--example %s: must be kubernetes, kruise or eds", s.example)
	case s.example != "" && len(s.files) > 0:
		return errors.New("--example and --filename exclude each other")
	case s.all && given("namespace"):
		return errors.New("--all-namespaces and --namespace exclude each other")
	case s.settings.CgroupV1 && !s.settings.Resize:
		return errors.New("--cgroup-v1 is about how cpu and memory are changed in place; it needs --resize")
	}
	if given("controller") {
		var err error
		if s.settings.Controller, err = controllers.Parse(s.controller); err != nil {
			return err
		}
	}
	if s.now != "" {
		if at, err := time.Parse(time.RFC3339, s.now); err != nil || at.IsZero() {
			return fmt.Errorf("--now %s: must be a time such as 2026-03-02T09:15:00Z", s.now)
		}
	}
	if s.caseFile != "" {
		for _, name := range []string{
			"filename", "example", "namespace", "all-namespaces", "now", "memory", "resize", "pre-download", "change", "context",
			"kubeconfig", "controller",
		} {
			if given(name) {
				return fmt.Errorf("--case is all the input there is; --%s is for other input", name)
			}
		}
	}
	return nil
}

// time is the time to plan for.
func (s *source) time() time.Time {
	switch {
	case s.now != "":
		at, _ := time.Parse(time.RFC3339, s.now) // check has seen it
		return at
	case s.example != "":
		return fleetTime()
	default:
		return s.clock()
	}
}

// live reports whether the cluster is read.
func (s *source) live() bool { return len(s.files) == 0 && s.example == "" && s.caseFile == "" }

// ref is the set that is meant.
func (s *source) ref(set string) (objects.Ref, error) {
	ref, err := objects.ParseRef(set)
	if err != nil || s.all {
		return ref, err
	}
	if ref.Namespace = *s.kube.Namespace; ref.Namespace == "" && s.live() {
		if ref.Namespace, _, err = s.kube.ToRawKubeConfigLoader().Namespace(); err != nil {
			return ref, fmt.Errorf("there is no cluster to read: %w; give a kubeconfig with --kubeconfig, or a dump with -f", err)
		}
	}
	return ref, nil
}

// load reads the objects. From a cluster it reads only the sets: the rest depends on which one is meant.
func (s *source) load(ctx context.Context, namespace string) (in *objects.Input, err error) {
	switch {
	case s.input != nil:
		return s.input, nil
	case s.example != "":
		s.input = objects.New()
		return s.input, addExample(s.input, s.example)
	case len(s.files) > 0:
		s.input = objects.New()
		return s.input, s.input.Read(&s.reader, s.files)
	}
	if s.cluster == nil {
		if err := s.connect(); err != nil {
			return nil, err
		}
	}
	return s.cluster.Sets(ctx, namespace)
}

// connect connects to the cluster. Whoever waits for an API server that does not answer is told once on standard error.
func (s *source) connect() error {
	return s.connectAnd(func(silence string) { fmt.Fprintln(s.streams.ErrOut, silence) })
}

// connectAnd connects to the cluster. Tell is called once with what to say if the API server does not answer.
func (s *source) connectAnd(tell func(silence string)) (err error) {
	if s.cluster, err = cluster.New(s.kube); err != nil {
		return err
	}
	said := false
	s.cluster.OnSilence(cmp.Or(s.silence, cluster.LongestSilence), func(list []cluster.Unanswered) {
		if len(list) > 0 && !said {
			said = true
			tell(cluster.Silence(list, time.Now()))
		}
	})
	return nil
}

// read reads the set that is meant, and what a plan for it is made from.
func (s *source) read(ctx context.Context, set string) (*objects.Input, *objects.Set, error) {
	ref, err := s.ref(set)
	if err != nil {
		return nil, nil, err
	}
	if s.live() {
		if err := s.connect(); err != nil {
			return nil, nil, err
		}
		return s.cluster.Read(ctx, ref)
	}
	in, err := s.load(ctx, ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	s.sayAge(in)
	target, err := in.Choose(ref)
	return in, target, err
}

// longestFresh is how old a dump may be for the present to be its time. Nodes tell the time every five minutes.
const longestFresh = 10 * time.Minute

// sayAge tells whoever looks at an old dump that the present is another time than that of the dump. At the present all durations
// of then are over: each pod is available, and each canary has ended.
func (s *source) sayAge(in *objects.Input) {
	at := in.Printed()
	if s.example != "" || s.now != "" || at.IsZero() || s.clock().Sub(at) < longestFresh {
		return
	}
	fmt.Fprintf(&s.notes,
		"warning: the latest time in the objects is %[1]s, %[2]s ago, and this is planned for now; --now %[1]s plans for then\n",
		at.UTC().Format(time.RFC3339), text.Duration(s.clock().Sub(at)))
}

// decide reads the set and plans it. If there is a change, it is the plan of the changed set.
func (s *source) decide(ctx context.Context, set string) (*plan.Result, error) {
	begin := s.clock()
	if s.caseFile != "" {
		if set != "" {
			return nil, fmt.Errorf("--case is all the input there is; %s is a set of other input", set)
		}
		result, err := plan.DecideCase(s.caseFile)
		if err == nil && s.timing {
			fmt.Fprintf(&s.notes, "read %d bytes and planned %d nodes in %v\n",
				result.Input.Bytes, len(result.Input.Nodes), s.clock().Sub(begin).Round(time.Microsecond))
		}
		return result, err
	}
	in, target, err := s.read(ctx, set)
	if err != nil {
		return nil, err
	}
	if s.memory != "" {
		if target.Memory, err = plan.ReadMemory(s.memory); err != nil {
			return nil, err
		}
	}
	if s.change != "" {
		if target, err = s.changed(ctx, in, target); err != nil {
			return nil, err
		}
	}
	in.Surround(target)
	if err := s.settings.Apply(in, target); err != nil {
		return nil, err
	}
	read := s.clock()
	result, err := plan.Decide(in, target, s.time(), s.settings.Controller)
	if err != nil {
		return nil, err
	}
	planned := s.clock()
	if s.timing {
		what := fmt.Sprintf("%d bytes", in.Bytes)
		if s.live() {
			what = fmt.Sprintf("%d nodes and %d pods", len(in.Nodes), len(in.Pods))
		}
		fmt.Fprintf(&s.notes, "read %s in %v, planned %d nodes in %v\n", what,
			read.Sub(begin).Round(time.Microsecond), len(in.Nodes), planned.Sub(read).Round(time.Microsecond))
	}
	if s.change != "" {
		return result, nil
	}
	for _, path := range target.Unknown {
		fmt.Fprintf(&s.notes, "warning: %s: ignored unknown field %s\n", in.SetPlace(target), text.Printable(path))
	}
	return result, nil
}

// changed is the set with the spec of --change, as the API server would store it.
func (s *source) changed(ctx context.Context, in *objects.Input, of *objects.Set) (*objects.Set, error) {
	change, err := objects.ReadChange(of, &s.reader, s.change)
	if err != nil {
		return nil, err
	}
	for _, path := range change.Unknown {
		fmt.Fprintf(&s.notes, "warning: %s: ignored unknown field %s\n", change.Place, text.Printable(path))
	}
	note := "no webhook was asked"
	if change.HasDefaults() {
		note = "the defaults that an API server fills in are taken to be those of Kubernetes v1.37, and no webhook was asked"
	}
	if s.live() {
		stored, err := s.cluster.DryRun(ctx, of, change.JSON)
		switch {
		case err == nil:
			s.changeNote = change.Place + ", as the API server would store it (dry run)"
			next, err := change.Stored(stored)
			in.AdoptAt(next, change.Place)
			return next, err
		case !apierrors.IsForbidden(err):
			return nil, fmt.Errorf("%s: the API server would refuse the change: %w", change.Place, err)
		}
		note = "you may not update the set, so that the API server could not be asked; " + note
	}
	s.changeNote = change.Place + "; " + note
	next, err := change.Defaulted()
	in.AdoptAt(next, change.Place)
	return next, err
}

// completionTime is how long completion waits for a cluster.
const completionTime = 3 * time.Second

// complete lists the sets that there are.
func (s *source) complete(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.sets(c.Context()), cobra.ShellCompDirectiveNoFileComp
}

// sets lists the names of the sets, as SET is written; none if they cannot be read.
func (s *source) sets(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	ref, err := s.ref("")
	if err != nil || slices.Contains(s.files, "-") {
		return nil
	}
	in, err := s.load(ctx, ref.Namespace)
	if err != nil {
		return nil
	}
	var names []string
	for _, set := range in.Sets {
		if ref.Namespace == "" || ref.Namespace == set.Spec.Namespace {
			names = append(names, strings.TrimSuffix(objects.ResourceOf(set.Group), ".apps")+"/"+set.Spec.Name)
		}
	}
	return names
}

// nodes lists the names of the nodes; none if they cannot be read.
func (s *source) nodes(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	if s.live() {
		c, err := cluster.New(s.kube)
		if err != nil {
			return nil
		}
		names, _ := c.Nodes(ctx) // none is as good as an error here
		return names
	}
	if slices.Contains(s.files, "-") {
		return nil
	}
	in, err := s.load(ctx, "")
	if err != nil {
		return nil
	}
	var names []string
	for _, node := range in.Nodes {
		names = append(names, node.Name)
	}
	return names
}
