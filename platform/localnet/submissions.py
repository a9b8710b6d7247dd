"""What clients submit: checks of transactions, bundles and their results."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import sha256

from solders.message import Message, MessageV0, MessageV1
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.transactions import BadTransaction, decode_wire
from chain.units import Slot

MAX_WIRE_BYTES = 1_232
# Some seconds of a thousand a second.
_REMEMBERED = 4_096


class SignatureFailure(ValueError):
    """A signature does not fit its key and the message."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A transaction with its wire bytes and its first signature."""

    transaction: VersionedTransaction
    message: Message | MessageV0
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
    if len(wire) > MAX_WIRE_BYTES:
        raise BadTransaction(f"{len(wire)} bytes; at most {MAX_WIRE_BYTES} fit a packet")
    if decode_wire(wire).version == 1:
        raise BadTransaction("unsupported version 1")
    try:
        transaction = VersionedTransaction.from_bytes(wire)
        transaction.sanitize()
    except Exception as error:  # solders raises several types that share no parent
        raise BadTransaction(str(error)) from None
    message = transaction.message
    assert not isinstance(message, MessageV1)
    return Submitted(transaction, message, wire, bytes(transaction.signatures[0]))
