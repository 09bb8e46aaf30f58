// Package manifest reads manifests: the YAML or JSON of a daemon controller's object becomes a [rollout.Spec].
//
//	set, err := manifest.Decode(data)
//	if err != nil {
//		return err // names every field that is of the wrong type or cannot be honoured
//	}
//	planner, err := rollout.New(set.Spec)
//	if err != nil {
//		return manifest.FieldErrors(set.Spec, err).ToAggregate() // names every field of the manifest that is invalid
//	}
//	snapshot.Memory = set.Memory
//
// [Decode] reads one manifest. [FromDaemonSet] translates the typed object that a client returns. [Objects] finds the objects in
// a dump of a cluster, with manifests among them. For ExtendedDaemonSets there are also [DecodeSetting] and [PredecessorOf].
//
// # Contract
//
// The result of every function depends on its arguments only. Nothing is read but the bytes passed in, and nothing is written.
// Results of Decode and FromDaemonSet share no memory with the arguments. An [Object] may share memory with its data. Any bytes
// may be passed, however deeply nested or broken: bytes that cannot be read give an error, and never a panic. Beside an error
// there is no other result.
//
// Spelling counts as it does for the API server: field names are case-sensitive, and a number is no string. Fields that this API
// version does not know are ignored, as the API server does by default, and listed in Set.Unknown. A setting that is known and
// cannot be honoured is an error.
//
// # What a manifest lacks
//
// A stored object of apps/v1 has the defaults of the API server, also in its pod template, and so do the revisions made from it.
// A manifest from a file lacks them. So it would seem to differ from every stored revision (R1, R2: revisions are compared by
// their data), and to restart every pod. Read manifests as the API server stores them: with "kubectl get -o yaml", or with
// "kubectl apply --dry-run=server -o yaml" for one that is to be applied. OpenKruise leaves the template as it is written.
//
// # Policy
//
// None of the three kinds has fields for the rules of fleets. The annotation daemonplan.io/policy has them, on an object of any
// of these kinds, in YAML or JSON:
//
//	metadata:
//	  annotations:
//	    daemonplan.io/policy: |
//	      outages:                                      Strategy.Policy.Outages
//	        maxExempt: 5%                                 MaxExempt
//	        provenAfter: 1h                               ProvenAfter
//	        taints: [example.com/retiring]                Taints
//	        conditions: [example.com/Draining]            Conditions
//	        touch: false                                  Touch
//	      domains:                                      Strategy.Policy.Domains, a list
//	      - selector: {matchLabels: {pool: gpu}}          Selector
//	        key: topology.kubernetes.io/zone              Key
//	        max: 10%                                      Max
//	        atOnce: 1                                     AtOnce
//	      failures: {}                                  Strategy.Policy.Failures
//	      stages:                                       Strategy.Policy.Stages, a list
//	      - name: production                              Name
//	        selector: {matchLabels: {ring: production}}   Selector
//	        key: topology.kubernetes.io/zone              Key
//	        tolerance: 2%                                 Tolerance
//	        soak: 1h                                      Soak
//	        approval: true                                Approval
//	      approved:                                     Strategy.Policy.Approved, a list
//	      - stage: production                             Stage
//	        value: zone-a                                 Value
//	        revision: agent-5d4f8c7b6                     Revision
//	      expedite: agent-5d4f8c7b6                     Strategy.Policy.Expedite
//
// Durations are written as in Go: 90s, 10m, 1h30m. A field that is left out or null is unset, and without the annotation, or with
// an empty one, there is no policy. Because nobody but this library reads it, an unknown field in it is a mistake, and not
// listed in Set.Unknown. The value is one document of at most 256 KiB. Mistakes in it have the path of the annotation and, below
// it, of the field, as in metadata.annotations[daemonplan.io/policy].outages.maxExempt. Those that prevent it from being read
// name the line of the value, too.
//
// # Advanced DaemonSet
//
// OpenKruise calls its kind DaemonSet too; apiVersion is apps.kruise.io/v1alpha1 or apps.kruise.io/v1beta1, and
// becomes that of owner references. There is no function for its typed objects, as this package does not depend on
// OpenKruise: marshal one to JSON, apiVersion and kind included, and pass it to [Decode]. Beyond what apps/v1 has:
//
//	manifest                                            Spec
//	spec.updateStrategy.rollingUpdate.
//	  rollingUpdateType: Standard                       Strategy.Method Recreate
//	  rollingUpdateType: InPlaceIfPossible              Strategy.Method IfPossible, Strategy.InPlace.EnvFromMetadata
//	  rollingUpdateType: Surging (v1alpha1)             Strategy.Method Recreate; MaxSurge 1 and MaxUnavailable 0 if unset
//	  partition                                         Strategy.Partition
//	  selector                                          Strategy.NodeSelector
//	  paused                                            Strategy.Paused
//	spec.scaleStrategy.partitionedScaling (v1beta1)     Strategy.PartitionedScaling
//	spec.burstReplicas                                  Burst
//	spec.lifecycle.{preDelete,inPlaceUpdate,preNormal}. Lifecycle.{PreDelete,InPlaceUpdate,PreNormal}.
//	  labelsHandler                                     Labels
//	  finalizersHandler                                 Finalizers
//	  markPodNotReady                                   MarkPodNotReady
//	metadata.annotations
//	  daemonset.kruise.io/progressive-create-pod: "true" (v1alpha1)
//	                                                    Strategy.PartitionedScaling
//	  apps.kruise.io/image-predownload-parallelism      PreDownload.Parallelism
//	  apps.kruise.io/image-predownload-min-updated-ready-pods
//	                                                    PreDownload.MinUpdatedReadyPods
//	  apps.kruise.io/image-predownload-timeout-seconds  PreDownload.TimeoutSeconds
//
// The feature gates of OpenKruise are not in the manifest, and the Spec follows their defaults. InPlaceUpdateEnvFromMetadata is
// on. InPlaceWorkloadVerticalScaling is off. Where it is on, set Strategy.InPlace.Resize, and CgroupV1 if there are nodes with
// cgroup v1. PreDownloadImageForDaemonSetUpdate is off: PreDownload is nil unless the manifest has one of its three annotations.
// Then it has the timeout of 300 seconds and the back-off limit of 1 that OpenKruise gives to the pull jobs of a set.
//
// Strategy.HoldRevision and Strategy.InPlace.GracePeriodSeconds have no field in the manifest, and stay unset.
//
// # ExtendedDaemonSet
//
// The ExtendedDaemonSet of Datadog, datadoghq.com/v1alpha1, becomes a Spec as follows. Defaults are those of New, which
// are the same as EDS's.
//
//	manifest                                            Spec
//	spec.template                                       Template, with the label and the annotation below
//	spec.selector                                       Selector, or Template (below)
//	spec.strategy.rollingUpdate.
//	  maxUnavailable                                    Strategy.MaxUnavailable
//	  maxPodSchedulerFailure                            Strategy.MaxUnschedulable
//	  maxParallelPodCreation                            Strategy.SlowStart.MaxParallel; over 250, Burst as well
//	  slowStartIntervalDuration                         Strategy.SlowStart.Interval
//	  slowStartAdditiveIncrease                         Strategy.SlowStart.Increase
//	spec.strategy.canary.
//	  replicas, duration, noRestartsDuration,
//	  nodeSelector, nodeAntiAffinityKeys                Strategy.Canary, the fields of these names
//	  validationMode                                    Strategy.Canary.Mode
//	  autoPause.enabled, autoFail.enabled               Strategy.Canary.{AutoPause,AutoFail}.Disabled, the other way round
//	  autoPause.*, autoFail.*                           Strategy.Canary.{AutoPause,AutoFail}, the fields of these names
//	metadata.annotations
//	  extendeddaemonset.datadoghq.com/rolling-update-paused: "true"
//	                                                    Strategy.Paused
//	  extendeddaemonset.datadoghq.com/rollout-frozen: "true"
//	                                                    Strategy.Frozen
//	  extendeddaemonset.datadoghq.com/canary-paused: "true"
//	                                                    Strategy.Canary.Commands.Pause: daemonplan.io/canary-pause, or "*"
//	  extendeddaemonset.datadoghq.com/canary-unpaused: "true"
//	                                                    Strategy.Canary.Commands.Unpause: daemonplan.io/canary-unpause, or "*"
//	  daemonplan.io/canary-validate, or extendeddaemonset.datadoghq.com/canary-valid
//	                                                    Strategy.Canary.Commands.Validate
//	  daemonplan.io/canary-fail, daemonplan.io/canary-retry
//	                                                    Strategy.Canary.Commands.{Fail,Retry}
//	  extendeddaemonset.datadoghq.com/old-daemonset     Set.OldDaemonSet
//	  extendeddaemonset.datadoghq.com/canary-paused-reason
//	                                                    Set.CanaryPausedReason
//	status.canary.nodes                                 Set.Memory.Canary.Nodes
//
// Revisions are ControllerRevisions here, and commands name these. EDS's canary-valid names one of its replica sets. A command
// that names something else is ignored, and reported in the plan. canary-paused and canary-unpaused name nothing. They apply to
// any revision on trial ("*"), unless an annotation of this library names the one that they were meant for. A validation mode
// that is unset is auto. EDS has a setting of the operator for it, EDS_VALIDATION_MODE. Where that is manual, set
// Strategy.Canary.Mode if it is empty.
//
// Pods get what EDS puts on every pod, so that its users find them. One is the label extendeddaemonset.datadoghq.com/name, which
// is the Selector. The other is the annotation cluster-autoscaler.kubernetes.io/daemonset-pod, by which the cluster autoscaler
// recognises daemon pods although their owner is no DaemonSet. Both are in the Template, and so in its revisions. The name of a
// template is dropped. spec.selector is documented as a selector of pods, but the controller selects nodes with it. If it matches
// the template's labels, it is added to the Selector, otherwise to the node affinity that the Template requires.
//
// An ExtendedDaemonsetSetting gives containers other resources on some nodes. [Object.Setting] reads one, and [Overrides] picks
// those of a set. A setting with a mistake is left out, without an effect on the others.
//
// Pods are controlled by the set itself. The pods of a running ExtendedDaemonSet are controlled by its
// ExtendedDaemonSetReplicaSets. To take them over, stop EDS's controller and name the UIDs of the replica sets in
// Spec.Predecessor, or delete the replica sets with --cascade=orphan. The pods count as outdated and are replaced under the
// budgets. For a set that follows a DaemonSet, or the other way round, Spec.Predecessor is the result of [PredecessorOf] for the
// old set.
//
// spec.strategy.reconcileFrequency has no place in a Spec, because a plan returns when to plan again.
//
// # Differences from the controllers
//
// For apps/v1 DaemonSet (Kubernetes v1.37.2), [FromDaemonSet] lists the places where a Spec says more or less.
//
// For Advanced DaemonSet (OpenKruise v1.8 and later; v1beta1 came after it), Decode and rollout.New together refuse
// what its webhook refuses, except for an inPlaceUpdate hook, which works here, and for what rollout.New does not look
// at in the pod template. Beyond that:
//   - a node selector or a hook that is no valid one, a burst of 0 and pre-download settings out of range are
//     errors, which the webhook lets pass;
//   - an annotation that cannot be read is an error, where OpenKruise takes the default: one pull at a time, 300 seconds,
//     pods on all nodes;
//   - image-predownload-parallelism may be a percentage, and image-predownload-min-updated-ready-pods has an effect;
//   - partition may be a percentage in v1alpha1 too, as versions after v1.8 have it;
//   - spec.nodePatches, which gives some nodes another template, is an error: to leave it out would change their pods;
//   - v1beta1 has a field for partitioned scaling. The annotation has no effect there, and is listed in Set.Unknown;
//   - with updateStrategy.type OnDelete nothing below rollingUpdate counts, and the Spec has none of it;
//   - a set with a deletion timestamp is frozen, and an unreadable template generation counts as absent, as for apps/v1.
//
// For ExtendedDaemonSet (commit b6860a00c9fc of 2026-04-10), Decode and rollout.New together refuse what its validation
// refuses, and an object that makes its controller panic is an error or works. Beyond that:
//   - 0 is refused for maxUnavailable (B1), replicas (C1), maxParallelPodCreation, slowStartAdditiveIncrease and
//     slowStartIntervalDuration (B7), which in EDS stop the rollout, skip the canary, create no pod and divide by zero;
//   - a percentage that is none and a malformed canary.nodeSelector are errors, where its controller panics and takes all
//     nodes;
//   - autoFail.canaryTimeout works with validationMode manual: EDS panics;
//   - a setting whose reference is to another kind, or that names a container twice, is an error. EDS applies the first,
//     and with the second recreates pods for ever;
//   - a name longer than 63 bytes is an error: it is the value of a label;
//   - a set with a deletion timestamp is frozen, as for apps/v1.
package manifest
