package canary

import "time"

// rules are options as Judge uses them: with defaults, and with what Validate refuses read in the strict sense.
type rules struct {
	// byClock reports whether the clock may promote.
	byClock              bool
	duration, noRestarts time.Duration

	autoPause     bool
	pauseRestarts int32
	slow          *time.Duration

	autoFail         bool
	failRestarts     int32
	restartsDuration *time.Duration
	timeout          *time.Duration
}

func (o Options) rules() rules {
	r := rules{
		// A mode that does not exist promotes nothing by itself.
		byClock:          o.Mode == Auto || o.Mode == "",
		duration:         durationOr(o.Duration, DefaultDuration),
		noRestarts:       durationOr(o.NoRestartsDuration, DefaultNoRestartsDuration),
		autoPause:        !o.AutoPause.Disabled,
		pauseRestarts:    DefaultAutoPauseMaxRestarts,
		slow:             o.AutoPause.MaxSlowStartDuration,
		autoFail:         !o.AutoFail.Disabled,
		failRestarts:     DefaultAutoFailMaxRestarts,
		restartsDuration: o.AutoFail.MaxRestartsDuration,
		timeout:          o.AutoFail.CanaryTimeout,
	}
	if o.AutoPause.MaxRestarts != nil {
		r.pauseRestarts = max(0, *o.AutoPause.MaxRestarts)
	}
	if o.AutoFail.MaxRestarts != nil {
		r.failRestarts = max(0, *o.AutoFail.MaxRestarts)
	}
	return r
}

// durationOr is the duration that is set. It is the default if none is set, or a negative one, which would promote early.
func durationOr(d *time.Duration, fallback time.Duration) time.Duration {
	if d == nil || *d < 0 {
		return fallback
	}
	return *d
}
