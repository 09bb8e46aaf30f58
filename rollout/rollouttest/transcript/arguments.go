package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arguments of a command that no one has taken yet: words, and values given as key=value.
type arguments []string

// next takes the next one, whatever it is; empty if there is none.
func (a *arguments) next() string {
	if len(*a) == 0 {
		return ""
	}
	word := (*a)[0]
	*a = (*a)[1:]
	return word
}

// named takes the value of the key; empty if there is none.
func (a *arguments) named(key string) string {
	for i, word := range *a {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			*a = slices.Delete(*a, i, i+1)
			return value
		}
	}
	return ""
}

func (a *arguments) list(key string) []string {
	if value := a.named(key); value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

func (a *arguments) integer(key string) (int, error) {
	if value := a.named(key); value != "" {
		return strconv.Atoi(value)
	}
	return 0, nil
}

func (a *arguments) duration(key string) (time.Duration, error) {
	if value := a.named(key); value != "" {
		return time.ParseDuration(value)
	}
	return 0, nil
}

// delay is a duration, or negative for never.
func (a *arguments) delay(key string) (time.Duration, error) {
	if i := slices.Index(*a, key+"=never"); i >= 0 {
		*a = slices.Delete(*a, i, i+1)
		return -1, nil
	}
	return a.duration(key)
}

// rest reports what no command took.
func (a *arguments) rest() error {
	if len(*a) > 0 {
		return fmt.Errorf("unknown argument %s", (*a)[0])
	}
	return nil
}
