package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Given is what a way is told: a URL with its key in it, and where WebSockets and gRPC are.
type Given struct {
	URL          string `json:"url"`
	PlainURL     string `json:"plainUrl"`
	WebsocketURL string `json:"websocketUrl"`
	Key          string `json:"key"`
	Grpc         string `json:"grpc"`
	Protos       string `json:"protos"`
}

var count, failed int

// check runs a check and prints a line of JSON about it.
func check(name string, run func() error) bool {
	begun := time.Now()
	count++
	err := run()
	line := map[string]any{"check": name, "ok": err == nil, "ms": time.Since(begun).Milliseconds()}
	if err != nil {
		failed++
		text := err.Error()
		if len(text) > 1000 {
			text = text[:1000]
		}
		line["error"] = text
	}
	write(line)
	return err == nil
}

// has is a check that a call answers, and with something.
func has[T any](name string, call func() (T, error)) {
	check(name, func() error {
		found, err := call()
		if err == nil && fmt.Sprint(found) == "<nil>" {
			return fmt.Errorf("it has nothing")
		}
		return err
	})
}

func write(line map[string]any) {
	text, _ := json.Marshal(line)
	fmt.Fprintln(os.Stdout, string(text))
}
