package simulate_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

var recorderRecords = []simulate.Record{
	{Kind: simulate.NodeChanged, Node: "x", Zone: "a", To: simulate.NodeOld},
	{At: 1500 * time.Millisecond, Step: 1, Kind: simulate.PodDeleted, Node: "x", Zone: "a", Pod: "agent-x", Revision: "6b9", Detail: "Outdated"},
	{At: 2*time.Hour + 1, Step: 2, Kind: simulate.NodeChanged, Node: "x", Zone: "a", From: simulate.NodeOld, To: simulate.NodeTerminating},
	{At: 2*time.Hour + 100, Step: 2, Kind: simulate.ImagePulled, Node: "x", Bytes: 300, Took: 20 * time.Second, Detail: "registry"},
	{At: 3 * time.Hour, Step: 3, Kind: simulate.EventHappened, Detail: `drain "x", then y`},
	{At: 3 * time.Hour, Step: 4, Kind: simulate.BudgetUsed, Detail: "maxSurge", Count: 2, Limit: 5},
}

func TestCSV(t *testing.T) {
	var text strings.Builder
	w := simulate.NewCSVWriter(&text)
	for _, r := range recorderRecords {
		w.Record(r)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `seconds,step,kind,node,zone,pod,revision,from,to,bytes,took,detail,count,limit
0,0,NodeChanged,x,a,,,,old,,,,,
1.5,1,PodDeleted,x,a,agent-x,6b9,,,,,Outdated,,
7200.000000001,2,NodeChanged,x,a,,,old,terminating,,,,,
7200.0000001,2,ImagePulled,x,,,,,,300,20,registry,,
10800,3,EventHappened,,,,,,,,,"drain ""x"", then y",,
10800,4,BudgetUsed,,,,,,,,,maxSurge,2,5
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Errorf("%d rows can be read, %v", len(rows), err)
	}
}

func TestCSVOfNothingHasColumns(t *testing.T) {
	var text strings.Builder
	w := simulate.NewCSVWriter(&text)
	if err := errors.Join(w.Flush(), w.Flush()); err != nil || strings.Count(text.String(), "\n") != 1 {
		t.Errorf("%v, %q", err, text.String())
	}
}

func TestCSVOfLongestTimes(t *testing.T) {
	var text strings.Builder
	w := simulate.NewCSVWriter(&text)
	w.Record(simulate.Record{At: math.MaxInt64, Took: -math.MaxInt64})
	if err := w.Flush(); err != nil || !strings.Contains(text.String(), "\n9223372036.854775807,") ||
		!strings.Contains(text.String(), ",-9223372036.854775807,") {
		t.Errorf("%v, %q", err, text.String())
	}
}

func TestJSONLines(t *testing.T) {
	var text bytes.Buffer
	w := simulate.NewJSONLinesWriter(&text)
	for _, r := range recorderRecords {
		w.Record(r)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(text.String(), "\n")
	want := `{"at":7200000000001,"step":2,"kind":"NodeChanged","node":"x","zone":"a","from":"old","to":"terminating"}` + "\n"
	if len(lines) != 7 || lines[2] != want {
		t.Errorf("%d lines, of which the third is\n%swant\n%s", len(lines), lines[2], want)
	}
	var got []simulate.Record
	for decoder := json.NewDecoder(&text); ; {
		var r simulate.Record
		if err := decoder.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(recorderRecords, got); diff != "" {
		t.Errorf("read back\n-want +got\n%s", diff)
	}
}

// recorderDisk fails at its first write, or at the first one after some bytes.
type recorderDisk struct{ left, writes int }

var errRecorderDisk = errors.New("no space left")

func (d *recorderDisk) Write(p []byte) (int, error) {
	d.writes++
	if d.left -= len(p); d.left < 0 {
		return 0, errRecorderDisk
	}
	return len(p), nil
}

func TestWritersReportTheFirstError(t *testing.T) {
	for name, make := range map[string]func(io.Writer) *simulate.Writer{
		"CSV": simulate.NewCSVWriter, "JSON Lines": simulate.NewJSONLinesWriter,
	} {
		for _, left := range []int{0, 100, 5000} {
			disk := &recorderDisk{left: left}
			w := make(disk)
			for range 1000 {
				w.Record(recorderRecords[1])
			}
			if err := w.Flush(); !errors.Is(err, errRecorderDisk) {
				t.Errorf("%s with room for %d: %v", name, left, err)
			}
			writes := disk.writes
			w.Record(recorderRecords[1])
			if err := w.Flush(); !errors.Is(err, errRecorderDisk) || disk.writes != writes {
				t.Errorf("%s with room for %d goes on after it: %v", name, left, err)
			}
		}
	}
	var zero simulate.Writer
	zero.Record(recorderRecords[0])
	if err := zero.Flush(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	if err := (simulate.Series{Points: make([]simulate.Point, 1)}).WriteCSV(&recorderDisk{}); !errors.Is(err, errRecorderDisk) {
		t.Errorf("series: %v", err)
	}
}

func TestSeriesCSV(t *testing.T) {
	var recorder simulate.Recorder
	for _, r := range recorderRecords {
		recorder.Record(r)
	}
	var text strings.Builder
	if err := recorder.Series().WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	want := `seconds,outside,empty,terminating,pending,pulling,starting,broken,lost,old,surging,new,desired,unavailable
0,0,0,0,0,0,0,0,0,1,0,0,1,0
7200.000000001,0,0,1,0,0,0,0,0,0,0,0,1,1
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
