"""Transactions as callers send them in text: read, or refused in the node's words."""

import binascii
from enum import Enum
from typing import NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.encodings import b58decode, b64decode
from chain.transactions import BadTransaction, Wire, decode_wire, sanitize
from jsonrpc.errors import InvalidParams

MOST_BYTES = 1_232
# The longest texts that so many bytes can have.
_LONGEST = {"base58": 1_683, "base64": 1_644}
_UNSIGNED = bytes(64)
_TYPE = "solana_transaction::versioned::VersionedTransaction"


class TransactionText(Enum):
    """How a caller writes a transaction."""

    BASE58 = "base58"
    BASE64 = "base64"


class TransactionUndecodable(InvalidParams):
    """The text is no transaction; `at` is where it stands in the params."""

    reason = "transaction_undecodable"

    def __init__(self, text: str, at: str) -> None:
        super().__init__(text, at=at)


class TransactionTooLarge(InvalidParams):
    """More bytes than fit a packet."""

    reason = "transaction_too_large"

    def __init__(self, found: int, at: str) -> None:
        super().__init__(
            f"decoded {_TYPE} too large: {found} bytes (max: {MOST_BYTES} bytes)",
            at=at,
            found=found,
            maximum=MOST_BYTES,
        )


class UnsupportedVersion(InvalidParams):
    """A transaction of a version that the network does not run yet."""

    reason = "unsupported_version"

    def __init__(self, found: int, at: str) -> None:
        super().__init__(
            f"Transaction version ({found}) is not supported: expected legacy or 0",
            at=at,
            found=found,
            maximum=0,
        )


class SignatureMissing(InvalidParams):
    """A key that must sign has not: its signature is all zeros. `pubkey` is it."""

    reason = "signature_missing"

    def __init__(self, at: str, pubkey: bytes) -> None:
        name = str(Pubkey(pubkey))
        super().__init__(
            f"transaction is not fully signed: the signature of {name} is missing",
            at=at,
            pubkey=name,
        )


class SignatureInvalid(InvalidParams):
    """A signature that is not that of its key over the message. `pubkey` is the key."""

    reason = "signature_invalid"

    def __init__(self, at: str, pubkey: bytes) -> None:
        super().__init__(
            "transaction signature is invalid: Transaction did not pass signature verification",
            at=at,
            pubkey=str(Pubkey(pubkey)),
        )


class Signed(NamedTuple):
    """A transaction whose signatures are verified: its bytes, and what they say."""

    data: bytes
    wire: Wire


def read_signed(text: str, encoding: TransactionText, *, at: str) -> Signed:
    """A legacy or version 0 transaction that a validator could run, with every signature verified.
    Raises TransactionUndecodable, TransactionTooLarge, UnsupportedVersion, SignatureMissing,
    SignatureInvalid.
    """
    data, wire = _read(text, encoding, at)
    try:
        sanitize(wire)
        _require_runnable(wire)
    except BadTransaction as fault:
        raise TransactionUndecodable(f"invalid transaction: {fault}", at) from None
    # The count of signatures is one byte: sanitize refuses more of them.
    message = data[1 + 64 * len(wire.signatures) :]
    for signature, key in zip(wire.signatures, wire.account_keys, strict=False):
        if signature == _UNSIGNED:
            raise SignatureMissing(at, key)
        if not Signature(signature).verify(Pubkey(key), message):
            raise SignatureInvalid(at, key)
    return Signed(data, wire)


def _require_runnable(wire: Wire) -> None:
    """BadTransaction for what no node takes, so that it could only expire."""
    count = len(wire.account_keys)
    if len(set(wire.account_keys)) < count:
        raise BadTransaction("a key stands there twice", "message.accountKeys")
    for index, instruction in enumerate(wire.instructions):
        if not 0 < instruction.program_index < count:
            raise BadTransaction(
                "the program is the payer, or stands in a lookup table",
                f"message.instructions[{index}]",
            )
    for index, lookup in enumerate(wire.lookups):
        if not lookup.writable and not lookup.readonly:
            raise BadTransaction("nothing is looked up", f"message.addressTableLookups[{index}]")


def read_transaction(text: str, encoding: TransactionText, *, at: str) -> VersionedTransaction:
    """A legacy or version 0 transaction with a signature for each key that must sign, none of them
    verified. Raises TransactionUndecodable, TransactionTooLarge, UnsupportedVersion.
    """
    data, _ = _read(text, encoding, at)
    try:
        return VersionedTransaction.from_bytes(data)
    except ValueError as fault:
        raise TransactionUndecodable(f"failed to deserialize {_TYPE}: {fault}", at) from None


def _read(text: str, encoding: TransactionText, at: str) -> tuple[bytes, Wire]:
    data = _wire(text, encoding, at)
    try:
        wire = decode_wire(data)
    except BadTransaction as fault:
        raise TransactionUndecodable(f"failed to deserialize {_TYPE}: {fault}", at) from None
    if wire.version == 1:
        raise UnsupportedVersion(wire.version, at)
    return data, wire


def _wire(text: str, encoding: TransactionText, at: str) -> bytes:
    name = encoding.value
    # Not decoded at all: base58 takes time that grows with the square of the length.
    if len(text) > _LONGEST[name]:
        least = len(text) * MOST_BYTES // _LONGEST[name]
        raise TransactionTooLarge(max(least, MOST_BYTES + 1), at)
    try:
        wire = b58decode(text) if encoding is TransactionText.BASE58 else b64decode(text)
    except (ValueError, binascii.Error) as fault:
        text = f"invalid {name} encoding: {fault}"
        if encoding is TransactionText.BASE58:
            # Mostly base64 whose sender named no encoding: base58 is what is read then.
            text += "; where it is base64, name that encoding"
        raise TransactionUndecodable(text, at) from None
    if len(wire) > MOST_BYTES:
        raise TransactionTooLarge(len(wire), at)
    return wire
