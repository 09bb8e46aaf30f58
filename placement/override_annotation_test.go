package placement_test

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/placement"
)

func TestOverrideAnnotation(t *testing.T) {
	deep := strings.Repeat(`{"limits":`, 5000) + "{}" + strings.Repeat("}", 5000)
	tests := []struct {
		name, why, text string
		want            string // the resources, or ! and the problem
	}{
		{"empty object", "no resources at all", `{}`, `{}`},
		{"everything", "what Kubernetes reads", ` {"limits" : {"cpu":"1.5"},"requests":{"cpu":"500m","example.com/x":0},"claims":[{"name":"gpu","request":"r"}]} `,
			"!requests[example.com/x]: Invalid value: '0': must have an equal limit: it cannot be overcommitted"},
		{"limits and requests", "spelt as they are", `{"limits":{"cpu":"1.5","memory":"1e3"},"requests":{"cpu":"500m"}}`,
			`{'limits':{'cpu':'1500m','memory':'1e3'},'requests':{'cpu':'500m'}}`},
		{"numbers", "Kubernetes reads them as quantities", `{"limits":{"cpu":1.5,"memory":1e3}}`, `{'limits':{'cpu':'1500m','memory':'1e3'}}`},
		{"equal", "the border", `{"limits":{"cpu":"1"},"requests":{"cpu":"1000m"}}`, `{'limits':{'cpu':'1'},'requests':{'cpu':'1'}}`},
		{"claims", "with all of their fields", `{"claims":[{"name":"gpu","request":"r"}]}`, `{'claims':[{'name':'gpu','request':'r'}]}`},
		{"no claims", "an empty list", `{"claims":[]}`, `{}`},
		{"zero", "nothing of it", `{"limits":{"cpu":"0"}}`, `{'limits':{'cpu':'0'}}`},
		{"device", "a limit is enough", `{"limits":{"example.com/gpu":2}}`, `{'limits':{'example.com/gpu':'2'}}`},

		{"other case", "encoding/json takes it, and so does the ExtendedDaemonSet", `{"Limits":{"cpu":"3"}}`, `{'limits':{'cpu':'3'}}`},
		{"folded", "the long s is one, too", `{"limit\u017f":{"cpu":"3"}}`, `{'limits':{'cpu':'3'}}`},
		{"amount in other case", "names of resources are keys of a map", `{"limits":{"CPU":"3"}}`,
			"!limits[CPU]: Invalid value: 'CPU': must be cpu, memory, ephemeral-storage, hugepages-<size>, or have a domain"},
		{"unknown beside known", "it is passed over", `{"limits":{"cpu":"3"},"note":{"a":[1,"1e-30000000"]}}`, `{'limits':{'cpu':'3'}}`},
		{"known beside unknown", "in any order", `{"note":1,"REQUESTS":{"cpu":"1"}}`, `{'requests':{'cpu':'1'}}`},
		{"field twice", "both fill one map", `{"limits":{"cpu":"3"},"limits":{"memory":"3Gi"}}`, `{'limits':{'cpu':'3','memory':'3Gi'}}`},
		{"field in two cases", "they are one field, and the last amount counts", `{"Limits":{"cpu":"1"},"limits":{"cpu":"2"}}`, `{'limits':{'cpu':'2'}}`},
		{"amount twice", "the last counts", `{"requests":{"cpu":"1","cpu":"2"}}`, `{'requests':{'cpu':'2'}}`},
		{"amount null", "nothing of it", `{"limits":{"cpu":null}}`, `{'limits':{'cpu':'0'}}`},
		{"amount with space", "a quantity trims it", `{"limits":{"cpu":" 1 "}}`, `{'limits':{'cpu':'1'}}`},
		{"null", "no resources", `null`, `{}`},
		{"limits null", "no limits", `{"limits":{"cpu":"1"},"limits":null,"requests":{"cpu":"1"}}`, `{'requests':{'cpu':'1'}}`},
		{"claims null", "no claims", `{"claims":null}`, `{}`},

		{"no text", "kubectl annotate key=", ``, "!not valid JSON"},
		{"blank", "no value", ` `, "!not valid JSON"},
		{"open", "cut off", `{`, "!not valid JSON"},
		{"trailing", "a second value", `{}{}`, "!not valid JSON"},
		{"comment", "no JSON", `{}//`, "!not valid JSON"},
		{"list", "the wrong type", `[]`, "!not an object"},
		{"string", "JSON in JSON", `"{}"`, "!not an object"},
		{"number", "the wrong type", `1`, "!not an object"},
		{"true", "the wrong type", `true`, "!not an object"},
		{"unknown field", "a slip of the pen", `{"limit":{"cpu":"1"}}`, "!field 'limit' is unknown"},
		{"unknown fields", "the first is named", `{"a":1,"b":2}`, "!field 'a' is unknown"},
		{"long field", "reports stay short", `{"` + strings.Repeat("x", 200) + `":1}`, "!field '" + strings.Repeat("x", 80) + "' is unknown"},
		{"limits list", "the wrong type", `{"limits":[]}`, "!limits: not an object"},
		{"requests string", "the wrong type", `{"requests":"1"}`, "!requests: not an object"},
		{"amount object", "the wrong type", `{"limits":{"cpu":{}}}`, "!limits['cpu']: not a quantity"},
		{"amount list", "the wrong type", `{"limits":{"cpu":[1]}}`, "!limits['cpu']: not a quantity"},
		{"amount true", "the wrong type", `{"limits":{"cpu":true}}`, "!limits['cpu']: not a quantity"},
		{"amount text", "no quantity", `{"limits":{"cpu":"abc"}}`, "!limits['cpu']: not a quantity"},
		{"amount escaped", "a quantity reads what stands there", `{"limits":{"cpu":"\u0031"}}`, "!limits['cpu']: not a quantity"},
		{"amount empty", "no quantity", `{"limits":{"cpu":""}}`, "!limits['cpu']: not a quantity"},
		{"amount unit", "no quantity", `{"limits":{"memory":"1ZiB"}}`, "!limits['memory']: not a quantity"},
		{"long exponent", "it would take for ever", `{"limits":{"cpu":"1e-30000000"}}`, "!limits['cpu']: too long a quantity"},
		{"long exponent as a number", "it would take for ever", `{"limits":{"cpu":1E-30000000}}`, "!limits['cpu']: too long a quantity"},
		{"long exponent in other case", "it would take for ever", `{"Limits":{"cpu":"1e-30000000"}}`, "!Limits['cpu']: too long a quantity"},
		{"long exponent overruled", "it would be read all the same", `{"limits":{"cpu":"1e-30000000"},"limits":null}`, "!limits['cpu']: too long a quantity"},
		{"long exponent with space", "it would be trimmed", `{"limits":{"cpu":" 1e-30000000 "}}`, "!limits['cpu']: too long a quantity"},
		{"long digits", "no amount has as many", `{"limits":{"cpu":"` + strings.Repeat("9", 129) + `"}}`, "!limits['cpu']: too long a quantity"},
		{"overflow", "64 bits do not hold it", `{"limits":{"memory":"1e19"}}`,
			"!limits[memory]: Invalid value: '': must have at most 19 digits before the point and 9 behind it"},
		{"overflow of both", "told once each", `{"limits":{"memory":"1e99999"},"requests":{"memory":"2e99999"}}`,
			"!limits[memory]: Invalid value: '': must have at most 19 digits before the point and 9 behind it; " +
				"requests[memory]: Invalid value: '': must have at most 19 digits before the point and 9 behind it"},
		{"negative", "no pod can have it", `{"limits":{"cpu":"-1"}}`, "!limits[cpu]: Invalid value: '-1': must not be negative"},
		{"above the limit", "no pod can have it", `{"limits":{"cpu":"1"},"requests":{"cpu":"1001m"}}`,
			"!requests[cpu]: Invalid value: '1001m': exceeds the limit 1"},
		{"several", "told at once", `{"limits":{"CPU":"1","cpu":"-1"}}`,
			"!limits[CPU]: Invalid value: 'CPU': must be cpu, memory, ephemeral-storage, hugepages-<size>, or have a domain; " +
				"limits[cpu]: Invalid value: '-1': must not be negative"},
		{"many", "reports stay short", `{"limits":{"` + strings.Repeat("x", 1000) + `":"1"}}`, "!limits[" + strings.Repeat("x", 393)},
		{"claims object", "the wrong type", `{"claims":{}}`, "!claims: object is the wrong type"},
		{"claim string", "the wrong type", `{"claims":["gpu"]}`, "!claims: string is the wrong type"},
		{"claim number", "reports stay short", `{"claims":[` + strings.Repeat("1", 500) + `]}`, "!claims: number is the wrong type"},
		{"claim field", "a slip of the pen", `{"claims":[{"names":"gpu"}]}`, "!claims[0].name: Required value: a claim is known by its name"},
		{"claim type", "the wrong type", `{"claims":[{"name":1}]}`, "!claims.name: number is the wrong type"},
		{"claim object", "an object in place of a string", `{"claims":[{"name":{"a":1}}]}`, "!claims.name: object is the wrong type"},
		{"nameless claim", "no pod can have it", `{"claims":[{"request":"r"}]}`, "!claims[0].name: Required value: a claim is known by its name"},
		{"deep", "it is looked at no deeper than it may be", deep, "!limits['limits']: not a quantity"},
		{"too deep", "encoding/json has a limit of its own", strings.Repeat("[", 100_000), "!not valid JSON"},
	}
	seen := map[string]bool{}
	overrides, err := placement.CompileOverrides("ns", "set", agent(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			got := overrides.Evaluate(annotatedNode("agent", test.text))
			want := "agent=" + test.want + " from ''"
			if strings.HasPrefix(test.want, "!") {
				want = "agent" + test.want
			}
			if sketch(got) != want {
				t.Errorf("%s\n%s\nwant\n%s", test.why, sketch(got), want)
			}
		})
	}
}
