package objects

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SetDefaults fills in what the API server of Kubernetes v1.37 fills into a pod template that lacks it. Without it, a manifest
// from a file would differ from every stored revision, and seem to restart every pod. A template gets less than a pod: no
// requests from limits, no enableServiceLinks and, since v1.28, no ports of the host.
func SetDefaults(template *corev1.PodTemplateSpec) {
	spec := &template.Spec
	spec.DNSPolicy = cmp.Or(spec.DNSPolicy, corev1.DNSClusterFirst)
	spec.RestartPolicy = cmp.Or(spec.RestartPolicy, corev1.RestartPolicyAlways)
	spec.SchedulerName = cmp.Or(spec.SchedulerName, corev1.DefaultSchedulerName)
	setDefault(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	setDefault(&spec.SecurityContext, corev1.PodSecurityContext{})
	// The two fields are one: the old name is kept for old clients.
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for i := range spec.Volumes {
		setVolumeDefaults(&spec.Volumes[i])
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			setContainerDefaults(&containers[i])
		}
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setContainerDefaults(c *corev1.Container) {
	c.ImagePullPolicy = cmp.Or(c.ImagePullPolicy, pullPolicy(c.Image))
	c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		c.Ports[i].Protocol = cmp.Or(c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			setFieldRefDefaults(from.FieldRef)
			if from.FileKeyRef != nil {
				setDefault(&from.FileKeyRef.Optional, false)
			}
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		setProbeDefaults(probe)
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				setHTTPGetDefaults(handler.HTTPGet)
			}
		}
	}
}

// pullPolicy is Always for an image whose tag is latest, and for one that has neither a tag nor a digest, which means the same.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, isDigest := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:] // the registry may have a port
	_, tag, isTag := strings.Cut(name, ":")
	if tag == "latest" || !isTag && !isDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func setProbeDefaults(p *corev1.Probe) {
	if p == nil {
		return
	}
	p.TimeoutSeconds = cmp.Or(p.TimeoutSeconds, 1)
	p.PeriodSeconds = cmp.Or(p.PeriodSeconds, 10)
	p.SuccessThreshold = cmp.Or(p.SuccessThreshold, 1)
	p.FailureThreshold = cmp.Or(p.FailureThreshold, 3)
	setHTTPGetDefaults(p.HTTPGet)
	if p.GRPC != nil {
		setDefault(&p.GRPC.Service, "")
	}
}

func setHTTPGetDefaults(get *corev1.HTTPGetAction) {
	if get != nil {
		get.Path = cmp.Or(get.Path, "/")
		get.Scheme = cmp.Or(get.Scheme, corev1.URISchemeHTTP)
	}
}

func setFieldRefDefaults(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		ref.APIVersion = cmp.Or(ref.APIVersion, "v1")
	}
}

// setVolumeDefaults leaves out RBD, ScaleIO and Azure disks, whose drivers Kubernetes has dropped.
func setVolumeDefaults(v *corev1.Volume) {
	source := &v.VolumeSource
	if *source == (corev1.VolumeSource{}) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if s := source.Secret; s != nil {
		setDefault(&s.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if s := source.ConfigMap; s != nil {
		setDefault(&s.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if s := source.HostPath; s != nil {
		setDefault(&s.Type, corev1.HostPathUnset)
	}
	if s := source.ISCSI; s != nil {
		s.ISCSIInterface = cmp.Or(s.ISCSIInterface, "default")
	}
	if s := source.Image; s != nil {
		s.PullPolicy = cmp.Or(s.PullPolicy, pullPolicy(s.Reference))
	}
	if s := source.DownwardAPI; s != nil {
		setDefault(&s.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		setItemDefaults(s.Items)
	}
	if s := source.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		setDefault(&s.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
	if s := source.Projected; s != nil {
		setDefault(&s.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for i := range s.Sources {
			if token := s.Sources[i].ServiceAccountToken; token != nil {
				setDefault(&token.ExpirationSeconds, 60*60)
			}
			if api := s.Sources[i].DownwardAPI; api != nil {
				setItemDefaults(api.Items)
			}
		}
	}
}

func setItemDefaults(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		setFieldRefDefaults(items[i].FieldRef)
	}
}
