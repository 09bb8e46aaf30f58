// Package transcript runs tests of rollouts that are written as text: a story of a set on a small simulated cluster, told by
// commands, with what the planner answers written below each step.
//
//	# The budget of agent: never more than one node at a time.
//
//	# Three nodes, installed at once.
//	cluster nodes=a,b,c
//	apply ../deploy/agent.yaml
//	install
//	----
//	NAME    DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
//	agent   3         3         3       3            3           <none>          16s
//	now 12:00:16, next wake none; Running (RolloutComplete)
//
//	# A new image: one node begins, and the others wait for it.
//	spec image=v2
//	step
//	expect actions deletes=1
//	expect decision a reason=Budget limit=maxUnavailable
//	----
//
// The test that plays it, and with -update writes the answers into the files:
//
//	var update = flag.Bool("update", false, "rewrite the transcripts")
//
//	func TestRollouts(t *testing.T) { transcript.RunDir(t, "testdata", *update) }
//
// Whole fleets, with registries, slow caches and random faults, are rollouttest.Simulate's.
//
// # Form
//
// A transcript begins with a header: comment lines that say what it shows. Then come stanzas, separated by blank lines. A stanza
// is comment lines that say why, commands, one to a line, a line of four hyphens, and what the commands print. Every part but
// the printed lines is mandatory. A command is words with spaces between them; what is in double quotes is one word. Many words
// are key=value. One that ends in <<EOF takes the lines up to one that is EOF as its text, in which there is no blank line.
//
// Every plan that is made is checked by [verify.Plan]; a violation ends the story, and the test.
//
// Revisions are called r1, r2 and so on in the order in which they appear, since their hashes are not for writing down. An image
// like v2 is that tag of the image that the set has.
//
// # The set and its object
//
// cluster begins a story with an empty cluster, at noon, and a set called agent whose one container runs agent:v1; or with a set
// of a spec that the test has named by [WithSpec]. It takes the nodes' names, everything that spec takes, and how the cluster
// behaves, see behave: start and stop are durations, restart, resizing, hook and pull durations or never, lag is how many
// seconds late pods are seen, failedPulls how many pulls ahead fail; neverReady, crashing, stuck and sameID list images.
//
//	cluster nodes=a,b,c image=v1 maxUnavailable=1
//	cluster spec=surging nodes=a,b,c
//
// apply does what kubectl apply does, with the manifest of a DaemonSet, an Advanced DaemonSet or an ExtendedDaemonSet, from a
// file or a text, or with a spec named by [WithSpec]. A refused manifest leaves the set as it was, and the mistakes are printed;
// a file may hold other objects. What a manifest cannot say (resize, cgroupV1, gracePeriod, holdRevision) stays as spec has set
// it. Another name for apply is manifest.
//
//	apply manifests/agent.yaml
//	apply spec=paused
//	manifest <<EOF
//
// spec changes what is in force, and nothing else of it: image, maxUnavailable, maxSurge, burst, minReadySeconds, historyLimit,
// type, paused, frozen, nodeSelector (key=value or none), tolerate (everything or key:Effect), partition, selector,
// partitionedScaling, holdRevision, method, resize, sidecars, addedTolerations, cgroupV1, envFromMetadata, restartKeys,
// serveOn, gracePeriod, parallelism, minUpdatedReadyPods; canary (a number or none), duration, noRestarts, canaryTimeout,
// maxRestartsDuration, maxSlowStart, validation, canarySelector, spread, slowStart (interval,increase,maxParallel or none),
// maxUnschedulable; maxExempt, provenAfter and touch of the policy for outages, domains (a list of key:max:atOnce, such as
// rack:2,zone::1, or none), stages (a list such as ring-0:selector=ring=0:soak=1h,zones:key=zone:tolerance=1:approval, or none),
// failures (such as deadline=10m:maxFailed=2%:action=Rollback:quarantine=1:maxRestarts=3, default or none); and of the template
// requests and limits (cpu:1,memory:1Gi), restartToResize, env, label and annotation (key:value).
//
//	spec image=v2
//	spec paused=true
//
// edit changes the manifest that was applied last, as kubectl edit would: dots between the keys and numbers for the places in
// lists, YAML in one word as the value, nothing to take the key away. annotate changes its annotations, a hyphen at the end
// takes one away.
//
//	edit spec.template.spec.containers.0.image=registry.example.com/agent:1.5.0
//	annotate extendeddaemonset.datadoghq.com/rolling-update-paused-
//
// settings takes the ExtendedDaemonsetSettings that there are from now on. command puts canary commands in force in the place of
// those before: pause, unpause, validate, fail, retry. kubectl runs the kubectl plugin of ExtendedDaemonSet, shows its patch and
// applies it.
//
// approve adds an approval of a stage, or of one part of it, for a revision; none takes all back. expedite lets a revision pass
// the stages; none ends that. retry lets a revision be rolled out once more that was given up because it failed on too many
// nodes.
//
//	settings <<EOF
//	command fail=r3
//	approve ring-1 r2
//	expedite r3
//	retry r2
//	kubectl eds canary validate
//
// objects begins the cluster anew with pods and revisions that another controller has left, as kubectl get -o yaml prints them.
// takeover has the set of another manifest take the pods over; with orphans the old object was deleted and left its pods behind,
// with predecessor the new controller is told of the old one; again tells of another manifest in the place of the last. From
// there on no node may hold two pods.
//
//	objects <<EOF
//	takeover orphans=true <<EOF
//
// # The world
//
// fleet with a number lets so many nodes join, n001 and so on unless name says otherwise, over the zones in turn (label
// topology.kubernetes.io/zone), with labels and taints. Alone it shows the pods of every node.
//
//	fleet 12 zones=a,b,c
//	fleet
//
// node does something to one: add (with label and taint), remove, label, taint, annotate (a hyphen at the end takes away),
// cordon, uncordon, drain, down (the kubelet is; the node NotReady), up, unreachable, reachable, depart (the condition
// MaintenanceInProgress is True from now on), return, condition (it is True from now on; a hyphen at the end: False).
//
//	node label b disk=ssd
//	node down a
//
// behave has the cluster behave otherwise from now on: start and stop are durations, create and hook durations or never;
// crashLoop and neverReady list images whose containers do that (crashes: how often), waiting image:reason, full nodes without
// room. The word none empties a list. forget loses what the controller remembers of its last plan.
//
//	behave crashLoop=v4
//	forget
//
// What a kubelet reports of a pod, by its name or that of its node: ready has its probe succeed, unready fail, fail is the end
// of the pod, crash that of a container, evict a kubelet short of memory. pod is for the rest: add, delete, label, finalizer,
// and the same five.
//
//	ready a
//	unready a
//	fail a
//	crash b
//	evict c
//	pod delete b
//
// # Time
//
// step plans once, shows the plan and executes it. run does that whenever something has happened or NextWake has come, for the
// given time or until everything rests, and shows one line for each plan; ramp shows one for each minute, install only the
// outcome. With tick time passes, a second if nothing is said, and nobody plans; what happens by itself is printed. Another name
// for tick is advance.
//
//	step
//	run 2m
//	ramp 20m
//	install
//	tick 30s
//	advance 5s
//
// # Answers
//
// None of these executes anything. status shows what kubectl get would, what waits, and the state; explain says in words what
// would be done on nodes, and why. pods shows the pods, patches those of a node as YAML, diff what an update in place would
// change, canary how the trial stands, parts how those of the stages do, marks the verdicts on the revisions.
//
//	status
//	explain a b
//	pods
//	patches b
//	diff
//	canary
//	parts
//	marks
//
// # Expectations
//
// expect prints nothing if what it says holds. If not the test fails with what was and what was expected, and with what the plan
// has to say about the nodes concerned, and the story goes on. -update does not touch expectations. Those about the plan are
// about the one that was shown last (by step, run, status, explain and so on), or if something was changed since, about one made
// now that is not executed. Numbers compare by =, <= and >=.
//
// status has desired, current, ready, updated, available, unavailable, misscheduled, state, reason, and wake, the time to
// NextWake or none.
//
//	expect status current=10
//	expect status updated=12 state=Running
//
// actions are those of the last step, run, ramp or install of the stanza, taken together; without one, those that a plan would
// hold now: creates, deletes, patches, pulls, revisions, or none.
//
//	expect actions creates=12 deletes<=10 patches=0 pulls=0
//	expect actions none
//
// decision is what was decided about a node: state, target, verb, reason, limit, pod, part (that it waits for, or none), and the
// truths unavailable, surging, exempt, canary, failed. explain is about the words of its explanation.
//
//	expect decision a state=broken verb=delete reason=Failed
//	expect explain n001 contains "maxUnavailable 2 is used up by n011, n012" lacks "frozen"
//
// part is one part of the stages: zones=b, zones= for the nodes without the label, ring-0 of a stage without a key, or rest. It
// has phase, nodes, held, exempt, settled, unavailable, behind and keptBy, the first nodes that keep it from being done, or
// none. Parts can be expected to be none.
//
//	expect part zones=9 phase=Open settled=1 unavailable=2 keptBy=c,f
//	expect parts none
//
// canary has phase, reason, nodes, revision and stable. pod has revision (update is the one to roll out), status as the command
// pods shows it, restarts and image.
//
//	expect canary phase=Running nodes=a
//	expect pod n007 revision=update image=agent:v2
//
// event counts what has happened since the stanza began: kinds are the words that run and tick print for it, with hyphens for
// spaces, of a node or an object if those are given; at least one is expected if no count is given.
//
//	expect event gone count=2
//	expect no event failed
//
// # Guarantees
//
// Equal transcripts, options and files print equal texts: time is virtual and nothing is random. Only [Run] and [RunDir] read
// files by themselves, and write them with update; [Play] does neither. The package keeps no state.
package transcript
