package command

import (
	"fmt"
	"slices"
)

// Command is a command that a person gives to a set. Its text form is that of a command line, such as "canary pause".
type Command uint8

// The commands. Those of the canary are for the revision that is on trial, and name it (C5).
const (
	// CanaryValidate promotes the revision on trial at once. It also lifts a pause of its canary, which would otherwise hit
	// the next canary.
	CanaryValidate Command = iota
	// CanaryPause pauses the canary until CanaryUnpause. Each of the two takes the other one back.
	CanaryPause
	// CanaryUnpause lifts the pause of a canary, and keeps it from being paused automatically (C3).
	CanaryUnpause
	// CanaryFail gives the revision on trial up: all nodes go back to the stable one (C7).
	CanaryFail
	// CanaryRetry revives a revision that has failed, by command or by itself: its canary begins again. Two retries at the
	// same instant are one.
	CanaryRetry
	// Pause lets no further node begin, of a canary neither (T4, C7).
	Pause
	// Unpause takes Pause back.
	Unpause
	// Freeze lets nothing be created or deleted at all (T4).
	Freeze
	// Unfreeze takes Freeze back.
	Unfreeze

	commands // count
)

var commandNames = [commands]string{
	"canary validate", "canary pause", "canary unpause", "canary fail", "canary retry",
	"pause", "unpause", "freeze", "unfreeze",
}

// All returns every command, in the order of the constants.
func All() []Command {
	list := make([]Command, commands)
	for i := range list {
		list[i] = Command(i)
	}
	return list
}

// Parse reads a command as String writes it. The error lists the commands that there are.
func Parse(text string) (Command, error) {
	if i := slices.Index(commandNames[:], text); i >= 0 {
		return Command(i), nil
	}
	return 0, fmt.Errorf("there is no command %q; there are %q", text, commandNames[:])
}

// String returns the command in one or two words, or Command(n) for a value without a name.
func (c Command) String() string {
	if c >= commands {
		return fmt.Sprintf("Command(%d)", uint8(c))
	}
	return commandNames[c]
}
