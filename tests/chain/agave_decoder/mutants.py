"""Made inputs with a few bytes changed, cut out, put in or cut off, by chance."""

from dataclasses import replace
from random import Random

from tests.chain.agave_decoder.accounts import Account
from tests.chain.agave_decoder.instructions import Instruction

Case = Instruction | Account

_LONGEST = 4_000  # which leaves out slot histories alone
_MOST_ACCOUNTS = 12
_EDGES = (0, 1, 2, 3, 4, 5, 127, 128, 255)
_NEAR_THE_FRONT = (4, 16, 60, _LONGEST)
_TIMES = (0, -1, 2**63 - 1, -(2**63), 1_800_000_000)


def mutants(made: list[Case], count: int, chance: Random) -> list[Case]:
    """`count` of them, each from one of the made inputs."""
    sources = [case for case in made if len(case.data) < _LONGEST]
    return [_mutant(chance.choice(sources), sources, chance) for _ in range(count)]


def _mutant(case: Case, sources: list[Case], chance: Random) -> Case:
    other = chance.choice(sources).data
    if isinstance(case, Instruction):
        accounts = case.accounts
        if accounts and chance.random() < 0.3:
            count = chance.randrange(_MOST_ACCOUNTS)
            accounts = tuple(chance.choice(accounts) for _ in range(count))
        return replace(case, data=_changed(case.data, other, chance), accounts=accounts)
    now = chance.choice(_TIMES) if chance.random() < 0.3 else case.now
    if case.mint is not None and chance.random() < 0.5:
        return replace(case, mint=_changed(case.mint, other, chance), now=now)
    return replace(case, data=_changed(case.data, other, chance), now=now)


def _changed(data: bytes, other: bytes, chance: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(min(len(changed), chance.choice(_NEAR_THE_FRONT)) + 1)
        size = chance.choice((1, 2, 4, 8, 32))
        match chance.randrange(8):
            case 0:
                del changed[at : at + size]
            case 1:
                changed[at:at] = bytes([chance.choice(_EDGES)]) * size
            case 2:
                del changed[chance.randrange(len(changed) + 1) :]
            case 3:
                start = chance.randrange(len(other) + 1)
                changed += other[start : start + 64]
            case kind:
                byte = chance.choice(_EDGES) if kind % 2 else chance.randrange(256)
                changed[at : at + 1] = bytes([byte])
    return bytes(changed)
