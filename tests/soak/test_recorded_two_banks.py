"""A recorded validator's stream, with banks dropped and doubled in it in random ways."""

import random
import struct
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard

from chain.units import Slot
from tests.upstream.executed import Message, interleaved, marked, status
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import SlotClosed, SlotIncomplete
from upstream.geyser.slot_buffers import CLOCK, RECENT_BLOCKHASHES, SLOT_HISTORY
from upstream.geyser.updates import EntryUpdate, Ping, update_of
from upstream.protobuf import geyser_pb2 as schema
from upstream.protobuf.geyser_pb2 import SlotStatus

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
WAYS = 1_000
# Slots before and behind the one that is executed twice: its parent's and its patience.
_BEFORE, _BEHIND = 12, 50
KINDS: dict[str, tuple[str, ...]] = {
    "none": (),
    "blocks": ("block_meta",),
    "all": ("account", "transaction", "block_meta", "slot", "entry"),
}
OF_THE_SLOT = (
    SlotStatus.SLOT_FIRST_SHRED_RECEIVED,
    SlotStatus.SLOT_COMPLETED,
    SlotStatus.SLOT_DEAD,
)
pytestmark = [pytest.mark.soak]


@cache
def recorded(version: str) -> list[Message]:
    packed = (RECORDED / f"agave-{version}" / "geyser.bin.zst").read_bytes()
    raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=1 << 31)
    found, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        found.append(schema.SubscribeUpdate.FromString(raw[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def kind_of(message: Message) -> str:
    return message.WhichOneof("update_oneof") or ""


def slot_of(message: Message) -> int:
    return int(getattr(message, kind_of(message)).slot)


@cache
def by_slot(version: str) -> dict[int, list[Message]]:
    found = defaultdict(list)
    for message in recorded(version):
        if kind_of(message) != "ping":
            found[slot_of(message)].append(message)
    return found


def window_of(version: str, target: int) -> list[Message]:
    """The messages of the slots around it, in the order in which they came."""
    slots = range(target - _BEFORE, target + _BEHIND + 1)
    return [
        each for each in recorded(version) if kind_of(each) != "ping" and slot_of(each) in slots
    ]


def dropped(own: list[Message], chance: random.Random, freezes: bool, later: bool) -> list[Message]:
    """Another bank's messages: of a part of the block, of all of it, or of one with another last
    blockhash; its write versions lie before or behind the slot's.
    """
    count = sum(kind_of(each) == "transaction" for each in own)
    kept = count if freezes and chance.random() < 0.5 else chance.randint(0, count)
    offset = 10**9 if later else -(10**6)
    lowest = min(e.account.account.write_version for e in own if kind_of(e) == "account")
    ghost, ran = [], set[bytes]()
    for message in own:
        kind = kind_of(message)
        if kind == "transaction" and message.transaction.transaction.index < kept:
            ran.add(message.transaction.transaction.signature)
    blockhash = chance.choice(["same", "other"])
    for message in own:
        new = schema.SubscribeUpdate()
        new.CopyFrom(message)
        kind = kind_of(message)
        if kind == "account":
            info = new.account.account
            if info.txn_signature and info.txn_signature not in ran:
                continue
            version = info.write_version + offset
            info.write_version = version if version > 0 else info.write_version - lowest + 1
            if not info.txn_signature and info.lamports > 10**9:
                info.lamports -= 5_000
        elif kind == "transaction" and new.transaction.transaction.signature not in ran:
            continue
        elif kind == "block_meta":
            if not freezes:
                continue
            new.block_meta.executed_transaction_count = len(ran)
            if blockhash == "other":
                new.block_meta.blockhash = "1" * 31 + "2"
        elif kind in ("slot", "entry"):
            continue
        ghost.append(new)
    if not freezes:  # a bank begins with SlotHashes and Clock, and nothing but freezing ends it so
        begun = next(place for place, each in enumerate(ghost) if _is(each, CLOCK)) + 1
        ends = (RECENT_BLOCKHASHES, SLOT_HISTORY)
        frozen = next(place for place, each in enumerate(ghost) if _is(each, *ends))
        ghost = ghost[: chance.randint(begun, max(begun, frozen))]
    return ghost


def _is(message: Message, *pubkeys: bytes) -> bool:
    info: Any = message.account.account
    return kind_of(message) == "account" and not info.txn_signature and info.pubkey in pubkeys


def closed(stream: list[Message], first: int, target: int, live: bool, untouched: bool) -> Any:
    """(writes, transactions, block) of the target, None for a gap, and every other slot's."""
    assembler = Assembler(begin=Slot(first), stores_untouched=untouched)
    if live:
        assembler.live_after(Slot(first))
    found: dict[int, Any] = {}
    for message in stream:
        update = update_of(message.SerializeToString())
        if update is None or isinstance(update, EntryUpdate | Ping):
            continue
        for event in assembler.feed(update):
            if isinstance(event, SlotIncomplete):
                assert event.slot not in found
                found[event.slot] = None
            elif isinstance(event, SlotClosed):
                assert event.closed.slot not in found
                writes = event.closed.account_writes
                found[event.closed.slot] = (
                    None if writes is None else sorted(map(_write, writes)),
                    [_plain(each, "transaction") for each in event.closed.transactions],
                    event.closed.blockhash,
                )
    return found


def _write(packed: bytes) -> Any:
    info = schema.SubscribeUpdate.FromString(packed).account.account
    return info.write_version, info.pubkey, info.SerializeToString()


def _plain(packed: bytes, kind: str) -> bytes:
    message = getattr(schema.SubscribeUpdate.FromString(packed), kind)
    return bytes(message.transaction.SerializeToString())


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded streams beside the tree")
@pytest.mark.parametrize("version", ["4.1.2", "4.4.0"])
def test_what_comes_out_is_the_final_banks_or_a_gap(version: str) -> None:
    slots = by_slot(version)
    with_block = [s for s, ms in slots.items() if any(kind_of(m) == "block_meta" for m in ms)]
    inner = sorted(with_block)[_BEFORE + 1 : -_BEHIND]
    seen = defaultdict[str, int](int)
    for way in range(WAYS):
        chance = random.Random(way)
        target = chance.choice(inner)
        names = chance.choice(["none", "blocks", "all"])
        freezes, later, mixed = (chance.random() < 0.5 for _ in range(3))
        death = chance.choice(["", "", "named", "unnamed"])
        kinds = KINDS[names]
        window = window_of(version, target)

        def named(message: Message, bank: int, kinds: tuple[str, ...] = kinds) -> Message:
            kind = kind_of(message)
            is_slots = kind == "slot" and message.slot.status in OF_THE_SLOT
            (new,) = marked([message], bank, lambda k: k in kinds and not is_slots)
            if kind == "block_meta" and kind not in kinds:
                new.block_meta.bank_id = 0  # the recording has them
            return new

        own = [m for m in window if slot_of(m) == target]
        ghost = [named(m, 7) for m in dropped(own, chance, freezes, later)]
        if death:
            number = 7 if death == "named" and names == "all" else 0
            ghost.append(status(target, None, SlotStatus.SLOT_DEAD, number))
        truth = [named(m, 10_000 + slot_of(m)) for m in window]
        first = next(i for i, m in enumerate(window) if slot_of(m) == target)
        last = next(i for i, m in enumerate(window) if m is own[-1]) + 1
        ends = [i for i in range(first, last) if kind_of(window[i]) != "slot"]
        last = ends[-1] + 1
        if mixed:
            between = interleaved(ghost, truth[first:last], chance)
        else:
            between = [*truth[first:last], *ghost] if later else [*ghost, *truth[first:last]]
        stream = [*truth[:first], *between, *truth[last:]]
        begin, live, untouched = target - _BEFORE + 1, chance.random() < 0.7, version < "4.2"
        wanted = closed(truth, begin, target, live, untouched)
        found = closed(stream, begin, target, live, untouched)
        told = found.pop(target)
        right = wanted.pop(target)
        assert found == wanted, way
        case = (way, target, names, freezes, later, mixed, death)
        if told is None:
            verdict = "gap"
        elif told[0] is None and right[0] is not None:
            verdict = "block"
            assert told[1:] == right[1:], case
        else:
            verdict = "whole"
            assert told == right, case
        if names == "all":
            assert verdict == "whole", case
        seen[f"{names} {death or 'no word'} {'mixed' if mixed else 'in turn'} {verdict}"] += 1
    for line in sorted(seen.items()):
        print(version, *line)
    assert any(key.startswith("none") and key.endswith("whole") for key in seen)
