package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc, whatever the kernel's own is.
const tick = 10 * time.Millisecond

// parseUsage reads the files stat and status of a process.
func parseUsage(stat, status string) (usage, error) {
	// The name of the program is in brackets, and may hold anything. What follows begins with the third field.
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return usage{}, fmt.Errorf("stat: %q has no times", stat)
	}
	var u usage
	for _, field := range fields[11:13] { // in user mode, and in the kernel
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("stat: %w", err)
		}
		u.cpu += time.Duration(n) * tick
	}
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("status: VmHWM: %w", err)
		}
		u.memory = n << 10
		return u, nil
	}
	return usage{}, fmt.Errorf("status: there is no VmHWM")
}
