// Package command tests the program kubectl-daemonplan, as an operator has it, on a real API server: the binary is built, and run
// with a kubeconfig. Pods are made by the DaemonSet controller of Kubernetes and run by the kubelet of the integration tests.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// patience is how long a test waits for what the cluster is to do: a busy machine is no reason to fail.
const patience = 2 * time.Minute

// These are what all tests share. Each has a namespace of its own. A nil cluster says that there are no binaries to run one.
var (
	cluster *controlplane.Cluster
	program string
)

// nodes of the cluster. One name is short, and the others have a domain.
var nodes = []string{"w-1.eu.example", "w-2.eu.example", "w-3.eu.example", "w-4.eu.example", "w-5"}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run(), nil
	}
	folder, err := os.MkdirTemp("", "kubectl-daemonplan-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program = filepath.Join(folder, "kubectl-daemonplan")
	build := exec.Command("go", "build", "-C", filepath.Join("..", "..", "..", "cmd", "kubectl-daemonplan"), "-o", program, ".")
	if text, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, text)
	}
	cluster, err = controlplane.Start(context.Background(), controlplane.Options{CRDs: []string{
		filepath.Join("testdata", "crds"), filepath.Join("..", "..", "..", "examples", "controller", "config", "crd"),
	}})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	agent := &kubelet.Agent{Start: 100 * time.Millisecond, Stop: 50 * time.Millisecond, Behaves: kubelet.ByTag}
	if err := cluster.RunKubelet(agent); err != nil {
		return 1, err
	}
	if _, err := cluster.DaemonSetController("daemonset-controller", "--kube-api-qps=1000", "--kube-api-burst=1000"); err != nil {
		return 1, err
	}
	api, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		return 1, err
	}
	for _, name := range nodes {
		node := kubelet.Node(name, map[string]string{"fleet": "small"})
		if err := errors.Join(api.Create(context.Background(), node), kubelet.MakeReady(context.Background(), api, node)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// world is the part of the cluster that belongs to one test.
type world struct {
	*testing.T
	client.Client
	namespace string
	folder    string
}

// newWorld makes a namespace, and skips the test if there is no cluster.
func newWorld(t *testing.T) *world {
	t.Helper()
	if cluster == nil {
		t.Skip(controlplane.ErrNoBinaries)
	}
	if cause := context.Cause(cluster.Context()); cause != nil {
		t.Fatalf("the cluster ended: %v", cause)
	}
	api, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: api, namespace: strings.ToLower(t.Name()), folder: t.TempDir()}
	w.addNamespace(w.namespace)
	return w
}

func (w *world) addNamespace(name string) {
	w.Helper()
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: name}})
	w.Cleanup(func() { // their pods would come to the nodes of later tests
		_ = w.DeleteAllOf(context.Background(), &appsv1.DaemonSet{}, client.InNamespace(name))
	})
}

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// apply makes the object of a manifest, in the namespace of the world, and gives it the status that the manifest has.
func (w *world) apply(manifest string) {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		w.Fatalf("%v\n%s", err, manifest)
	}
	status, hasStatus := object.Object["status"]
	object.SetNamespace(w.namespace)
	w.create(object)
	if hasStatus {
		object.Object["status"] = status
		if err := w.Status().Update(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

// file writes a file, and returns its path.
func (w *world) file(name, text string) string {
	w.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// kubeconfig writes a kubeconfig of the administrator with something changed, and returns its path.
func (w *world) kubeconfig(change func(*clientcmdapi.Config)) string {
	w.Helper()
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	change(config)
	path := filepath.Join(w.folder, fmt.Sprintf("%d.kubeconfig", time.Now().UnixNano()))
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		w.Fatal(err)
	}
	return path
}

// impersonating is a kubeconfig with a line "as:".
func (w *world) impersonating(user string) string {
	w.Helper()
	return w.kubeconfig(func(config *clientcmdapi.Config) {
		for _, info := range config.AuthInfos {
			info.Impersonate = user
		}
	})
}

// answer is what a run of the program left.
type answer struct {
	code           int
	stdout, stderr string
	took, cpu      time.Duration
	line           string
}

// start prepares a run of the program with nothing of the environment but a kubeconfig.
func (w *world) start(kubeconfig string, args ...string) *exec.Cmd {
	command := exec.CommandContext(w.Context(), program, args...)
	command.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + w.folder, "PATH=" + os.Getenv("PATH")}
	return command
}

// as runs the program with a kubeconfig. Standard input is no terminal, and empty.
func (w *world) as(kubeconfig string, args ...string) answer {
	w.Helper()
	var stdout, stderr bytes.Buffer
	command := w.start(kubeconfig, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := command.Run(); err != nil && command.ProcessState == nil {
		w.Fatal(err)
	}
	state := command.ProcessState
	return answer{
		code: state.ExitCode(), stdout: stdout.String(), stderr: stderr.String(),
		took: time.Since(begin), cpu: state.UserTime() + state.SystemTime(), line: strings.Join(args, " "),
	}
}

// daemonplan runs the program as the administrator, in the namespace of the world. Args are separated by blanks.
func (w *world) daemonplan(args string) answer {
	w.Helper()
	return w.as(cluster.Kubeconfig, append(strings.Fields(args), "-n", w.namespace)...)
}

// says checks the exit code, and that texts are in what was printed. With code 2 that is an error, else an answer, which needs no
// further words.
func (w *world) says(a answer, code int, texts ...string) {
	w.Helper()
	if a.code != code || code != 2 && a.stderr != "" || code == 2 && a.stdout != "" {
		w.Errorf("%s: exit code %d, want %d\n%s%s", a.line, a.code, code, a.stdout, a.stderr)
		return
	}
	for _, text := range texts {
		if !strings.Contains(a.stdout+a.stderr, text) {
			w.Errorf("%s: lacks %q:\n%s%s", a.line, text, a.stdout, a.stderr)
		}
	}
}

// eventually waits until there is no problem.
func (w *world) eventually(what string, problem func() error) {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := problem()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: %v after %v", what, err, patience)
		}
	}
}

// daemonSet is the DaemonSet agent of the world, of apps/v1.
func (w *world) daemonSet() *appsv1.DaemonSet {
	w.Helper()
	var set appsv1.DaemonSet
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "agent"}, &set); err != nil {
		w.Fatal(err)
	}
	return &set
}

// installed waits until so many nodes run available pods.
func (w *world) installed(nodes int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d available pods", nodes), func() error {
		set := w.daemonSet()
		if s := set.Status; s.ObservedGeneration != set.Generation || s.NumberAvailable != nodes || s.UpdatedNumberScheduled != nodes {
			return fmt.Errorf("generation %d of %d, %d available, %d updated",
				s.ObservedGeneration, set.Generation, s.NumberAvailable, s.UpdatedNumberScheduled)
		}
		return nil
	})
}

// tag has the DaemonSet agent run another image.
func (w *world) tag(tag string) {
	w.Helper()
	set := w.daemonSet()
	before := set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = "registry.example/agent:" + tag
	if err := w.Patch(w.Context(), set, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// set is the manifest of a DaemonSet without anything that the API server fills in, for nodes of a fleet.
func set(tag, fleet string) string {
	return `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {fleet: ` + fleet + `}
      terminationGracePeriodSeconds: 1
      containers: [{name: agent, image: "registry.example/agent:` + tag + `"}]
`
}
