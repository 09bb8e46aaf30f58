package manifest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// TestEDSDecodeErrors has what no Spec can express.
func TestEDSDecodeErrors(t *testing.T) {
	type test struct {
		row
		text string
		want string
	}
	each(t, []test{
		{row{"types", "with the places of the manifest, in every structure of its own"},
			eds{
				rolling:  "maxUnavailable: 1.5, maxPodSchedulerFailure: [], maxParallelPodCreation: 10%, slowStartIntervalDuration: 60, slowStartAdditiveIncrease: {}",
				strategy: "    reconcileFrequency: often\n",
				canary: "replicas: true, duration: 10, nodeSelector: canary, nodeAntiAffinityKeys: zone, autoPause: {enabled: 'true', maxRestarts: 1.5, maxSlowStartDuration: 1}, " +
					"autoFail: {enabled: 1, maxRestarts: many, maxRestartsDuration: 1x, canaryTimeout: []}, noRestartsDuration: '5', validationMode: 1",
				status: "canary: {nodes: [1]}",
			}.text(),
			`[spec.strategy.canary.autoFail.canaryTimeout: Invalid value: "[]": must be a duration such as 90s or 10m, ` +
				`spec.strategy.canary.autoFail.enabled: Invalid value: 1: must be true or false, ` +
				`spec.strategy.canary.autoFail.maxRestarts: Invalid value: "many": must be a number, ` +
				`spec.strategy.canary.autoFail.maxRestartsDuration: Invalid value: "1x": must be a duration such as 90s or 10m, ` +
				`spec.strategy.canary.autoPause.enabled: Invalid value: "true": must be true or false, ` +
				`spec.strategy.canary.autoPause.maxRestarts: Invalid value: 1.5: must be a whole number of at most 32 bits, ` +
				`spec.strategy.canary.autoPause.maxSlowStartDuration: Invalid value: "1": must be a duration such as 90s or 10m, ` +
				`spec.strategy.canary.duration: Invalid value: "10": must be a duration such as 90s or 10m, ` +
				`spec.strategy.canary.noRestartsDuration: Invalid value: "5": must be a duration such as 90s or 10m, ` +
				`spec.strategy.canary.nodeAntiAffinityKeys: Invalid value: "zone": must be a list, ` +
				`spec.strategy.canary.nodeSelector: Invalid value: "canary": must be an object, ` +
				`spec.strategy.canary.replicas: Invalid value: "true": must be a whole number or a string such as 10%, ` +
				`spec.strategy.canary.validationMode: Invalid value: 1: must be a string, ` +
				`spec.strategy.reconcileFrequency: Invalid value: "often": must be a duration such as 90s or 10m, ` +
				`spec.strategy.rollingUpdate.maxParallelPodCreation: Invalid value: "10%": must be a number, ` +
				`spec.strategy.rollingUpdate.maxPodSchedulerFailure: Invalid value: "[]": must be a whole number or a string such as 10%, ` +
				`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "1.5": must be a whole number or a string such as 10%, ` +
				`spec.strategy.rollingUpdate.slowStartAdditiveIncrease: Invalid value: "{}": must be a whole number or a string such as 10%, ` +
				`spec.strategy.rollingUpdate.slowStartIntervalDuration: Invalid value: "60": must be a duration such as 90s or 10m, ` +
				`status.canary.nodes[0]: Invalid value: 1: must be a string]`},
		{row{"no interval", "EDS's controller divides by it; in a Spec it would be the default (B7)"}, eds{rolling: "slowStartIntervalDuration: 0s"}.text(),
			`spec.strategy.rollingUpdate.slowStartIntervalDuration: Invalid value: "0s": must be positive`},
		{row{"long name", "longer than the value of a label may be, which pods are found by"},
			strings.ReplaceAll(eds{}.text(), "name: foo", "name: "+strings.Repeat("f", 64)),
			"metadata.name: Too long: may not be more than 63 bytes"},
		{row{"name that is none", "once, and not as a label, too"},
			strings.ReplaceAll(eds{rolling: "slowStartIntervalDuration: 0s"}.text(), "name: foo", "name: -foo"),
			`[spec.strategy.rollingUpdate.slowStartIntervalDuration: Invalid value: "0s": must be positive, ` +
				`metadata.name: Invalid value: "-foo": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')]`},
		{row{"all at once", "together with what New would report, in the places of the manifest"},
			eds{metadata: "  namespace: A\n", rolling: "slowStartIntervalDuration: 0s, maxUnavailable: -1"}.text(),
			`[spec.strategy.rollingUpdate.slowStartIntervalDuration: Invalid value: "0s": must be positive, ` +
				`metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), ` +
				`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must not be negative]`},
		{row{"no version", "the kind has but one, which may change"}, "kind: ExtendedDaemonSet\n",
			"apiVersion: Required value: supported: DaemonSet of apps/v1, apps.kruise.io/v1alpha1 and apps.kruise.io/v1beta1, ExtendedDaemonSet of datadoghq.com/v1alpha1"},
		{row{"other version", "names the one that is supported"}, "apiVersion: datadoghq.com/v1beta1\nkind: ExtendedDaemonSet\n",
			`apiVersion: Unsupported value: "datadoghq.com/v1beta1": supported values: "datadoghq.com/v1alpha1"`},
		{row{"DaemonSet of that API", "names those that are supported"}, "apiVersion: datadoghq.com/v1alpha1\nkind: DaemonSet\n",
			`apiVersion: Unsupported value: "datadoghq.com/v1alpha1": supported values: "apps/v1", "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"`},
		{row{"other kind of that API", "a setting is no set"}, "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\n",
			`kind: Unsupported value: "ExtendedDaemonsetSetting": supported values: "DaemonSet", "ExtendedDaemonSet"`},
		{row{"kind spelled as in the documentation of settings", "kinds are case-sensitive"}, "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonset\n",
			`kind: Unsupported value: "ExtendedDaemonset": supported values: "DaemonSet", "ExtendedDaemonSet"`},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.text))
		if err == nil {
			t.Fatalf("no error; spec %+v", set.Spec)
		}
		if err.Error() != c.want {
			t.Errorf("got  %s\nwant %s", err, c.want)
		}
		if !reflect.DeepEqual(set, manifest.Set{}) {
			t.Errorf("there is a result beside the error: %+v", set)
		}
	})
}

