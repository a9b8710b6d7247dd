"""What passes between a process that asks and an engine process: frames of pickled values."""

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

# lamports, data, owner, executable, rent_epoch: a third of the time that an Account takes.
Packed: TypeAlias = tuple[int, bytes, bytes, bool, int]
# Feature → the slot that it came in.
Features: TypeAlias = dict[bytes, int]
T = TypeVar("T")
_TRAVEL_PACKED = {"keys", "loaded_writable", "loaded_readonly", "writes"}
_OTHERS = [each.name for each in fields(Outcome) if each.name not in _TRAVEL_PACKED]
_others = attrgetter(*_OTHERS)
_LENGTH = struct.Struct("<Q")
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Job:
    """Transactions to run one after the other, with all that they need."""

    transactions: tuple[bytes, ...]
    accounts: Mapping[Pubkey, Account | None]
    slot: int
    previous_blockhash: bytes
    blockhashes: frozenset[bytes] | None
    features: FeatureSet | None
    verify: bool


class New(NamedTuple, Generic[T]):
    """A value that the engine's process keeps under a number from now on."""

    number: int
    form: T


@dataclass(frozen=True, slots=True)
class Parcel:
    """A job as it travels: numbers stand for what is kept already, and `dropped` are those of what
    is not kept for later jobs.
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
    """An outcome as it travels, in half the time that its Pubkeys and Accounts take: `others` are
    its members that are plain values, `keys` stand one after the other, and the last of them are
    the loaded ones.
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
    """The job. Of the recent blockhashes only those go along that the transactions have."""
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


class Kept:
    """What an engine process keeps between jobs, by number."""

    def __init__(self) -> None:
        self._accounts: dict[int, Account] = {}
        self._features: dict[int, FeatureSet] = {}

    def take(self, parcel: Parcel) -> tuple[dict[Pubkey, Account | None], FeatureSet | None]:
        """The parcel's accounts and features; what it brings is kept, what it drops is not."""
        accounts = {Pubkey(key): self._account(told) for key, told in parcel.accounts.items()}
        told = parcel.features
        features = None
        if isinstance(told, New):
            active = {Pubkey(key): slot for key, slot in told.form.items()}
            features = self._features[told.number] = feature_set_of(active)
        elif told is not None:
            features = self._features[told]
        for number in parcel.dropped:
            self._accounts.pop(number, None)
            self._features.pop(number, None)
        return accounts, features

    def _account(self, told: Packed | New[Packed] | int | None) -> Account | None:
        if isinstance(told, New):
            account = self._accounts[told.number] = _unpacked(told.form)
            return account
        if isinstance(told, int):
            return self._accounts[told]
        return None if told is None else _unpacked(told)


def given_blockhashes(job: Parcel) -> frozenset[Hash] | None:
    """The job's recent blockhashes."""
    return None if job.blockhashes is None else frozenset(map(Hash, job.blockhashes))


def send(connection: socket.socket, value: object) -> None:
    """Sends one value; within the connection's timeout, whatever its size."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    # At once: the other side would wake up for the length alone.
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> Any:
    """The next value, after which nothing comes before it is answered; EOFError if the other side
    is gone.
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
    """The outcome as it travels."""
    return PackedOutcome(
        _others(outcome),
        b"".join(map(bytes, outcome.keys)),
        len(outcome.loaded_writable),
        len(outcome.loaded_readonly),
        [(bytes(key), packed(account)) for key, account in outcome.writes.items()],
    )


def unpacked_outcome(form: PackedOutcome) -> Outcome:
    """The outcome that has travelled."""
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
    """The account as it travels."""
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
