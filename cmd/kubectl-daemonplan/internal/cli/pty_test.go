//go:build !windows

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
)

// asProgram is the variable that makes the test binary the program.
const asProgram = "KUBECTL_DAEMONPLAN_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	}
	os.Exit(m.Run())
}

// terminal is a program on a pseudo-terminal, with what the terminal shows.
type terminal struct {
	t     *testing.T
	file  *os.File // of the terminal
	tty   *os.File // of the program
	state *term.State
	cmd   *exec.Cmd

	mu     sync.Mutex
	screen *vt.Emulator
	raw    strings.Builder
}

// onTerminal runs the program on a terminal of 80 columns and 24 rows.
func onTerminal(t *testing.T, environment []string, args ...string) *terminal {
	t.Helper()
	file, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{t: t, file: file, tty: tty, screen: vt.NewEmulator(80, 24)}
	c.size(80, 24)
	if c.state, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(executable, args...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.Env = append(append(os.Environ(), asProgram+"=1", "TERM=xterm-256color", "NO_COLOR="), environment...)
	c.cmd.SysProcAttr = ownTerminal()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // the terminal answers what the program asks it
		_, _ = io.Copy(file, c.screen)
	}()
	go func() {
		data := make([]byte, 4096)
		for {
			n, err := file.Read(data)
			c.mu.Lock()
			c.raw.Write(data[:n])
			_, _ = c.screen.Write(data[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		_ = tty.Close()
		_ = file.Close()
	})
	return c
}

// size changes the size of the terminal.
func (c *terminal) size(width, height int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.screen.Resize(width, height)
	if err := pty.Setsize(c.file, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		c.t.Fatal(err)
	}
}

// text is what the terminal shows.
func (c *terminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return regexp.MustCompile(` +(\n|$)`).ReplaceAllString(ansi.Strip(c.screen.Render()), "$1")
}

// written is all that was written to the terminal.
func (c *terminal) written() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// see waits until the terminal shows something.
func (c *terminal) see(want string) string {
	c.t.Helper()
	pattern := regexp.MustCompile(want)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text := c.text()
		if pattern.MatchString(text) {
			return text
		}
		if time.Now().After(end) {
			c.t.Fatalf("the terminal does not show %q:\n%s", want, text)
		}
	}
}

// press sends keys.
func (c *terminal) press(keys string) {
	c.t.Helper()
	if _, err := c.file.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// end waits for the end of the program, and checks that the terminal is as it was before.
func (c *terminal) end() (code int) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			code = failed.ExitCode()
		} else if err != nil {
			c.t.Fatal(err)
		}
	case <-time.After(time.Minute):
		c.t.Fatalf("the program does not end:\n%s", c.text())
	}
	state, err := term.GetState(int(c.tty.Fd()))
	if err != nil {
		c.t.Fatal(err)
	}
	if got, want := fmt.Sprint(*state), fmt.Sprint(*c.state); got != want {
		c.t.Errorf("the terminal is left in another mode: %s, want %s", got, want)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // the last bytes may be under way
		c.mu.Lock()
		restored := !c.screen.IsAltScreen() && !c.screen.CursorHidden()
		c.mu.Unlock()
		if restored {
			return code
		}
		if time.Now().After(end) {
			c.t.Fatalf("the terminal is not restored: %q", c.written())
		}
	}
}

func watchArgs(t *testing.T, server *fakeapi.Server) []string {
	return []string{"watch", "ds/agent", "--kubeconfig", server.Kubeconfig(t, "web")}
}

func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	c := onTerminal(t, nil, watchArgs(t, server)...)
	text := c.see(`Updating: 0 of 3 nodes updated and available, 2 waiting for the budget`)
	for _, want := range []string{
		`^daemonset.apps/agent -n web  .* UTC\n`, `\nRevision    2, agent-v2`, `\nUpdated     \[-{40}\] 0 of 3 \(0%\)`,
		`\nBudget      1 of 1 node taken after this plan \(maxUnavailable\)`, `\nZONE  NODES  OUTDATED\nz         3         3`,
		`2 nodes wait: maxUnavailable 1 is used up by [abc]\n`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	c.mu.Lock()
	alone := c.screen.IsAltScreen() && c.screen.CursorHidden()
	c.mu.Unlock()
	if !alone {
		t.Error("the view is not on a screen of its own")
	}
	server.Put(fakeapi.Pod("a", "v2", false))
	c.see(`Not available \(1\)\n  ! a: container agent: CrashLoopBackOff, last OOMKilled with exit code 137, 17`)
	server.Put(fakeapi.Pod("a", "v2", true))
	c.see(`(?s)Updating: 1 of 3.*Last change \d\d:\d\d:\d\d \(\d+s ago\): a was starting, is updated`)

	c.size(40, 10)
	c.see(`(?s)^daemonset.apps/agent -n web\nUpdating: 1 of 3.*\nlines 1-8 of \d+   ↑↓ scroll   q quit`)
	c.press("j")
	c.see(`lines 2-9 of`)
	c.press("\x1b[A") // up
	c.see(`lines 1-8 of`)
	c.press("G")
	c.see(`lines \d\d-(\d\d) of \d\d`)
	c.size(80, 24)
	c.see(`\nTime left   `)

	server.Put(fakeapi.Pod("b", "v2", true))
	server.Put(fakeapi.Pod("c", "v2", true))
	c.see(`(?s)^daemonset.*\nRunning \(RolloutComplete\): 3 of 3.*Time left   none, the rollout is complete.*\nq quit`)
	server.Delete("/apis/apps/v1/daemonsets", "web", "agent")
	c.see(`\nThe set has been deleted\.`)
	server.Put(fakeapi.Set(fakeapi.Rolling))
	c.see(`(?m)^Running`)
	c.press("q")
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.text())
	}
	if !strings.Contains(c.written(), "\x1b[36m") {
		t.Error("there is no colour")
	}
}

