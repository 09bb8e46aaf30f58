package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "explore the configurations whose names contain this only")
	flag.Parse()
	failed := false
	fmt.Printf("%-40s %10s %10s %10s  %s\n", "configuration", "states", "edges", "time", "")
	for _, c := range configurations() {
		if !strings.Contains(c.Name, *only) {
			continue
		}
		w, err := newWorld(c)
		if err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(1)
		}
		g, f, err := explore(w)
		end := "all explored"
		switch {
		case err != nil:
			end, failed = "error: "+err.Error(), true
		case f != nil:
			end, failed = "FOUND "+f.String(), true
		case g.cutOff:
			end = "cut off"
		}
		fmt.Printf("%-40s %10d %10d %10s  %s\n", c.Name, len(g.states), g.edges, g.lasted.Round(time.Millisecond), end)
	}
	if failed {
		os.Exit(1)
	}
}
