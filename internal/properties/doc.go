// Package properties has only tests: what must hold of plans and of whole rollouts whatever the input, drawn at random, as properties
// and as fuzz targets; and bugs planted in plans, each of which a property must reject. What is proved of which rule stands in
// docs/what-is-proved.md.
package properties
