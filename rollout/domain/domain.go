package domain

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/internal/selectors"
)

// Domain bounds how many nodes are disturbed at once, or in how many places. Max or AtOnce is required.
type Domain struct {
	// Selector selects the nodes that the bounds are for. Default (nil): all, as an empty selector does.
	Selector *metav1.LabelSelector
	// Key is the label whose values are bounded one by one. Default (""): the selected nodes are bounded together.
	Key string
	// Max is how many nodes of one value may be disturbed: an integer of at least 1, or a percentage from 1% to 100% of the
	// nodes of the value that are to run the pod, rounded up. Default (nil): any number.
	Max *intstr.IntOrString
	// AtOnce is in how many values nodes may be disturbed at once. Not negative; it needs Key. Default (0): in any number.
	AtOnce int32
}

// MaxDomains is how many domains there may be.
const MaxDomains = 16

// DeepCopy returns a copy that shares no memory with the domain.
func (d Domain) DeepCopy() Domain {
	d.Selector = d.Selector.DeepCopy()
	if d.Max != nil {
		d.Max = new(*d.Max)
	}
	return d
}

// Validate returns every mistake in the domains, with field paths below path, in the order of the fields; nil if there is none.
// A nil path is allowed.
func Validate(domains []Domain, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(domains) > MaxDomains {
		errs = append(errs, field.TooMany(path, len(domains), MaxDomains))
	}
	for i := range domains {
		errs = append(errs, domains[i].validate(path.Index(i))...)
	}
	return errs
}

func (d *Domain) validate(path *field.Path) field.ErrorList {
	errs := selectors.Validate(d.Selector, path.Child("selector"))
	if d.Key != "" {
		for _, msg := range utilvalidation.IsQualifiedName(d.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), d.Key, msg))
		}
	}
	if d.Max == nil && d.AtOnce == 0 {
		errs = append(errs, field.Required(path.Child("max"), "max or atOnce is needed: a domain without either bounds nothing"))
	}
	if d.Max != nil {
		if _, err := d.max(); err != nil {
			errs = append(errs, field.Invalid(path.Child("max"), d.Max.String(), err.Error()))
		}
	}
	switch {
	case d.AtOnce < 0:
		errs = append(errs, field.Invalid(path.Child("atOnce"), d.AtOnce, "must not be negative"))
	case d.AtOnce > 0 && d.Key == "":
		errs = append(errs, field.Invalid(path.Child("atOnce"), d.AtOnce, "needs key: without one there is only one domain"))
	}
	return errs
}

// max returns Max, which is set, and what is wrong with it.
func (d *Domain) max() (count.Quantity, error) {
	q, err := count.Parse(*d.Max)
	switch {
	case err != nil:
		return q, err
	case q.Value < 1:
		return q, fmt.Errorf("must be at least 1: no node could ever be updated")
	case q.Percent && q.Value > 100:
		return q, fmt.Errorf("must not be more than 100%%")
	}
	return q, nil
}

// Domains are compiled domains. They are immutable. Nil are none.
type Domains struct{ list []compiled }

type compiled struct {
	selector labels.Selector
	all      bool // the selector selects all nodes
	key      string
	// max is Max, if bounded.
	max     count.Quantity
	bounded bool
	atOnce  int32
}

// Compile reads the domains. It fails, with an aggregate of *field.Error, if [Validate] reports anything. Without domains it
// returns nil.
func Compile(domains []Domain) (*Domains, error) {
	if errs := Validate(domains, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if len(domains) == 0 {
		return nil, nil
	}
	c := &Domains{list: make([]compiled, len(domains))}
	for i := range domains {
		d := &domains[i]
		selector, err := selectors.Compile(d.Selector)
		if err != nil {
			return nil, fmt.Errorf("domains[%d].selector: %w", i, err)
		}
		if d.Selector == nil {
			selector = labels.Everything()
		}
		c.list[i] = compiled{selector: selector, all: selector.Empty(), key: d.Key, atOnce: d.AtOnce}
		if d.Max != nil {
			c.list[i].bounded = true
			c.list[i].max, _ = d.max() // it is valid
		}
	}
	return c, nil
}

// Len returns how many domains there are.
func (d *Domains) Len() int {
	if d == nil {
		return 0
	}
	return len(d.list)
}

// SameCells reports whether the nodes have the same cells by both, whatever the bounds.
func (d *Domains) SameCells(other *Domains) bool {
	if d == nil || other == nil {
		return d.Len() == other.Len()
	}
	return slices.EqualFunc(d.list, other.list, func(a, b compiled) bool {
		return a.key == b.key && a.selector.String() == b.selector.String() && a.selector.Empty() == b.selector.Empty()
	})
}
