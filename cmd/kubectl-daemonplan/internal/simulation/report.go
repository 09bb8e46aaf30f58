package simulation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// writeReport writes the page and the pictures into the directory.
func writeReport(dir, command string, e *experiment, outcomes []*outcome) error {
	page := page{Command: command, experiment: e, Outcomes: outcomes}
	for _, c := range charts(e, outcomes) {
		var at area
		document, err := writePicture(dir, c.File, pictureWidth, chartHeight, func(canvas draw.Canvas) { at = c.draw(canvas) })
		if err != nil {
			return err
		}
		var narrow area
		phone, err := svg(phoneWidth, phoneHeight, func(canvas draw.Canvas) { narrow = c.draw(canvas) })
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		page.Charts = append(page.Charts, pageChart{
			chart: c, SVG: themed(inline(document, c.Title)), Area: at, Phone: themed(inline(phone, c.Title)), PhoneArea: narrow,
		})
	}
	h := newHeatmap(outcomes)
	width, height := h.size()
	document, err := writePicture(dir, "heatmap", width, height, h.draw)
	if err != nil {
		return err
	}
	page.Heatmap, page.Still = h, inline(document, "Nodes over time, by zone")
	text, err := page.render()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.html"), text, 0o644)
}

// writePicture writes the picture as SVG and PNG, and returns the SVG.
func writePicture(dir, name string, width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	document, err := svg(width, height, paint)
	if err != nil {
		return nil, fmt.Errorf("%s.svg: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".svg"), document, 0o644); err != nil {
		return nil, err
	}
	bitmap, err := png(width, height, paint)
	if err != nil {
		return nil, fmt.Errorf("%s.png: %w", name, err)
	}
	return document, os.WriteFile(filepath.Join(dir, name+".png"), bitmap, 0o644)
}

// histories are the files to which the records of the first run of each candidate are written.
type histories struct {
	files   []*os.File
	writers [][]*simulate.Writer // by candidate
}

// open creates a file for each candidate.
func (h *histories) open(outcomes int, name func(candidate int) string) error {
	if h.writers == nil {
		h.writers = make([][]*simulate.Writer, outcomes)
	}
	for i := range outcomes {
		file, err := os.Create(name(i))
		if err != nil {
			return objects.Reading(name(i), err)
		}
		h.files = append(h.files, file)
		if strings.EqualFold(filepath.Ext(name(i)), ".csv") {
			h.writers[i] = append(h.writers[i], simulate.NewCSVWriter(file))
		} else {
			h.writers[i] = append(h.writers[i], simulate.NewJSONLinesWriter(file))
		}
	}
	return nil
}

// record is the function that takes the records of a candidate; nil: there is no file.
func (h *histories) record(candidate int) func(simulate.Record) {
	if h.writers == nil {
		return nil
	}
	return func(r simulate.Record) {
		for _, w := range h.writers[candidate] {
			w.Record(r)
		}
	}
}

// close writes what is buffered, and returns what could not be written.
func (h *histories) close() error {
	var errs []error
	for _, writers := range h.writers {
		for _, w := range writers {
			errs = append(errs, w.Flush())
		}
	}
	for _, file := range h.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// historyNames are the files of --history: one for each candidate, with the label in the name if there are several.
func historyNames(file string, candidates []*candidate) func(int) string {
	return func(i int) string {
		if len(candidates) == 1 {
			return file
		}
		extension := filepath.Ext(file)
		return strings.TrimSuffix(file, extension) + "-" + fileName(candidates, i) + extension
	}
}

// fileName is the label in a form that can be part of a file's name, different for each candidate.
func fileName(candidates []*candidate, i int) string {
	plain := func(label string) string {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
				return r
			}
			return '_'
		}, label)
	}
	name := plain(candidates[i].Label)
	for j, other := range candidates {
		if j < i && strings.EqualFold(plain(other.Label), name) {
			return fmt.Sprintf("%s_%d", name, i+1)
		}
	}
	return name
}
