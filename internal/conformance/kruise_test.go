package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// TestConformanceKruiseModel compares the model of OpenKruise's controller with what was recorded.
func TestConformanceKruiseModel(t *testing.T) { testModel(t, peer.Kruise) }

// TestConformanceKruiseDecisions compares whole decisions with those of OpenKruise's controller.
func TestConformanceKruiseDecisions(t *testing.T) { testDecisions(t, peer.Kruise) }
