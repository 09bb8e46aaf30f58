package watch

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// Screen shows the rollout on a terminal, until a key ends it or the cluster can no longer be watched. The terminal is then as it
// was before. It returns a *exit.NegativeError if a [TimeoutError] ends the context.
func Screen(ctx context.Context, source Source, settings plan.Settings, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	frames := make(chan Frame)
	followed := make(chan error, 1)
	go func() { followed <- Follow(ctx, source, settings, frames) }()
	// What is wrong from the start needs no screen. A program that ends at once would also leave to the shell what the terminal
	// answers to its questions.
	frame := Frame{Ref: source.Ref()}
	for late := time.After(longestRead); late != nil; {
		select {
		case err := <-followed:
			return errors.Join(err, frame.timedOut(ctx))
		case frame = <-frames:
			if len(frame.Missing) == 0 {
				late = nil
			}
		case <-late:
			late = nil
		}
	}
	shown := &screen{frame: &frame}
	program := tea.NewProgram(shown, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out))
	failed := make(chan error, 1)
	go func() {
		failed <- <-followed
		program.Quit()
	}()
	go func() {
		for {
			select {
			case frame := <-frames:
				program.Send(frame)
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := program.Run()
	late := shown.frame.timedOut(ctx)
	stop()
	end := errors.Join(<-failed, late)
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		err = nil // it was interrupted
	}
	return errors.Join(end, err)
}

// timedOut is the answer that the rollout was not complete when a [TimeoutError] ended the context; nil: none did.
func (f *Frame) timedOut(ctx context.Context) error {
	now := time.Now()
	complete := f.Result != nil && len(f.Broken)+len(f.Unanswered) == 0 && f.Result.Overview(now).Progress == plan.Complete
	if timeout, ok := errors.AsType[TimeoutError](context.Cause(ctx)); ok && !complete {
		return timeout.Stopped(f.unfinished(now))
	}
	return nil
}

// longestRead is how long the screen waits for the first plan.
const longestRead = time.Second

// screen is the state of the view: what bubbletea calls a model.
type screen struct {
	frame         *Frame
	width, height int
	first         int // the line of the body that is shown first
	page          page
}

// tick comes once a second, because the screen says how long ago things were.
type tick struct{}

func second() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// Init starts the clock.
func (s *screen) Init() tea.Cmd { return second() }

// Update takes what has happened: a frame, a key, another size, or that a second has passed.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case Frame:
		s.frame = &message
	case tea.WindowSizeMsg:
		s.width, s.height = message.Width, message.Height
	case tick:
		s.describe()
		return s, second()
	case tea.KeyPressMsg:
		command := s.press(message.String())
		return s, command
	default:
		return s, nil
	}
	s.describe()
	return s, nil
}

// describe makes the page anew.
func (s *screen) describe() {
	if s.width > 0 {
		s.page = newPage(s.frame, time.Now(), s.width)
		_, s.first = s.page.draw(s.first, s.width, s.height)
	}
}

// press does what a key asks for.
func (s *screen) press(key string) tea.Cmd {
	screenful := max(1, s.height-len(s.page.head)-2)
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "down", "j":
		s.first++
	case "up", "k":
		s.first--
	case "pgdown", "space":
		s.first += screenful
	case "pgup", "b":
		s.first -= screenful
	case "home", "g":
		s.first = 0
	case "end", "G":
		s.first = len(s.page.body)
	}
	_, s.first = s.page.draw(s.first, s.width, s.height)
	return nil
}

// View draws the page.
func (s *screen) View() tea.View {
	content := ""
	if s.width > 0 && s.height > 0 {
		content, _ = s.page.draw(s.first, s.width, s.height)
	}
	return tea.View{Content: content, AltScreen: true}
}
