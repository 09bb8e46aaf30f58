package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// TestKruiseDecodeErrors has what no Spec can express: the settings that would otherwise be lost.
func TestKruiseDecodeErrors(t *testing.T) {
	type test struct {
		row
		versions []string
		manifest kruise
		want     string
	}
	both := []string{alpha, beta}
	each(t, []test{
		{row{"types", "with the places of the manifest, in every structure of its own"}, both,
			kruise{spec: "  burstReplicas: 1.5\n  lifecycle: {preDelete: {labelsHandler: [], finalizersHandler: {}, markPodNotReady: 1}, preNormal: 5}\n" +
				"  updateStrategy: {rollingUpdate: {partition: 0.5, paused: sometimes, selector: canary, rollingUpdateType: 1}}\n"},
			`[spec.burstReplicas: Invalid value: "1.5": must be a whole number or a string such as 10%, ` +
				`spec.lifecycle.preDelete.finalizersHandler: Invalid value: "{…": must be a list, ` +
				`spec.lifecycle.preDelete.labelsHandler: Invalid value: "[…": must be an object, ` +
				`spec.lifecycle.preDelete.markPodNotReady: Invalid value: 1: must be true or false, ` +
				`spec.lifecycle.preNormal: Invalid value: 5: must be an object, ` +
				`spec.updateStrategy.rollingUpdate.partition: Invalid value: "0.5": must be a whole number or a string such as 10%, ` +
				`spec.updateStrategy.rollingUpdate.paused: Invalid value: "sometimes": must be true or false, ` +
				`spec.updateStrategy.rollingUpdate.rollingUpdateType: Invalid value: 1: must be a string, ` +
				`spec.updateStrategy.rollingUpdate.selector: Invalid value: "canary": must be an object]`},
		{row{"type of partitioned scaling", "a boolean in v1beta1"}, []string{beta}, kruise{spec: "  scaleStrategy: {partitionedScaling: \"true\"}\n"},
			`spec.scaleStrategy.partitionedScaling: Invalid value: "true": must be true or false`},
		{row{"annotation is no string", "as for any object"}, both, kruise{metadata: annotated("apps.kruise.io/image-predownload-parallelism: 10")},
			`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: Invalid value: 10: must be a string`},
		{row{"unknown rolling update type", "names those that there are; the library has methods of other names"}, []string{alpha},
			kruise{spec: rollingUpdate("rollingUpdateType: InPlaceOnly")},
			`spec.updateStrategy.rollingUpdate.rollingUpdateType: Unsupported value: "InPlaceOnly": supported values: "Standard", "InPlaceIfPossible", "Surging"`},
		{row{"surging in v1beta1", "has been removed there"}, []string{beta}, kruise{spec: rollingUpdate("rollingUpdateType: Surging")},
			`spec.updateStrategy.rollingUpdate.rollingUpdateType: Unsupported value: "Surging": supported values: "Standard", "InPlaceIfPossible"`},
		{row{"surging with maxUnavailable", "their webhook wants 0; names the field that is there, not the maxSurge that is not"}, []string{alpha},
			kruise{spec: rollingUpdate("rollingUpdateType: Surging, maxUnavailable: 10%")},
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "10%": must be 0 or unset with rollingUpdateType Surging`},
		{row{"maxSurge 0 alone", "their webhook wants a maxUnavailable then"}, both, kruise{spec: rollingUpdate("maxSurge: 0")},
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: must be set while maxSurge is 0`},
		{row{"maxSurge 0% alone", "the same"}, both, kruise{spec: rollingUpdate("maxSurge: 0%")},
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: must be set while maxSurge is 0`},
		{row{"unreadable parallelism", "OpenKruise would pull on one node at a time and not say why"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: ten`)},
			`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: Invalid value: "ten": must be a whole number or a string such as 10%`},
		{row{"empty parallelism", "a template with a value left out"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: ""`)},
			`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: Invalid value: "": must be a whole number or a string such as 10%`},
		{row{"too many at a time", "beyond 32 bits"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "2147483648"`)},
			`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: Invalid value: "2147483648": must be a whole number or a string such as 10%`},
		{row{"unreadable number of ready pods", "OpenKruise would log it and go on"}, both,
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-min-updated-ready-pods: 2.5%`)},
			`metadata.annotations[apps.kruise.io/image-predownload-min-updated-ready-pods]: Invalid value: "2.5%": must be a whole number or a string such as 10%`},
		{row{"unreadable timeout", "OpenKruise would take 300"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-timeout-seconds: 10m`)},
			`metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]: Invalid value: "10m": must be a whole number of seconds, at least 1`},
		{row{"timeout in another base", "decimals only"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-timeout-seconds: 1a`)},
			`metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]: Invalid value: "1a": must be a whole number of seconds, at least 1`},
		{row{"timeout beyond 32 bits", "it must not wrap around"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-timeout-seconds: "4294967295"`)},
			`metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]: Invalid value: "4294967295": must be a whole number of seconds, at least 1`},
		{row{"no timeout at all", "0 would mean the library's default"}, both, kruise{metadata: annotated(`apps.kruise.io/image-predownload-timeout-seconds: "0"`)},
			`metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]: Invalid value: "0": must be a whole number of seconds, at least 1`},
		{row{"unreadable partitioned scaling", "OpenKruise would create pods on all nodes"}, []string{alpha},
			kruise{metadata: annotated(`daemonset.kruise.io/progressive-create-pod: "True"`)},
			`metadata.annotations[daemonset.kruise.io/progressive-create-pod]: Unsupported value: "True": supported values: "true", "false"`},
		{row{"node patches", "the library has one template for all nodes"}, both,
			kruise{spec: "  nodePatches: [{selector: {matchLabels: {disk: large}}, patch: {metadata: {labels: {cache: large}}}}]\n"},
			`spec.nodePatches: Forbidden: is not supported: every node gets the template as it is`},
		{row{"node patches of another type", "asks for something all the same"}, both, kruise{spec: "  nodePatches: {}\n"},
			`spec.nodePatches: Forbidden: is not supported: every node gets the template as it is`},
		{row{"all at once", "together with what New would report, in the places of the manifest"}, []string{alpha},
			kruise{
				metadata: "  namespace: A\n" + annotated(`daemonset.kruise.io/progressive-create-pod: "", apps.kruise.io/image-predownload-parallelism: x`),
				spec:     rollingUpdate("rollingUpdateType: Fast, maxUnavailable: -1") + "  burstReplicas: -1\n",
			},
			`[metadata.annotations[daemonset.kruise.io/progressive-create-pod]: Unsupported value: "": supported values: "true", "false", ` +
				`spec.updateStrategy.rollingUpdate.rollingUpdateType: Unsupported value: "Fast": supported values: "Standard", "InPlaceIfPossible", "Surging", ` +
				`metadata.annotations[apps.kruise.io/image-predownload-parallelism]: Invalid value: "x": must be a whole number or a string such as 10%, ` +
				`metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), ` +
				`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must not be negative, ` +
				`spec.burstReplicas: Invalid value: -1: must not be negative]`},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		for _, version := range c.versions {
			set, err := manifest.Decode([]byte(c.manifest.text(version)))
			if err == nil {
				t.Fatalf("%s: no error; spec %+v", version, set.Spec)
			}
			if err.Error() != c.want {
				t.Errorf("%s: got  %s\nwant %s", version, err, c.want)
			}
			if len(rollout.FieldErrors(err)) != strings.Count(c.want, " value: ")+strings.Count(c.want, "Forbidden: ") {
				t.Errorf("%s: FieldErrors does not list every mistake: %v", version, rollout.FieldErrors(err))
			}
			if set.Spec.Name != "" || set.Unknown != nil || set.Memory.Version != 0 {
				t.Errorf("%s: there is a result beside the error: %+v", version, set)
			}
		}
	})
}

