package main

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// span is a time that is drawn anew each time, all between its ends alike.
type span struct{ from, to time.Duration }

func (s span) String() string { return fmt.Sprintf("%s..%s", s.from, s.to) }

// scenario is a rollout whose forecast is held against what happens.
type scenario struct {
	name, what string
	nodes      int
	change     func(*appsv1.DaemonSet)
	// create is the time until the container runs, with the pull of its image; ready is the time from then until it is ready, and
	// stop that until a pod that is deleted is gone.
	create, ready, stop span
	// weak nodes are every 33rd. Their pods never become ready, or the nodes die some time after the rollout began.
	neverReady bool
	die        time.Duration
	// strategy of the example controller, which does the rollout then; empty: the DaemonSet controller does.
	strategy string
}

// weakEvery is how many nodes there are to one weak node: 3 % are.
const weakEvery = 33

// weak reports whether the node with that number is.
func (c *scenario) weak(i int) bool { return (c.neverReady || c.die > 0) && i%weakEvery == weakEvery/2 }

// reachable are the nodes that are updated in the end.
func (c *scenario) reachable() int {
	n := 0
	for i := range c.nodes {
		if !c.weak(i) {
			n++
		}
	}
	return n
}

func rolling(maxUnavailable, maxSurge string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxUnavailable: new(intstr.Parse(maxUnavailable)), MaxSurge: new(intstr.Parse(maxSurge)),
			},
		}
	}
}

func cases() []scenario {
	const second = time.Second
	plain := scenario{
		name: "plain-300", what: "maxUnavailable 10 %", nodes: 300, change: rolling("10%", "0"),
		ready: span{2 * second, 8 * second}, stop: span{second / 2, 3 * second / 2},
	}
	with := func(name, what string, change func(*scenario)) scenario {
		c := plain
		c.name, c.what = name, what
		change(&c)
		return c
	}
	return []scenario{
		plain,
		with("plain-1000", "maxUnavailable 10 %", func(c *scenario) { c.nodes = 1000 }),
		with("surge-300", "maxSurge 10 %", func(c *scenario) { c.change = rolling("0", "10%") }),
		with("min-ready-300", "minReadySeconds 10", func(c *scenario) {
			c.change = func(ds *appsv1.DaemonSet) {
				rolling("10%", "0")(ds)
				ds.Spec.MinReadySeconds = 10
			}
		}),
		with("slow-images-300", "images that take 3 to 12 s", func(c *scenario) { c.create = span{3 * second, 12 * second} }),
		with("never-ready-300", "3 % of the nodes never have a ready pod", func(c *scenario) { c.neverReady = true }),
		with("dying-300", "3 % of the nodes die after 20 s", func(c *scenario) { c.die = 20 * second }),
		with("rings-300", "ring by ring, 1 minute of soak (the example controller)", func(c *scenario) {
			c.change = annotated
			c.strategy = `{"maxUnavailable":"10%","policy":{"stages":[` +
				`{"name":"first","selector":{"matchLabels":{"ring":"0"}},"soak":"1m"},` +
				`{"name":"second","selector":{"matchLabels":{"ring":"1"}},"soak":"1m"},{"name":"rest"}]}}`
		}),
	}
}

// annotated leaves the update to the example controller.
func annotated(ds *appsv1.DaemonSet) {
	ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
}

// world is what a user would tell the command of it: the times, and what goes wrong.
func (c *scenario) world() string {
	var b strings.Builder
	b.WriteString("model:\n  kubelets:\n")
	fmt.Fprintf(&b, "  - {start: %s, ready: %s, stop: %s}\n", c.create, c.ready, c.stop)
	if c.neverReady {
		b.WriteString("  - {nodes: {weak: \"yes\"}, neverReady: true}\n")
	}
	if c.die > 0 {
		fmt.Fprintf(&b, "events:\n- {at: %s, what: NodeNotReady, nodes: {weak: \"yes\"}, count: %d}\n", c.die,
			c.nodes-c.reachable())
	}
	return b.String()
}

// image is that of the version.
func image(version int) string { return fmt.Sprintf("registry.example/agent:v%d", version) }
