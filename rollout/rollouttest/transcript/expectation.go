package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// expectation is what there is, by the keys with which something can be expected of it.
type expectation struct {
	values []value
}

// value is one thing that there is.
type value struct {
	key    string
	text   string
	number *int // instead of the text
	// known are the texts that there can be; nil: any.
	known []string
}

func (e *expectation) number(key string, n int) {
	e.values = append(e.values, value{key: key, number: &n})
}

func (e *expectation) word(key, text string) {
	e.values = append(e.values, value{key: key, text: text})
}

func (e *expectation) code(key, text string, known []string) {
	e.values = append(e.values, value{key: key, text: text, known: known})
}

// miss is one thing that is not as expected.
type miss struct {
	key, what string
	// over: it is a number and too large.
	over bool
}

// clause splits one expectation into a key, how it compares, and a value.
func clause(word string) (key, operator, want string, ok bool) {
	i := strings.IndexAny(word, "<>=")
	if i <= 0 {
		return "", "", "", false
	}
	for _, operator := range []string{"<=", ">=", "="} {
		if want, ok := strings.CutPrefix(word[i:], operator); ok {
			return word[:i], operator, unquoted(want), true
		}
	}
	return "", "", "", false
}

// check takes all arguments, and returns what is not as expected, in their order. Nothing expected is an error, as is what
// could never be.
func (e *expectation) check(a *arguments) ([]miss, error) {
	if len(*a) == 0 {
		return nil, fmt.Errorf("nothing is expected; there is %s", e.keys())
	}
	var failures []miss
	for word := a.next(); word != ""; word = a.next() {
		key, operator, want, ok := clause(word)
		if !ok {
			return nil, fmt.Errorf("%s must be key=value", word)
		}
		i := slices.IndexFunc(e.values, func(v value) bool { return v.key == key })
		if i < 0 {
			return nil, fmt.Errorf("there is no %s to expect; there is %s", key, e.keys())
		}
		failure, err := e.values[i].compare(operator, want)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if failure != nil {
			failures = append(failures, *failure)
		}
	}
	return failures, nil
}

func (e *expectation) keys() string {
	var keys []string
	for _, v := range e.values {
		keys = append(keys, v.key)
	}
	return strings.Join(keys, ", ")
}

// compare returns nil if the value is as expected.
func (v value) compare(operator, want string) (*miss, error) {
	if v.number != nil {
		return v.compareNumber(*v.number, operator, want)
	}
	switch {
	case operator != "=":
		return nil, fmt.Errorf("%s is for numbers", operator)
	case v.known != nil && !slices.Contains(v.known, want):
		return nil, fmt.Errorf("%q cannot be; there is %s", want, strings.Join(v.known, ", "))
	case v.text == want:
		return nil, nil
	}
	return &miss{key: v.key, what: fmt.Sprintf("%s is %s, not %s", v.key, v.text, want)}, nil
}

func (v value) compareNumber(is int, operator, want string) (*miss, error) {
	bound, err := strconv.Atoi(want)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", want)
	}
	f := &miss{key: v.key, over: is > bound}
	switch {
	case operator == "=" && is != bound:
		f.what = fmt.Sprintf("%s is %d, not %d", v.key, is, bound)
	case operator == "<=" && is > bound:
		f.what = fmt.Sprintf("%s is %d, more than %d", v.key, is, bound)
	case operator == ">=" && is < bound:
		f.what = fmt.Sprintf("%s is %d, less than %d", v.key, is, bound)
	default:
		return nil, nil
	}
	return f, nil
}

// most is how many nodes, actions or events are shown.
const most = 5

// unmet is the failure with what the plan says of the nodes that are concerned.
func (s *stage) unmet(plan rollout.Plan, failures []miss, concerned func(*rollout.Decision) bool) unmet {
	u := unmet{about: []string{fmt.Sprintf("at %s: %s (%s)", clock(s.cluster.Now()), plan.Status.State, plan.Status.Reason)}}
	for _, f := range failures {
		u.what = append(u.what, f.what)
	}
	var nodes []string
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; concerned(d) {
			nodes = append(nodes, s.named(strings.ReplaceAll(plan.Explain(d.Node), "\n", "\n\t")))
		}
	}
	u.about = append(u.about, few(nodes, "nodes")...)
	return u
}

// few is the beginning of a list, and how many there are more.
func few(list []string, what string) []string {
	if more := len(list) - most; more > 0 {
		return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more %s", more, what))
	}
	return list
}

// codes lists the names of an enumeration. Values without a name have no end in common.
func codes[T interface {
	~uint8
	String() string
}]() []string {
	var names []string
	for v := T(0); ; v++ {
		name := v.String()
		if nameless(name) && v > 0 || v == 255 {
			return names
		}
		names = append(names, name)
	}
}

// nameless tells whether this is how a value shows that has no name: unknown, code 9, State(9).
func nameless(text string) bool {
	return text == "unknown" || strings.HasPrefix(text, "code ") || strings.HasSuffix(text, ")")
}

func nodeOf(p *corev1.Pod) string {
	node, _ := placement.TargetNode(p)
	return node
}