// TestKruiseRefused has what New refuses, in the places of the manifest.
func TestKruiseRefused(t *testing.T) {
	type test struct {
		row
		manifest kruise
		want     []string
	}
	const update = "spec.updateStrategy.rollingUpdate."
	const parallelism = "metadata.annotations[apps.kruise.io/image-predownload-parallelism]"
	const minReady = "metadata.annotations[apps.kruise.io/image-predownload-min-updated-ready-pods]"
	each(t, []test{
		{row{"strategy", "their webhook refuses it"}, kruise{spec: "  updateStrategy: {type: Sometimes}\n"}, []string{"spec.updateStrategy.type"}},
		{row{"both budgets", "their webhook refuses it (B1)"}, kruise{spec: rollingUpdate("maxUnavailable: 1, maxSurge: 1")}, []string{update + "maxSurge"}},
		{row{"no budget", "their webhook refuses it (B1)"}, kruise{spec: rollingUpdate("maxUnavailable: 0, maxSurge: 0")}, []string{update + "maxUnavailable"}},
		{row{"no budget, one given", "their webhook refuses it (B1)"}, kruise{spec: rollingUpdate("maxUnavailable: 0%")}, []string{update + "maxUnavailable"}},
		{row{"budget over 100 %", "their webhook refuses it"}, kruise{spec: rollingUpdate("maxUnavailable: 101%")}, []string{update + "maxUnavailable"}},
		{row{"in place with surge", "their webhook refuses it too (I1)"}, kruise{spec: rollingUpdate("rollingUpdateType: InPlaceIfPossible, maxSurge: 1")},
			[]string{update + "maxSurge"}},
		{row{"negative partition", "their webhook refuses it"}, kruise{spec: rollingUpdate("partition: -1")}, []string{update + "partition"}},
		{row{"partition over 100 %", "their webhook refuses it"}, kruise{spec: rollingUpdate("partition: 101%")}, []string{update + "partition"}},
		{row{"unreadable partition", "their webhook refuses it"}, kruise{spec: rollingUpdate("partition: half")}, []string{update + "partition"}},
		{row{"operator of the node selector", "their webhook lets it pass, and every sync fails"},
			kruise{spec: rollingUpdate("selector: {matchExpressions: [{key: a, operator: Is}]}")}, []string{update + "selector.matchExpressions[0].operator"}},
		{row{"label of the node selector", "their webhook lets it pass"},
			kruise{spec: rollingUpdate("selector: {matchLabels: {\"a b\": c}}")}, []string{update + "selector.matchLabels"}},
		{row{"burst 0", "their webhook lets it pass, and no pod is created"}, kruise{spec: "  burstReplicas: 0\n"}, []string{"spec.burstReplicas"}},
		{row{"negative burst", "their webhook lets it pass"}, kruise{spec: "  burstReplicas: -1\n"}, []string{"spec.burstReplicas"}},
		{row{"unreadable burst", "their webhook lets it pass"}, kruise{spec: "  burstReplicas: many\n"}, []string{"spec.burstReplicas"}},
		{row{"seconds and history", "their webhook refuses them"}, kruise{spec: "  minReadySeconds: -1\n  revisionHistoryLimit: -1\n"},
			[]string{"spec.minReadySeconds", "spec.revisionHistoryLimit"}},
		{row{"negative parallelism", "OpenKruise hands it on"}, kruise{metadata: annotated(`apps.kruise.io/image-predownload-parallelism: "-1"`)}, []string{parallelism}},
		{row{"negative number of ready pods", "OpenKruise does not look"},
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-min-updated-ready-pods: "-1"`)}, []string{minReady}},
		{row{"ready pods over 100 %", "that many there will never be"},
			kruise{metadata: annotated(`apps.kruise.io/image-predownload-min-updated-ready-pods: 101%`)}, []string{minReady}},
		{row{"label of a hook", "no pod can have it, so no pod is ever hooked; their webhook lets it pass"},
			kruise{spec: "  lifecycle: {preDelete: {labelsHandler: {\"a b\": c}}}\n"}, []string{"spec.lifecycle.preDelete.labelsHandler[a b]"}},
		{row{"value of a hook's label", "the same"}, kruise{spec: "  lifecycle: {inPlaceUpdate: {labelsHandler: {a: \"b c\"}}}\n"},
			[]string{"spec.lifecycle.inPlaceUpdate.labelsHandler[a]"}},
		{row{"finalizer of a hook", "the same"}, kruise{spec: "  lifecycle: {preNormal: {finalizersHandler: [a/b, \"a b\"]}}\n"},
			[]string{"spec.lifecycle.preNormal.finalizersHandler[1]"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		for _, version := range []string{alpha, beta} {
			set, err := manifest.Decode([]byte(c.manifest.text(version)))
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			_, err = rollout.New(set.Spec)
			if got := paths(manifest.FieldErrors(set.Spec, err)); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %q, want %q; %v", version, got, c.want, err)
			}
		}
	})
}

// TestPlaces says where each manifest has the fields of a Spec.
func TestPlaces(t *testing.T) {
	const update = "spec.updateStrategy.rollingUpdate."
	type test struct {
		row
		path              string
		apps, alpha, beta string // "": the path stays
	}
	each(t, []test{
		{row{"name", "metadata"}, "spec.name", "metadata.name", "metadata.name", "metadata.name"},
		{row{"namespace", "metadata"}, "spec.namespace", "metadata.namespace", "metadata.namespace", "metadata.namespace"},
		{row{"uid", "metadata"}, "spec.uid", "metadata.uid", "metadata.uid", "metadata.uid"},
		{row{"generation", "metadata"}, "spec.generation", "metadata.generation", "metadata.generation", "metadata.generation"},
		{row{"template generation", "an annotation"}, "spec.templateGeneration", "metadata.annotations[deprecated.daemonset.template.generation]",
			"metadata.annotations[deprecated.daemonset.template.generation]", "metadata.annotations[deprecated.daemonset.template.generation]"},
		{row{"selector", "the same"}, "spec.selector.matchLabels", "", "", ""},
		{row{"template", "the same"}, "spec.template.spec.containers[0].image", "", "", ""},
		{row{"type", "in the update strategy"}, "spec.strategy.type", "spec.updateStrategy.type", "spec.updateStrategy.type", "spec.updateStrategy.type"},
		{row{"maxUnavailable", "in the rolling update"}, "spec.strategy.maxUnavailable", update + "maxUnavailable", update + "maxUnavailable", update + "maxUnavailable"},
		{row{"maxSurge", "in the rolling update"}, "spec.strategy.maxSurge", update + "maxSurge", update + "maxSurge", update + "maxSurge"},
		{row{"partition", "apps/v1 has none"}, "spec.strategy.partition", "", update + "partition", update + "partition"},
		{row{"node selector", "with what is below it"}, "spec.strategy.nodeSelector.matchExpressions[0].operator", "",
			update + "selector.matchExpressions[0].operator", update + "selector.matchExpressions[0].operator"},
		{row{"partitioned scaling", "an annotation or a field"}, "spec.strategy.partitionedScaling", "",
			"metadata.annotations[daemonset.kruise.io/progressive-create-pod]", "spec.scaleStrategy.partitionedScaling"},
		{row{"method", "the type of rolling update"}, "spec.strategy.method", "", update + "rollingUpdateType", update + "rollingUpdateType"},
		{row{"paused", "in the rolling update"}, "spec.strategy.paused", "", update + "paused", update + "paused"},
		{row{"in place", "no manifest has it"}, "spec.strategy.inPlace.gracePeriodSeconds", "", "", ""},
		{row{"hold revision", "no manifest has it"}, "spec.strategy.holdRevision", "", "", ""},
		{row{"frozen", "no manifest has it"}, "spec.strategy.frozen", "", "", ""},
		{row{"minReadySeconds", "the same"}, "spec.minReadySeconds", "", "", ""},
		{row{"history", "the same"}, "spec.revisionHistoryLimit", "", "", ""},
		{row{"burst", "another name"}, "spec.burst", "", "spec.burstReplicas", "spec.burstReplicas"},
		{row{"burst of another name", "only whole names are replaced"}, "spec.bursts", "", "", ""},
		{row{"labels before deletion", "the key stays"}, "spec.lifecycle.preDelete.labels[a]", "",
			"spec.lifecycle.preDelete.labelsHandler[a]", "spec.lifecycle.preDelete.labelsHandler[a]"},
		{row{"finalizers before deletion", "the index stays"}, "spec.lifecycle.preDelete.finalizers[0]", "",
			"spec.lifecycle.preDelete.finalizersHandler[0]", "spec.lifecycle.preDelete.finalizersHandler[0]"},
		{row{"labels around an update", "another name"}, "spec.lifecycle.inPlaceUpdate.labels", "",
			"spec.lifecycle.inPlaceUpdate.labelsHandler", "spec.lifecycle.inPlaceUpdate.labelsHandler"},
		{row{"finalizers around an update", "another name"}, "spec.lifecycle.inPlaceUpdate.finalizers", "",
			"spec.lifecycle.inPlaceUpdate.finalizersHandler", "spec.lifecycle.inPlaceUpdate.finalizersHandler"},
		{row{"labels before normal", "another name"}, "spec.lifecycle.preNormal.labels", "",
			"spec.lifecycle.preNormal.labelsHandler", "spec.lifecycle.preNormal.labelsHandler"},
		{row{"finalizers before normal", "another name"}, "spec.lifecycle.preNormal.finalizers", "",
			"spec.lifecycle.preNormal.finalizersHandler", "spec.lifecycle.preNormal.finalizersHandler"},
		{row{"readiness in a hook", "the same"}, "spec.lifecycle.preDelete.markPodNotReady", "", "", ""},
		{row{"parallelism", "an annotation"}, "spec.preDownload.parallelism", "", "metadata.annotations[apps.kruise.io/image-predownload-parallelism]",
			"metadata.annotations[apps.kruise.io/image-predownload-parallelism]"},
		{row{"ready pods", "an annotation"}, "spec.preDownload.minUpdatedReadyPods", "",
			"metadata.annotations[apps.kruise.io/image-predownload-min-updated-ready-pods]",
			"metadata.annotations[apps.kruise.io/image-predownload-min-updated-ready-pods]"},
		{row{"timeout", "an annotation"}, "spec.preDownload.timeoutSeconds", "", "metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]",
			"metadata.annotations[apps.kruise.io/image-predownload-timeout-seconds]"},
		{row{"back-off", "no manifest has it"}, "spec.preDownload.backoffLimit", "", "", ""},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		err := field.ErrorList{{Type: field.ErrorTypeInvalid, Field: c.path}}.ToAggregate()
		for version, want := range map[string]string{"apps/v1": c.apps, alpha: c.alpha, beta: c.beta, "example.com/v1": ""} {
			if want == "" {
				want = c.path
			}
			got := paths(manifest.FieldErrors(rollout.Spec{APIVersion: version, Kind: "DaemonSet"}, err))
			if !slices.Equal(got, []string{want}) {
				t.Errorf("%s: got %q, want %q", version, got, want)
			}
			if got := paths(manifest.FieldErrors(rollout.Spec{APIVersion: version, Kind: "Other"}, err)); !slices.Equal(got, []string{c.path}) {
				t.Errorf("%s of another kind: got %q, want %q", version, got, c.path)
			}
		}
	})
}
