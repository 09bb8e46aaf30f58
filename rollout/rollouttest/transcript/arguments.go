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

// named takes the value of the key; empty if there is none. A key without a value is left for rest to report.
func (a *arguments) named(key string) string {
	for i, word := range *a {
		if value, ok := strings.CutPrefix(word, key+"="); ok && value != "" {
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

func (a *arguments) truth(key string) (bool, error) {
	value := a.named(key)
	if value == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s must be true or false", key)
	}
	return b, nil
}

// count is a number that is not negative.
func (a *arguments) count(key string) (int, error) {
	value := a.named(key)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s must be a number", key)
	}
	return n, nil
}

func (a *arguments) duration(key string) (time.Duration, error) {
	value := a.named(key)
	if value == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return d, nil
}

// delay is a duration that is not negative.
func (a *arguments) delay(key string) (time.Duration, error) {
	d, err := a.duration(key)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s must not be negative", key)
	}
	return d, err
}

// delayOrNever is a delay, or negative for never.
func (a *arguments) delayOrNever(key string) (time.Duration, error) {
	if i := slices.Index(*a, key+"=never"); i >= 0 {
		*a = slices.Delete(*a, i, i+1)
		return -1, nil
	}
	return a.delay(key)
}

// rest reports what no command took.
func (a *arguments) rest() error {
	if len(*a) > 0 {
		return fmt.Errorf("unknown argument %s", (*a)[0])
	}
	return nil
}
