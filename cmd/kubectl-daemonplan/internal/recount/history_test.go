package recount_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// row is a line of history.csv.
type row struct {
	at, took                                   time.Duration
	step                                       int
	kind, node, zone, revision, from, to, what string
	bytes                                      int64
	count, limit                               int
}

// readHistory reads a history.csv.
func readHistory(file string) ([]row, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	rows, err := parseHistory(opened)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}

func parseHistory(in io.Reader) ([]row, error) {
	lines, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	column := make(map[string]int)
	for i, name := range lines[0] {
		column[name] = i
	}
	for name := range strings.FieldsSeq("seconds step kind node zone revision from to bytes took detail count limit") {
		if _, there := column[name]; !there {
			return nil, fmt.Errorf("it has no column %s", name)
		}
	}
	var rows []row
	for i, line := range lines[1:] {
		cell := func(name string) string { return line[column[name]] }
		number := func(name string) int64 {
			if cell(name) == "" {
				return 0
			}
			n, wrong := strconv.ParseInt(cell(name), 10, 64)
			if wrong != nil {
				err = fmt.Errorf("line %d: %s: %w", i+2, name, wrong)
			}
			return n
		}
		at, wrong := exactly(cell("seconds"))
		if wrong != nil {
			return nil, fmt.Errorf("line %d: seconds: %w", i+2, wrong)
		}
		took, wrong := exactly(cell("took"))
		if wrong != nil && cell("took") != "" {
			return nil, fmt.Errorf("line %d: took: %w", i+2, wrong)
		}
		rows = append(rows, row{
			at: at, took: took, step: int(number("step")), kind: cell("kind"), node: cell("node"), zone: cell("zone"),
			revision: cell("revision"), from: cell("from"), to: cell("to"), what: cell("detail"), bytes: number("bytes"),
			count: int(number("count")), limit: int(number("limit")),
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// exactly reads decimal seconds without the detour of a float.
func exactly(seconds string) (time.Duration, error) {
	whole, fraction, _ := strings.Cut(seconds, ".")
	n, err := strconv.ParseInt(whole+(fraction + "000000000")[:9], 10, 64)
	return time.Duration(n), err
}
