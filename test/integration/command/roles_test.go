package command

import (
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// role are the rules of a ClusterRole of the command's rbac.yaml.
func (w *world) role(name string) []rbacv1.PolicyRule {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "kubectl-daemonplan", "rbac.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	for object, err := range manifest.Objects(data) {
		if err != nil {
			w.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(object.JSON, &role); err != nil {
			w.Fatal(err)
		}
		if role.Name == name {
			return role.Rules
		}
	}
	w.Fatalf("there is no role %s", name)
	return nil
}

// The roles of rbac.yaml are enough: to plan and to watch, and with the second one to give a command. With the first one nothing can
// be changed.
func TestRoles(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	w.apply(kruise)
	w.may("reads", w.role("daemonplan-reader")...)
	w.may("commands", append(w.role("daemonplan-reader"), w.role("daemonplan-commander")...)...)
	reads, commands := w.impersonating("reads"), w.impersonating("commands")
	w.says(w.as(reads, "plan", "ds/agent", "-n", w.namespace), 0, "5 of 5 nodes updated and available")
	w.says(w.as(reads, "watch", "ds/agent", "-n", w.namespace), 0, "5 of 5 nodes updated and available")
	if a := w.as(reads, "rollout", "pause", "logs", "--yes", "-n", w.namespace); a.code != 2 || w.paused() {
		t.Errorf("exit code %d, paused %v: %s", a.code, w.paused(), a.stderr)
	}
	if a := w.as(commands, "rollout", "pause", "logs", "--yes", "-n", w.namespace); a.code != 0 || !w.paused() {
		t.Errorf("exit code %d, paused %v: %s", a.code, w.paused(), a.stderr)
	}
}
