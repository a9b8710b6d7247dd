"""Banks as a validator executes them, as messages of its stream: for slots that have two."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from chain.encodings import b58decode, b58encode
from upstream.geyser.slot_buffers import CLOCK, RECENT_BLOCKHASHES, SLOT_HASHES, SLOT_HISTORY
from upstream.protobuf import geyser_pb2 as schema

Message = schema.SubscribeUpdate
LEADER = bytes([9]) * 32
_FEE = 1  # RewardType


@dataclass
class Bank:
    """`messages` of the bank but for statuses, in the order in which it sends them."""

    slot: int
    parent: int
    blockhash: str
    number: int
    messages: list[Message] = field(default_factory=list)


@dataclass
class Validator:
    """Write versions rise over all banks, and each bank has a number of its own."""

    version: int = 0
    banks: int = 0

    def execute(
        self,
        slot: int,
        parent: tuple[int, str],
        transactions: Sequence[bytes],
        *,
        freezes: bool = True,
        lamports: int = 1_000_000,
    ) -> Bank:
        """A bank on the parent (slot and blockhash), with a payer and two accounts that each
        transaction writes; they are named by its text. One that does not freeze is left after them.
        """
        self.banks += 1
        unique = b"%d/%d/" % (slot, parent[0]) + b"".join(transactions)
        blockhash = b58encode(_bytes(unique, 32))
        bank = Bank(slot, parent[0], blockhash, 1_000 + self.banks)
        newest = bytes(8) + parent[0].to_bytes(8, "little") + _bytes(parent[1].encode(), 32)
        self._write(bank, SLOT_HASHES, data=newest)
        self._write(bank, CLOCK, data=slot.to_bytes(8, "little"))
        for index, text in enumerate(transactions):
            keys = [bytes([10 + text[0] % 3]) * 32, bytes([20 + text[-1] % 3]) * 32]
            self._transaction(bank, index, text, keys, lamports)
        if freezes:
            registered = bytes(8) + b58decode(blockhash) + bytes(8)
            self._write(bank, RECENT_BLOCKHASHES, data=registered)
            self._write(bank, LEADER, lamports=lamports)
            self._write(bank, SLOT_HISTORY, data=slot.to_bytes(8, "little"))
            meta = schema.SubscribeUpdateBlockMeta(
                slot=slot,
                blockhash=blockhash,
                parent_slot=parent[0],
                parent_blockhash=parent[1],
                executed_transaction_count=len(transactions),
            )
            meta.rewards.rewards.add(pubkey=b58encode(LEADER), lamports=5, reward_type=_FEE)
            bank.messages.append(schema.SubscribeUpdate(block_meta=meta))
        return bank

    def _write(
        self,
        bank: Bank,
        pubkey: bytes,
        *,
        signature: bytes | None = None,
        lamports: int = 1,
        data: bytes = b"",
    ) -> None:
        self.version += 1
        info = schema.SubscribeUpdateAccountInfo(
            pubkey=pubkey,
            lamports=lamports,
            owner=bytes(32),
            data=data,
            write_version=self.version,
            txn_signature=signature,
        )
        account = schema.SubscribeUpdateAccount(slot=bank.slot, account=info)
        bank.messages.append(schema.SubscribeUpdate(account=account))

    def _transaction(
        self, bank: Bank, index: int, text: bytes, keys: list[bytes], lamports: int
    ) -> None:
        signature = _bytes(text, 64)
        after = [lamports + index, lamports - index]
        for key, left in zip(keys, after, strict=True):
            self._write(bank, key, signature=signature, lamports=left)
        info = schema.SubscribeUpdateTransactionInfo(signature=signature, index=index)
        info.transaction.signatures.append(signature)
        message = info.transaction.message
        message.header.num_required_signatures = 1
        message.account_keys.extend(keys)
        info.meta.pre_balances.extend([1, 1])
        info.meta.post_balances.extend(after)
        ran = schema.SubscribeUpdateTransaction(slot=bank.slot, transaction=info)
        bank.messages.append(schema.SubscribeUpdate(transaction=ran))


def status(slot: int, parent: int | None, value: int, bank: int = 0) -> Message:
    """A slot's status; `bank` 0 for none."""
    update = schema.SubscribeUpdateSlot(slot=slot, parent=parent)
    update.status = value  # type: ignore[assignment]
    if bank:
        update.bank_id = bank
    return schema.SubscribeUpdate(slot=update)


def marked(messages: Iterable[Message], number: int, marks: Callable[[str], bool]) -> list[Message]:
    """The messages with their bank's number on the kinds that `marks` says."""
    found = []
    for message in messages:
        new = schema.SubscribeUpdate()
        new.CopyFrom(message)
        kind = new.WhichOneof("update_oneof") or ""
        if marks(kind):
            getattr(new, kind).bank_id = number
        found.append(new)
    return found


def interleaved(one: list[Message], other: list[Message], chance: random.Random) -> list[Message]:
    """Both, each in its own order."""
    left, right, found = list(one), list(other), []
    while left or right:
        taken = left if chance.randrange(len(left) + len(right)) < len(left) else right
        found.append(taken.pop(0))
    return found


def _bytes(text: bytes, length: int) -> bytes:
    return random.Random(text).randbytes(length)
