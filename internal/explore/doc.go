// Explore visits every state that a small cluster can reach, with the real planner, and holds each of them against statements
// that are about objects and history alone. Random worlds agree with whoever wrote them; here nothing is left to chance.
//
//	go run ./internal/explore                # one configuration for each feature, up to ten minutes
//	go run ./internal/explore -most 30000    # the states of each that come first, as CI does
//	go run ./internal/explore -only maxSurge # some of them
//	go run ./internal/explore -pairs         # each two features together, an hour
//
// # States
//
// A state is what a cluster holds at an instant: nodes, pods, revisions, the memory of the planner, what the watch shows and
// which requests are in flight, which spec is in force, and how much trouble may still come. The clock stands still: instead of
// it the objects get older, so that a state that comes again is recognized ([store.after]). Ages are cut off where no rule asks
// further, and in between they are those of the configuration's ticks. Objects are kept once and known by their number; what
// differs between two states is a few numbers. Nodes that are alike are one: of states that differ only in which node is which,
// one is kept ([world.key]).
//
// # Moves
//
// Kubelets, the scheduler and the controllers of hooks make progress; the clock ticks; approvals come; the watch catches up; the
// controller plans and carries its plan out. These are fair: each of them comes some day. Trouble may come or not, and only so
// much of it: pods fail, crash, break or are evicted, nodes get taints, go down, depart or move, users change the spec, the
// controller carries out a part of a plan, loses a request or its memory, or does not see at once what it has done.
//
// # Statements
//
// What no state and no move may be is in statements.go. What statements have to know of how a state came about is a part of it
// ([past]). What has to come is read off the graph: from every state, a fair
// continuation leads to an end, which is a set that is done, paused, or Stuck in a way that helps. So there is no cycle
// without an end that trouble does not leave, and no state that stands still and says that it moves ([graph.liveness]).
//
// A finding comes with the shortest way to it, as text that can be pasted into testdata ([play]).
package main
