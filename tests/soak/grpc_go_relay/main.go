// A gRPC server on grpc-go that passes every call on to another server, message by message as
// bytes, and ends its connections by age. It prints its address.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

var (
	to    = flag.String("to", "", "host:port of the server behind")
	age   = flag.Duration("age", time.Second, "MaxConnectionAge")
	grace = flag.Duration("grace", time.Second, "MaxConnectionAgeGrace")
	ping  = flag.Duration("ping", time.Second, "keepalive pings of an idle connection")
)

const largest = 128 << 20

// Messages stay the bytes that they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (raw) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func pass(behind *grpc.ClientConn) grpc.StreamHandler {
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	return func(_ any, in grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(in)
		ctx := in.Context()
		if given, ok := metadata.FromIncomingContext(ctx); ok {
			ctx = metadata.NewOutgoingContext(ctx, metadata.MD{"x-token": given.Get("x-token")})
		}
		out, err := behind.NewStream(ctx, both, method)
		if err != nil {
			return err
		}
		go func() {
			for {
				var message []byte
				if in.RecvMsg(&message) != nil {
					out.CloseSend()
					return
				}
				if out.SendMsg(&message) != nil {
					return
				}
			}
		}()
		for {
			var message []byte
			if err := out.RecvMsg(&message); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := in.SendMsg(&message); err != nil {
				return err
			}
		}
	}
}

func main() {
	flag.Parse()
	encoding.RegisterCodec(raw{})
	behind, err := grpc.NewClient(
		*to,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largest), grpc.MaxCallSendMsgSize(largest)),
	)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      *age,
			MaxConnectionAgeGrace: *grace,
			Time:                  *ping,
		}),
		grpc.MaxRecvMsgSize(largest),
		grpc.MaxSendMsgSize(largest),
		grpc.UnknownServiceHandler(pass(behind)),
	)
	fmt.Println(listener.Addr())
	if err := server.Serve(listener); err != nil {
		panic(err)
	}
}
