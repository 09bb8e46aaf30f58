package podupdates

import "encoding/json"

// plainText returns the JSON of a value.
func plainText(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}
