package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// k9sPlugin has the fields that k9s knows.
type k9sPlugin struct {
	ShortCut    string   `json:"shortCut"`
	Confirm     bool     `json:"confirm"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	Command     string   `json:"command"`
	Background  bool     `json:"background"`
	Args        []string `json:"args"`
}

func k9sPlugins(t *testing.T) map[string]k9sPlugin {
	t.Helper()
	var file struct {
		Plugins map[string]k9sPlugin `json:"plugins"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "k9s-plugins.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Plugins
}

// variable is what k9s replaces in arguments.
var variable = regexp.MustCompile(`\$!?[\w|-]+`)

// selected are the arguments for what is selected in k9s.
func selected(t *testing.T, args []string) []string {
	t.Helper()
	values := map[string]string{"$CONTEXT": "a 'context'", "$NAME": "chosen", "$NAMESPACE": "web"}
	var list []string
	for _, arg := range args {
		list = append(list, variable.ReplaceAllStringFunc(arg, func(name string) string {
			value, ok := values[name]
			if !ok {
				t.Errorf("k9s does not know %s in %s", name, arg)
			}
			return value
		}))
	}
	return list
}

// fakeKubectl notes its arguments, one to a line, and says what kubectl says to a question for names.
const fakeKubectl = `#!/bin/sh
{ for arg in "$@"; do printf '%s\n' "$arg"; done; echo; } >> "$CALLS"
case "$1 $2" in
"get daemonsets.apps") printf 'daemonset.apps/a chosen --namespace web\ndaemonset.apps/b chosen --namespace db\n' ;;
"daemonplan plan") printf 'node-1\nnode-2\n' ;;
esac
`

// calls are the command lines of kubectl that a plugin leads to.
func calls(t *testing.T, command string, args []string) [][]string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	for name, text := range map[string]string{"kubectl": fakeKubectl, "less": "#!/bin/sh\ncat\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("CALLS", log)
	if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", command, args, err, out)
	}
	var list [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(read(t, log), "\n\n"), "\n\n") {
		list = append(list, strings.Split(call, "\n"))
	}
	return list
}

// TestK9sPlugins runs each plugin as k9s does, with a kubectl that notes how it is called. Every call of the command has flags and
// arguments that there are.
func TestK9sPlugins(t *testing.T) {
	const where = "--context|a 'context'"
	want := map[string][]string{
		"daemonplan-watch": {"watch|chosen|--namespace|web|" + where},
		"daemonplan-explain-set": {
			`plan|chosen|--namespace|web|` + where + `|-o|jsonpath={range .nodes[*]}{.node}{"\n"}{end}`,
			"explain|chosen|--namespace|web|" + where + "|node-1|node-2",
		},
		"daemonplan-explain-node": {
			"explain|" + where + "|daemonset.apps/a|chosen|--namespace|web", "explain|" + where + "|daemonset.apps/b|chosen|--namespace|db",
		},
	}
	keys := make(map[string]bool)
	for name, plugin := range k9sPlugins(t) {
		var got []string
		for _, call := range calls(t, plugin.Command, selected(t, plugin.Args)) {
			if call[0] != "daemonplan" {
				continue
			}
			if err := accepted(call[1:]); err != nil {
				t.Errorf("%s: %q: %v", name, call, err)
			}
			got = append(got, strings.Join(call[1:], "|"))
		}
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, scope := range plugin.Scopes {
			if key := plugin.ShortCut + " " + scope; keys[key] {
				t.Errorf("%s is there twice", key)
			} else {
				keys[key] = true
			}
			if !slices.Contains([]string{"daemonsets", "extendeddaemonsets", "nodes"}, scope) {
				t.Errorf("%s: the command knows nothing of %s", name, scope)
			}
		}
		if plugin.Description == "" || plugin.Background || !regexp.MustCompile("^Shift-[A-Z]$").MatchString(plugin.ShortCut) {
			t.Errorf("%s: %+v", name, plugin)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

// The answers of the kubectl of TestK9sPlugins are those that the templates of the plugins lead to.
func TestK9sTemplates(t *testing.T) {
	plugin := k9sPlugins(t)["daemonplan-explain-node"]
	list := calls(t, plugin.Command, selected(t, plugin.Args))
	i := slices.IndexFunc(list, func(call []string) bool { return call[0] == "get" })
	if i < 0 {
		t.Fatalf("no call of kubectl get: %q", list)
	}
	template, found := strings.CutPrefix(list[i][len(list[i])-1], "jsonpath=")
	parsed := jsonpath.New("get")
	if err := parsed.Parse(template); err != nil || !found {
		t.Fatalf("%q: %v", template, err)
	}
	set := func(name, namespace string) any {
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace}}
	}
	var lines strings.Builder
	if err := parsed.Execute(&lines, map[string]any{"items": []any{set("a", "web"), set("b", "db")}}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("printf '%s'", strings.ReplaceAll(lines.String(), "\n", `\n`)); !strings.Contains(fakeKubectl, want) {
		t.Errorf("kubectl says %s", want)
	}
	nodes := answer(t, []string{"plan", "--example", "eds", "-o", `jsonpath={range .nodes[*]}{.node}{"\n"}{end}`})
	if nodes != "kind-control-plane\nkind-worker\nkind-worker2\n" {
		t.Errorf("the nodes are %s", nodes)
	}
}
