package transcript_test

import (
	"flag"
	"testing"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata; read the diff before you commit it")

func TestTranscripts(t *testing.T) {
	surging := kit.Spec("node-exporter", kit.MaxSurge("2"))
	paused := kit.Spec("node-exporter", kit.MaxSurge("2"), kit.Image("node-exporter:v2"), kit.Paused())
	transcript.RunDir(t, "testdata", *update, transcript.WithSpec("surging", surging), transcript.WithSpec("paused", paused))
}
