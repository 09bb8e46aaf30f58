package cluster

import "testing"

// TestAsked: what is waited for is said as in other messages, whatever the address of the API server is.
func TestAsked(t *testing.T) {
	for path, want := range map[string]string{
		"/api":                        "the groups of its API",
		"/apis":                       "the groups of its API",
		"/apis/apps/v1":               "the groups of its API",
		"/api/v1":                     "the groups of its API",
		"/":                           "the groups of its API",
		"/api/v1/nodes":               "nodes",
		"/api/v1/namespaces/web/pods": "pods in namespace web",
		"/apis/apps/v1/namespaces/web/daemonsets":                        "daemonsets.apps in namespace web",
		"/apis/datadoghq.com/v1alpha1/namespaces/w/extendeddaemonsets/a": "extendeddaemonsets.datadoghq.com a in namespace w",
	} {
		if got := asked(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for host, want := range map[string]string{
		"https://one.example/k8s/clusters/c-1/": "/k8s/clusters/c-1", "https://one.example:6443": "", "one.example:6443": "", "": "",
	} {
		if got := basePath(host); got != want {
			t.Errorf("%s has the path %q, want %q", host, got, want)
		}
	}
}
