// Command man writes the manual pages of kubectl daemonplan into a folder. They are of the time that SOURCE_DATE_EPOCH says,
// or of now. Releases are made with it.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "man: want one argument, a folder that is there")
		os.Exit(2)
	}
	root := cli.Root()
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "daemonplan " + root.Version, Manual: "kubectl daemonplan"}
	if err := doc.GenManTree(root, &header, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "man: %v\n", err)
		os.Exit(1)
	}
}
