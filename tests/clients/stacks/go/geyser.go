package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jhump/protoreflect/desc"
	"github.com/jhump/protoreflect/desc/protoparse"
	"github.com/jhump/protoreflect/dynamic"
	"github.com/jhump/protoreflect/dynamic/grpcdynamic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
)

// The service itself: the repository's files have its messages alone.
const serviceProto = `
syntax = "proto3";
package geyser;
import "upstream/protobuf/geyser.proto";
service Geyser {
  rpc Subscribe(stream SubscribeRequest) returns (stream SubscribeUpdate);
  rpc SubscribeReplayInfo(SubscribeReplayInfoRequest) returns (SubscribeReplayInfoResponse);
  rpc Ping(PingRequest) returns (PongResponse);
  rpc GetLatestBlockhash(GetLatestBlockhashRequest) returns (GetLatestBlockhashResponse);
  rpc GetBlockHeight(GetBlockHeightRequest) returns (GetBlockHeightResponse);
  rpc GetSlot(GetSlotRequest) returns (GetSlotResponse);
  rpc GetVersion(GetVersionRequest) returns (GetVersionResponse);
}`

// geyser calls geyser.Geyser on grpc-go: its messages are read from the .proto files.
func (way *Way) geyser() {
	if way.given.Grpc == "" || way.given.Protos == "" {
		return
	}
	parser := protoparse.Parser{Accessor: func(name string) (io.ReadCloser, error) {
		if name == "service.proto" {
			return io.NopCloser(strings.NewReader(serviceProto)), nil
		}
		return os.Open(filepath.Join(way.given.Protos, name))
	}}
	var service *desc.ServiceDescriptor
	var stub grpcdynamic.Stub
	ctx := metadata.AppendToOutgoingContext(way.ctx, "x-token", way.given.Key)
	if !check("grpc: connect", func() error {
		files, err := parser.ParseFiles("service.proto")
		if err != nil {
			return err
		}
		service = files[0].FindService("geyser.Geyser")
		connection, err := grpc.NewClient(way.given.Grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		stub = grpcdynamic.NewStub(connection)
		return err
	}) {
		return
	}
	for _, name := range []string{"Ping", "GetVersion", "GetSlot", "GetBlockHeight", "GetLatestBlockhash", "SubscribeReplayInfo"} {
		method := service.FindMethodByName(name)
		has("grpc: "+name, func() (any, error) {
			return stub.InvokeRpc(ctx, method, dynamic.NewMessage(method.GetInputType()))
		})
	}
	requests := map[string]string{
		"slot":        `{"slots": {"all": {}}}`,
		"account":     fmt.Sprintf(`{"accounts": {"mine": {"account": [%q]}}, "commitment": "PROCESSED"}`, way.payee),
		"transaction": fmt.Sprintf(`{"transactions": {"mine": {"accountInclude": [%q]}}, "commitment": "CONFIRMED"}`, way.payee),
		"block":       `{"blocks": {"all": {"includeTransactions": true}}, "commitment": "CONFIRMED"}`,
		"block_meta":  `{"blocksMeta": {"all": {}}, "commitment": "FINALIZED"}`,
	}
	for kind, request := range requests {
		check("grpc: Subscribe, "+kind, func() error {
			return way.update(ctx, stub, service.FindMethodByName("Subscribe"), request, kind)
		})
		check("grpc: Subscribe with gzip, "+kind, func() error {
			return way.update(ctx, stub, service.FindMethodByName("Subscribe"), request, kind, grpc.UseCompressor("gzip"))
		})
	}
}

// update waits for the first update of a kind, and pays the payee meanwhile.
func (way *Way) update(
	ctx context.Context, stub grpcdynamic.Stub, method *desc.MethodDescriptor, text, kind string, options ...grpc.CallOption,
) error {
	patience, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request := dynamic.NewMessage(method.GetInputType())
	if err := request.UnmarshalJSON([]byte(text)); err != nil {
		return err
	}
	stream, err := stub.InvokeRpcBidiStream(patience, method, options...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil {
		return err
	}
	// Nothing says from when on the filters hold: it is paid until an update has come.
	go func() {
		for patience.Err() == nil && way.send() == nil {
			time.Sleep(500 * time.Millisecond)
		}
	}()
	for {
		received, err := stream.RecvMsg()
		if err != nil {
			return err
		}
		update, ok := received.(*dynamic.Message)
		if !ok {
			return errors.New("it is no message")
		}
		if update.GetFieldByName(kind) != nil && update.HasFieldName(kind) {
			return nil
		}
	}
}
