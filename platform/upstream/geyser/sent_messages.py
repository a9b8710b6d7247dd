"""What servers of the stream send of a slot: each message is encoded once for all subscribers."""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from upstream.geyser.messages import account_info
from upstream.geyser.request_filters import BlockFilter, Slices
from upstream.geyser.updates import account_keys
from upstream.protobuf import geyser_pb2 as schema


class AccountMessage:
    """The write of an account in a slot; `info` is its SubscribeUpdateAccountInfo where there is
    one, `bank` its bank_id, 0 where it is not known.
    """

    __slots__ = ("_bank", "_bodies", "_info", "_slot", "write")

    def __init__(self, slot: int, write: AccountWrite, bank: int = 0, info: Any = None) -> None:
        self.write = write
        self._bank = bank or None
        self._slot = slot
        self._info = info
        self._bodies: dict[Slices, bytes] = {}

    def body(self, slices: Slices) -> bytes:
        """The update with these parts of the data, without filters and created_at."""
        body = self._bodies.get(slices)
        if body is None:
            update = schema.SubscribeUpdateAccount(
                slot=self._slot, account=self.info(slices), bank_id=self._bank
            )
            body = schema.SubscribeUpdate(account=update).SerializeToString()
            self._bodies[slices] = body
        return body

    def info(self, slices: Slices) -> Any:
        """The account as it stands in a block."""
        if slices:
            data = self.write.data
            parts = [data[offset : offset + length] for offset, length in slices]
            return account_info(self.write._replace(data=b"".join(parts)))
        if self._info is None:
            self._info = account_info(self.write)
        return self._info


class TransactionMessage:
    """A transaction of a block; `info` is a SubscribeUpdateTransactionInfo, `bank` as of an
    AccountMessage.
    """

    def __init__(self, slot: int, info: Any, bank: int = 0) -> None:
        self.info = info
        self._bank = bank
        self._slot = slot

    @property
    def signature(self) -> bytes:
        return bytes(self.info.signature)

    @property
    def is_vote(self) -> bool:
        return bool(self.info.is_vote)

    @property
    def has_failed(self) -> bool | None:
        """None if that is not known: a stored transaction may have no status meta."""
        return bool(self.info.meta.err.err) if self.info.HasField("meta") else None

    @cached_property
    def account_keys(self) -> frozenset[bytes]:
        return frozenset(account_keys(self.info))

    @cached_property
    def token_owners(self) -> frozenset[bytes]:
        return _keys(owner for owner, _ in (*self._before.values(), *self._after.values()))

    @cached_property
    def changed_token_owners(self) -> frozenset[bytes]:
        before, after = self._before, self._after
        return _keys(
            owner
            for ours, theirs in ((before, after), (after, before))
            for index, (owner, amount) in ours.items()
            if index not in theirs or theirs[index][1] != amount
        )

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        update = schema.SubscribeUpdateTransaction(
            slot=self._slot, transaction=self.info, bank_id=self._bank
        )
        return bytes(schema.SubscribeUpdate(transaction=update).SerializeToString())

    @cached_property
    def status_body(self) -> bytes:
        """The short form."""
        info = self.info
        update = schema.SubscribeUpdateTransactionStatus(
            slot=self._slot,
            signature=info.signature,
            is_vote=info.is_vote,
            index=info.index,
            bank_id=self._bank,
        )
        if info.meta.err.err:
            update.err.err = info.meta.err.err
        return bytes(schema.SubscribeUpdate(transaction_status=update).SerializeToString())

    @property
    def _before(self) -> dict[int, tuple[str, str]]:
        return _amounts(self.info.meta.pre_token_balances)

    @property
    def _after(self) -> dict[int, tuple[str, str]]:
        return _amounts(self.info.meta.post_token_balances)


class EntryMessage:
    """An entry of a block; `info` is a SubscribeUpdateEntry."""

    def __init__(self, info: Any) -> None:
        self.info = info

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        return bytes(schema.SubscribeUpdate(entry=self.info).SerializeToString())


def slot_body(
    slot: int, parent: int | None, status: int, dead_error: str = "", *, bank: int = 0
) -> bytes:
    """That a slot reached a status (a number of SlotStatus); `bank` 0 where none is known."""
    update = schema.SubscribeUpdateSlot(slot=slot, status=status)  # type: ignore[arg-type]
    if parent is not None:
        update.parent = parent
    if dead_error:
        update.dead_error = dead_error
    if bank:
        update.bank_id = bank
    return bytes(schema.SubscribeUpdate(slot=update).SerializeToString())


def block_body(
    block: Any,
    wanted: BlockFilter,
    slices: Slices,
    *,
    transactions: Iterable[TransactionMessage],
    accounts: Iterable[AccountMessage],
    entries: Iterable[EntryMessage],
    mentioned: Collection[bytes] | None = None,
    written: Collection[bytes] | None = None,
) -> bytes:
    """The `block`, a SubscribeUpdateBlock without parts, with those of its parts that are wanted,
    without filters and created_at. `mentioned` and `written` are the keys of transactions and of
    accounts that are within the filter's; looked for unless they are given.
    """
    update = schema.SubscribeUpdate(block=block)
    block = update.block
    if wanted.transactions:
        block.transactions.extend(
            each.info for each in transactions if wanted.includes(each.account_keys, mentioned)
        )
    if wanted.accounts:
        block.accounts.extend(
            each.info(slices) for each in accounts if wanted.includes((each.write.pubkey,), written)
        )
    if wanted.entries:
        block.entries.extend(each.info for each in entries)
    return bytes(update.SerializeToString())


def _amounts(balances: Iterable[Any]) -> dict[int, tuple[str, str]]:
    return {each.account_index: (each.owner, each.ui_token_amount.amount) for each in balances}


def _keys(texts: Iterable[str]) -> frozenset[bytes]:
    return frozenset(bytes(Pubkey.from_string(text)) for text in {*texts} - {""})
