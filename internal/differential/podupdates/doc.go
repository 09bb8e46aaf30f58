// Package podupdates has the code of the Kubernetes API server judge what package inplace takes for an update in place. Its test
// draws pairs of templates and pods that others have changed, sends the patches of each update through the strategies by which
// the API server takes an update, a resize and a status, and holds the pod that comes out against one that is new.
//
// With -args -kubeconfig FILE an API server that runs is the judge. The integration tests start one, and have it judge 500 cases.
package podupdates
