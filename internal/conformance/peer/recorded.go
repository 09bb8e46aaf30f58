package peer

import "slices"

// Expectation is what the real controller did, as it is recorded.
type Expectation struct {
	Status Counters `json:"status"`
	Phases struct {
		Manage        PhaseRecord `json:"manage"`
		RollingUpdate PhaseRecord `json:"rollingUpdate"`
	} `json:"phases"`
	RollingUpdateError string `json:"rollingUpdateError,omitempty"`
}

// PhaseRecord is what one phase of the real controller did, to nodes and to pods.
type PhaseRecord struct {
	Create                []string `json:"create,omitempty"`
	Delete                []string `json:"delete,omitempty"`
	InPlace               []string `json:"inPlace,omitempty"`
	PreparingDelete       []string `json:"preparingDelete,omitempty"`
	ChooseCreate          Choice   `json:"chooseCreate"`
	ChooseDelete          Choice   `json:"chooseDelete"`
	ChooseInPlace         Choice   `json:"chooseInPlace"`
	ChoosePreparingDelete Choice   `json:"choosePreparingDelete"`
	ChooseMixed           struct {
		FromDelete          []string `json:"fromDelete,omitempty"`
		FromInPlace         []string `json:"fromInPlace,omitempty"`
		FromPreparingDelete []string `json:"fromPreparingDelete,omitempty"`
		Count               int      `json:"count"`
	} `json:"chooseMixed"`
}

// Choice is any Count of From: the real controller picks in map order.
type Choice struct {
	From  []string `json:"from,omitempty"`
	Count int      `json:"count"`
}

// Counters are those of the status that the controllers share.
type Counters struct {
	Desired      int32 `json:"desiredNumberScheduled"`
	Current      int32 `json:"currentNumberScheduled"`
	Misscheduled int32 `json:"numberMisscheduled"`
	Ready        int32 `json:"numberReady"`
	Updated      int32 `json:"updatedNumberScheduled"`
	Available    int32 `json:"numberAvailable"`
	Unavailable  int32 `json:"numberUnavailable"`
}

// Expected returns the recorded decision of the controller in the words of the model.
func (c *Case) Expected() Outcome {
	of := func(p PhaseRecord) Phase {
		m := p.ChooseMixed
		return Phase{
			Creates: Act{Must: p.Create, From: p.ChooseCreate.From, Count: p.ChooseCreate.Count},
			Fates: Act{
				Must: slices.Concat(Deleted.Of(p.Delete...), InPlace.Of(p.InPlace...), Preparing.Of(p.PreparingDelete...)),
				From: slices.Concat(Deleted.Of(p.ChooseDelete.From...), InPlace.Of(p.ChooseInPlace.From...),
					Preparing.Of(p.ChoosePreparingDelete.From...), Deleted.Of(m.FromDelete...),
					InPlace.Of(m.FromInPlace...), Preparing.Of(m.FromPreparingDelete...)),
				Count: p.ChooseDelete.Count + p.ChooseInPlace.Count + p.ChoosePreparingDelete.Count + m.Count,
			},
		}
	}
	e := c.Expect
	return Outcome{
		Status: e.Status, Manage: of(e.Phases.Manage), Roll: of(e.Phases.RollingUpdate),
		Failed: e.RollingUpdateError != "",
	}
}
