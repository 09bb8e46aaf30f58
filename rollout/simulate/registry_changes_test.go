package simulate

import "time"

// registryChanges are rows about pulls that are joined or cancelled, nodes that are removed, peers and failures.
func registryChanges() []registryRow {
	begin := registryBegin
	return []registryRow{
		{
			name:  "joined",
			why:   "a second request for an image that is on its way changes nothing",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "a", "i"), begin(5*time.Second, "a", "i")},
			want:  []string{"10s a i"}, registry: 100 * mega,
		},
		{
			name:  "there already",
			why:   "an image that the node has, from the beginning or since, is not pulled",
			model: slowRegistry(nil),
			calls: []registryCall{
				{call: "put", node: "a", zone: "z", image: "i"}, begin(0, "a", "i"), begin(0, "b", "i"), begin(11*time.Second, "b", "i"),
			},
			want: []string{"0s a i", "10s b i", "11s b i"}, registry: 100 * mega,
		},
		{
			name:  "put while it is pulled",
			why:   "a node that has the image needs no pull",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "a", "i"), {at: time.Second, call: "put", node: "a", zone: "z", image: "i"}},
		},
		{
			name:  "cancelled",
			why:   "a goes at 4 s with 20 MB, and b, with 20 MB too, gets the rest at 10 MB/s",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "i"), {at: 4 * time.Second, call: "cancel", node: "a", image: "i"}},
			want:  []string{"12s b i"}, registry: 120 * mega,
		},
		{
			name:  "cancelled while it waits",
			why:   "who goes leaves the turn to the next",
			model: Registry{Requests: 1},
			calls: []registryCall{
				begin(0, "a", "i"), begin(0, "b", "i"), begin(0, "c", "i"), {at: time.Millisecond, call: "cancel", node: "b", image: "i"},
			},
			want: []string{"0s a i", "1s c i"},
		},
		{
			name:  "cancelled before the first byte",
			why:   "nothing was pulled",
			model: Registry{Size: 5, Latency: Fixed(time.Second)},
			calls: []registryCall{begin(0, "a", "i"), {at: time.Millisecond, call: "cancel", node: "a", image: "i"}},
		},
		{
			name:  "one of two is cancelled",
			why:   "the other image of the node gets all of its 4 MB/s: 20 MB in 10 s, then 80 MB in 20 s",
			model: Registry{NodeBandwidth: 4 * mega, Size: 100 * mega},
			calls: []registryCall{
				begin(0, "a", "i"), begin(0, "a", "j"), {at: 10 * time.Second, call: "cancel", node: "a", image: "j"},
			},
			want: []string{"30s a i"}, registry: 120 * mega,
		},
		{
			name:  "nothing to cancel",
			why:   "what is not there cannot be cancelled, nor forgotten",
			model: slowRegistry(nil),
			calls: []registryCall{
				begin(0, "a", "i"), {call: "cancel", node: "a", image: "j"}, {call: "cancel", node: "b", image: "i"}, {call: "forget", node: "b"},
			},
			want: []string{"10s a i"}, registry: 100 * mega,
		},
		{
			name:  "node gone",
			why:   "both pulls of a end at 4 s with 10 MB each (10 MB/s by three: each has a third, 13.3 MB), b goes on alone",
			model: slowRegistry(nil),
			calls: []registryCall{
				begin(0, "a", "i"), begin(0, "a", "j"), begin(0, "b", "i"), {at: 3 * time.Second, call: "forget", node: "a"},
			},
			want: []string{"12s b i"}, registry: 120 * mega,
		},
		{
			name:  "another node of that name",
			why:   "it has nothing of what the one before had",
			model: slowRegistry(nil),
			calls: []registryCall{begin(0, "a", "i"), {at: 20 * time.Second, call: "forget", node: "a"}, begin(20*time.Second, "a", "i")},
			want:  []string{"10s a i", "30s a i"}, registry: 200 * mega,
		},
		{
			name:  "from peers",
			why:   "b gets it from a at its own 50 MB/s; c is in another zone",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer, r.NodeBandwidth = true, 50*mega }),
			calls: []registryCall{
				begin(0, "a", "i"), begin(10*time.Second, "b", "i"),
				{at: 10 * time.Second, call: "begin", node: "c", zone: "y", image: "i"}, begin(10*time.Second, "d", "j"),
			},
			want: []string{"10s a i", "12s b i", "30s c i", "30s d j"}, registry: 300 * mega, peers: 100 * mega,
		},
		{
			name:  "peers share a node's bandwidth with the registry",
			why:   "4 MB/s are halved between an image from a peer and one from the registry",
			model: Registry{PeerToPeer: true, NodeBandwidth: 4 * mega, Size: 100 * mega},
			calls: []registryCall{{call: "put", node: "b", zone: "z", image: "i"}, begin(0, "a", "i"), begin(0, "a", "j")},
			want:  []string{"50s a i", "50s a j"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "no peers",
			why:   "without PeerToPeer everything comes from the registry",
			model: slowRegistry(nil),
			calls: []registryCall{{call: "put", node: "b", zone: "z", image: "i"}, begin(0, "a", "i")},
			want:  []string{"10s a i"}, registry: 100 * mega,
		},
		{
			name:  "peers at once",
			why:   "where nodes have no limit, peers give at once, and one who gets it gives it on",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer = true }),
			calls: []registryCall{begin(0, "a", "i"), begin(12*time.Second, "b", "i")},
			want:  []string{"10s a i", "12s b i"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "peers need no request",
			why:   "b waits for its turn at 20 s, and gets the image from a at 10 s; the slot of c is where it was",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer, r.Requests = true, 0.05 }),
			calls: []registryCall{begin(0, "a", "i"), begin(0, "b", "i"), begin(0, "c", "j"), begin(11*time.Second, "d", "i")},
			want:  []string{"10s a i", "10s b i", "11s d i", "30s c j"}, registry: 200 * mega, peers: 200 * mega,
		},
		{
			name:  "peers are found at the first byte",
			why:   "b asks at 9 s, before a has it, and gets its first byte at 12 s, when a has: 100 MB at 50 MB/s",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer, r.NodeBandwidth, r.Latency = true, 50*mega, Fixed(3*time.Second) }),
			calls: []registryCall{begin(0, "a", "i"), begin(10*time.Second, "b", "i")},
			want:  []string{"13s a i", "15s b i"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "peers that go",
			why:   "a goes before b's first byte at 14 s, so that b asks the registry then, and has it 3 + 10 s later",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer, r.Requests, r.Latency = true, 1, Fixed(3*time.Second) }),
			calls: []registryCall{
				{call: "put", node: "a", zone: "z", image: "i"}, begin(11*time.Second, "b", "i"), {at: 12 * time.Second, call: "forget", node: "a"},
			},
			want: []string{"27s b i"}, registry: 100 * mega,
		},
		{
			name:  "one of two peers goes",
			why:   "one is left to give",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer = true }),
			calls: []registryCall{
				{call: "put", node: "a", zone: "z", image: "i"}, {call: "put", node: "a", zone: "z", image: "i"},
				{call: "put", node: "b", zone: "z", image: "i"}, {call: "forget", node: "a"}, begin(0, "c", "i"),
				{at: 1, call: "forget", node: "b"}, {at: 1, call: "forget", node: "c"}, begin(1, "d", "i"),
			},
			want: []string{"0s c i", "10s d i"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "a peer in another zone now",
			why:   "a node takes its images along when its zone changes: c gets it from a, b no longer, and d never",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer = true }),
			calls: []registryCall{
				{call: "put", node: "a", zone: "z", image: "i"}, {call: "begin", node: "a", zone: "y", image: "i"},
				{call: "begin", node: "c", zone: "y", image: "i"}, begin(0, "b", "i"),
			},
			want: []string{"0s a i", "0s c i", "10s b i"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "to another zone while it waits",
			why:   "b waits for its turn in z, and has peers when it is in y",
			model: slowRegistry(func(r *Registry) { r.PeerToPeer, r.Requests = true, 0.05 }),
			calls: []registryCall{
				{call: "put", node: "a", zone: "y", image: "i"}, begin(0, "0", "j"), begin(0, "b", "i"),
				{at: time.Second, call: "begin", node: "b", zone: "y", image: "i"},
			},
			want: []string{"1s b i", "10s 0 j"}, registry: 100 * mega, peers: 100 * mega,
		},
		{
			name:  "failed",
			why:   "a pull that fails takes its time and its bytes, the node has nothing then, and each time is a new one",
			model: slowRegistry(func(r *Registry) { r.FailedPulls, r.PeerToPeer = 1, true }),
			calls: []registryCall{begin(0, "a", "i"), begin(20*time.Second, "a", "i"), begin(40*time.Second, "b", "i")},
			want:  []string{"10s a i failed", "30s a i failed", "50s b i failed"}, registry: 300 * mega,
		},
	}
}
