package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/memo"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/rpc"
	confirm "github.com/gagliardetto/solana-go/rpc/sendAndConfirmTransaction"
	"github.com/gagliardetto/solana-go/rpc/ws"
)

// Way is a wallet with money at the clients' end.
type Way struct {
	ctx       context.Context
	given     Given
	client    *rpc.Client
	sockets   *ws.Client
	payer     *solana.Wallet
	payee     solana.PublicKey
	signature solana.Signature
}

func begin(ctx context.Context, given Given) *Way {
	way := &Way{
		ctx: ctx, given: given, client: rpc.New(given.URL),
		payer: solana.NewWallet(), payee: solana.NewWallet().PublicKey(),
	}
	connected := check("ws.Connect", func() (err error) {
		way.sockets, err = ws.Connect(ctx, given.WebsocketURL)
		return err
	})
	airdropped := check("RequestAirdrop, confirmed by WebSocket", func() error {
		lamports := 10 * solana.LAMPORTS_PER_SOL
		airdrop, err := way.client.RequestAirdrop(ctx, way.payer.PublicKey(), lamports, rpc.CommitmentConfirmed)
		if err != nil {
			return err
		}
		_, err = confirm.WaitForConfirmation(ctx, way.sockets, airdrop, nil)
		return err
	})
	if !connected || !airdropped {
		return nil
	}
	check("SendAndConfirmTransaction", func() error {
		transaction, err := way.transaction()
		if err != nil {
			return err
		}
		way.signature, err = confirm.SendAndConfirmTransaction(ctx, way.client, way.sockets, transaction)
		return err
	})
	return way
}

// transaction pays the payee and says so in a memo. Its preflight is at finalized, as solana-go's is.
func (way *Way) transaction() (*solana.Transaction, error) {
	latest, err := way.client.GetLatestBlockhash(way.ctx, rpc.CommitmentFinalized)
	if err != nil {
		return nil, err
	}
	payer := way.payer.PublicKey()
	transaction, err := solana.NewTransaction(
		[]solana.Instruction{
			system.NewTransferInstruction(1_000_000, payer, way.payee).Build(),
			memo.NewMemoInstruction([]byte(time.Now().String()), payer).Build(),
		},
		latest.Value.Blockhash, solana.TransactionPayer(payer),
	)
	if err != nil {
		return nil, err
	}
	_, err = transaction.Sign(func(solana.PublicKey) *solana.PrivateKey { return &way.payer.PrivateKey })
	return transaction, err
}

func (way *Way) send() error {
	transaction, err := way.transaction()
	if err != nil {
		return err
	}
	_, err = way.client.SendTransactionWithOpts(way.ctx, transaction, rpc.TransactionOpts{SkipPreflight: true})
	return err
}

// heard checks that a subscription's first notification comes, after `act` where there is one.
func heard[T any, S interface {
	Recv(context.Context) (T, error)
	Unsubscribe()
}](way *Way, name string, subscribe func() (S, error), act func() error) {
	check(name, func() error {
		subscription, err := subscribe()
		if err != nil {
			return err
		}
		defer subscription.Unsubscribe()
		if act != nil {
			if err := act(); err != nil {
				return err
			}
		}
		patience, cancel := context.WithTimeout(way.ctx, time.Minute)
		defer cancel()
		_, err = subscription.Recv(patience)
		return err
	})
}

func (way *Way) subscriptions() {
	sockets := way.sockets
	heard(way, "SlotSubscribe", sockets.SlotSubscribe, nil)
	heard(way, "RootSubscribe", sockets.RootSubscribe, nil)
	heard(way, "SlotsUpdatesSubscribe", sockets.SlotsUpdatesSubscribe, nil)
	heard(way, "VoteSubscribe", sockets.VoteSubscribe, nil)
	for _, commitment := range []rpc.CommitmentType{"processed", "confirmed", "finalized"} {
		heard(way, fmt.Sprintf("AccountSubscribe, %s", commitment), func() (*ws.AccountSubscription, error) {
			return sockets.AccountSubscribe(way.payee, commitment)
		}, way.send)
		heard(way, fmt.Sprintf("LogsSubscribeMentions, %s", commitment), func() (*ws.LogSubscription, error) {
			return sockets.LogsSubscribeMentions(way.payee, commitment)
		}, way.send)
		heard(way, fmt.Sprintf("ProgramSubscribe, %s", commitment), func() (*ws.ProgramSubscription, error) {
			return sockets.ProgramSubscribe(solana.SystemProgramID, commitment)
		}, way.send)
		heard(way, fmt.Sprintf("SignatureSubscribe, %s", commitment), func() (*ws.SignatureSubscription, error) {
			return sockets.SignatureSubscribe(way.signature, commitment)
		}, nil)
	}
	heard(way, "BlockSubscribe", func() (*ws.BlockSubscription, error) {
		version := uint64(0)
		return sockets.BlockSubscribe(ws.NewBlockSubscribeFilterAll(), &ws.BlockSubscribeOpts{
			Commitment: rpc.CommitmentConfirmed, MaxSupportedTransactionVersion: &version,
		})
	}, nil)
}

