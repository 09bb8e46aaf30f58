package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// profiled is how long the example is profiled. What is left of it after an update adds nothing to the profile, because the
// example is at rest by then.
const profiled = time.Minute

// freeAddress is one of this machine on which nobody listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// profile has the process that serves pprof at the address write a CPU profile of what it does from now on. The function that it
// returns waits for the file.
func profile(ctx context.Context, address, file string) func() error {
	done := make(chan error, 1)
	go func() {
		done <- fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", address, profiled.Seconds()), file)
	}()
	return func() error {
		if err := <-done; err != nil {
			return fmt.Errorf("-cpuprofile %s: %w", file, err)
		}
		return nil
	}
}

func fetch(ctx context.Context, url, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, data)
	}
	return os.WriteFile(file, data, 0o600)
}
