package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

func main() {
	only := flag.String("only", "", "explore the configurations whose names contain this only")
	inPairs := flag.Bool("pairs", false, "explore each two features together, which takes an hour")
	most := flag.Int("most", 0, "cut an exploration off at so many states; 0: where its configuration says")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many explorations at a time")
	write := flag.String("write", "", "write the table of what was explored into this document")
	flag.Parse()
	list, table := slices.Concat(configurations(), more()), "explore"
	if *inPairs {
		list, table = pairs(), "explore pairs"
	}
	list = slices.DeleteFunc(list, func(c *Configuration) bool { return !strings.Contains(c.Name, *only) })
	if *most > 0 {
		for _, c := range list {
			c.Most = *most
		}
	}
	rows, good := run(list, *parallel)
	if *write != "" && good {
		if err := doctable.Write(*write, map[string]string{table: markdown(rows)}); err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(1)
		}
	}
	if !good {
		os.Exit(1)
	}
}

// row says how an exploration ended.
type row struct {
	name          string
	states, edges int
	lasted        time.Duration
	end           string
	good          bool
}

const line = "%-46s %10s %10s %10s  %s\n"

// run explores configurations, so many at a time, and prints a row for each in their order. It reports whether nothing was found.
func run(list []*Configuration, parallel int) (rows []row, good bool) {
	fmt.Printf(line, "configuration", "states", "edges", "time", "")
	found := make([]chan row, len(list))
	next := make(chan int, len(list))
	for i := range list {
		found[i] = make(chan row, 1)
		next <- i
	}
	close(next)
	for range max(1, parallel) {
		go func() {
			for i := range next {
				found[i] <- explored(list[i])
			}
		}()
	}
	good = true
	for i := range found {
		r := <-found[i]
		fmt.Printf(line, r.name, strconv.Itoa(r.states), strconv.Itoa(r.edges), r.lasted.String(), r.end)
		rows, good = append(rows, r), good && r.good
	}
	return rows, good
}

func explored(c *Configuration) row {
	w, err := newWorld(c)
	if err != nil {
		return row{name: c.Name, end: err.Error(), good: errors.Is(err, errRefused) && strings.Contains(c.Name, " + ")}
	}
	g, f, err := explore(w)
	r := row{name: c.Name, states: len(g.states), edges: g.edges, lasted: g.lasted.Round(100 * time.Millisecond)}
	switch {
	case err != nil:
		r.end = "error: " + err.Error()
	case f != nil:
		r.end = "FOUND " + f.String()
	case g.cutOff:
		r.end, r.good = "cut off", true
	default:
		r.end, r.good = "all explored", true
	}
	return r
}

// markdown is the table of what was explored.
func markdown(rows []row) string {
	var b strings.Builder
	b.WriteString("| configuration | states | edges | time | |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", r.name, r.states, r.edges, r.lasted, r.end)
	}
	return b.String()
}
