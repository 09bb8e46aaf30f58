package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
)

// The API server dies in the middle of a rollout, twice, and comes back with what etcd has.
func TestAPIServerRestarts(t *testing.T) {
	w := newWorld(t, 12)
	w.set(maxUnavailable("2"))
	w.runController()
	w.settled(12)
	w.audit.Begin()
	w.change(image("v2"))
	for range 2 {
		time.Sleep(500 * time.Millisecond)
		w.restartAPIServer()
	}
	w.settled(12)
	w.endedSoundly(12, 2)
}

// restarted is the API server that took the place of the one that the suite had started. It outlives the test.
var restarted *exec.Cmd

// restartAPIServer kills it, waits for a second, and runs the same command again. The suite's environment cannot: it stops the
// process of an API server once.
func (w *world) restartAPIServer() {
	w.Helper()
	pid, command := apiServer(w)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.Fatal(err)
	}
	if restarted != nil {
		_ = restarted.Wait() // killed
	}
	time.Sleep(time.Second)
	restarted = exec.Command(command[0], command[1:]...)
	if err := restarted.Start(); err != nil {
		w.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	w.eventually("the API server is back", func() error {
		_, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
		return err
	})
}

// apiServer finds the process among the children of this one.
func apiServer(w *world) (pid int, command []string) {
	w.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		w.Skip("without /proc the process of the API server cannot be found")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // it has ended
			continue
		}
		command := strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err != nil || filepath.Base(command[0]) != "kube-apiserver" || !strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			w.Fatal(err)
		}
		return pid, command
	}
	w.Fatal("there is no API server")
	return 0, nil
}
