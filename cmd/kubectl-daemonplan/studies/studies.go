// Package studies holds the studies that are ready made. Each is a folder with a README that tells what comes out, the files that
// the study needs, and study.txt with the flags of the command that runs it.
package studies

import "embed"

// FS has a folder for each study.
//
//go:embed */*.yaml */*.txt */README.md
var FS embed.FS
