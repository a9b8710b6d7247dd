"""A transaction and what it shall come to, and the pen that writes such transactions."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from solders import system_program as system
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from tests.localnet.wallets import pay

# What exempts a wallet and each byte more from rent.
WALLET_RENT, RENT_PER_BYTE = 890_880, 6_960
MORE_THAN_THERE_IS = 10**18
TOO_POOR = {"Custom": 1}


@dataclass(frozen=True, slots=True)
class Planned:
    """A transaction, and the error that it fails with."""

    kind: str
    transaction: VersionedTransaction
    err: Any = None

    @property
    def signature(self) -> str:
        return str(self.transaction.signatures[0])


@dataclass(slots=True)
class Moment:
    """What a client must know to write transactions: a recent block, and each nonce's value."""

    slot: int = 0
    blockhash: Hash = field(default_factory=Hash.default)
    nonces: dict[Pubkey, Hash] = field(default_factory=dict)


class Pen:
    """Writes transactions at `moment`: the same from the same seed, but for blockhashes."""

    def __init__(self, seed: int) -> None:
        self.moment = Moment()
        self.chance = random.Random(seed)
        self.payers = [self.key() for _ in range(8)]

    def key(self) -> Keypair:
        """One that is new."""
        return Keypair.from_seed(self.chance.randbytes(32))

    def payer(self) -> Keypair:
        return self.chance.choice(self.payers)

    def some(self) -> int:
        """A number that makes a transaction another than its like."""
        return self.chance.randrange(1_000_000)

    def payment(self, payer: Keypair) -> Instruction:
        """To a new wallet."""
        return pay(payer, self.key().pubkey(), WALLET_RENT + self.some())

    def too_much(self, payer: Keypair) -> Instruction:
        """A payment that fails with TOO_POOR."""
        return pay(payer, self.payer().pubkey(), MORE_THAN_THERE_IS + self.some())

    def new_account(self, payer: Keypair, account: Keypair, space: int) -> Instruction:
        """Of a program that is not there."""
        return system.create_account(
            system.CreateAccountParams(
                from_pubkey=payer.pubkey(),
                to_pubkey=account.pubkey(),
                lamports=WALLET_RENT + space * RENT_PER_BYTE,
                space=space,
                owner=self.key().pubkey(),
            )
        )

    def planned(
        self,
        kind: str,
        instructions: Sequence[Instruction],
        *signers: Keypair,
        err: Any = None,
        blockhash: Hash | None = None,
        tables: Sequence[AddressLookupTableAccount] = (),
    ) -> Planned:
        """Legacy or of version 0, as chance will have it; the first signer pays."""
        recent = blockhash or self.moment.blockhash
        payer, listed = signers[0].pubkey(), list(instructions)
        message: Message | MessageV0
        if tables or self.chance.random() < 0.5:
            message = MessageV0.try_compile(payer, listed, list(tables), recent)
        else:
            message = Message.new_with_blockhash(listed, payer, recent)
        return Planned(kind, VersionedTransaction(message, list(signers)), err)

    def failing(
        self, kind: str, instructions: Sequence[Instruction], payer: Keypair, at: int, what: Any
    ) -> Planned:
        """One whose instruction `at` fails."""
        return self.planned(kind, instructions, payer, err={"InstructionError": [at, what]})
