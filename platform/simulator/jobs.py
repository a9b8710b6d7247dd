"""What passes between a process that asks and an engine process: frames of pickled values."""

import pickle
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from simulator.moment import Moment

# lamports, data, owner, executable, rent_epoch: a third of the time that an Account takes.
Packed: TypeAlias = tuple[int, bytes, bytes, bool, int]
_LENGTH = struct.Struct("<Q")
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Job:
    """Transactions to run one after the other, with all that they need."""

    transactions: tuple[bytes, ...]
    accounts: dict[bytes, Packed | None]
    slot: int
    previous_blockhash: bytes
    blockhashes: frozenset[bytes] | None
    features: dict[bytes, int] | None
    verify: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A job's value, or the exception that it ended with; and the process's memory in bytes."""

    value: Any
    error: BaseException | None
    memory: int


def make_job(
    transactions: Sequence[VersionedTransaction],
    accounts: Mapping[Pubkey, Account | None],
    moment: Moment,
    verify: bool,
) -> Job:
    """The job in the form that travels. Of the recent blockhashes only those go along that the
    transactions have.
    """
    recent = moment.blockhashes
    asked = {transaction.message.recent_blockhash for transaction in transactions}
    features = moment.features
    return Job(
        transactions=tuple(bytes(transaction) for transaction in transactions),
        accounts={bytes(key): _packed(account) for key, account in accounts.items()},
        slot=moment.slot,
        previous_blockhash=bytes(moment.previous_blockhash),
        blockhashes=None if recent is None else frozenset(bytes(h) for h in asked if h in recent),
        features=None
        if features is None
        else {bytes(key): slot for key, slot in features.active.items()},
        verify=verify,
    )


def given_accounts(job: Job) -> dict[Pubkey, Account | None]:
    """The job's accounts."""
    return {Pubkey(key): _unpacked(packed) for key, packed in job.accounts.items()}


def given_blockhashes(job: Job) -> frozenset[Hash] | None:
    """The job's recent blockhashes."""
    return None if job.blockhashes is None else frozenset(map(Hash, job.blockhashes))


def send(connection: socket.socket, value: object) -> None:
    """Sends one value; within the connection's timeout, whatever its size."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    connection.sendall(_LENGTH.pack(len(data)))
    connection.sendall(data)


def receive(connection: socket.socket) -> Any:
    """The next value; EOFError if the other side is gone."""
    (size,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return pickle.loads(_exactly(connection, size))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(_CHUNK, size - len(data)))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _packed(account: Account | None) -> Packed | None:
    if account is None:
        return None
    return (
        account.lamports,
        account.data,
        bytes(account.owner),
        account.executable,
        account.rent_epoch,
    )


def _unpacked(packed: Packed | None) -> Account | None:
    if packed is None:
        return None
    lamports, data, owner, executable, rent_epoch = packed
    return Account(lamports, data, Pubkey(owner), executable, rent_epoch)
