// Package outcomes has mutants of which it is known what becomes of them.
package outcomes

// Clamp is tested around its limit; at it, > and >= come to the same.
func Clamp(n int) int {
	if n > 10 {
		return 10
	}
	return n
}

// Larger is the same with > and with >=, which the tests cannot notice although they reach it.
func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Double is called by a test that looks at nothing.
func Double(n int) int { return n * 2 }

// Unused is called by no test.
func Unused(n int) int { return n + n }

// Steps would go on for ever if it did not count.
func Steps(n int) (steps int) {
	for n > 0 {
		n--
		steps++
	}
	return steps
}

// Slow is called by a test that does much else.
func Slow(n int) int { return n - 3 }
