package stage

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/internal/selectors"
)

// Stage is a group of nodes that is opened to a new revision when the stages before it are done.
type Stage struct {
	// Name of the stage. Required; a DNS label, and unique.
	Name string
	// Selector selects the nodes of the stage, of those that no stage before it selects. Default (nil): all that are left, as an
	// empty selector does.
	Selector *metav1.LabelSelector
	// Key is a label by whose values the stage is cut into parts, which are opened one after the other. Nodes without the label
	// are the last part. Default (""): the stage is one part.
	Key string
	// Tolerance is how many nodes of a part may be unavailable when it is done: a number, or a percentage up to 99% of its nodes
	// that count, rounded down. Default (nil): 0.
	Tolerance *intstr.IntOrString
	// Soak is how long the next part waits after one of this stage is done. Not negative. Default: 0.
	Soak time.Duration
	// Approval says that each part of the stage needs an [Approval] to be opened. Default: false.
	Approval bool
}

// Approval opens parts that need one. It is a standing order: if it is taken back, the parts are closed again, and updates that
// were begun there go on.
type Approval struct {
	// Stage is the name of the stage. Required.
	Stage string
	// Value is the value of the stage's key for which it is. Default (""): all parts of the stage. Nodes without the label
	// cannot be approved by themselves.
	Value string
	// Revision that it is for: its hash, or the name of its ControllerRevision. Required. No value stands for all revisions: an
	// approval of what is not known yet would be none.
	Revision string
}

// MaxStages is how many stages there may be.
const MaxStages = 64

// DeepCopy returns a copy that shares no memory with the stage.
func (s Stage) DeepCopy() Stage {
	s.Selector = s.Selector.DeepCopy()
	if s.Tolerance != nil {
		s.Tolerance = new(*s.Tolerance)
	}
	return s
}

// Validate returns every mistake in the stages and the approvals, with field paths "stages" and "approved" below path, in the
// order of the fields; nil if there is none. A nil path is allowed.
func Validate(stages []Stage, approved []Approval, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("stages")
	if len(stages) > MaxStages {
		errs = append(errs, field.TooMany(at, len(stages), MaxStages))
	}
	named := make(map[string]*Stage, len(stages))
	for i := range stages {
		s, at := &stages[i], at.Index(i)
		errs = append(errs, s.validate(at)...)
		if named[s.Name] != nil {
			errs = append(errs, field.Duplicate(at.Child("name"), s.Name))
		}
		named[s.Name] = s
	}
	at = path.Child("approved")
	for i := range approved {
		errs = append(errs, approved[i].validate(named[approved[i].Stage], at.Index(i))...)
	}
	return errs
}

func (s *Stage) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "every stage needs a name, by which approvals name it"))
	} else {
		for _, msg := range utilvalidation.IsDNS1123Label(s.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), s.Name, msg))
		}
	}
	errs = append(errs, selectors.Validate(s.Selector, path.Child("selector"))...)
	if s.Key != "" {
		for _, msg := range utilvalidation.IsQualifiedName(s.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), s.Key, msg))
		}
	}
	if s.Tolerance != nil {
		if _, err := s.tolerance(); err != nil {
			errs = append(errs, field.Invalid(path.Child("tolerance"), s.Tolerance.String(), err.Error()))
		}
	}
	if s.Soak < 0 {
		errs = append(errs, field.Invalid(path.Child("soak"), s.Soak.String(), "must not be negative"))
	}
	return errs
}

// validate checks the approval, of the stage that it names; nil: there is no such stage.
func (a *Approval) validate(of *Stage, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case a.Stage == "":
		errs = append(errs, field.Required(path.Child("stage"), "the name of the stage that is approved"))
	case of == nil:
		errs = append(errs, field.NotFound(path.Child("stage"), a.Stage))
	case a.Value != "" && of.Key == "":
		errs = append(errs, field.Invalid(path.Child("value"), a.Value,
			"must be unset: the stage has no key, and so only one part"))
	}
	switch a.Revision {
	case "":
		errs = append(errs, field.Required(path.Child("revision"), "the hash of the revision that is approved, or its name"))
	case "*":
		errs = append(errs, field.Invalid(path.Child("revision"), a.Revision,
			"must name one revision: a stage that any revision may enter needs no approval"))
	}
	return errs
}

// tolerance returns Tolerance, which is set, and what is wrong with it.
func (s *Stage) tolerance() (count.Quantity, error) {
	q, err := count.Parse(*s.Tolerance)
	switch {
	case err != nil:
		return q, err
	case q.Value < 0:
		return q, fmt.Errorf("must not be negative")
	case q.Percent && q.Value > 99:
		return q, fmt.Errorf("must not be more than 99%%: at least one node has to show that the revision works")
	}
	return q, nil
}

// Stages are compiled stages. They are immutable. Nil are none: all nodes are one part.
type Stages struct{ list []compiled }

type compiled struct {
	Stage
	selector  labels.Selector
	tolerance count.Quantity
}

// Compile reads the stages. It fails, with an aggregate of *field.Error, if [Validate] reports anything. Without stages it
// returns nil.
func Compile(stages []Stage) (*Stages, error) {
	if errs := Validate(stages, nil, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if len(stages) == 0 {
		return nil, nil
	}
	c := &Stages{list: make([]compiled, len(stages))}
	for i := range stages {
		s := stages[i].DeepCopy()
		selector, err := selectors.Compile(s.Selector)
		if err != nil {
			return nil, fmt.Errorf("stages[%d].selector: %w", i, err)
		}
		if s.Selector == nil {
			selector = labels.Everything()
		}
		c.list[i] = compiled{Stage: s, selector: selector}
		if s.Tolerance != nil {
			c.list[i].tolerance, _ = s.tolerance() // it is valid
		}
	}
	return c, nil
}

// Len returns how many stages there are.
func (s *Stages) Len() int {
	if s == nil {
		return 0
	}
	return len(s.list)
}

// at returns a stage by its place. The nodes that no stage selects are in one without a name, at the end.
func (s *Stages) at(i int32) *compiled {
	if int(i) >= s.Len() {
		return &compiled{}
	}
	return &s.list[i]
}

// Layout returns a digest of what says which nodes are in the stages up to the one at a place, in which order: their names,
// selectors and keys. The place after the last stage stands for the nodes that no stage selects. It is empty for stages that
// Validate refuses.
func Layout(stages []Stage, place int) string {
	compiled, err := Compile(stages)
	if err != nil {
		return ""
	}
	return compiled.layout(place)
}

func (s *Stages) layout(place int) string {
	h := fnv.New64a()
	for i := range min(place+1, s.Len()) {
		of := &s.list[i]
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%t\x00", of.Name, of.Key, of.selector, of.selector.Empty())
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// Equal reports whether both are the same stages. Then the parts of one are those of the other.
func (s *Stages) Equal(other *Stages) bool {
	if s.Len() == 0 || other.Len() == 0 {
		return s.Len() == other.Len()
	}
	return slices.EqualFunc(s.list, other.list, func(a, b compiled) bool {
		return a.Name == b.Name && a.Key == b.Key && a.Soak == b.Soak && a.Approval == b.Approval && a.tolerance == b.tolerance &&
			a.selector.String() == b.selector.String() && a.selector.Empty() == b.selector.Empty()
	})
}
