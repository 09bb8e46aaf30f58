package text

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError says what is wrong with a flag, and what would be right. Pflag's own messages are those of package strconv.
func FlagError(c *cobra.Command, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s needs a value: --%s %s", missing.GetFlag().Name, missing.GetFlag().Name, name)
	}
	if !ok {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	}
	flag := invalid.GetFlag()
	right := cmp.Or(rightValues[flag.Value.Type()], rightCause(invalid))
	return fmt.Errorf("--%s %s: %s", flag.Name, cmp.Or(Printable(invalid.GetValue()), `""`), right)
}

// rightValues are what flags of a type take.
var rightValues = map[string]string{
	"int":      "must be a whole number such as 12",
	"uint64":   "must be a whole number such as 12, not negative",
	"float64":  "must be a number such as 0.1",
	"duration": "must be a duration such as 90s, 30m or 2h",
	"bool":     "must be true or false",
}

// rightCause is the message of a flag's own type.
func rightCause(err *pflag.InvalidValueError) string {
	if cause := errors.Unwrap(err); cause != nil {
		return cause.Error()
	}
	return err.Error()
}
