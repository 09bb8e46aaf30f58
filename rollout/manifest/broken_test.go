package manifest_test

import "testing"

// TestObjectsCutOff ends a dump early, as a full disk or a broken pipe does.
func TestObjectsCutOff(t *testing.T) {
	findMistakes(t, []mistaken{
		{row{"cut off within an item", "a dump of a full disk: kubectl writes kind after the items"},
			"{\n\"apiVersion\": \"v1\",\n\"items\": [\n{\"kind\": \"A\", \"items\": [[]]},\n{\"kind\": \"B\",\n\"metadata\": {",
			"document 1, item 2: line 5: the text ends too early, within the object that begins here"},
		{row{"cut off within the first item", "the same"}, `{"items":[{"kind":`, "document 1, item 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off after a comma", "the item before it is the last one"}, "{\"items\":[{\"kind\":\"A\"},\n{\"kind\":\"B\"}, \n",
			"document 1, item 2: line 2: the text ends too early, after the item that begins here"},
		{row{"cut off after an item", "the same"}, `[{"kind":"A"}`, "document 1, item 1: line 1: the text ends too early, after the item that begins here"},
		{row{"cut off before the first item", "there is no item to name"}, `{"items":[ `, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off after the items", "they are closed"}, "{\"items\":[{\"kind\":\"A\"}], \"kind\": \"Li", "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off after a key", "there is no value"}, `{"items"`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off after a colon", "there is no value"}, `{"items" :`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off in another list", "its elements are no items"}, `{"args":[1,`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off in a later document", "lines count from the top"}, "kind: A\n---\n{\"kind\": \"B\"}\n[{\"kind\":\"C\"},\n{", "document 3, item 2: line 5: the text ends too early, within the object that begins here"},
		{row{"cut off in a number", "the same"}, `{"count": 12`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"cut off after a member", "there is no item to name"}, `{"count": 12,`, "document 1: line 1: the text ends too early, within the object that begins here"},
		{row{"comma for a value", "the line is that of the mistake, not the next one"}, "{\"a\":[,\n{\"kind\":\"B\"}",
			"document 1: line 1: invalid character ',' looking for beginning of value"},
		{row{"line break in a string", "it belongs to the line that it ends"}, "{\"a\":\"x\ny\",\"b\":{",
			`document 1: line 1: invalid character '\n' in string literal`},
		{row{"brace missing", "the text does not end too early where the parser stumbles before"}, "{\"items\":[{\"a\":{},\n{\"kind\":\"B\"}]}",
			"document 1: line 2: invalid character '{' looking for beginning of object key string"},
	})
}

func TestObjectsDirectives(t *testing.T) {
	findMistakes(t, []mistaken{
		{row{"directive of another version", "it may mean anything"}, "# a\n%YAML 2.0\n---\nkind: A\n",
			`document 1: line 2: the YAML directive "%YAML 2.0" is not supported; %YAML 1.1 and %YAML 1.2 are`},
		{row{"directive of tags", "tags would be read otherwise"}, "%TAG ! x\n---\nkind: A\n",
			`document 1: line 1: the YAML directive "%TAG ! x" is not supported; %YAML 1.1 and %YAML 1.2 are`},
		{row{"directive without separator", "YAML wants one"}, "%YAML 1.1\nkind: A\n---\nkind: B\n",
			"document 1: line 2: a line with --- must follow the YAML directives"},
		{row{"nothing but a directive", "YAML wants a document"}, "%YAML 1.1\n", "document 1: line 1: a line with --- must follow the YAML directives"},
		{row{"directive in the middle", "a document must end with dots before one"}, "---\n%YAML 1.1\n---\nkind: A\n",
			"document 1: line 2: did not find expected <document start>"},
	})
}
