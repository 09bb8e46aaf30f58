package purity_test

import (
	"slices"
	"testing"
)

func TestLibraryIsPure(t *testing.T) {
	packages := parseModule(t, "../..")
	for directory := range readLayers(t, "../../docs/packages.md") {
		files, ok := packages[directory]
		if !ok {
			t.Errorf("docs/packages.md lists %s, which is not there", directory)
			continue
		}
		needed := map[string]bool{}
		for _, offence := range checkPurity(files) {
			needed[offence.what] = true
			if excused[directory][offence.what] == "" {
				t.Error(offence)
			}
		}
		for what := range excused[directory] {
			if !needed[what] {
				t.Errorf("%s is excused for %q and needs no excuse: take it out of the list", directory, what)
			}
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range kinds {
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d has the name %q, which is empty or another's", k, name)
		} else {
			seen[name] = true
		}
	}
}

func TestCheckPuritySeesPlantedOffences(t *testing.T) {
	tests := []struct {
		name   string
		why    string
		source string
		want   []kind
	}{
		{
			name: "os", why: "files and environment are no arguments",
			source: `import "os"; func f() string { return os.Getenv("HOME") }`,
			want:   []kind{environment},
		},
		{
			name: "below os", why: "what is below a forbidden package is forbidden too",
			source: `import "os/exec"; var _ exec.Cmd`,
			want:   []kind{environment},
		},
		{
			name: "renamed os", why: "another name does not make it another package",
			source: `import system "os"; func f() string { return system.Getenv("HOME") }`,
			want:   []kind{environment},
		},
		{
			name: "log", why: "a library's caller decides what is logged",
			source: `import "log"; func f() { log.Print() }`,
			want:   []kind{output},
		},
		{
			name: "log/slog", why: "structured logging is logging",
			source: `import "log/slog"; func f() { slog.Info("") }`,
			want:   []kind{output},
		},
		{
			name: "klog", why: "Kubernetes logging is logging, in any major version",
			source: `import "k8s.io/klog/v2"; func f() { klog.Info("") }`,
			want:   []kind{output},
		},
		{
			name: "math/rand", why: "equal inputs must give equal outputs",
			source: `import "math/rand"; func f() int { return rand.Int() }`,
			want:   []kind{randomness},
		},
		{
			name: "math/rand/v2", why: "equal inputs must give equal outputs",
			source: `import "math/rand/v2"; func f() int { return rand.Int() }`,
			want:   []kind{randomness, randomness},
		},
		{
			name: "math/rand/v2 of a seed", why: "the import alone needs an excuse: what is drawn is a function of the seed",
			source: `import "math/rand/v2"
				func f(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
				func g(r *rand.Rand) int { return r.IntN(5) + rand.New(rand.NewPCG(2, 3)).IntN(7) }`,
			want: []kind{randomness},
		},
		{
			name: "renamed math/rand/v2 of a seed", why: "another name does not make it another package",
			source: `import random "math/rand/v2"; func f() *random.Rand { random.Shuffle(1, nil); return random.New(random.NewPCG(1, 2)) }`,
			want:   []kind{randomness, randomness},
		},
		{
			name: "seed from the process", why: "a generator is no better than its seed",
			source: `import "math/rand/v2"; func f() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), 1)) }`,
			want:   []kind{randomness, randomness},
		},
		{
			name: "seed from the clock", why: "a generator is no better than its seed",
			source: `import ("math/rand/v2"; "time"); func f() *rand.Rand { return rand.New(rand.NewPCG(uint64(time.Now().Unix()), 1)) }`,
			want:   []kind{randomness, clock},
		},
		{
			name: "source that is not seen", why: "it can be any source",
			source: `import "math/rand/v2"; func f(source rand.Source) *rand.Rand { return rand.New(source) }`,
			want:   []kind{randomness, randomness, randomness},
		},
		{
			name: "top-level functions as values", why: "whoever gets them draws from the process",
			source: `import "math/rand/v2"; func f() (func() float64, any) { return rand.Float64, rand.New }`,
			want:   []kind{randomness, randomness, randomness},
		},
		{
			name: "source alone", why: "one form only, so that a reader sees the seed of every generator",
			source: `import "math/rand/v2"; func f() any { return rand.NewPCG(1, 2) }`,
			want:   []kind{randomness, randomness},
		},
		{
			name: "shared generator", why: "what one call draws, the next does not",
			source: `import "math/rand/v2"; var shared = rand.New(rand.NewPCG(1, 2))`,
			want:   []kind{randomness, state},
		},
		{
			name: "a field called New", why: "only the package's own functions draw",
			source: `type t struct{ New, NewPCG func(int) int }; func f(rand t) int { return rand.New(rand.NewPCG(1)) }`,
		},
		{
			name: "container/heap", why: "a heap is a slice in an order",
			source: `import "container/heap"; func f(h heap.Interface) { heap.Init(h) }`,
		},
		{
			name: "hash/maphash", why: "its seed differs from process to process",
			source: `import "hash/maphash"; var _ maphash.Hash`,
			want:   []kind{randomness},
		},
		{
			name: "apimachinery rand", why: "names with random suffixes differ from call to call",
			source: `import "k8s.io/apimachinery/pkg/util/rand"; func f() string { return rand.String(5) }`,
			want:   []kind{randomness},
		},
		{
			name: "apimachinery safe encoding", why: "revision names need it, and it draws nothing (R1)",
			source: `import "k8s.io/apimachinery/pkg/util/rand"; func f() string { return rand.SafeEncodeString("5") }`,
		},
		{
			name: "time.Now", why: "Snapshot.Now is the only clock there is",
			source: `import "time"; func f() time.Time { return time.Now() }`,
			want:   []kind{clock},
		},
		{
			name: "time.Now as a value", why: "a default clock is a clock",
			source: `import "time"; func f() func() time.Time { return time.Now }`,
			want:   []kind{clock},
		},
		{
			name: "renamed time", why: "another name does not make it another package",
			source: `import clock "time"; func f() clock.Time { return clock.Now() }`,
			want:   []kind{clock},
		},
		{
			name: "the clock's relatives", why: "each reads the clock, waits on it, or knows the machine's zone",
			source: `import "time"
				func f(t time.Time) {
					time.Since(t); time.Until(t); time.After(1); time.AfterFunc(1, nil); time.Sleep(1); time.Tick(1)
					time.NewTimer(1); time.NewTicker(1); time.LoadLocation(""); t.In(time.Local)
				}`,
			want: slices.Repeat([]kind{clock}, 10),
		},
		{
			name: "metav1.Now", why: "apimachinery wraps the clock",
			source: `import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; func f() { metav1.Now(); metav1.NowMicro() }`,
			want:   []kind{clock, clock},
		},
		{
			name: "time without the clock", why: "durations and given instants are values like others",
			source: `import "time"; func f(now time.Time) time.Time { return now.Add(time.Second).UTC() }`,
		},
		{
			name: "a field of that name", why: "snapshot.Now is how the clock is passed",
			source: `type snapshot struct{ Now int }; func f(time snapshot) int { return time.Now }`,
		},
		{
			name: "fmt.Println", why: "standard output is not a result",
			source: `import "fmt"; func f() { fmt.Print(); fmt.Printf(""); fmt.Println() }`,
			want:   []kind{output, output, output},
		},
		{
			name: "fmt.Sprintf", why: "a string is a result",
			source: `import "fmt"; func f() string { return fmt.Sprintf("%d", 1) }`,
		},
		{
			name: "println", why: "standard error is not a result either",
			source: `func f() { print(); println() }`,
			want:   []kind{output, output},
		},
		{
			name: "go statement", why: "the caller owns the goroutines",
			source: `func f() { go f() }`,
			want:   []kind{concurrency},
		},
		{
			name: "channels", why: "a channel's other end is somebody else",
			source: `func f(c chan int) { c <- <-c }`,
			want:   []kind{concurrency, concurrency, concurrency},
		},
		{
			name: "select", why: "select picks at random",
			source: `func f() { select {} }`,
			want:   []kind{concurrency},
		},
		{
			name: "sync", why: "a lock, a pool or a once guards state that outlives the call",
			source: `import "sync"; type planner struct{ mutex sync.Mutex }`,
			want:   []kind{state},
		},
		{
			name: "sync/atomic", why: "a counter is state that outlives the call",
			source: `import "sync/atomic"; type planner struct{ plans atomic.Int64 }`,
			want:   []kind{state},
		},
		{
			name: "panic", why: "no panic is reachable, whatever the input",
			source: `func f() { panic("unreachable") }`,
			want:   []kind{panics},
		},
		{
			name: "panic of the package's own", why: "only the builtin ends the program",
			source: `func panic(string) {}; func f() { panic("") }`,
		},
		{
			name: "init", why: "importing a package must do nothing",
			source: `func init() {}`,
			want:   []kind{hidden},
		},
		{
			name: "a method called init", why: "it runs when it is called",
			source: `type t struct{}; func (t) init() {}`,
		},
		{
			name: "blank import", why: "it is there for what its init does",
			source: `import _ "image/png"`,
			want:   []kind{hidden},
		},
		{
			name: "dot import", why: "time.Now would be read as Now, and not seen",
			source: `import . "strings"`,
			want:   []kind{hidden},
		},
		{
			name: "unsafe", why: "it writes what it was given to read",
			source: `import "unsafe"; var _ unsafe.Pointer`,
			want:   []kind{hidden},
		},
		{
			name: "variable without a value", why: "it exists to be written",
			source: `var calls int`,
			want:   []kind{state},
		},
		{
			name: "variable with a plain value", why: "if it is not written it is a const",
			source: `var limit = 250`,
			want:   []kind{state},
		},
		{
			name: "pointer", why: "who holds a pointer can write through it",
			source: `type t struct{}; var shared = &t{}`,
			want:   []kind{state},
		},
		{
			name: "called initialiser", why: "what a call returns may be shared and written",
			source: `func f() map[int]int { return nil }; var cache = f()`,
			want:   []kind{state},
		},
		{
			name: "two of one call", why: "an initialiser of several variables is a call",
			source: `func f() (int, int) { return 0, 0 }; var a, b = f()`,
			want:   []kind{state, state},
		},
		{
			name: "the second of a group", why: "every name is looked at, in a group as well",
			source: `var ( table = [2]int{1, 2}; cache map[int]int )`,
			want:   []kind{state},
		},
		{
			name: "errors and tables", why: "variables that nobody writes are as good as constants",
			source: `import ("errors"; "fmt"; "io")
				var errA = errors.New("a")
				var errB, errC = fmt.Errorf("b"), errors.New("c")
				var names = [...]string{"a", "b"}
				var table = map[string]int{"a": 1}
				var newline = []byte("\n")
				var _ io.Writer = (*writer)(nil)
				type writer struct{ io.Writer }
				func f() (string, int) { return names[0], table["a"] }`,
		},
		{
			name: "table written", why: "a written table is state, however it is written",
			source: `var table = map[string][]int{}
				var list = []int{1}
				var pair = struct{ a int }{1}
				func f() {
					table["a"] = nil
					table["a"][0]++
					pair.a += 1
					(list) = nil
					for list[0], list[1] = range list {}
					delete(table, "a")
					clear(table)
					copy(list[:1], list)
					_ = append(list, 1)
					p := &pair
					*p = pair
				}`,
			want: slices.Repeat([]kind{state}, 11),
		},
		{
			name: "local of that name written", why: "locals may be written, whatever they are called",
			source: `var table = []int{1}; func f() { table := []int{2}; table[0] = 3; table = nil }`,
		},
		{
			name: "another package's variable written", why: "it is state of the whole program",
			source: `import "k8s.io/api/core/v1"; func f() { v1.SchemeGroupVersion.Group = "" }`,
			want:   []kind{state},
		},
		{
			name: "fields and parameters written", why: "local state is how pure functions are written",
			source: `type t struct{ n []int }; func (r *t) f(m map[int]int) { r.n[0] = 1; m[1]++; delete(m, 1) }`,
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			var got []kind
			offences := checkPurity(parseSource(t, "package p\n"+test.source))
			for _, offence := range offences {
				got = append(got, offence.kind)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("reported %v, want %v\n%v", got, test.want, offences)
			}
		})
	}
}

func TestCheckPuritySeesWritesFromAnotherFile(t *testing.T) {
	table := "package p; var table = []int{1}"
	if got := checkPurity(parseSource(t, table)); len(got) != 0 {
		t.Errorf("reported %v where nothing is written", got)
	}
	got := checkPurity(parseSource(t, table, "package p; func f() { table[0] = 2 }"))
	if len(got) != 1 || got[0].kind != state {
		t.Errorf("reported %v, want one write", got)
	}
}
