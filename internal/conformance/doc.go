// Package conformance gives the tests of other packages the recorded behaviour of the daemon controllers, case by case.
//
// testdata/README.md says what is recorded, by which program and with which fields. A test reads one file of it:
//
//	for name, line := range conformance.Lines(t, "kubernetes/placement.jsonl") {
//		var c struct {
//			Template  corev1.PodTemplateSpec
//			Node      corev1.Node
//			ShouldRun bool
//		}
//		if err := json.Unmarshal(line, &c); err != nil {
//			t.Fatalf("%s: %v", name, err)
//		}
//		// compare
//	}
//
// The recordings are compiled into the test binary, so any package's tests find them. To run the same tests on other
// recordings, name a directory of the same layout in the environment variable DAEMONPLAN_CONFORMANCE; files may be
// plain (.jsonl) or compressed (.jsonl.gz). Such a directory need not hold every file: a test whose file it lacks is
// skipped.
//
// This package is test support. Unlike the library it reads files and the environment, and only tests may import it.
package conformance
