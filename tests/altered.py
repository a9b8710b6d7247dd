"""Signed transactions of every version, what an altered copy of one can look like, and blocks of
them as a node answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any

from solders.keypair import Keypair

from chain.encodings import b58encode, b64encode
from chain.transactions import (
    BadTransaction,
    Config,
    Header,
    Instruction,
    Lookup,
    Wire,
    decode_wire,
    encode_wire,
    sanitize,
)
from tests.signing import signed

_TRANSFER = bytes([2, 0, 0, 0])


@cache
def _keypair(number: int) -> Keypair:
    return Keypair.from_seed(sha256(b"signer %d" % number).digest())


def made(chance: Random) -> Wire:
    """A transaction of any version with one to three signers, signed; each is another one."""
    version = chance.choice(("legacy", 0, 1))
    signers = [_keypair(number) for number in chance.sample(range(8), chance.randint(1, 3))]
    others = [chance.randbytes(32) for _ in range(chance.randint(1, 4))]
    keys = [*(bytes(each.pubkey()) for each in signers), *others]
    instructions = [
        Instruction(
            chance.randrange(len(signers), len(keys)),
            bytes(chance.randrange(len(keys)) for _ in range(chance.randint(0, 4))),
            _TRANSFER + chance.randbytes(8),
        )
        for _ in range(chance.randint(1, 3))
    ]
    with_lookups = version == 0 and chance.random() < 0.5
    lookups = [Lookup(chance.randbytes(32), chance.randbytes(1), b"")] if with_lookups else []
    config = Config(chance.randrange(2**40), chance.choice((None, 9_000))) if version == 1 else None
    wire = Wire(
        signatures=[],
        version=version,  # type: ignore[arg-type]
        header=Header(len(signers), 0, 1),
        account_keys=keys,
        recent_blockhash=chance.randbytes(32),
        instructions=instructions,
        lookups=lookups,
        config=config,
    )
    return signed(wire, *signers)


def _flipped_byte(wire: Wire, chance: Random) -> Wire:
    content = bytearray(encode_wire(wire))
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return decode_wire(bytes(content))


def _flipped_signature(wire: Wire, chance: Random) -> Wire:
    content = bytearray(wire.signatures[0])
    content[chance.randrange(64)] ^= 1 << chance.randrange(8)
    return replace(wire, signatures=[bytes(content), *wire.signatures[1:]])


def _signature_of_another(wire: Wire, chance: Random) -> Wire:
    signatures = list(wire.signatures)
    signatures[chance.randrange(len(signatures))] = made(chance).signatures[0]
    return replace(wire, signatures=signatures)


def _without_an_instruction(wire: Wire, chance: Random) -> Wire:
    left = list(wire.instructions)
    left.pop(chance.randrange(len(left)))
    return replace(wire, instructions=left)


def _another_amount(wire: Wire, chance: Random) -> Wire:
    changed = list(wire.instructions)
    changed[0] = changed[0]._replace(data=_TRANSFER + chance.randbytes(8))
    return replace(wire, instructions=changed)


def _another_version(wire: Wire, chance: Random) -> Wire:
    """Version 1 without its settings is what Agave 4.2.0 to 4.2.2 make of it."""
    if wire.version == 0:
        return replace(wire, version="legacy", lookups=[])
    return replace(wire, version=0, config=None)


def _another_blockhash(wire: Wire, chance: Random) -> Wire:
    return replace(wire, recent_blockhash=chance.randbytes(32))


def _other_settings(wire: Wire, chance: Random) -> Wire:
    if wire.config is None:
        return _another_blockhash(wire, chance)
    return replace(wire, config=wire.config._replace(heap_size=chance.randrange(2**32)))


def _another_receiver(wire: Wire, chance: Random) -> Wire:
    return replace(wire, account_keys=[*wire.account_keys[:-1], chance.randbytes(32)])


_Change = Callable[[Wire, Random], Wire]
ALTERATIONS: dict[str, _Change] = {
    change.__name__.lstrip("_"): change
    for change in (
        _flipped_byte,
        _flipped_signature,
        _signature_of_another,
        _without_an_instruction,
        _another_amount,
        _another_version,
        _another_blockhash,
        _other_settings,
        _another_receiver,
    )
}


def altered(wire: Wire, kind: str, chance: Random) -> Wire:
    """A copy that is not what was signed and that can be read all the same."""
    while True:
        try:
            found = ALTERATIONS[kind](wire, chance)
            sanitize(found)
        except BadTransaction:
            continue
        if found != wire:
            return found


def meta_of(wire: Wire) -> dict[str, Any]:
    """A meta that fits the transaction."""
    loaded = [sha256(lookup.account_key).digest() for lookup in wire.lookups]
    return {
        "err": None,
        "status": {"Ok": None},
        "fee": 5_000 * len(wire.signatures),
        "preBalances": [10**9] * wire.key_count,
        "postBalances": [10**9] * wire.key_count,
        "innerInstructions": [],
        "logMessages": [],
        "preTokenBalances": [],
        "postTokenBalances": [],
        "rewards": [],
        "loadedAddresses": {"writable": [b58encode(each) for each in loaded], "readonly": []},
        "computeUnitsConsumed": 150,
    }


def blockhash(slot: int) -> str:
    """Of a made block."""
    return b58encode(sha256(b"altered %d" % slot).digest())


def getblock_result(slot: int, wires: Sequence[Wire]) -> dict[str, Any]:
    """The block as a node answers it, in base64; its parent is the slot before."""
    return {
        "blockhash": blockhash(slot),
        "previousBlockhash": blockhash(slot - 1),
        "parentSlot": slot - 1,
        "blockTime": 1_790_000_000,
        "blockHeight": slot // 2,
        "rewards": [],
        "transactions": [
            {
                "transaction": [b64encode(encode_wire(wire)), "base64"],
                "meta": meta_of(wire),
                "version": wire.version,
            }
            for wire in wires
        ],
    }