// TestWatchKeys ends the view with each key.
func TestWatchKeys(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"q": "q", "esc": "\x1b", "ctrl-c": "\x03"} {
		server := fakeapi.NewRollout(t, fakeapi.Rolling)
		c := onTerminal(t, []string{"NO_COLOR=1"}, watchArgs(t, server)...)
		c.see(`Updating: 0 of 3`)
		c.press(key)
		if code := c.end(); code != 0 {
			t.Errorf("%s: exit code %d:\n%s", name, code, c.text())
		}
		if colour := regexp.MustCompile(`\x1b\[[0-9;]*\b3[0-7]m`).FindString(c.written()); colour != "" {
			t.Errorf("NO_COLOR: %q", colour)
		}
	}
}

// TestWatchForbiddenOnATerminal says what is wrong without a screen of its own.
func TestWatchForbiddenOnATerminal(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	server.Forbidden = []string{"watch pods"}
	c := onTerminal(t, nil, watchArgs(t, server)...)
	c.see(`^error: the cluster: pods in namespace web cannot be watched, for which the verbs`)
	if code := c.end(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// TestWatchForbiddenLater leaves the screen before it says what is wrong.
func TestWatchForbiddenLater(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	c := onTerminal(t, nil, watchArgs(t, server)...)
	c.see(`Updating: 0 of 3`)
	server.Forbid("pods", "watch pods")
	server.Expire()
	c.see(`^error: the cluster: pods in namespace web cannot be watched, for whi`)
	if code := c.end(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// TestWatchTimesOutOnATerminal: the exit code is that of a log.
func TestWatchTimesOutOnATerminal(t *testing.T) {
	t.Parallel()
	server := fakeapi.NewRollout(t, fakeapi.Rolling)
	c := onTerminal(t, nil, append(watchArgs(t, server), "--timeout", "100ms")...)
	c.see(`error: the rollout is not complete after 1s: `)
	if code := c.end(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestConfirmOnATerminal is asked before a patch is sent.
func TestConfirmOnATerminal(t *testing.T) {
	t.Parallel()
	const sets = "/apis/datadoghq.com/v1alpha1/extendeddaemonsets"
	for _, c := range []struct {
		answer string
		args   []string
		sent   bool
		want   string
	}{
		{"y\n", []string{"canary", "fail"}, true, `foo in namespace default patched`},
		{"YES\n", []string{"rollout", "pause"}, true, `foo in namespace default patched`},
		{"n\n", []string{"canary", "validate"}, false, `Nothing was sent\.`},
		{"\n", []string{"rollout", "freeze"}, false, `Nothing was sent\.`},
		{"\x04", []string{"canary", "pause"}, false, `Nothing was sent\.`}, // the end of input
	} {
		server := fakeapi.New(t, edsFile)
		asked := onTerminal(t, nil, append(c.args, "--kubeconfig", server.Kubeconfig(t, "default"))...)
		asked.see(`Send this patch to extendeddaemonset.datadoghq.com/foo in namespace default\? \[y/\s?N\]\s*$`)
		if server.Patched(sets) != nil {
			t.Errorf("%q: sent before the answer", c.args)
		}
		asked.press(c.answer)
		asked.see(c.want)
		if code := asked.end(); code != 0 || (server.Patched(sets) != nil) != c.sent {
			t.Errorf("%q: exit code %d, sent %v:\n%s", c.args, code, server.Patched(sets), asked.text())
		}
	}
	// Ctrl-C is a no, too.
	server := fakeapi.New(t, edsFile)
	asked := onTerminal(t, nil, "canary", "fail", "--kubeconfig", server.Kubeconfig(t, "default"))
	asked.see(`\[y/\s?N\]\s*$`)
	asked.press("\x03")
	asked.see(`error: interrupted: nothing was sent`)
	if code := asked.end(); code == 0 || server.Patched(sets) != nil {
		t.Errorf("Ctrl-C: exit code %d, sent %v:\n%s", code, server.Patched(sets), asked.text())
	}
}

// ownTerminal makes a program the leader of a session whose terminal is its standard input, so that Ctrl-C is for it.
func ownTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
