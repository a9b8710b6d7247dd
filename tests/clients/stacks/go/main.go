// With solana-go, a Geyser client on grpc-go and a TPU client on quic-go: airdrop, send, confirm, read, subscribe.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/gagliardetto/solana-go/rpc"
)

func main() {
	var given Given
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if way := begin(ctx, given); way != nil {
		way.subscriptions()
		way.reads()
		way.geyser()
		way.tpu()
	}
	if given.Key != "" {
		headers := map[string]string{"Authorization": given.Key}
		client := rpc.NewWithHeaders(given.PlainURL, headers)
		has("the key in a header", func() (string, error) { return client.GetHealth(ctx) })
	}
	write(map[string]any{"done": count, "failed": failed})
}
