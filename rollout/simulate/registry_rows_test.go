package simulate

import "time"

// registryRows are rows about limits, rounding and requests.
func registryRows() []registryRow {
	begin := registryBegin
	return []registryRow{
		{
			name: "no limits", why: "in the zero value images are there at once, whatever their size",
			model: Registry{Size: 100 * mega},
			calls: []registryCall{begin(1500*time.Microsecond, "a", "i")},
			want:  []string{"1.5ms a i"}, registry: 100 * mega,
		},
		{
			name: "one pull", why: "100 MB at 10 MB/s",
			model: slowRegistry(nil),
			calls: []registryCall{begin(time.Second, "a", "i")},
			want:  []string{"11s a i"}, registry: 100 * mega,
		},
		{
			name: "two at once", why: "each has half of the bandwidth, and they end in the order of their nodes",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "b", "i"), begin(0, "a", "i")},
			want:  []string{"20s a i", "20s b i"}, registry: 200 * mega,
		},
		{
			name:  "one joins later",
			why:   "a has 50 MB at 5 s and gets the rest at 5 MB/s; b has 50 MB by then, and the rest at 10 MB/s",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "a", "i"), begin(5*time.Second, "b", "i")},
			want:  []string{"15s a i", "20s b i"}, registry: 200 * mega,
		},
		{
			name:  "thirds",
			why:   "rates that are no whole numbers lose nothing: 3 × 1000 bytes at 1000 bytes/s",
			model: Registry{Bandwidth: 1000, Size: 1000},
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "i"), begin(0, "c", "i")},
			want:  []string{"3s a i", "3s b i", "3s c i"}, registry: 3000,
		},
		{
			name: "node limits", why: "the node's bandwidth holds where the registry has none",
			model: Registry{NodeBandwidth: 20 * mega, Size: 100 * mega},
			calls: []registryCall{begin(0, "a", "i"), {at: 0, call: "begin", node: "b", image: "i", bandwidth: 50 * mega}},
			want:  []string{"2s b i", "5s a i"}, registry: 200 * mega,
		},
		{
			name:  "what slow nodes leave",
			why:   "of 10 MB/s a may have 2 and b 3, so c gets 5: 20 s; b 100/3 s, a 50 s, as nobody can use more",
			model: slowRegistry(nil),
			calls: []registryCall{
				{call: "begin", node: "c", image: "i"},
				{call: "begin", node: "b", image: "i", bandwidth: 3 * mega},
				{call: "begin", node: "a", image: "i", bandwidth: 2 * mega},
			},
			want: []string{"20s c i", "33.334s b i", "50s a i"}, registry: 300 * mega,
		},
		{
			name:  "a byte per second",
			why:   "so slow a node is slow, not without a limit: 2 bytes in 2 s",
			model: Registry{Size: 2},
			calls: []registryCall{{call: "begin", node: "a", image: "i", bandwidth: 1}},
			want:  []string{"2s a i"}, registry: 2,
		},
		{
			name: "what slow nodes leave, beside peers",
			why: `of 10 MB/s a may have 2 and f 8, so that both have what they may; who gets it from peers, at 1, 2 and 4 MB/s, takes nothing of that,
				whenever which of them began`,
			model: slowRegistry(func(r *Registry) { r.PeerToPeer = true }),
			calls: []registryCall{
				{call: "put", node: "p", zone: "z", image: "i"},
				{call: "begin", node: "a", image: "i", zone: "y", bandwidth: 2 * mega},
				{call: "begin", node: "b", image: "i", zone: "z", bandwidth: 1 * mega},
				{call: "begin", node: "c", image: "i", zone: "z", bandwidth: 2 * mega},
				{call: "begin", node: "d", image: "i", zone: "z", bandwidth: 4 * mega},
				{call: "begin", node: "f", image: "i", zone: "x", bandwidth: 8 * mega},
			},
			want: []string{"12.5s f i", "25s d i", "50s a i", "50s c i", "1m40s b i"}, registry: 200 * mega, peers: 300 * mega,
		},
		{
			name:  "what slow nodes leave, the slowest last",
			why:   "as before, but a may have 8 and f 2",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer = true }),
			calls: []registryCall{
				{call: "put", node: "p", zone: "z", image: "i"},
				{call: "begin", node: "a", image: "i", zone: "x", bandwidth: 8 * mega},
				{call: "begin", node: "b", image: "i", zone: "z", bandwidth: 1 * mega},
				{call: "begin", node: "c", image: "i", zone: "z", bandwidth: 2 * mega},
				{call: "begin", node: "d", image: "i", zone: "z", bandwidth: 4 * mega},
				{call: "begin", node: "f", image: "i", zone: "y", bandwidth: 2 * mega},
			},
			want: []string{"12.5s a i", "25s d i", "50s c i", "50s f i", "1m40s b i"}, registry: 200 * mega, peers: 300 * mega,
		},
		{
			name:  "at the fair share",
			why:   "a limit that is the fair share is the same as none: both get 5 MB/s",
			model: slowRegistry(nil),
			calls: []registryCall{
				{call: "begin", node: "a", image: "i", bandwidth: 5 * mega}, {call: "begin", node: "b", image: "i"},
			},
			want: []string{"20s a i", "20s b i"}, registry: 200 * mega,
		},
		{
			name:  "more than the fair share",
			why:   "a limit above the fair share matters when others are gone: b needs 5 s more at 6 MB/s for 30 MB",
			model: slowRegistry(func(r *Registry) { r.Sizes = map[string]int64{"small": 70 * mega} }),
			calls: []registryCall{
				{call: "begin", node: "a", image: "small"}, {call: "begin", node: "b", image: "i", bandwidth: 6 * mega},
			},
			want: []string{"14s a small", "19s b i"}, registry: 170 * mega,
		},
		{
			name:  "two images on one node",
			why:   "each gets half of the node's 4 MB/s; when the small one is there (20 MB in 10 s) the other has 80 MB left at 4 MB/s",
			model: Registry{NodeBandwidth: 4 * mega, Size: 100 * mega, Sizes: map[string]int64{"small": 20 * mega}},
			calls: []registryCall{begin(0, "a", "i"), begin(0, "a", "small")},
			want:  []string{"10s a small", "30s a i"}, registry: 120 * mega,
		},
		{
			name:  "two images that end at once",
			why:   "pulls of one node may end at one instant",
			model: Registry{NodeBandwidth: 4 * mega, Size: 100 * mega},
			calls: []registryCall{begin(0, "a", "j"), begin(0, "a", "i")},
			want:  []string{"50s a i", "50s a j"}, registry: 200 * mega,
		},
		{
			name:  "another bandwidth",
			why:   "the bandwidth of the latest request holds for the node: 40 MB in 10 s at 4 MB/s, then 5 MB/s each: 60 MB in 12 s",
			model: Registry{NodeBandwidth: 4 * mega, Size: 100 * mega},
			calls: []registryCall{
				begin(0, "a", "i"), {at: 10 * time.Second, call: "begin", node: "a", image: "j", zone: "z", bandwidth: 10 * mega},
			},
			want: []string{"22s a i", "26s a j"}, registry: 200 * mega,
		},
		{
			name:  "rounded up",
			why:   "a third of a second is 334 ms, and a holds its half until then: b has 3/4000 of its byte by then, and 334 ms to go",
			model: Registry{Bandwidth: 3, Size: 1},
			calls: []registryCall{begin(0, "a", "i"), begin(333500*time.Microsecond, "b", "i")},
			want:  []string{"334ms a i", "668ms b i"}, registry: 2,
		},
		{
			name:  "rounding",
			why:   "a microsecond beyond a millisecond counts as rounding, two do not",
			model: Registry{NodeBandwidth: mega, Sizes: map[string]int64{"i": 2001, "j": 2002}},
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "j")},
			want:  []string{"2ms a i", "3ms b j"}, registry: 4003,
		},
		{
			name:  "begun between ticks",
			why:   "ends are at whole milliseconds of the run, not of the pull, and not before the pull began",
			model: Registry{NodeBandwidth: mega, Size: 1},
			calls: []registryCall{begin(2500*time.Microsecond, "a", "i"), begin(3*time.Millisecond+1, "b", "i")},
			want:  []string{"3ms a i", "4ms b i"}, registry: 2,
		},
		{
			name:  "no bytes",
			why:   "an image without bytes is there at once, between ticks too; less than none is none",
			model: Registry{Bandwidth: 1, Size: 100, Sizes: map[string]int64{"empty": 0, "odd": -5}},
			calls: []registryCall{begin(1500*time.Microsecond, "a", "odd"), begin(1500*time.Microsecond, "a", "empty")},
			want:  []string{"1.5ms a empty", "1.5ms a odd"},
		},
		{
			name:  "requests",
			why:   "two may ask per second, in the order of their nodes and images whatever the order of the calls",
			model: Registry{Requests: 2},
			calls: []registryCall{begin(0, "b", "i"), begin(0, "c", "i"), begin(0, "a", "j"), begin(0, "a", "i")},
			want:  []string{"0s a i", "500ms a j", "1s b i", "1.5s c i"},
		},
		{
			name:  "requests in order",
			why:   "who comes first is served first: b waits before a",
			model: Registry{Requests: 1},
			calls: []registryCall{begin(0, "c", "i"), begin(100*time.Millisecond, "b", "i"), begin(200*time.Millisecond, "a", "i")},
			want:  []string{"0s c i", "1s b i", "2s a i"},
		},
		{
			name:  "requests after a pause",
			why:   "slots that nobody took are lost, and the next one is a whole interval after the last that was taken",
			model: Registry{Requests: 2},
			calls: []registryCall{
				begin(0, "a", "i"), begin(10200*time.Millisecond, "b", "i"), begin(10300*time.Millisecond, "c", "i"),
			},
			want: []string{"0s a i", "10.2s b i", "10.7s c i"},
		},
		{
			name:  "thirds of requests",
			why:   "roundings do not add up: the seventh of three per second asks at 2 s",
			model: Registry{Requests: 3},
			calls: []registryCall{
				begin(0, "a", "i"), begin(0, "b", "i"), begin(0, "c", "i"), begin(0, "d", "i"), begin(0, "e", "i"),
				begin(0, "f", "i"), begin(0, "g", "i"),
			},
			want: []string{
				"0s a i", "333.333333ms b i", "666.666667ms c i", "1s d i", "1.333333333s e i", "1.666666667s f i", "2s g i",
			},
		},
		{
			name:  "asking is not pulling",
			why:   "who has asked shares the bandwidth: a alone for 1 s (10 MB), then 5 MB/s each: 18 s for a; b has 90 MB then and 10 to go",
			model: slowRegistry(func(r *Registry) { r.Requests = 1 }),
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "i")},
			want:  []string{"19s a i", "20s b i"}, registry: 200 * mega,
		},
		{
			name:  "latency",
			why:   "the first byte comes 2 s after the request, and until then others have the bandwidth",
			model: slowRegistry(func(r *Registry) { r.Latency = Fixed(2 * time.Second) }),
			calls: []registryCall{begin(0, "a", "i"), begin(8*time.Second, "b", "i")},
			want:  []string{"14s a i", "22s b i"}, registry: 200 * mega,
		},
		{
			name:  "latency after the request",
			why:   "the second asks after 1 s and waits 2 s then",
			model: Registry{Requests: 1, Latency: Fixed(2 * time.Second)},
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "i")},
			want:  []string{"2s a i", "3s b i"},
		},
	}
}
