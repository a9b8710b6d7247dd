"""Detects transactions with a durable nonce from their message."""

from typing import NamedTuple

from chain.transactions import Instruction, Wire

_SYSTEM = bytes(32)
_ADVANCE = (4).to_bytes(4, "little")
NONCE_SIZE = 80
_CURRENT, _INITIALIZED = 1, 1
# The one cause that a later state may lift.
NONCE_AUTHORITY = "nonce_authority"


class NonceData(NamedTuple):
    """An initialized nonce account: its authority, and its current hash."""

    authority: bytes
    durable: bytes

    def is_signed_by(self, signers: bytes | None) -> bool:
        """Whether the authority is among the signers of a NonceUse; None stands for anyone."""
        return signers is None or any(
            self.authority == signers[at : at + 32] for at in range(0, len(signers), 32)
        )


class NonceUse(NamedTuple):
    """The nonce account that a transaction uses, and the signers among whom its authority must
    be, one after the other; keys of 32 bytes.
    """

    account: bytes
    signers: bytes


def stands_on_nonce(wire: Wire) -> bool:
    """Whether the first instruction advances a nonce: then the blockhash is the nonce's, and does
    not expire.
    """
    return bool(wire.instructions) and _advances(wire, wire.instructions[0])


def nonce_use(wire: Wire) -> NonceUse | None:
    """What the transaction uses; None unless it stands on a nonce that is among its own keys."""
    if not stands_on_nonce(wire):
        return None
    places, keys = wire.instructions[0].accounts, wire.account_keys
    if places[0] >= len(keys):
        return None
    signers = dict.fromkeys(
        keys[place] for place in places if place < wire.header.required_signatures
    )
    return NonceUse(keys[places[0]], b"".join(signers))


def read_nonce(owner: bytes, data: bytes) -> NonceData | None:
    """The data of an initialized nonce account; None for any other account.

    Legacy nonces (version 0) do not count: no transaction can use one.
    """
    if owner != _SYSTEM or len(data) != NONCE_SIZE:
        return None
    if (int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")) != (
        _CURRENT,
        _INITIALIZED,
    ):
        return None
    return NonceData(data[8:40], data[40:72])


def why_unusable(
    blockhash: bytes, signers: bytes, *, lamports: int, owner: bytes, data: bytes
) -> tuple[str, str]:
    """Why a nonce account in this state cannot take a transaction on that blockhash, as a word and
    a sentence; both empty if it can. `signers` are those of a NonceUse; a closed account has 0
    lamports.
    """
    if not lamports:
        return "nonce_closed", "does not exist"
    nonce = read_nonce(owner, data)
    if nonce is None:
        return "nonce_invalid", "is not a nonce account"
    if nonce.durable != blockhash:
        return "nonce_moved", "has another hash"
    if not nonce.is_signed_by(signers):
        return NONCE_AUTHORITY, "has another authority"
    return "", ""


def misplaced_advance(wire: Wire) -> int | None:
    """The index of an instruction that advances a nonce without being the first: the chain takes
    the transaction's blockhash for an ordinary one. None if there is no such instruction.
    """
    found = (i for i, each in enumerate(wire.instructions) if _advances(wire, each))
    return next(found, None) or None  # the first one is not misplaced


def why_misplaced(index: int) -> str:
    """Names the cause: such a transaction's blockhash is no recent one."""
    return (
        f"instruction {index} advances a nonce, but only the first instruction can make a"
        " transaction use one: its blockhash counts as a recent blockhash"
    )


def _advances(wire: Wire, instruction: Instruction) -> bool:
    program_index, accounts, data = instruction
    keys = wire.account_keys
    return (
        program_index < len(keys)
        and keys[program_index] == _SYSTEM
        and data[:4] == _ADVANCE
        and len(accounts) > 0
    )
