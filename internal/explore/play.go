package main

import (
	"fmt"
	"slices"
	"strings"
)

// A way is text: the name of a configuration, and moves, one to a line. What a finding prints is one, so that it can be pasted
// into testdata, where it is played again for ever.
//
//	maxSurge + preDelete hook
//	  spec image=v2
//	  step
//	  bind node-1.b
//
// Lines that begin with -> are what the last plan says, and those that begin with # are comments; both are passed over.

// play takes the moves of a way, one after the other, and returns the way with what the planner says after each of its steps. It
// fails if a move cannot be taken, or if a statement does not hold on the way. No trouble is too much.
func play(text string) (string, error) {
	var name string
	var moves []string
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "#"):
			fmt.Fprintln(&out, line)
		case line == "", strings.HasPrefix(line, "->"):
		case name == "":
			name = line
		default:
			moves = append(moves, line)
		}
	}
	list := slices.Concat(configurations(), pairs(), more())
	i := slices.IndexFunc(list, func(c *Configuration) bool { return c.Name == name })
	if i < 0 {
		return "", fmt.Errorf("there is no configuration %q", name)
	}
	c := list[i]
	for kind := range c.Troubles {
		if trouble(kind) != nodeRelabelled || c.Ring != "" {
			c.Troubles[kind] = 100
		}
	}
	w, err := newWorld(c)
	if err != nil {
		return "", err
	}
	s, err := w.begin()
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&out, name)
	g := &graph{w: w}
	for _, name := range moves {
		worldMoves := w.worldMoves(&s)
		own, plan, err := w.controllerMoves(&s)
		if err != nil {
			return "", err
		}
		all := slices.Concat(worldMoves, own, w.ticks(&s, true))
		i := slices.IndexFunc(all, func(m move) bool { return m.name == name })
		if i < 0 {
			var names []string
			for _, m := range all {
				names = append(names, m.name)
			}
			return "", fmt.Errorf("%q cannot happen after\n%sonly %q", name, out.String(), names)
		}
		fmt.Fprintln(&out, "  "+name)
		if wrong := w.wrongMove(&s, &all[i]); wrong != "" {
			return "", fmt.Errorf("%s, after\n%s", wrong, out.String())
		}
		if all[i].plan != nil {
			for _, line := range g.explained(plan) {
				fmt.Fprintln(&out, "  "+line)
			}
		}
		s = all[i].to
	}
	return out.String(), nil
}
