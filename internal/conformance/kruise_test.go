package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// TestConformanceKruiseModel holds the model of OpenKruise's controller to what was recorded.
func TestConformanceKruiseModel(t *testing.T) { testModel(t, peer.Kruise) }

// TestConformanceKruiseDecisions compares whole decisions with those of OpenKruise's controller.
func TestConformanceKruiseDecisions(t *testing.T) { testDecisions(t, peer.Kruise) }
