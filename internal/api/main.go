// Command api writes what the library promises to its users, one file for each public package, into the folder api: a line for
// each exported name, field and method. A test fails while the folder says something else, so that nobody changes the promise
// without seeing it.
//
//	go run ./internal/api
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// write writes the folder api of the module in root anew.
func write(root string) error {
	surfaces, err := surfaces(root)
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "api")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range surfaces {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
