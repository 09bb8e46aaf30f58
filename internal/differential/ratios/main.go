// Ratios prints how many times faster than the Kubernetes DaemonSet controller we are. It reads what benchstat makes of the
// benchmarks of package differential:
//
//	benchstat -format csv -col /impl -row '.name /scenario /nodes' bench.txt | ratios
//
// It judges nothing: beside each ratio stands what it is to reach, and a reader knows on what machine it was measured. With
// -write it writes the tables of README.md and docs/speed.md in that folder, too, so that both say what one run has found.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
)

func main() {
	folder := flag.String("write", "", "write the tables of README.md and docs/speed.md in this folder from the run")
	flag.Parse()
	found, err := run(os.Stdin, os.Stdout)
	if err == nil && *folder != "" {
		err = found.write(*folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

// pair is one of our implementations against one of theirs.
type pair struct {
	benchmark    string // as benchstat names the row, without the size
	ours, theirs string
	reach        float64 // how many times faster is hoped for; 0: no more than is found
}

var pairs = []pair{
	{"Placement", "ours", "NodeShouldRunDaemonPod", 100},
	{"Placement", "ours", "hoisted", 3},
	{"Decision steady", "plan", "controller", 0},
	{"Decision steady", "new+plan", "controller", 0},
	{"Decision steady", "first", "controller", 8},
	{"Decision steady", "warm", "controller", 300},
	{"Decision steady", "changed", "controller", 150},
	{"Decision rollout", "plan", "controller", 0},
	{"Decision rollout", "new+plan", "controller", 0},
	{"Decision rollout", "first", "controller", 8},
	{"Decision rollout", "warm", "controller", 150},
	{"Decision rollout", "changed", "controller", 150},
}

// growth is by how much the cost of a node may rise from the smallest fleet to the largest.
const growth = 1.5

func run(in io.Reader, out io.Writer) (results, error) {
	found, err := parse(in)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, line, "ours / theirs", "nodes", "ns/node", "theirs", "ratio", "reach", "B", "theirs", "allocs", "theirs")
	compared := 0
	for _, p := range pairs {
		for _, nodes := range found.sizes(p.benchmark) {
			ours, theirs := found.at(p.benchmark, nodes, p.ours), found.at(p.benchmark, nodes, p.theirs)
			if ours.time == 0 || theirs.time == 0 {
				continue // one that only we are measured at
			}
			compared++
			fmt.Fprintf(out, line, p.benchmark+": "+p.ours+" / "+p.theirs, strconv.Itoa(nodes), nanoseconds(ours.time),
				nanoseconds(theirs.time), fmt.Sprintf("%.1fx", theirs.time/ours.time), reach(p.reach),
				count(ours.bytes), count(theirs.bytes), count(ours.allocs), count(theirs.allocs))
		}
	}
	if compared == 0 {
		return nil, errors.New("no benchmark ran on both sides")
	}
	grow(out, found)
	return found, nil
}

const line = "%-42s %6s %9s %9s %8s %6s %11s %12s %7s %10s\n"

// grow prints what a node of the largest fleet costs, against one of the smallest.
func grow(out io.Writer, found results) {
	var last pair
	for _, p := range pairs {
		sizes := found.sizes(p.benchmark)
		if len(sizes) < 2 || p.benchmark == last.benchmark && p.ours == last.ours {
			continue
		}
		last = p
		small, large := sizes[0], sizes[len(sizes)-1]
		from, to := found.at(p.benchmark, small, p.ours), found.at(p.benchmark, large, p.ours)
		if from.time > 0 && to.time > 0 {
			fmt.Fprintf(out, "%-42s a node of %d costs %.2fx one of %d, at most %.1fx wanted\n",
				p.benchmark+": "+p.ours, large, to.time/from.time, small, growth)
		}
	}
}

func reach(times float64) string {
	if times == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0fx", times)
}

func nanoseconds(seconds float64) string { return strconv.FormatFloat(seconds*1e9, 'f', 0, 64) }

func count(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }
