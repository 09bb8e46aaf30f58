package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		name, why   string
		width       float64
		names, want []string
	}{
		{"AWS", "the end is the same for all", 16,
			[]string{"ip-10-0-1-17.eu-central-1.compute.internal", "ip-10-0-2-33.eu-central-1.compute.internal"},
			[]string{"ip-10-0-1-17…", "ip-10-0-2-33…"}},
		{"AWS on a phone", "the beginning goes, too", 8,
			[]string{"ip-10-0-1-17.eu-central-1.compute.internal", "ip-10-0-2-133.eu-central-1.compute.internal"},
			[]string{"…1-17…", "…2-133…"}},
		{"AWS in two regions", "less is the same", 16,
			[]string{"ip-10-0-1-17.eu-central-1.compute.internal", "ip-10-0-1-17.eu-west-1.compute.internal"},
			[]string{"ip-10-0…central…", "ip-10…7.eu-west…"}},
		{"GKE", "the end tells them apart, and some of the beginning says what they are", 16,
			[]string{"gke-cluster-pool-1-abcd1234-x7kq", "gke-cluster-pool-1-abcd1234-0b2m"},
			[]string{"gke-cl…1234-x7kq", "gke-cl…1234-0b2m"}},
		{"the middle differs", "it is kept", 12,
			[]string{"production-cluster-17-general-purpose", "production-cluster-18-general-purpose"},
			[]string{"prod…ter-17…", "prod…ter-18…"}},
		{"one name", "nothing is common", 11, []string{"gke-cluster-pool-1"}, []string{"gke-c…ool-1"}},
		{"what fits", "it stays", 6, []string{"node-a", "a-long-name", "node-a", ""}, []string{"node-a", "a-…ame", "node-a", ""}},
		{"twice", "the same name is shown in the same way", 6, []string{"pool-aa-bb", "pool-aa-bb"}, []string{"po…-bb", "po…-bb"}},
		{"no parts", "the middle goes if the rest differs", 7, []string{"abcdefghijk1", "abcdefghijk2"}, []string{"abc…jk1", "abc…jk2"}},
		{"only the middle differs", "numbers tell them apart", 5, []string{"aaaaa1bbbbb", "aaaaa2bbbbb"}, []string{"aa…bb", "a…b~1"}},
		{"like one that fits", "no other name is taken", 5, []string{"aa…bb", "aaaaa1bbbbb"}, []string{"aa…bb", "…bbbb"}},
		{"East Asian", "a character takes two columns", 8,
			[]string{"節点-東京-一号機-本番", "節点-東京-二号機-本番"}, []string{"…一号機…", "…二号機…"}},
		{"East Asian, narrow", "no character is cut in two", 7,
			[]string{"節点-東京-一号機-本番", "節点-東京-二号機-本番"}, []string{"…一…機…", "…二…機…"}},
		{"combining", "marks stay with their letters", 5,
			[]string{"ne\u0301ne\u0301ne\u0301ne\u0301", "ne\u0301ne\u0301ne\u0301no\u0301"},
			[]string{"ne\u0301…ne\u0301", "ne\u0301…no\u0301"}},
		{"a mark after a separator", "it is another letter", 5,
			[]string{"pool-\u0301one", "pool-\u0301two", "pool-\u0301one"}, []string{"po…ne", "po…wo", "po…ne"}},
		{"no room", "an ellipsis", 1, []string{"abc"}, []string{"…"}},
		{"less than no room", "an ellipsis", 0, []string{"abc"}, []string{"…"}},
		{"none", "none", 5, nil, nil},
	} {
		if got := Shorten(c.names, c.width, Width); !slices.Equal(got, c.want) {
			t.Errorf("%s (%s): got %q, want %q", c.name, c.why, got, c.want)
		}
	}
}

// TestShortenFleets: whatever the names of a fleet are, they fit and stay different.
func TestShortenFleets(t *testing.T) {
	fleets := map[string]func(i int) string{
		"AWS": func(i int) string {
			return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i%3, i/200, i%200)
		},
		"GKE":        func(i int) string { return fmt.Sprintf("gke-cluster-pool-%d-abcd1234-x%03x", i%4, i) },
		"Azure":      func(i int) string { return fmt.Sprintf("aks-nodepool1-12345678-vmss%06x", i) },
		"East Asian": func(i int) string { return fmt.Sprintf("クラスター-ノード-%d-東京", i) },
		"combining":  func(i int) string { return strings.Repeat("e\u0301", 20) + fmt.Sprint(i) },
		"no parts":   func(i int) string { return strings.Repeat("a", 10) + fmt.Sprintf("%04d", i) + strings.Repeat("b", 10) },
	}
	for name, of := range fleets {
		var names []string
		for i := range 1000 {
			names = append(names, of(i))
		}
		for _, width := range []float64{8, 11, 16, 26, 40} {
			seen := make(map[string]bool)
			for i, short := range Shorten(names, width, Width) {
				if Width(short) > width || seen[short] {
					t.Fatalf("%s in %v columns: %q is shown as %q", name, width, names[i], short)
				}
				seen[short] = true
			}
		}
	}
}
