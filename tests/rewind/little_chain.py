"""A chain made in this process: real transactions, run by the engine, block by block."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import ID as SYSTEM
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain.blocks import SlotRecord
from chain.units import U64_MAX, Slot, UnixTimestamp
from localnet.bank import Bank, Ran
from localnet.opening import open_chain
from localnet.storage import Storage
from localnet.submissions import read_transaction
from simulator.engine import Engine

SOL = 1_000_000_000
BEGAN = UnixTimestamp(1_790_000_000)


class LittleChain:
    """Slot 0 has the accounts that it starts with: the given ones, and `payers` with 1,000 SOL
    each.
    """

    def __init__(
        self, folder: Path, *, payers: int = 2, given: Mapping[Pubkey, Account] | None = None
    ) -> None:
        self.payers = [Keypair.from_seed(bytes([number + 1]) * 32) for number in range(payers)]
        wallets = {
            payer.pubkey(): Account(1_000 * SOL, b"", SYSTEM, False, U64_MAX)
            for payer in self.payers
        }
        self._storage = Storage(folder)
        chain = open_chain(
            self._storage,
            epoch_slots=432_000,
            slot_seconds=0.4,
            now=BEGAN,
            given={**wallets, **(given or {})},
        )
        genesis = self._storage.block(Slot(0))
        assert genesis is not None
        self.records: list[SlotRecord] = [genesis]
        self.sent: list[VersionedTransaction] = []
        self._engine = Engine()
        self._bank: Bank = chain.root

    def close(self) -> None:
        self._storage.close()

    @property
    def blockhash(self) -> Hash:
        """What a transaction of the next block stands on."""
        return self._bank.blockhash

    def payment(self, to: Pubkey, lamports: int, *, payer: int = 0) -> VersionedTransaction:
        return self.signed(
            [
                transfer(
                    TransferParams(
                        from_pubkey=self.payers[payer].pubkey(), to_pubkey=to, lamports=lamports
                    )
                )
            ],
            self.payers[payer],
        )

    def signed(
        self, instructions: Sequence[Instruction], *signers: Keypair
    ) -> VersionedTransaction:
        message = Message.new_with_blockhash(
            list(instructions), signers[0].pubkey(), self.blockhash
        )
        return VersionedTransaction(message, list(signers))

    def block(self, *transactions: VersionedTransaction, skip: int = 0) -> SlotRecord:
        """The next block, with all of these in it, `skip` slots without one before it."""
        slot = Slot(self._bank.slot + 1 + skip)
        bank = self._bank.child(slot, now=UnixTimestamp(BEGAN + slot))
        bank.begin()
        for transaction in transactions:
            ran = bank.run(self._engine, read_transaction(bytes(transaction)))
            assert isinstance(ran, Ran), ran
            self.sent.append(transaction)
        bank.end()
        self._bank = bank
        self.records.append(bank.record())
        return self.records[-1]
