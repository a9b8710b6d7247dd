"""Whether a block's transactions are what their signers signed, each of them once.

What is signed are the bytes of the message, which differ by version: of legacy and version 0 all
that follows the signatures, of version 1 all that is before them (SIMD-0385).
"""

from collections.abc import Iterator, Sequence
from enum import Enum, StrEnum
from typing import NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import TransactionRecord
from chain.encodings import b58encode
from chain.transactions import Wire, encode_wire

_SIGNATURE_BYTES = 64
# What a version 1 message can have at most (SIMD-0385).
_SIGNERS_OF_V1, _KEYS_OF_V1, _INSTRUCTIONS_OF_V1 = 12, 64, 64


class Signatures(Enum):
    """What becomes of a block with unsigned transactions."""

    UNVERIFIED = "not verified"
    REFUSE = "refused"
    KEEP = "kept and marked"


class Defect(StrEnum):
    """Why a transaction of a block cannot have been executed in it as it is."""

    WRONG_SIGNATURE = "wrong_signature"
    DOWNGRADED_VERSION = "downgraded_version"
    DUPLICATE = "duplicate_transaction"


_TEXTS = {
    Defect.WRONG_SIGNATURE: "a signature does not verify: it is not what was signed",
    Defect.DOWNGRADED_VERSION: (
        "a signature does not verify: a downgraded version (version 1 handed on as version 0, as"
        " nodes of 4.2.0 to 4.2.2 do), or altered"
    ),
    Defect.DUPLICATE: "the transaction is in the block already, at index",
}


class Unsigned(NamedTuple):
    """A transaction with a defect: its position in the block, its first signature as base58, and of
    a duplicate the position of the `first` of them, else its own.
    """

    position: int
    defect: Defect
    signature: str
    first: int

    def __str__(self) -> str:
        first = f" {self.first}" if self.defect is Defect.DUPLICATE else ""
        return f"transactions[{self.position}] ({self.signature}): {_TEXTS[self.defect]}{first}"


def signed_bytes(wire: Wire) -> bytes:
    """The message as its signers sign it."""
    encoded = encode_wire(wire)
    length = _SIGNATURE_BYTES * len(wire.signatures)
    # The count of signatures takes one byte: at most 127 fit (chain.transactions).
    return encoded[:-length] if wire.version == 1 else encoded[1 + length :]


def is_signed(wire: Wire) -> bool:
    """Whether each required signer's signature verifies over the message. As a node verifies it:
    weak keys and malleable signatures do not (ed25519's `verify_strict`).
    """
    message = signed_bytes(wire)
    return all(
        Signature.from_bytes(signature).verify(Pubkey.from_bytes(key), message)
        for signature, key in zip(wire.signatures, wire.account_keys, strict=False)
    )


def unsigned_among(transactions: Sequence[TransactionRecord]) -> Iterator[Unsigned]:
    """Those of a block that their signers did not sign, in order. 40 to 80 µs a signature; threads
    gain nothing, since the verification holds Python's lock.
    """
    for index, record in enumerate(transactions):
        wire = record.decoded
        if not is_signed(wire):
            defect = _defect_of(wire)
            yield Unsigned(index, defect, b58encode(wire.signatures[0]), index)


def duplicates_among(transactions: Sequence[TransactionRecord]) -> Iterator[Unsigned]:
    """Those of a block that it has twice: a bank takes a signature once (AlreadyProcessed)."""
    first: dict[bytes, int] = {}
    for index, record in enumerate(transactions):
        before = first.setdefault(record.signature, index)
        if before != index:
            yield Unsigned(index, Defect.DUPLICATE, b58encode(record.signature), before)


def _defect_of(wire: Wire) -> Defect:
    """A version 1 message has no lookups, and loses its settings when it is read as version 0
    (anza-xyz/agave#14873): what it was cannot be restored, unless it had none.
    """
    fits = (
        wire.version == 0
        and not wire.lookups
        and len(wire.signatures) <= _SIGNERS_OF_V1
        and len(wire.account_keys) <= _KEYS_OF_V1
        and len(wire.instructions) <= _INSTRUCTIONS_OF_V1
    )
    return Defect.DOWNGRADED_VERSION if fits else Defect.WRONG_SIGNATURE
