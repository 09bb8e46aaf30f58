package objects

import "testing"

// kubectl indents the data of revisions, too. What is compared with them byte by byte is as the API server stores it.
func TestRevisionsAreAsStored(t *testing.T) {
	in := New()
	err := in.Add(File{Name: "dump.json", Text: []byte(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
    "metadata": {"name": "agent-1"},
    "data": {
        "spec": {
            "template": {"$patch": "replace", "metadata": {"annotations": {"note": "a \u003c b"}}}
        }
    }}`)})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"note":"a \u003c b"}}}}}`
	if got := string(in.Revisions[0].Data.Raw); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
