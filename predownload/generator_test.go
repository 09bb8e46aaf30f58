package predownload_test

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/predownload"
)

var noon = time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC)

// scenario is an Input whose candidates can be read any number of times, and counted.
type scenario struct {
	input      predownload.Input
	candidates []predownload.Candidate
}

func (s scenario) in() predownload.Input {
	in := s.input
	in.Candidates = slices.Values(s.candidates)
	return in
}

// counting counts the candidates that are read.
func counting(candidates iter.Seq[predownload.Candidate], read *int) iter.Seq[predownload.Candidate] {
	return func(yield func(predownload.Candidate) bool) {
		for c := range candidates {
			*read++
			if !yield(c) {
				return
			}
		}
	}
}

var (
	// Few images in many spellings, so that they meet.
	spellings = []string{
		"a:1", "docker.io/library/a:1", "library/a:1", "index.docker.io/a:1", "a:2", "a", "a:latest",
		"reg:5000/b", "reg:5000/b:latest", "b", "team/c@sha256:0", "docker.io/team/c:1@sha256:0", "team/c:1", "",
	}
	nodes = []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}
)

func imageGen() *rapid.Generator[string] { return rapid.SampledFrom(spellings) }

// quantityGen draws mostly sensible values, and now and then one that is none.
func quantityGen() *rapid.Generator[*intstr.IntOrString] {
	return rapid.SampledFrom([]*intstr.IntOrString{
		nil, number(0), number(1), number(2), number(3), number(8), text("0%"), text("1%"), text("34%"), text("50%"),
		text("100%"), text("101%"), text("250%"), number(1), number(2), number(3), number(-1), text("x"),
	})
}

func number(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
func text(s string) *intstr.IntOrString  { return new(intstr.FromString(s)) }

// scenarioGen draws nodes each once, as the contract has it.
func scenarioGen() *rapid.Generator[scenario] {
	return rapid.Custom(func(t *rapid.T) scenario {
		s := scenario{input: predownload.Input{
			Now: noon,
			Options: predownload.Options{
				Parallelism:    quantityGen().Draw(t, "parallelism"),
				TimeoutSeconds: rapid.SampledFrom([]int32{0, 0, 30}).Draw(t, "timeout"),
			},
			Images:       spare(rapid.SliceOfN(imageGen(), 0, 4).Draw(t, "images")),
			Secrets:      spare(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(t, "secrets")),
			Desired:      rapid.Int32Range(-1, 9).Draw(t, "desired"),
			UpdatedReady: rapid.Int32Range(0, 9).Draw(t, "updatedReady"),
		}}
		if rapid.IntRange(0, 3).Draw(t, "min") == 0 {
			s.input.Options.MinUpdatedReadyPods = quantityGen().Draw(t, "minUpdatedReadyPods")
		}
		if rapid.Bool().Draw(t, "limited") {
			s.input.Options.BackoffLimit = new(rapid.Int32Range(0, 7).Draw(t, "backoffLimit"))
		}
		count := rapid.IntRange(0, len(nodes)).Draw(t, "candidates")
		for _, node := range rapid.Permutation(nodes).Draw(t, "order")[:count] {
			s.candidates = append(s.candidates, candidateGen(node).Draw(t, node))
		}
		s.input.InFlight = spare(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) predownload.Request {
			return predownload.Request{Node: rapid.SampledFrom(nodes).Draw(t, "node"), Image: imageGen().Draw(t, "image")}
		}), 0, 4).Draw(t, "inFlight"))
		s.input.Failures = spare(rapid.SliceOfN(failureGen(), 0, 8).Draw(t, "failures"))
		return s
	})
}

func candidateGen(node string) *rapid.Generator[predownload.Candidate] {
	return rapid.Custom(func(t *rapid.T) predownload.Candidate {
		c := predownload.Candidate{Node: node, Uses: spare(rapid.SliceOfN(imageGen(), 0, 2).Draw(t, "uses"))}
		for range rapid.IntRange(0, 2).Draw(t, "present") {
			c.Present = append(c.Present, corev1.ContainerImage{Names: rapid.SliceOfN(imageGen(), 0, 2).Draw(t, "names")})
		}
		return c
	})
}

func failureGen() *rapid.Generator[predownload.Failure] {
	return rapid.Custom(func(t *rapid.T) predownload.Failure {
		seconds := rapid.SampledFrom([]int{-1000, -300, -299, -160, -80, -40, -20, -10, -9, -1, 0, 1, 50}).Draw(t, "at")
		return predownload.Failure{
			Node: rapid.SampledFrom(nodes).Draw(t, "node"), Image: imageGen().Draw(t, "image"),
			Count: rapid.Int32Range(-1, 8).Draw(t, "count"), At: noon.Add(time.Duration(seconds) * time.Second),
		}
	})
}

// spare gives a slice spare capacity, which shows an append that writes into the caller's array.
func spare[T any](s []T) []T { return append(make([]T, 0, len(s)+4), s...) }
