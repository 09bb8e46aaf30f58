package recount_test

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// read is what a reader of the page sees: the lines above the table, the table, and the nodes that were down longest.
type read struct {
	heading string
	// verdicts are the lines above the table by what they are about, without the lines below them.
	verdicts []verdict
	runs     string
	columns  []string
	rows     [][]string // the name of the row, then its cells
	// outages are the tables of nodes that were down longest, by the heading of each.
	outages [][][]string
	events  [][]string
}

type verdict struct {
	about, text string
	causes      []string
}

// readPage reads report.html.
func readPage(in io.Reader) (*read, error) {
	document, err := html.Parse(in)
	if err != nil {
		return nil, err
	}
	p := &read{}
	for n := range document.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "h1":
			p.heading = text(n)
		case n.Data == "ul" && attribute(n, "class") == "verdict":
			p.verdicts = verdicts(n)
		case n.Data == "p" && strings.Contains(text(n), "was simulated, in virtual time."):
			p.runs = text(n)
		case n.Data == "p" && text(n) == "No node was down.":
			p.outages = append(p.outages, nil)
		case n.Data == "table":
			rows := tableRows(n)
			switch {
			case strings.Contains(attribute(n, "class"), "outages"):
				p.outages = append(p.outages, rows[1:])
			case strings.Contains(attribute(n, "class"), "words"):
				p.events = rows[1:]
			default:
				p.columns, p.rows = rows[0][1:], rows[1:]
			}
		}
	}
	if len(p.verdicts) == 0 || len(p.rows) == 0 {
		return nil, fmt.Errorf("the page has no lines above the table, or no table")
	}
	return p, nil
}

// causesOf are the causes of the spec with that line above the table: its own, and those of the others that are the same with it.
func (p *read) causesOf(label string, line int) []string {
	list := slices.Clone(p.verdicts[line].causes)
	for i := range p.verdicts {
		for _, cause := range p.verdicts[i].causes {
			_, others, _ := strings.Cut(strings.TrimSuffix(cause, ")"), " (the same with ")
			if i != line && slices.Contains(strings.Split(others, ", "), label) {
				list = append(list, cause)
			}
		}
	}
	return list
}

func verdicts(list *html.Node) []verdict {
	var found []verdict
	for item := range list.ChildNodes() {
		if item.Type != html.ElementNode {
			continue
		}
		v := verdict{}
		for n := range item.ChildNodes() {
			switch n.Data {
			case "strong":
				v.about = strings.TrimSuffix(text(n), ":")
			case "ul":
				for cause := range n.ChildNodes() {
					v.causes = append(v.causes, text(cause))
				}
			default:
				v.text += text(n)
			}
		}
		v.text = strings.TrimSpace(v.text)
		found = append(found, v)
	}
	return found
}

func tableRows(table *html.Node) [][]string {
	var rows [][]string
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		var cells []string
		for cell := range n.ChildNodes() {
			if cell.Type == html.ElementNode {
				cells = append(cells, text(cell))
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// text is all text in a node.
func text(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for child := range n.ChildNodes() {
		b.WriteString(text(child))
	}
	return b.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
