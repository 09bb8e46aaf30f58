// Package simulation plays whole rollouts in virtual time, with the real planner, and shows how they go: how long they take,
// how many nodes are down at once and where, and which policy would be better. It talks to no cluster.
//
// Compare policies on a fleet of 300 nodes that runs version 1:
//
//	kubectl daemonplan simulate --nodes 300 --zones a,b,c --from v1.yaml --spec careful.yaml --spec bold.yaml --world world.yaml
//
// The specs are manifests as kubectl applies them: DaemonSet of apps/v1, Advanced DaemonSet of OpenKruise, ExtendedDaemonSet of
// Datadog. The fleet may also be a file of node pools, or a dump of a cluster:
//
//	kubectl get nodes,pods,controllerrevisions,ds,events -A -o json > dump.json
//	kubectl daemonplan simulate --dump dump.json --spec kube-system/new.yaml --out report
//
// With --out the answer is also a page, report.html, that needs no network, with pictures beside it as PNG and SVG, and the
// history of each run as JSON Lines and CSV. With --seeds every run is made under many seeds, on all cores.
//
//	kubectl daemonplan simulate  compare specs on one fleet
//	kubectl daemonplan forecast  how long a rollout takes, as a distribution
//	kubectl daemonplan suggest   the smallest budget that meets a deadline
//	kubectl daemonplan study     studies that are ready made
//
// Equal arguments give equal bytes.
package simulation
