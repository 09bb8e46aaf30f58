package simulate

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// Writer writes records as they come, as lines of text:
//
//	history := simulate.NewCSVWriter(file)
//	scenario.History = history.Record
//	report, err := simulate.Run(scenario)
//	err = errors.Join(err, history.Flush())
//
// After an error nothing more is written, and Flush returns the error.
type Writer struct {
	write func(Record) error
	flush func() error
	err   error
}

// recordColumns of CSV.
var recordColumns = []string{
	"seconds", "step", "kind", "node", "zone", "pod", "revision", "from", "to", "bytes", "took", "detail",
	"count", "limit",
}

// NewCSVWriter returns a Writer of comma-separated values (RFC 4180, except that lines end in \n): a line of column names, then
// a line for each record. The columns are
//
//	seconds   since the beginning, a decimal fraction as exact as it has to be
//	step      plans made by then
//	kind      of the record, as [RecordKind.String]
//	node      that it is about; empty: none
//	zone      of the node
//	pod       its name
//	revision  hash of the pod's revision, or name of the one that an action is about
//	from, to  states of the node, as [NodeState.String]; empty: it was not there
//	bytes     that came; empty: 0
//	took      seconds that took, as in the first column; empty: 0
//	detail    in words
//	count     number of nodes, calls or restarts; the documentation of the kind says of what
//	limit     how many nodes it may be, or are there; likewise
//
// Count and limit are empty where they are 0, and for kinds of records that have none.
func NewCSVWriter(w io.Writer) *Writer {
	lines := csv.NewWriter(w)
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return lines.Write(recordColumns)
	}
	return &Writer{
		write: func(r Record) error {
			if err := begin(); err != nil {
				return err
			}
			return lines.Write(csvFields(r))
		},
		flush: func() error {
			if err := begin(); err != nil {
				return err
			}
			lines.Flush()
			return lines.Error()
		},
	}
}

// NewJSONLinesWriter returns a Writer of one JSON object a line, with the fields of [Record]. Durations are whole nanoseconds,
// and kinds and states are words. Fields that are empty or 0 are left out, except "at", "step" and "kind". [encoding/json] reads
// the lines back into Records.
func NewJSONLinesWriter(w io.Writer) *Writer {
	encoder := json.NewEncoder(w)
	return &Writer{
		write: func(r Record) error { return encoder.Encode(r) },
		flush: func() error { return nil },
	}
}

// Record writes a record. It may be buffered until Flush.
func (w *Writer) Record(r Record) {
	if w.err == nil && w.write != nil {
		w.err = w.write(r)
	}
}

// Flush writes what is buffered, and returns the first error that occurred since the Writer was made. More records may
// follow.
func (w *Writer) Flush() error {
	if w.err == nil && w.flush != nil {
		w.err = w.flush()
	}
	return w.err
}

func csvFields(r Record) []string {
	return []string{
		seconds(r.At), strconv.Itoa(r.Step), r.Kind.String(), r.Node, r.Zone, r.Pod, r.Revision,
		r.From.String(), r.To.String(), unlessZero(r.Bytes), csvTook(r.Took), r.Detail,
		unlessZero(int64(r.Count)), unlessZero(int64(r.Limit)),
	}
}

func csvTook(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return seconds(d)
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// seconds writes a duration in seconds as an exact decimal, which a float would not be.
func seconds(d time.Duration) string {
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatUint(n/1e9, 10)
	if fraction := n % 1e9; fraction > 0 {
		digits := strconv.FormatUint(1e9+fraction, 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	return text
}

// WriteCSV writes the points as comma-separated values: a line of column names, then a line for each point. The columns are
// the seconds since the beginning, one column for each state by its name, "desired" and "unavailable". The error is that of
// the writer.
func (s Series) WriteCSV(w io.Writer) error {
	lines := csv.NewWriter(w)
	columns := []string{"seconds"}
	for state := NodeState(1); state < nodeStates; state++ {
		columns = append(columns, state.String())
	}
	// An error of Write is kept, and returned by Error.
	_ = lines.Write(append(columns, "desired", "unavailable"))
	for _, p := range s.Points {
		fields := []string{seconds(p.At)}
		for _, n := range p.counts[1:] {
			fields = append(fields, strconv.Itoa(int(n)))
		}
		_ = lines.Write(append(fields, strconv.Itoa(p.Desired()), strconv.Itoa(p.Unavailable())))
	}
	lines.Flush()
	return lines.Error()
}
