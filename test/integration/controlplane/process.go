package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a program that runs in a cluster, and ends with it.
type Process struct {
	// PID of the process.
	PID int
	// Log is the path of what it writes.
	Log string

	cancel context.CancelFunc
	ended  chan struct{}
}

// grace is how long a process has to end after it was asked to.
const grace = 10 * time.Second

// Run starts a program. If it ends before it is stopped, so does the cluster, and the cause says what it wrote last.
func (c *Cluster) Run(name, binary string, arguments ...string) (*Process, error) {
	p := &Process{Log: filepath.Join(c.Folder, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.Log)
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(c.context)
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	if err := command.Start(); err != nil {
		p.cancel()
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), log.Close())
	}
	p.PID = command.Process.Pid
	c.running.Go(func() {
		defer close(p.ended)
		defer p.cancel()
		err := command.Wait()
		_ = log.Close()
		if err == nil {
			err = errors.New("exit status 0")
		}
		if ctx.Err() == nil {
			c.cancel(fmt.Errorf("%s ended: %w\n%s", name, err, lastLines(p.Log)))
		}
	})
	return p, nil
}

// Stop asks the process to end, and waits for that.
func (p *Process) Stop() {
	p.cancel()
	<-p.ended
}

// lastLines are what a log ends with.
func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
