"""What clients submit: checks of transactions, bundles and their results."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import sha256

from solders.message import VersionedMessage
from solders.signature import Signature
from solders.transaction import SanitizeError, VersionedTransaction

from chain.transaction_limits import most_bytes
from chain.transactions import BadTransaction
from chain.units import Slot

# Some seconds of a thousand a second.
_REMEMBERED = 4_096


class Unsanitary(BadTransaction):
    """It can be decoded, and no node runs it."""

    def __init__(self) -> None:
        super().__init__("Transaction failed to sanitize accounts offsets correctly")


class SignatureFailure(ValueError):
    """A signature does not fit its key and the message."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A transaction with its wire bytes and its first signature."""

    transaction: VersionedTransaction
    message: VersionedMessage
    wire: bytes
    signature: bytes


class BundleState(Enum):
    PENDING = "Pending"
    FAILED = "Failed"
    LANDED = "Landed"


@dataclass(slots=True)
class Bundle:
    """Transactions that land all in one slot, in order, or not at all; `error` says why not, and
    `failed` is the signature of the one that failed.
    """

    transactions: list[Submitted]
    state: BundleState = BundleState.PENDING
    slot: Slot | None = None
    error: object | None = None
    failed: bytes | None = None

    @property
    def bundle_id(self) -> str:
        """SHA-256 over the signatures, as a block engine names it."""
        signatures = ",".join(str(Signature(each.signature)) for each in self.transactions)
        return sha256(signatures.encode()).hexdigest()


def read_transaction(wire: bytes, *, verify: bool = True) -> Submitted:
    """The transaction of these bytes; BadTransaction or SignatureFailure where it is none."""
    return _verified(wire) if verify else _read(wire)


def read_first(data: bytes) -> Submitted:
    """The transaction at the beginning of these bytes, as a node's RPC reads it: it ignores what
    follows. Raises Unsanitary, and BadTransaction in the node's words.
    """
    try:
        transaction = VersionedTransaction.from_bytes(data)
    except ValueError as error:
        raise BadTransaction(str(error)) from None
    return _read(bytes(transaction))


# A transaction comes by several ways, and again and again until it is seen: to check a signature
# costs more than all else that is done with it here. What is refused is not remembered.
@lru_cache(maxsize=_REMEMBERED)
def _verified(wire: bytes) -> Submitted:
    submitted = _read(wire)
    if not all(submitted.transaction.verify_with_results()):
        raise SignatureFailure("Transaction signature verification failure")
    return submitted


@lru_cache(maxsize=_REMEMBERED)
def _read(wire: bytes) -> Submitted:
    most = most_bytes(wire[0]) if wire else 0
    if len(wire) > most:
        raise BadTransaction(f"{len(wire)} bytes; at most {most} fit a packet")
    try:
        transaction = VersionedTransaction.from_bytes(wire)
    except ValueError as error:
        raise BadTransaction(str(error)) from None
    if len(bytes(transaction)) < len(wire):
        raise BadTransaction("bytes follow the transaction")
    try:
        transaction.sanitize()
    except SanitizeError:
        raise Unsanitary from None
    return Submitted(transaction, transaction.message, wire, bytes(transaction.signatures[0]))
