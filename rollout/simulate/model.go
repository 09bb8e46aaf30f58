package simulate

// Model says how long things take in the cluster, and what goes wrong by itself. In the zero value everything happens at
// once, and nothing goes wrong.
type Model struct {
	// Schedule is the time from the creation of a pod to its binding.
	Schedule Distribution `json:"schedule,omitzero"`
	// Kubelets are rules for pods. Where several set a field for one pod, the last of them counts.
	Kubelets []Kubelet `json:"kubelets,omitempty"`
	// Registry is where images are pulled from.
	Registry Registry `json:"registry,omitzero"`
	// Hooks is the latency of the controllers of lifecycle hooks, which take handlers off pods that are to be deleted or
	// updated, and put them on new and updated ones. It is drawn for each pod and each time.
	Hooks Distribution `json:"hooks,omitzero"`
	// StubbornHooks is the share of pods whose hooks no controller ever answers. Between 0 and 1.
	StubbornHooks float64 `json:"stubbornHooks,omitempty"`
}

// Kubelet is a rule about pods on nodes. A field that it leaves unset is as earlier rules say.
type Kubelet struct {
	// Pool, Nodes, Image and Revision say which pods the rule is about: those on nodes of the pool and with all the labels, of
	// which a container has the image, and at the revision of this hash. Each that is empty means any.
	Pool     string            `json:"pool,omitempty"`
	Nodes    map[string]string `json:"nodes,omitempty"`
	Image    string            `json:"image,omitempty"`
	Revision string            `json:"revision,omitempty"`
	// Share is the share of these pods that the rule is about, drawn for each pod. 0: all.
	Share float64 `json:"share,omitempty"`
	// NodeShare is the share of nodes that the rule is about, drawn for each node by its name: all pods meet it on the same
	// nodes, one after the other and whatever spec made them. 0: all.
	NodeShare float64 `json:"nodeShare,omitempty"`

	// Create is the time that it takes to make a container once its image is there. Start is the time from then until the
	// container runs, and Ready from then until it is ready. Default (unset): no time.
	Create Distribution `json:"create,omitzero"`
	Start  Distribution `json:"start,omitzero"`
	Ready  Distribution `json:"ready,omitzero"`
	// Stop is how long a pod takes to terminate. It is cut off at the pod's grace period. Default (unset): no time.
	Stop Distribution `json:"stop,omitzero"`
	// Restart is the time until a container that is to run another image is stopped, Resize the time until a container has
	// other resources. Default (unset): no time.
	Restart Distribution `json:"restart,omitzero"`
	Resize  Distribution `json:"resize,omitzero"`
	// Crash is the time from the start of a container to its crash, and Crashes how many times that happens to a pod. The
	// kubelet starts the container again after 10 s, doubling to 5 min. Crash unset: it never crashes. Crashes 0: without end.
	Crash   Distribution `json:"crash,omitzero"`
	Crashes int          `json:"crashes,omitempty"`
	// Fail is the time from the start of the containers to the end of the pod in phase Failed. Unset: it does not fail.
	Fail Distribution `json:"fail,omitzero"`
	// NeverReady means that the containers run but never become ready, NoImage that the image cannot be pulled
	// (ImagePullBackOff). Nil: as earlier rules say, else false.
	NeverReady *bool `json:"neverReady,omitempty"`
	NoImage    *bool `json:"noImage,omitempty"`
}

// Registry models where images come from. In the zero value every image is there at once.
type Registry struct {
	// Bandwidth is what all pulls from the registry share, in bytes per second. 0: no limit.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// NodeBandwidth is that of each node whose pool names none, in bytes per second. The pulls of one node share it. 0: no
	// limit.
	NodeBandwidth int64 `json:"nodeBandwidth,omitempty"`
	// Requests is how many pulls may begin per second. The others wait in order. 0: no limit.
	Requests float64 `json:"requests,omitempty"`
	// Sizes has the sizes of images in bytes. Size is the size of those that are not listed.
	Sizes map[string]int64 `json:"sizes,omitempty"`
	Size  int64            `json:"size,omitempty"`
	// PeerToPeer means that once a node of a zone has an image, the other nodes of that zone get it from their peers, at the
	// bandwidth of the node that pulls and without the registry. A pull stays with the source that it began with.
	PeerToPeer bool `json:"peerToPeer,omitempty"`
	// Latency is the time of each pull before its first byte comes. Default (unset): none.
	Latency Distribution `json:"latency,omitzero"`
	// FailedPulls is the share of pulls that fail at their end; the kubelet tries again after 10 s, doubling to 5 min.
	FailedPulls float64 `json:"failedPulls,omitempty"`
}
