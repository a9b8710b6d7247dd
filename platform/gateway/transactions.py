"""Transactions as callers send them in text: read, or refused in the node's words."""

import binascii
from enum import Enum
from typing import NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.encodings import b58decode, b64decode
from chain.transaction_limits import MOST_BYTES, limits_of
from chain.transaction_settings import LEAST_HEAP, MOST_HEAP, BadSettings, settings_of_wire
from chain.transaction_texts import NEWEST_VERSION, TextLimits, later_version, limits_of_text
from chain.transactions import BadTransaction, Wire, decode_wire, sanitize
from jsonrpc.errors import InvalidParams

_UNSIGNED = bytes(64)
_TYPE = "solana_transaction::versioned::VersionedTransaction"


class TransactionText(Enum):
    """How a caller writes a transaction."""

    BASE58 = "base58"
    BASE64 = "base64"


class TransactionUndecodable(InvalidParams):
    """The text is not a transaction; `at` is its place in the params."""

    reason = "transaction_undecodable"

    def __init__(self, text: str, at: str) -> None:
        super().__init__(text, at=at)


class TransactionTooLarge(InvalidParams):
    """The transaction is larger than its version allows. `found` and `maximum` are in bytes."""

    reason = "transaction_too_large"

    def __init__(self, text: str, limits: TextLimits, found: int, at: str) -> None:
        super().__init__(f"{text}: {_whose(limits)}", at=at, found=found, maximum=limits.most_bytes)


class UnsupportedVersion(InvalidParams):
    """The network does not support transactions of this version yet."""

    reason = "unsupported_version"

    def __init__(self, found: int, at: str) -> None:
        super().__init__(
            f"failed to deserialize {_TYPE}: Custom error: invalid transaction discriminator:"
            f" version {found} is not supported, expected legacy, 0 or {NEWEST_VERSION}",
            at=at,
            found=found,
            maximum=NEWEST_VERSION,
        )


class SignatureMissing(InvalidParams):
    """A required signature is missing (all zeros). `pubkey` is its key."""

    reason = "signature_missing"

    def __init__(self, at: str, pubkey: bytes) -> None:
        name = str(Pubkey(pubkey))
        super().__init__(
            f"transaction is not fully signed: the signature of {name} is missing",
            at=at,
            pubkey=name,
        )


class SignatureInvalid(InvalidParams):
    """A signature does not verify. `pubkey` is its key."""

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
    """A transaction that a validator could run, with every signature verified.
    Raises TransactionUndecodable, TransactionTooLarge, UnsupportedVersion, SignatureMissing,
    SignatureInvalid.
    """
    data, wire = read_wire(text, encoding, at=at)
    try:
        sanitize(wire)
        _require_runnable(wire)
    except BadTransaction as fault:
        raise TransactionUndecodable(f"invalid transaction: {fault}", at) from None
    size = 64 * len(wire.signatures)
    # Version 1 has its signatures last. Else their count is one byte: sanitize refuses more.
    message = data[:-size] if wire.version == 1 else data[1 + size :]
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
        raise BadTransaction("the message lists a key twice", "message.accountKeys")
    for index, instruction in enumerate(wire.instructions):
        if not 0 < instruction.program_index < count:
            raise BadTransaction(
                "the program is the fee payer, or is in a lookup table",
                f"message.instructions[{index}]",
            )
    for index, lookup in enumerate(wire.lookups):
        if not lookup.writable and not lookup.readonly:
            raise BadTransaction(
                "the lookup names no account", f"message.addressTableLookups[{index}]"
            )
    if wire.version == 1:
        _require_version_1(wire)


def _require_version_1(wire: Wire) -> None:
    """BadTransaction for what SIMD-0385 does not allow: node's `Message::validate`."""
    most = limits_of(1)
    for found, maximum, place in (
        (len(wire.signatures), most.signatures, "signatures"),
        (len(wire.account_keys), most.keys, "message.accountKeys"),
        (len(wire.instructions), most.instructions, "message.instructions"),
    ):
        if found > maximum:
            raise BadTransaction(f"{found}; version 1 has at most {maximum}", place)
    try:
        settings_of_wire(wire)
    except BadSettings:
        raise BadTransaction(
            f"expected {LEAST_HEAP} to {MOST_HEAP} bytes in steps of 1024",
            "message.transactionConfig.heapSize",
        ) from None


def read_transaction(text: str, encoding: TransactionText, *, at: str) -> VersionedTransaction:
    """A transaction with a signature for each key that must sign, none of them verified.
    Raises TransactionUndecodable, TransactionTooLarge, UnsupportedVersion.
    """
    data, _ = read_wire(text, encoding, at=at)
    try:
        return VersionedTransaction.from_bytes(data)
    except ValueError as fault:
        raise TransactionUndecodable(f"failed to deserialize {_TYPE}: {fault}", at) from None


def read_wire(text: str, encoding: TransactionText, *, at: str) -> tuple[bytes, Wire]:
    """A transaction's bytes and parts, neither verified nor checked any further.
    Raises TransactionUndecodable, TransactionTooLarge, UnsupportedVersion.
    """
    data = _wire(text, encoding, at)
    version = later_version(data)
    if version is not None:
        raise UnsupportedVersion(version, at)
    try:
        return data, decode_wire(data)
    except BadTransaction as fault:
        raise TransactionUndecodable(f"failed to deserialize {_TYPE}: {fault}", at) from None


def _wire(text: str, encoding: TransactionText, at: str) -> bytes:
    name = encoding.value
    limits = limits_of_text(text, is_base58=encoding is TransactionText.BASE58)
    # Not decoded at all: base58 takes time that grows with the square of the length.
    if len(text) > limits.longest_text:
        least = len(text) * limits.most_bytes // limits.longest_text
        raise TransactionTooLarge(
            limits.text_too_long(_TYPE, text), limits, max(least, limits.most_bytes + 1), at
        )
    try:
        wire = b58decode(text) if encoding is TransactionText.BASE58 else b64decode(text)
    except (ValueError, binascii.Error) as fault:
        text = f"invalid {name} encoding: {fault}"
        if encoding is TransactionText.BASE58:
            # Mostly base64 whose sender named no encoding: base58 is what is read then.
            text += "; if it is base64, set that encoding"
        raise TransactionUndecodable(text, at) from None
    if len(wire) > limits.most_bytes:
        raise TransactionTooLarge(limits.too_large(_TYPE, len(wire)), limits, len(wire), at)
    return wire


def _whose(limits: TextLimits) -> str:
    """Which limit it was that a transaction is above."""
    if limits.is_base58:
        return f"the limit of base58 for any version; in base64 version 1 has {MOST_BYTES} bytes"
    if limits.most_bytes == MOST_BYTES:
        return "the limit of version 1"
    return f"the limit of legacy and version 0; version 1 has {MOST_BYTES} bytes"
