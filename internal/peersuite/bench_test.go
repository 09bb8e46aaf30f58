package main

import (
	"slices"
	"testing"
)

func TestParseBenchmarks(t *testing.T) {
	names, costs := parseBenchmarks([]byte(`goos: linux
BenchmarkB/nodes=1000-2   	    8376	     37866 ns/op	    5449 B/op	      51 allocs/op
BenchmarkA-2         	     999	    3.5 ns/op
BenchmarkB/nodes=1000-2   	    8376	     37000 ns/op
BenchmarkC-2 	--- SKIP
PASS
`))
	if want := []string{"BenchmarkB/nodes=1000", "BenchmarkA"}; !slices.Equal(names, want) {
		t.Errorf("the benchmarks are %q, want %q", names, want)
	}
	if got := median(costs["BenchmarkB/nodes=1000"]); got != 37433 {
		t.Errorf("the median of two is %v, want 37433", got)
	}
	if got := median([]float64{9, 1, 2}); got != 2 {
		t.Errorf("the median of three is %v, want 2", got)
	}
}
