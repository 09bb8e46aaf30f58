// Package fleet reads the nodes and pods of a snapshot into facts: small records of what the objects say by themselves,
// whatever the time, the requests in flight and the plan. Steps 1 and 2 of a plan read them; all later steps look at the records.
//
// Facts are immutable and are shared by plans. [ReadNodes] and [ReadPods] take the facts of an earlier plan, and read only
// objects that these do not know. An object is known by its pointer: objects in a cache are replaced, never changed in place.
// What is returned is the same in either case, but for the places of pods, the ordinals of hashes and effects, whose order means
// nothing, and Pods.LastReady, which is an upper bound.
//
// Facts keep alive the objects of the snapshot that they were read from and no others. An address alone would not do to
// recognize an object, because the collector may give it to another one.
package fleet
