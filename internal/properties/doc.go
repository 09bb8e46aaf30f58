// Package properties has only tests. Its properties and fuzz targets state what must hold of plans and of whole rollouts whatever
// the input, and draw inputs at random. Each bug that is planted in a plan here must be rejected by a property.
// docs/what-is-proved.md lists which tests prove which rule.
package properties
