package inplace

import "strings"

// imageName is an image reference in which the parts that may be omitted are filled in.
type imageName struct {
	repository  string // with the registry
	tag, digest string // the tag counts only without a digest
}

// parseImage reads an image reference as container runtimes do. The default registry is docker.io, where a name without a slash
// is in library/. Without tag and digest the tag is latest. An invalid reference gives a name that equals only itself.
func parseImage(image string) imageName {
	var name imageName
	name.repository, name.digest, _ = strings.Cut(image, "@")
	// A colon before the last slash belongs to the port of the registry.
	if colon := strings.LastIndexByte(name.repository, ':'); colon > strings.LastIndexByte(name.repository, '/') {
		name.repository, name.tag = name.repository[:colon], name.repository[colon+1:]
	}
	registry, path, found := strings.Cut(name.repository, "/")
	if !found || !strings.ContainsAny(registry, ".:") && registry != "localhost" {
		registry, path = "docker.io", name.repository
	}
	if registry == "index.docker.io" {
		registry = "docker.io"
	}
	if registry == "docker.io" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	name.repository = registry + "/" + path
	switch {
	case name.digest != "":
		name.tag = ""
	case name.tag == "":
		name.tag = "latest"
	}
	return name
}

// pullsLatest reports whether an image is named by the tag latest, or by no tag and no digest, which means the same.
func pullsLatest(image string) bool {
	name, _, pinned := strings.Cut(image, "@")
	colon := strings.LastIndexByte(name, ':')
	if colon < strings.LastIndexByte(name, '/') {
		colon = -1
	}
	return colon < 0 && !pinned || colon >= 0 && name[colon+1:] == "latest"
}

// sameImage reports whether a container whose status has image and imageID runs the wanted image. The status may name the image
// by a tag where the wanted name has a digest; then the ID is compared, which has the digest.
func sameImage(wanted, image, imageID string) bool {
	name := parseImage(wanted)
	if image != "" && name == parseImage(image) {
		return true
	}
	return name.digest != "" && name.digest == parseImage(imageID).digest
}
