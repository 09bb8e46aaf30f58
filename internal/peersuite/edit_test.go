package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const written = `package daemon

import (
	"k8s.io/kubernetes/pkg/controller/daemon/metrics"
	helpers "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// Controller has a manage that is not the method.
type Controller struct { manage func() }

// manage is replaced. A comment may say manage().
func (c *Controller) manage() { c.manage(); helpers.Do("manage", metrics.X) }

func other(c *Controller) { c.manage() }
`

const edited = `package daemon

import (
	"k8s.io/kubernetes/pkg/controller/daemon/metrics"
	helpers "peersuite/daemon/util"
)

// Controller has a manage that is not the method.
type Controller struct { manage func() 
planned plans
}

// manage is replaced. A comment may say manage().
func (c *Controller) replaced_manage() { c.manage(); helpers.Do("manage", metrics.X) }

func other(c *Controller) { c.manage() }
`

func TestEdits(t *testing.T) {
	e := edits{
		replaced: []string{"manage"}, imports: map[string]string{upstream + "/util": module + "/daemon/util"},
		of: "Controller", field: "\nplanned plans",
	}
	got, found, err := e.apply("daemon.go", []byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(edited, string(got)); diff != "" {
		t.Errorf("only declarations, imports and the struct are changed, callers call the new method (-want +got):\n%s", diff)
	}
	if err := e.complete(found); err != nil {
		t.Error(err)
	}
	if err := e.complete(found[:1]); err == nil {
		t.Error("what is to be replaced and is not there is an error")
	}
	if err := e.complete(append(found, "manage")); err == nil {
		t.Error("two of one name are an error")
	}
	if _, _, err := e.apply("daemon.go", []byte("package")); err == nil {
		t.Error("what cannot be parsed is an error")
	}
}
