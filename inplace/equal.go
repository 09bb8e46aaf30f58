package inplace

import "k8s.io/apimachinery/pkg/api/equality"

// Equal reports whether u and other have the same changes and the same obstacles. Two nil updates are equal; a nil one equals no
// other.
func (u *Update) Equal(other *Update) bool {
	if u == nil || other == nil {
		return u == other
	}
	same := equality.Semantic.DeepEqual
	return same(u.Obstacles, other.Obstacles) && same(u.Images, other.Images) && same(u.Resources, other.Resources) &&
		same(u.Tolerations, other.Tolerations) &&
		same(u.Labels, other.Labels) && same(u.Annotations, other.Annotations) && same(u.Env, other.Env)
}
