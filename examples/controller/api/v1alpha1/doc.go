// Package v1alpha1 is the API of PlannedDaemonSets: the library's rollout.Spec as a Kubernetes object.
//
// Everything a spec can say is here in the words of Kubernetes' own objects: durations are strings such as "10m",
// numbers of nodes are integers or percentages. What a field means, its default and the rule behind it stand at the field of
// the same name in rollout.Spec and the options it holds. The schema refuses what one field alone shows to be wrong;
// rollout.New judges the rest, and its findings appear in the condition "Valid" of the object.
//
// +kubebuilder:object:generate=true
// +groupName=daemonplan.io
package v1alpha1

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object paths=. crd output:crd:dir=../../config/crd
