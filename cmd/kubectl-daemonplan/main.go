// Command kubectl-daemonplan tells what a DaemonSet would do next on every node of a cluster, and why, and how a rollout would
// go.
// Put into the PATH, it is called as kubectl daemonplan.
//
//	plan [SET]              what the set would do next on every node, and what nodes wait for
//	explain [SET] NODE...   why nodes are where they are, and what is wrong with them
//	watch [SET]             the rollout while it goes on
//	diff [SET]              what the update changes in the pods, and whether it restarts them
//	get [SET]               the set in one line
//	revisions [SET]         one line for each revision
//	pods [SET]              the pods that are not ready, with reasons
//	canary pods             the pods of the canary; canary validate, pause, unpause, fail and retry give it a command
//	rollout status          how far the rollout is; rollout pause, unpause, freeze and unfreeze give it a command
//	simulate                play rollouts in virtual time, and compare policies
//	forecast                how long a rollout takes, as a distribution
//	suggest                 the smallest budget that meets a deadline
//	study                   simulations that are ready made
//
// It reads the cluster of the kubeconfig, dumps that kubectl printed (-f), or an embedded fleet (--example). A set is one of
// apps/v1, of OpenKruise (daemonsets.apps.kruise.io) or of Datadog (extendeddaemonsets.datadoghq.com). Only the commands that say
// what they patch change anything, and they ask first.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