func (way *Way) reads() {
	ctx, client, zero := way.ctx, way.client, uint64(0)
	check("GetSignatureStatuses, finalized", func() error {
		for ctx.Err() == nil {
			found, err := client.GetSignatureStatuses(ctx, true, way.signature)
			if err != nil {
				return err
			}
			if one := found.Value[0]; one != nil && one.ConfirmationStatus == rpc.ConfirmationStatusFinalized {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return errors.New("it is not final")
	})
	var slot uint64
	for _, encoding := range []solana.EncodingType{solana.EncodingBase64, solana.EncodingBase58} {
		check("GetTransaction, "+string(encoding), func() error {
			found, err := client.GetTransaction(ctx, way.signature, &rpc.GetTransactionOpts{
				Encoding: encoding, MaxSupportedTransactionVersion: &zero,
			})
			if err != nil {
				return err
			}
			slot = found.Slot
			transaction, err := found.Transaction.GetTransaction()
			if err == nil && transaction.Signatures[0] != way.signature {
				err = errors.New("it is another one")
			}
			return err
		})
	}
	has("GetParsedTransaction", func() (any, error) {
		return client.GetParsedTransaction(ctx, way.signature, &rpc.GetParsedTransactionOpts{MaxSupportedTransactionVersion: &zero})
	})
	has("GetBlock", func() (any, error) {
		return client.GetBlockWithOpts(ctx, slot, &rpc.GetBlockOpts{MaxSupportedTransactionVersion: &zero})
	})
	has("GetParsedBlock", func() (any, error) {
		return client.GetParsedBlockWithOpts(ctx, slot, &rpc.GetBlockOpts{MaxSupportedTransactionVersion: &zero})
	})
	has("GetSignaturesForAddress", func() (any, error) { return client.GetSignaturesForAddress(ctx, way.payee) })
	has("GetAccountInfo", func() (any, error) { return client.GetAccountInfo(ctx, way.payer.PublicKey()) })
	has("GetMultipleAccounts", func() (any, error) { return client.GetMultipleAccounts(ctx, way.payer.PublicKey(), way.payee) })
	has("GetProgramAccounts", func() (any, error) {
		filters := []rpc.RPCFilter{{DataSize: 82}}
		return client.GetProgramAccountsWithOpts(ctx, solana.TokenProgramID, &rpc.GetProgramAccountsOpts{Filters: filters})
	})
	has("GetEpochInfo", func() (any, error) { return client.GetEpochInfo(ctx, rpc.CommitmentFinalized) })
	has("GetClusterNodes", func() (any, error) { return client.GetClusterNodes(ctx) })
	has("GetVoteAccounts", func() (any, error) { return client.GetVoteAccounts(ctx, nil) })
	has("GetLeaderSchedule", func() (any, error) { return client.GetLeaderSchedule(ctx) })
	has("GetSlotLeaders", func() (any, error) { return client.GetSlotLeaders(ctx, slot, 4) })
	has("GetSupply", func() (any, error) { return client.GetSupply(ctx, rpc.CommitmentFinalized) })
	has("GetInflationGovernor", func() (any, error) { return client.GetInflationGovernor(ctx, rpc.CommitmentFinalized) })
	has("GetInflationRate", func() (any, error) { return client.GetInflationRate(ctx) })
	has("GetBlockProduction", func() (any, error) { return client.GetBlockProduction(ctx) })
	has("GetBlockCommitment", func() (any, error) { return client.GetBlockCommitment(ctx, slot) })
	has("GetRecentPrioritizationFees", func() (any, error) { return client.GetRecentPrioritizationFees(ctx, nil) })
	has("GetLargestAccounts", func() (any, error) { return client.GetLargestAccounts(ctx, rpc.CommitmentFinalized, "") })
	has("GetVersion", func() (any, error) { return client.GetVersion(ctx) })
	has("GetGenesisHash", func() (any, error) { return client.GetGenesisHash(ctx) })
	has("GetFirstAvailableBlock", func() (any, error) { return client.GetFirstAvailableBlock(ctx) })
	has("GetIdentity", func() (any, error) { return client.GetIdentity(ctx) })
	has("GetTokenSupply", func() (any, error) {
		return client.GetTokenSupply(ctx, solana.WrappedSol, rpc.CommitmentConfirmed)
	})
}