// TestEDSRefused has what New refuses, in the places of the manifest.
func TestEDSRefused(t *testing.T) {
	type test struct {
		row
		manifest eds
		want     []string
	}
	const trial, update = "spec.strategy.canary.", "spec.strategy.rollingUpdate."
	each(t, []test{
		{row{"no budget", "nothing could ever be replaced (B1)"}, eds{rolling: "maxUnavailable: 0"}, []string{update + "maxUnavailable"}},
		{row{"unreadable budget", "EDS's controller panics"}, eds{rolling: "maxUnavailable: abc"}, []string{update + "maxUnavailable"}},
		{row{"negative places", "there is no such number (B8)"}, eds{rolling: "maxPodSchedulerFailure: -1"}, []string{update + "maxPodSchedulerFailure"}},
		{row{"unreadable places", "EDS's controller fails at every sync (B8)"}, eds{rolling: "maxPodSchedulerFailure: some"}, []string{update + "maxPodSchedulerFailure"}},
		{row{"no pod at a time", "EDS never creates one (B7)"}, eds{rolling: "maxParallelPodCreation: 0"}, []string{update + "maxParallelPodCreation"}},
		{row{"no increase", "EDS never creates a pod (B7)"}, eds{rolling: "slowStartAdditiveIncrease: 0"}, []string{update + "slowStartAdditiveIncrease"}},
		{row{"no increase in percent", "the same (B7)"}, eds{rolling: "slowStartAdditiveIncrease: 0%"}, []string{update + "slowStartAdditiveIncrease"}},
		{row{"negative interval", "time does not run backwards (B7)"}, eds{rolling: "slowStartIntervalDuration: -1m"}, []string{update + "slowStartIntervalDuration"}},
		{row{"no canary node", "EDS skips the canary (C1)"}, eds{canary: "replicas: 0"}, []string{trial + "replicas"}},
		{row{"unreadable number of canary nodes", "EDS fails at every sync (C1)"}, eds{canary: "replicas: few"}, []string{trial + "replicas"}},
		{row{"malformed selector of canary nodes", "EDS logs it and takes any node (C1)"},
			eds{canary: "nodeSelector: {matchExpressions: [{key: a, operator: Is}]}"}, []string{trial + "nodeSelector.matchExpressions[0].operator"}},
		{row{"unknown validation mode", "their API server refuses it"}, eds{canary: "validationMode: never"}, []string{trial + "validationMode"}},
		{row{"manual with a duration", "it would have no effect (C7)"}, eds{canary: "validationMode: manual, duration: 5m"}, []string{trial + "duration"}},
		{row{"manual with time since restarts", "it would have no effect (C7)"}, eds{canary: "validationMode: manual, noRestartsDuration: 5m"}, []string{trial + "noRestartsDuration"}},
		{row{"fails before it pauses", "it would never pause (C7)"}, eds{canary: "autoFail: {maxRestarts: 1}, autoPause: {maxRestarts: 2}"}, []string{trial + "autoFail.maxRestarts"}},
		{row{"times out before it is promoted", "it never would be (C7)"}, eds{canary: "duration: 10m, autoFail: {canaryTimeout: 10m}"}, []string{trial + "autoFail.canaryTimeout"}},
		{row{"negative restarts", "there is no such number"}, eds{canary: "autoPause: {maxRestarts: -1}"}, []string{trial + "autoPause.maxRestarts"}},
		{row{"malformed selector", "EDS's controller fails at every sync"}, eds{spec: "  selector: {matchExpressions: [{key: a, operator: Is}]}\n"},
			[]string{"spec.selector.matchExpressions[0].operator"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(c.manifest.text()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rollout.New(set.Spec)
		if got := paths(manifest.FieldErrors(set.Spec, err)); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q; %v", got, c.want, err)
		}
	})
}

// TestEDSPlaces says where the manifest has the fields of a Spec.
func TestEDSPlaces(t *testing.T) {
	const trial, update = "spec.strategy.canary.", "spec.strategy.rollingUpdate."
	const theirs, ours = "metadata.annotations[extendeddaemonset.datadoghq.com/", "metadata.annotations[daemonplan.io/canary-"
	type test struct {
		row
		path, want string // "": the path stays
	}
	each(t, []test{
		{row{"name", "metadata"}, "spec.name", "metadata.name"},
		{row{"namespace", "metadata"}, "spec.namespace", "metadata.namespace"},
		{row{"uid", "metadata"}, "spec.uid", "metadata.uid"},
		{row{"generation", "metadata"}, "spec.generation", "metadata.generation"},
		{row{"selector", "the same"}, "spec.selector.matchLabels", ""},
		{row{"template", "the same"}, "spec.template.spec.containers[0].image", ""},
		{row{"burst", "follows from it"}, "spec.burst", update + "maxParallelPodCreation"},
		{row{"predecessor", "an annotation"}, "spec.predecessor", theirs + "old-daemonset]"},
		{row{"maxUnavailable", "in the rolling update"}, "spec.strategy.maxUnavailable", update + "maxUnavailable"},
		{row{"maxUnschedulable", "another name"}, "spec.strategy.maxUnschedulable", update + "maxPodSchedulerFailure"},
		{row{"interval", "another name"}, "spec.strategy.slowStart.interval", update + "slowStartIntervalDuration"},
		{row{"increase", "another name"}, "spec.strategy.slowStart.increase", update + "slowStartAdditiveIncrease"},
		{row{"parallel", "another name"}, "spec.strategy.slowStart.maxParallel", update + "maxParallelPodCreation"},
		{row{"replicas", "the same"}, trial + "replicas", ""},
		{row{"duration", "the same"}, trial + "duration", ""},
		{row{"time without restarts", "the same"}, trial + "noRestartsDuration", ""},
		{row{"canary nodes", "the same, with what is below"}, trial + "nodeSelector.matchLabels", ""},
		{row{"spread", "the index stays"}, trial + "nodeAntiAffinityKeys[1]", ""},
		{row{"mode", "another name"}, trial + "mode", trial + "validationMode"},
		{row{"pauses by itself", "the other way round"}, trial + "autoPause.disabled", trial + "autoPause.enabled"},
		{row{"fails by itself", "the other way round"}, trial + "autoFail.disabled", trial + "autoFail.enabled"},
		{row{"restarts", "the same"}, trial + "autoFail.maxRestarts", ""},
		{row{"pause", "the annotation that names a revision"}, trial + "commands.pause", ours + "pause]"},
		{row{"unpause", "the annotation that names a revision"}, trial + "commands.unpause", ours + "unpause]"},
		{row{"validate", "an annotation"}, trial + "commands.validate", theirs + "canary-valid]"},
		{row{"fail", "an annotation"}, trial + "commands.fail", ours + "fail]"},
		{row{"retry", "an annotation"}, trial + "commands.retry", ours + "retry]"},
		{row{"paused", "an annotation"}, "spec.strategy.paused", theirs + "rolling-update-paused]"},
		{row{"frozen", "an annotation"}, "spec.strategy.frozen", theirs + "rollout-frozen]"},
		{row{"surge", "no manifest of EDS has it"}, "spec.strategy.maxSurge", ""},
		{row{"overrides", "objects of their own"}, "spec.overrides[0].name", ""},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		want := c.want
		if want == "" {
			want = c.path
		}
		err := field.ErrorList{{Type: field.ErrorTypeInvalid, Field: c.path}}.ToAggregate()
		if got := paths(manifest.FieldErrors(edsSpec(), err)); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
