package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"time"

	"github.com/gagliardetto/solana-go/rpc"
	"github.com/quic-go/quic-go"
)

// tpu sends a transaction to the leaders' port on quic-go, one unidirectional stream for it.
func (way *Way) tpu() {
	check("quic: a transaction sent to the TPU lands", func() error {
		nodes, err := way.client.GetClusterNodes(way.ctx)
		if err != nil {
			return err
		}
		if nodes[0].TPUQUIC == nil {
			return errors.New("no node has tpuQuic")
		}
		certificate, err := selfSigned()
		if err != nil {
			return err
		}
		connection, err := quic.DialAddr(way.ctx, *nodes[0].TPUQUIC, &tls.Config{
			Certificates: []tls.Certificate{certificate}, NextProtos: []string{"solana-tpu"}, InsecureSkipVerify: true,
		}, nil)
		if err != nil {
			return err
		}
		defer connection.CloseWithError(0, "")
		transaction, err := way.transaction()
		if err != nil {
			return err
		}
		wire, err := transaction.MarshalBinary()
		if err != nil {
			return err
		}
		stream, err := connection.OpenUniStreamSync(way.ctx)
		if err != nil {
			return err
		}
		if _, err := stream.Write(wire); err != nil {
			return err
		}
		if err := stream.Close(); err != nil {
			return err
		}
		for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
			found, err := way.client.GetSignatureStatuses(way.ctx, false, transaction.Signatures[0])
			if err != nil {
				return err
			}
			if one := found.Value[0]; one != nil && one.ConfirmationStatus != rpc.ConfirmationStatusProcessed {
				return nil
			}
		}
		return errors.New("it did not land")
	})
}

// selfSigned is what a client shows: a certificate of a key of its own.
func selfSigned() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}
