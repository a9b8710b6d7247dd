"""The protocol between a client process and an engine process: frames of pickled values."""

import pickle
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from solders.account import Account
from solders.hash import Hash
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from simulator.features import feature_set_of
from simulator.moment import Moment
from simulator.outcome import Outcome

# lamports, data, owner, executable, rent_epoch: pickled in a third of an Account's time.
Packed: TypeAlias = tuple[int, bytes, bytes, bool, int]
# Feature → its activation slot.
Features: TypeAlias = dict[bytes, int]
T = TypeVar("T")
_SENT_PACKED = {"keys", "loaded_writable", "loaded_readonly", "writes"}
_OTHERS = [each.name for each in fields(Outcome) if each.name not in _SENT_PACKED]
_others = attrgetter(*_OTHERS)
_LENGTH = struct.Struct("<Q")
# A larger buffer would be mapped and unmapped for each piece, however short that is.
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Job:
    """Transactions to run in order, with everything that they need."""

    transactions: tuple[bytes, ...]
    accounts: Mapping[Pubkey, Account | None]
    slot: int
    previous_blockhash: bytes
    blockhashes: frozenset[bytes] | None
    features: FeatureSet | None
    verify: bool


class New(NamedTuple, Generic[T]):
    """A value that the engine process caches under the number."""

    number: int
    form: T


@dataclass(frozen=True, slots=True)
class Payload:
    """A job as it is sent: numbers refer to cached values, and `dropped` are those to remove after
    this job.
    """

    transactions: tuple[bytes, ...]
    accounts: dict[bytes, Packed | New[Packed] | int | None]
    slot: int
    previous_blockhash: bytes
    blockhashes: frozenset[bytes] | None
    features: New[Features] | int | None
    dropped: list[int]
    verify: bool


class PackedOutcome(NamedTuple):
    """An outcome as it is sent, in half the time of its Pubkeys and Accounts: `others` are its
    members that are plain values, `keys` are concatenated, the loaded ones last.
    """

    others: tuple[Any, ...]
    keys: bytes
    loaded_writable: int
    loaded_readonly: int
    writes: list[tuple[bytes, Packed]]


class Answer(NamedTuple):
    """A job's outcomes, or the exception that it ended with; and the process's memory in bytes."""

    outcomes: list[PackedOutcome]
    error: BaseException | None
    memory: int


def make_job(
    transactions: Sequence[VersionedTransaction],
    accounts: Mapping[Pubkey, Account | None],
    moment: Moment,
    verify: bool,
) -> Job:
    """The job, with only those recent blockhashes that the transactions have."""
    recent = moment.blockhashes
    asked = {transaction.message.recent_blockhash for transaction in transactions}
    return Job(
        transactions=tuple(bytes(transaction) for transaction in transactions),
        accounts=accounts,
        slot=moment.slot,
        previous_blockhash=bytes(moment.previous_blockhash),
        blockhashes=None if recent is None else frozenset(bytes(h) for h in asked if h in recent),
        features=moment.features,
        verify=verify,
    )


class ValueCache:
    """The values that an engine process caches between jobs, by number."""

    def __init__(self) -> None:
        self._accounts: dict[int, Account] = {}
        self._features: dict[int, FeatureSet] = {}

    def take(self, payload: Payload) -> tuple[dict[Pubkey, Account | None], FeatureSet | None]:
        """The payload's accounts and features. Caches its new values, and drops those it lists."""
        accounts = {Pubkey(key): self._account(sent) for key, sent in payload.accounts.items()}
        sent = payload.features
        features = None
        if isinstance(sent, New):
            active = {Pubkey(key): slot for key, slot in sent.form.items()}
            features = self._features[sent.number] = feature_set_of(active)
        elif sent is not None:
            features = self._features[sent]
        for number in payload.dropped:
            self._accounts.pop(number, None)
            self._features.pop(number, None)
        return accounts, features

    def _account(self, sent: Packed | New[Packed] | int | None) -> Account | None:
        if isinstance(sent, New):
            account = self._accounts[sent.number] = _unpacked(sent.form)
            return account
        if isinstance(sent, int):
            return self._accounts[sent]
        return None if sent is None else _unpacked(sent)


def given_blockhashes(job: Payload) -> frozenset[Hash] | None:
    """The job's recent blockhashes."""
    return None if job.blockhashes is None else frozenset(map(Hash, job.blockhashes))


def send(connection: socket.socket, value: object) -> None:
    """Sends one value within the connection's timeout."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    # In one call: the other side would wake up for the length alone.
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> Any:
    """The next value; nothing follows it until it is answered. EOFError if the other side has
    closed the connection.
    """
    data = bytearray()
    size = _LENGTH.size
    while len(data) < size:
        piece = connection.recv(_CHUNK)
        if not piece:
            raise EOFError
        data += piece
        if size == _LENGTH.size and len(data) >= size:
            size += _LENGTH.unpack_from(data)[0]
    return pickle.loads(memoryview(data)[_LENGTH.size :])


def packed_outcome(outcome: Outcome) -> PackedOutcome:
    """The outcome as it is sent."""
    return PackedOutcome(
        _others(outcome),
        b"".join(map(bytes, outcome.keys)),
        len(outcome.loaded_writable),
        len(outcome.loaded_readonly),
        [(bytes(key), packed(account)) for key, account in outcome.writes.items()],
    )


def unpacked_outcome(form: PackedOutcome) -> Outcome:
    """The outcome that was sent."""
    others, joined, writable, readonly, writes = form
    keys = [Pubkey(joined[start : start + 32]) for start in range(0, len(joined), 32)]
    middle = len(keys) - readonly
    return Outcome(
        **dict(zip(_OTHERS, others, strict=True)),
        keys=keys,
        loaded_writable=keys[middle - writable : middle],
        loaded_readonly=keys[middle:],
        writes={Pubkey(key): _unpacked(account) for key, account in writes},
    )


def packed(account: Account) -> Packed:
    """The account as it is sent."""
    return (
        account.lamports,
        account.data,
        bytes(account.owner),
        account.executable,
        account.rent_epoch,
    )


def _unpacked(form: Packed) -> Account:
    lamports, data, owner, executable, rent_epoch = form
    return Account(lamports, data, Pubkey(owner), executable, rent_epoch)
