package failure_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout/failure"
)

func TestValidate(t *testing.T) {
	of := func(change func(*failure.Options)) failure.Options {
		var o failure.Options
		change(&o)
		return o
	}
	quantity := func(v string) *intstr.IntOrString { return new(intstr.Parse(v)) }
	tests := []struct {
		name, why string
		options   failure.Options
		ready     int32
		want      []string // the beginnings of the mistakes
	}{
		{"zero", "the defaults are valid", failure.Options{}, 0, nil},
		{"rollback", "an action", of(func(o *failure.Options) { o.Action = failure.Rollback }), 0, nil},
		{"all at their bounds", "bounds are valid", of(func(o *failure.Options) {
			o.Deadline, o.MaxRestarts, o.MaxFailed, o.Quarantine = 61*time.Second, new(int32(0)), quantity("100%"), quantity("100%")
		}), 60, nil},
		{"default deadline", "10m is not more than minReadySeconds", failure.Options{}, 600, []string{"failures.deadline"}},
		{"deadline", "no pod could be available in time", of(func(o *failure.Options) { o.Deadline = time.Minute }), 60, []string{"failures.deadline"}},
		{"negative deadline", "it has passed always", of(func(o *failure.Options) { o.Deadline = -1 }), -5, []string{"failures.deadline"}},
		{"restarts", "a pod cannot restart less than never", of(func(o *failure.Options) { o.MaxRestarts = new(int32(-1)) }), 0, []string{"failures.maxRestarts"}},
		{"negative", "counts are not negative", of(func(o *failure.Options) { o.MaxFailed, o.Quarantine = quantity("-1"), quantity("-2") }), 0,
			[]string{"failures.maxFailed", "failures.quarantine"}},
		{"too much", "more than all", of(func(o *failure.Options) { o.MaxFailed, o.Quarantine = quantity("101%"), quantity("101%") }), 0,
			[]string{"failures.maxFailed", "failures.quarantine"}},
		{"unreadable", "neither number nor percentage", of(func(o *failure.Options) { o.MaxFailed = quantity("few") }), 0, []string{"failures.maxFailed"}},
		{"action", "there are two", of(func(o *failure.Options) { o.Action = "Explode" }), 0, []string{"failures.action: Unsupported value"}},
		{"more quarantine than failures", "the rollout stops before that", of(func(o *failure.Options) { o.MaxFailed, o.Quarantine = quantity("1"), quantity("2") }), 0,
			[]string{"failures.quarantine"}},
		{"quarantine without maxFailed", "its default is 0", of(func(o *failure.Options) { o.Quarantine = quantity("1") }), 0, []string{"failures.quarantine"}},
		{"more percent of quarantine", "the same for percentages", of(func(o *failure.Options) { o.MaxFailed, o.Quarantine = quantity("1%"), quantity("2%") }), 0,
			[]string{"failures.quarantine"}},
		{"a number and a percentage", "they cannot be compared", of(func(o *failure.Options) { o.MaxFailed, o.Quarantine = quantity("1"), quantity("2%") }), 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs := tt.options.Validate(tt.ready, field.NewPath("failures"))
			if len(errs) != len(tt.want) {
				t.Fatalf("%v, want %v: %s", errs, tt.want, tt.why)
			}
			for i, err := range errs {
				if !strings.HasPrefix(err.Error(), tt.want[i]) {
					t.Errorf("%v, want %v: %s", err, tt.want[i], tt.why)
				}
			}
		})
	}
}

// A default shares no memory with the options, and completes them.
func TestDefault(t *testing.T) {
	o := failure.Options{MaxRestarts: new(int32(1)), MaxFailed: new(intstr.FromInt32(2))}
	d := o.Default()
	*d.MaxRestarts, *d.MaxFailed = 7, intstr.FromInt32(7)
	if *o.MaxRestarts != 1 || o.MaxFailed.IntVal != 2 {
		t.Errorf("the default shares memory with the options: %v, %v", *o.MaxRestarts, o.MaxFailed)
	}
	if d.Deadline != failure.DefaultDeadline || d.Action != failure.Pause || d.Quarantine == nil || d.Quarantine.IntVal != 0 || o.Quarantine != nil {
		t.Errorf("defaults %+v", d)
	}
	if d := (failure.Options{}).Default(); d.MaxRestarts != nil {
		t.Errorf("maxRestarts has the default %d, and should be looked at only if it is set", *d.MaxRestarts)
	}
}
