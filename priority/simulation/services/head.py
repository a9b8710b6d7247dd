"""The newest state of the chain for simulating bundles: all accounts are of one slot."""

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.commitment import Commitment
from chain.units import Slot
from jsonrpc.wire import Encoded, encode
from priority.proxy.errors import UpstreamAnswerUnreadable, UpstreamTimeout
from priority.proxy.services.forwarding import NodeCall
from priority.simulation import code_cache, head_cache
from priority.simulation.errors import HeadMoved
from priority.simulation.head_cache import KnownSlot
from priority.simulation.services.node_accounts import NodeLags, read_accounts
from priority.simulation.services.node_features import features_of
from simulator.machine import CACHED_SYSVARS
from simulator.missing_rules import MissingRule
from simulator.moment import Moment
from simulator.required_accounts import mints_of, native_keys, needed_keys
from upstream.http.client import Client

# Each reads once, and a slot is long against a read: more are for a node that lags or is far away.
_ROUNDS = 12
_BLOCKHASH_ENTRY = 40


@dataclass(frozen=True, slots=True)
class Head:
    """`processed` are the transactions that the chain has already, by their place in the bundle.
    `missing` are features that are on and that the engine does not have. `last_valid_block_height`
    belongs to the moment's previous blockhash, where it was asked for.
    """

    slot: Slot
    api_version: str | None
    moment: Moment
    accounts: dict[Pubkey, Account | None]
    processed: frozenset[int]
    last_valid_block_height: int | None
    missing: tuple[MissingRule, ...]


class _Latest(msgspec.Struct, rename="camel"):
    last_valid_block_height: int


class _Slot(msgspec.Struct):
    slot: int


class _LatestAnswer(msgspec.Struct):
    context: _Slot
    value: _Latest


class _StatusesAnswer(msgspec.Struct):
    value: list[_Slot | None]


_read_latest = msgspec.json.Decoder(_LatestAnswer).decode
_read_statuses = msgspec.json.Decoder(_StatusesAnswer).decode


def read_head(
    transactions: Sequence[VersionedTransaction],
    *,
    also: Collection[Pubkey],
    node: Client,
    seconds: int,
    commitment: Commitment,
    any_blockhash: bool,
) -> Head:
    """The accounts that the transactions need, and `also` these. With `any_blockhash` the
    transactions' own blockhashes are not looked at, and none is processed already. Raises
    HeadMoved, UpstreamFailed and what else the node answers.
    """
    deadline = time.monotonic() + seconds
    keys = dict.fromkeys([*CACHED_SYSVARS, *also])
    accounts: dict[Pubkey, Account | None] = {}
    known = head_cache.known_slot(node, commitment)
    slot = None if known is None else known.slot
    at_least = 0
    api_version: str | None = None
    extra = [_latest(commitment)] if any_blockhash else [_statuses(transactions)]
    reply: Encoded | None = None
    for _ in range(_ROUNDS):
        missing = _missing(keys, transactions, also, accounts, known)
        if not missing and reply is not None:
            break
        left = deadline - time.monotonic()
        if left <= 0:
            raise UpstreamTimeout(seconds)
        try:
            reading = read_accounts(
                # Where all is known the node still has to name its slot.
                missing or [addresses.CLOCK],
                node=node,
                seconds=math.ceil(left),
                commitment=commitment,
                at_least=at_least,
                extra=() if reply is not None else extra,
            )
        except NodeLags:
            continue
        if reading.extra:
            reply = reading.extra[0]
        slots = {*reading.slots, *_slot_of_latest(reply if any_blockhash else None)}
        at_least = max(at_least, *slots)
        if len(slots) > 1 or slot not in (None, *slots):
            # The chain went on: nothing read so far stands beside what is read now, but which keys
            # it takes is known, and the next round asks for all of them at once.
            accounts, slot, known, reply = {}, None, None, None
            continue
        (slot,) = slots
        api_version = reading.api_version
        accounts.update(reading.accounts)
        head_cache.remember(node, commitment, slot, reading.accounts)
    else:
        raise HeadMoved
    assert slot is not None and reply is not None
    active = features_of(node, epoch=_epoch(accounts), seconds=seconds, commitment=commitment)
    recent = recent_blockhashes(accounts[addresses.RECENT_BLOCKHASHES])
    if not recent:
        raise UpstreamAnswerUnreadable(200)
    return Head(
        slot=Slot(slot),
        api_version=api_version,
        moment=Moment(
            slot=Slot(slot),
            previous_blockhash=recent[0],
            blockhashes=None if any_blockhash else frozenset(recent),
            features=active.features,
        ),
        accounts=accounts,
        processed=frozenset() if any_blockhash else _processed(reply, transactions, slot, recent),
        last_valid_block_height=_height(reply) if any_blockhash else None,
        missing=active.missing,
    )


