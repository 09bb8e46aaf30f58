package predownload

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reference is an image name taken apart, with the default registry, its prefix library/ and the default tag filled in, so
// that two spellings of one image are equal.
type reference struct {
	registry, repository string
	version              string // the digest, else the tag
	pinned               bool   // version is a digest
}

const (
	defaultRegistry       = "docker.io"
	defaultRegistryLegacy = "index.docker.io"
	officialPrefix        = "library/"
	defaultTag            = "latest"
)

// parse takes any text apart and allocates nothing. A text that is no image name still gives a reference, which equals that
// of no image. A tag beside a digest is dropped, because runtimes pull by the digest and do not learn the tag.
func parse(image string) reference {
	name, digest, pinned := strings.Cut(image, "@")
	version := defaultTag
	// A colon before the last slash belongs to the registry's port: reg:5000/app has no tag.
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name, version = name[:colon], name[colon+1:]
	}
	if pinned {
		version = digest
	}
	registry, repository, found := strings.Cut(name, "/")
	if !found || !isRegistry(registry) {
		registry, repository = defaultRegistry, name
	}
	if registry == defaultRegistryLegacy {
		registry = defaultRegistry
	}
	if registry == defaultRegistry {
		if rest, ok := strings.CutPrefix(repository, officialPrefix); ok && !strings.Contains(rest, "/") {
			repository = rest
		}
	}
	return reference{registry: registry, repository: repository, version: version, pinned: pinned}
}

// compare orders references totally.
func (r reference) compare(other reference) int {
	order := cmp.Or(cmp.Compare(r.registry, other.registry), cmp.Compare(r.repository, other.repository),
		cmp.Compare(r.version, other.version))
	switch {
	case order != 0 || r.pinned == other.pinned:
		return order
	case r.pinned:
		return 1
	default:
		return -1
	}
}

// isRegistry reports whether the first part of an image name is a registry, and not the first part of a repository in the default
// registry. The rule is that of container runtimes.
func isRegistry(part string) bool {
	return part == "localhost" || strings.ContainsAny(part, ".:") || part != strings.ToLower(part)
}

// wanted is an image that is looked for among many: a node reports up to 50 images, each with several names.
type wanted struct {
	reference
	// shortest is the length of the shortest spelling. Bit n of longer is set if a spelling has n bytes more. A text of any
	// other length need not be read, and reading is most of the work. They are not used for digests, because any tag may stand
	// beside a digest.
	shortest int
	longer   uint32
}

func want(image string) wanted {
	w := wanted{reference: parse(image), longer: 1}
	if w.pinned {
		return w
	}
	w.shortest = len(w.repository)
	if w.registry != defaultRegistry {
		w.shortest += len(w.registry) + len("/")
	} else {
		if !strings.Contains(w.repository, "/") {
			w.longer |= w.longer << len(officialPrefix)
		}
		w.longer |= w.longer<<len(defaultRegistry+"/") | w.longer<<len(defaultRegistryLegacy+"/")
	}
	if w.version == defaultTag {
		w.longer |= w.longer << len(":"+defaultTag)
	} else {
		w.shortest += len(":") + len(w.version)
	}
	return w
}

// names reports whether image is a spelling of w.
func (w *wanted) names(image string) bool {
	more := len(image) - w.shortest
	if more < 0 || !w.pinned && w.longer>>more&1 == 0 {
		return false
	}
	if w.version != defaultTag && !strings.HasSuffix(image, w.version) {
		return false
	}
	return parse(image) == w.reference
}

// among reports whether any of images is w.
func (w *wanted) among(images []string) bool {
	return slices.ContainsFunc(images, w.names)
}

// in reports whether any image of a node is w.
func (w *wanted) in(present []corev1.ContainerImage) bool {
	for i := range present {
		if w.among(present[i].Names) {
			return true
		}
	}
	return false
}
