package simulate

// Model says how long things take in the cluster, and what goes wrong by itself. In the zero value everything happens at
// once, and well.
type Model struct {
	// Schedule is the time from the creation of a pod to its binding.
	Schedule Distribution `json:"schedule,omitzero"`
	// Kubelets are rules for pods; a later one changes what earlier ones say.
	Kubelets []Kubelet `json:"kubelets,omitempty"`
	// Registry that images are pulled from.
	Registry Registry `json:"registry,omitzero"`
	// Hooks is the latency of the controllers that see to lifecycle hooks: that take handlers off pods that are to be
	// deleted or updated, and put them on new and updated ones. Drawn for each pod and each time.
	Hooks Distribution `json:"hooks,omitzero"`
	// StubbornHooks is the share of pods whose hooks are never seen to. Between 0 and 1.
	StubbornHooks float64 `json:"stubbornHooks,omitempty"`
}

// Kubelet is a rule about pods on nodes. What it leaves unset is as earlier rules say.
type Kubelet struct {
	// Which pods: those on nodes of the pool and with all the labels, whose image this is, or at the revision of this hash.
	// Empty: any.
	Pool     string            `json:"pool,omitempty"`
	Nodes    map[string]string `json:"nodes,omitempty"`
	Image    string            `json:"image,omitempty"`
	Revision string            `json:"revision,omitempty"`
	// Share of these pods that the rule is about, drawn for each pod. 0: all.
	Share float64 `json:"share,omitempty"`

	// Create is the time that making a container takes after its image is there, Start from then until it runs, Ready from
	// then until it is ready.
	Create Distribution `json:"create,omitzero"`
	Start  Distribution `json:"start,omitzero"`
	Ready  Distribution `json:"ready,omitzero"`
	// Stop is how long a pod takes to terminate; it is cut off at the pod's grace period.
	Stop Distribution `json:"stop,omitzero"`
	// Restart is the time until a container that is to run another image is stopped, Resize until one has other resources.
	Restart Distribution `json:"restart,omitzero"`
	Resize  Distribution `json:"resize,omitzero"`
	// Crash is the time from the start of a container to its crash, Crashes how many times that happens to a pod; the
	// kubelet starts it again after 10 s, doubling to 5 min. Unset: never. Crashes 0: without end.
	Crash   Distribution `json:"crash,omitzero"`
	Crashes int          `json:"crashes,omitempty"`
	// Fail is the time from the start of the containers to the end of the pod in phase Failed.
	Fail Distribution `json:"fail,omitzero"`
	// NeverReady: the containers run, and are never ready. NoImage: the image cannot be pulled (ImagePullBackOff).
	NeverReady *bool `json:"neverReady,omitempty"`
	NoImage    *bool `json:"noImage,omitempty"`
}

// Registry models where images come from. In the zero value they are there at once.
type Registry struct {
	// Bandwidth that all pulls from the registry share, in bytes per second. 0: no limit.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// NodeBandwidth is that of each node whose pool names none. 0: no limit. Pulls of one node share it.
	NodeBandwidth int64 `json:"nodeBandwidth,omitempty"`
	// Requests is how many pulls may begin per second; others wait in order. 0: no limit.
	Requests float64 `json:"requests,omitempty"`
	// Sizes of images in bytes, Size of those that are not listed.
	Sizes map[string]int64 `json:"sizes,omitempty"`
	Size  int64            `json:"size,omitempty"`
	// PeerToPeer: once a node of the same zone has an image, others of that zone get it from their peers, at the bandwidth of
	// the node and without the registry. A pull stays with the source that it began with.
	PeerToPeer bool `json:"peerToPeer,omitempty"`
	// Latency of each pull before the first byte.
	Latency Distribution `json:"latency,omitzero"`
	// FailedPulls is the share of pulls that fail at their end; the kubelet tries again after 10 s, doubling to 5 min.
	FailedPulls float64 `json:"failedPulls,omitempty"`
}