def _missing(
    keys: dict[Pubkey, None],
    transactions: Sequence[VersionedTransaction],
    also: Collection[Pubkey],
    accounts: dict[Pubkey, Account | None],
    known: KnownSlot | None,
) -> list[Pubkey]:
    """The keys to read next: those that were asked for, and what the accounts so far call for. What
    is known of the slot becomes one of these accounts.
    """
    while True:
        keys.update(dict.fromkeys(_wanted(transactions, accounts)))
        # Without them no token account is shown parsed.
        keys.update(dict.fromkeys(mints_of(also, accounts)))
        missing = [key for key in keys if key not in accounts]
        if known is None:
            return missing
        found = {key: known.accounts[key] for key in missing if key in known.accounts}
        if not found:
            return missing
        accounts.update(found)


def recent_blockhashes(sysvar: Account | None) -> list[Hash]:
    """Those that the sysvar lists, newest first."""
    data = b"" if sysvar is None else sysvar.data
    count = int.from_bytes(data[:8], "little")
    starts = range(8, min(8 + _BLOCKHASH_ENTRY * count, len(data) - 31), _BLOCKHASH_ENTRY)
    return [Hash(data[start : start + 32]) for start in starts]


def _wanted(
    transactions: Sequence[VersionedTransaction], accounts: dict[Pubkey, Account | None]
) -> list[Pubkey]:
    needed = needed_keys(transactions, accounts)
    behind = [code for key in needed if (code := code_cache.code_behind(key)) is not None]
    return [*needed, *behind, *native_keys(transactions, accounts)]


def _statuses(transactions: Sequence[VersionedTransaction]) -> NodeCall:
    signatures = [str(Signature(bytes(each.signatures[0]))) for each in transactions]
    return "getSignatureStatuses", encode([signatures])


def _latest(commitment: Commitment) -> NodeCall:
    return "getLatestBlockhash", encode([{"commitment": commitment.value}])


def _slot_of_latest(answer: Encoded | None) -> list[int]:
    return [] if answer is None else [_latest_of(answer).context.slot]


def _height(answer: Encoded) -> int:
    return _latest_of(answer).value.last_valid_block_height


def _latest_of(answer: Encoded) -> _LatestAnswer:
    try:
        return _read_latest(bytes(answer))
    except msgspec.MsgspecError:
        raise UpstreamAnswerUnreadable(200) from None


def _processed(
    answer: Encoded,
    transactions: Sequence[VersionedTransaction],
    slot: int,
    recent: Sequence[Hash],
) -> frozenset[int]:
    """Only a recent blockhash makes a transaction the same one: with an old one it is dead, and on
    a nonce the nonce has advanced.
    """
    try:
        statuses = _read_statuses(bytes(answer)).value
    except msgspec.MsgspecError:
        raise UpstreamAnswerUnreadable(200) from None
    return frozenset(
        place
        for place, (status, transaction) in enumerate(zip(statuses, transactions, strict=False))
        if status is not None
        and status.slot <= slot
        and transaction.message.recent_blockhash in recent
    )


def _epoch(accounts: dict[Pubkey, Account | None]) -> int:
    clock = accounts[addresses.CLOCK]
    if clock is None or len(clock.data) < 24:
        raise UpstreamAnswerUnreadable(200)
    return int.from_bytes(clock.data[16:24], "little")
