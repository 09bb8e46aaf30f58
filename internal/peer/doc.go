// Peer takes the project to another version of Kubernetes, and says what differs there:
//
//	go run ./internal/peer                    # which version is the peer now, and which are newer
//	go run ./internal/peer -version v1.38.0   # try it in a copy (build/peer), and say what differs
//	go run ./internal/peer -version v1.38.0 -write   # in the checkout itself
//
// All modules of the project are at one version of k8s.io: the library, the command, the examples, the programs that a test
// cluster is made of, and the controller that plans are compared with. Peer sets it everywhere, tidies the modules, and then
// looks: what has changed in the source of the DaemonSet controller, in defaults and in the fields of objects; whether every
// module builds; which tests of the library fail; and what the controller's own tests
// and the differential say.
//
// It judges nothing. CONTRIBUTING.md says what to do about each difference.
package main
