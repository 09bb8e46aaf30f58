package plan

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
)

// ReadMemory reads the memory of an earlier plan, from the output of -o json or by itself.
func ReadMemory(file string) (rollout.Memory, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return rollout.Memory{}, objects.Reading(file, err)
	}
	var document struct {
		Memory *json.RawMessage `json:"memory"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return rollout.Memory{}, fmt.Errorf("%s: %w; it is what plan -o json printed", file, err)
	}
	if document.Memory != nil {
		data = *document.Memory
	}
	var memory rollout.Memory
	if err := json.Unmarshal(data, &memory); err != nil {
		return rollout.Memory{}, fmt.Errorf("%s: %w", file, err)
	}
	if memory.Version != rollout.MemoryVersion {
		return rollout.Memory{}, fmt.Errorf("%s: there is no memory of version %d in it; it is what plan -o json printed",
			file, rollout.MemoryVersion)
	}
	return memory, nil
}
