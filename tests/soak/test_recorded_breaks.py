"""A recorded validator's chain through the whole service, whose stream breaks or loses messages:
all of it is stored, and sent to those who subscribe since a slot. What a restart of the node took
away is told to everybody.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest

from tests.clients.chain_endpoints import of_service, until
from tests.clients.service import Service
from tests.recorded_doors import (
    VERDICTS,
    Notified,
    check_accounts,
    check_banks,
    check_blocks,
    check_replays,
    import_snapshot,
    last_writes,
    service_at,
    subscribed_geyser,
    until_heard,
)
from tests.recorded_node import BEGINNINGS, Message, RecordedNode, Recording, Twist, load
from tests.recorded_node import serving as serving_node
from tests.yellowstone.conftest import Geyser, Request
from upstream.geyser.slot_buffers import EVERY_SLOT
from upstream.geyser.updates import stores_untouched
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.soak

# A snapshot and a later one, and the slots from some before them to the recording's end.
SNAPSHOTS, LATER_SNAPSHOTS = {"4.1.2": 200, "4.4.0": 600}, {"4.1.2": 300, "4.4.0": 700}
PARTS = {"4.1.2": (180, 361), "4.4.0": (580, 760)}
# A lone leader's replay lacks what a slot wrote before its bank was announced: of a slot that was
# missed altogether the archive never has all.
LONE_LEADERS = {"4.4.0"}
SEED = int(os.environ.get("SOAK_SEED", "5"))
# So many slots long something breaks, and then nothing does: a slot is repaired some final slots
# later. Afterwards the chain goes on, slowly, for a subscriber of a silent one is disconnected.
_BROKEN_SLOTS = 90
_QUIET_SLOTS = 60
_SLOT_SECONDS = 0.1
_SLOW_SECONDS = 3.0
_BREAK_SLOTS = 12
# Of a restarted node, from the first slot on: where it ends, where it is back, and what is final
# then is behind the later snapshot.
_ENDS, _IS_BACK, _GOES_ON = 60, 74, 154
# So many slots after it is back the stream is joined again.
_JOINED_BEHIND = 4
_LOST_PERCENT = 2
SINCE = Request(
    accounts={"all": {}},
    transactions={"all": {}},
    blocks_meta={"all": {}},
    commitment=schema.CommitmentLevel.PROCESSED,
)

T = TypeVar("T", Notified, "Since")
# From the node, the service's subscribers' first slot and the last slot that breaks.
Play = Callable[[RecordedNode, random.Random, int, int], None]


def cut(node: RecordedNode, chance: random.Random, first: int, last: int) -> None:
    """The connection is lost amid a slot, at any message. While it is, the chain stands still, or
    now and then goes on, where replays have all of it.
    """
    stands_still = node.recording.version in LONE_LEADERS
    for number, slot in enumerate(range(first, last, _BREAK_SLOTS)):
        node.play(node.recording.place(slot, chance.random()), slot_seconds=_SLOT_SECONDS)
        before = joins(node)
        node.cut()
        if stands_still or number % 3 or slot + _BREAK_SLOTS >= last:
            until(partial(_is_joined, node, before), "the stream is joined again")


def joins(node: RecordedNode) -> int:
    """How often the stream was joined; a repair beside it asks for no entries."""
    return sum(bool(each.entry) for each in node.subscribed)


def _sends_entries(node: RecordedNode) -> bool:
    return any(each.entry for each in node.joined())


def _is_joined(node: RecordedNode, before: int) -> bool:
    return joins(node) > before


def on(node: RecordedNode, chance: random.Random, first: int, last: int) -> None:
    node.play(node.recording.place(last), slot_seconds=_SLOT_SECONDS)


def losing(chance: random.Random, last: int, version: str) -> Twist:
    """Transactions and account writes are lost live; a replay has those that came in their slot.
    Where a validator does not store what a transaction left untouched, nothing but the proof shows
    that a write was lost alone: there transactions are lost.
    """
    kinds = ("account", "transaction") if stores_untouched(version) else ("transaction",)
    begun: set[int] = set()

    def twist(_number: int, message: Message) -> Iterable[Message]:
        if message.kind == "slot" and message.update.slot.status in BEGINNINGS:
            begun.add(message.slot)
        can_be_lost = message.kind in kinds and message.slot in begun and not is_unnamed(message)
        is_lost = can_be_lost and message.slot < last and chance.random() < _LOST_PERCENT / 100
        return () if is_lost else (message,)

    return twist


def is_unnamed(message: Message) -> bool:
    """Whether it is of an account that the bank wrote by itself, and not in every slot: nothing but
    the proof shows that such a write was lost (docs/decisions/stream-wholeness.md).
    """
    if message.kind != "account":
        return False
    info = message.update.account.account
    return not info.txn_signature and info.pubkey not in EVERY_SLOT


@pytest.mark.parametrize("version", PARTS)
@pytest.mark.parametrize("how", ["cut", "lossy"])
def test_what_a_broken_stream_did_not_bring_comes_later(
    fixtures: Path, version: str, how: str
) -> None:
    chance = random.Random(SEED)
    folder = fixtures / f"agave-{version}"
    recording = load(folder, *PARTS[version])
    first = recording.messages[0].slot
    last = first + _BROKEN_SLOTS
    lossy = losing(chance, last, version)
    node = RecordedNode(recording, kept=400, **({"twist": lossy} if how == "lossy" else {}))
    play: Play = {"cut": cut, "lossy": on}[how]
    with (
        serving_node(node),
        service_at(node, version) as (service, grpc_port),
    ):
        node.play(recording.place(first + 2, 0.5))
        until(lambda: node.subscribed, "the stream is joined")
        heard = until_heard(node, grpc_port, service.key, first + 2)
        url, key = f"ws://127.0.0.1:{service.port}/", service.key
        notify = partial(Notified, url, key, heard + 1)
        update = partial(Since, grpc_port, key, heard + 1)
        notified, updates = notify(), update()
        play(node, chance, heard + _BREAK_SLOTS, last)
        node.play(recording.place(last + _QUIET_SLOTS), slot_seconds=_SLOT_SECONDS)
        newest = node.newest["finalized"]
        going_on = partial(node.play, slot_seconds=_SLOW_SECONDS)
        threading.Thread(target=going_on, daemon=True).start()
        until(lambda: is_stored(service, heard + 1, newest), f"everything up to slot {newest}")
        # A reader whose stream breaks often waits longer each time.
        notified = to_the_end(notified, notify, lambda each: each.is_told(newest))
        updates = to_the_end(updates, update, lambda each: each.has(newest))
        since = [slot for slot in recording.blocks if heard < slot <= newest]
        assert not any(notified.gaps.values()), notified.gaps
        notified.check(recording, since)
        updates.check(recording, since)
        notified.close()
        updates.close()
        import_snapshot(recording, folder, SNAPSHOTS[version], service)
        check_blocks(recording, service, since)
        states = check_accounts(recording, service, since)
        verdicts = check_replays(recording, service, since, tolerate_gaps=True)
        print(f"\n{version}, {how}: {len(since)} slots, {states} states, replays {verdicts}")
        assert not [each for each in verdicts if each.startswith("diverged")], verdicts


@pytest.mark.parametrize(("version", "kept"), [("4.1.2", 400), ("4.1.2", 0), ("4.4.0", 400)])
def test_what_a_restart_of_the_node_took_away_is_told(
    fixtures: Path, version: str, kept: int
) -> None:
    """With replays it is back at once; without them once its silence was told."""
    folder = fixtures / f"agave-{version}"
    recording = load(folder, *PARTS[version])
    first = recording.messages[0].slot
    node = RecordedNode(recording, kept=kept)
    back = first + _IS_BACK
    with (
        serving_node(node),
        service_at(node, version, ARCHIVE_PROOF_PERCENT="100") as (service, grpc_port),
    ):
        url, key = f"ws://127.0.0.1:{service.port}/", service.key
        node.play(recording.place(first + 2, 0.5))
        until(lambda: node.subscribed, "the stream is joined")
        heard = until_heard(node, grpc_port, key, first + 2)
        plain, notified = Notified(url, key), Notified(url, key, heard + 1)
        with subscribed_geyser(grpc_port, key) as stream:
            updates = Since(grpc_port, key, heard + 1)
            node.play(recording.place(first + _ENDS, 0.5), slot_seconds=_SLOT_SECONDS)
            with node.away(recording.place(back, 0.5)):
                if not kept:
                    until(lambda: notified.failure and updates.failure, "the silence is told")
            node.play(recording.place(back + _JOINED_BEHIND), slot_seconds=_SLOT_SECONDS)
            until(partial(_sends_entries, node), "the stream is joined again")
            if not kept:
                assert "stream_silent" in f"{notified.failure} {updates.failure}"
                heard = max(notified.results["root"])
                notified, updates = Notified(url, key, heard + 1), Since(grpc_port, key, heard + 1)
            node.play(recording.place(first + _GOES_ON), slot_seconds=_SLOT_SECONDS)
            newest = node.newest["finalized"]
            going_on = partial(node.play, slot_seconds=_SLOW_SECONDS)
            threading.Thread(target=going_on, daemon=True).start()
            # Who has no memory was disconnected.
            until(lambda: plain.failure and isinstance(stream[-1], Exception), "the break is told")
            why = "interrupted" if kept else "stream_silent"
            assert why in str(plain.failure) and why in str(stream[-1])

        hole = until(lambda: missing(service, heard + 1, newest), "every slot told")
        has_replay = kept and version not in LONE_LEADERS
        lost_last = max(hole)
        # What came of slots that were not final is theirs: blocks of the node link it.
        assert hole == {*range(first + _ENDS, lost_last + 1)}
        assert back <= lost_last <= back + (0 if has_replay else _JOINED_BEHIND)
        since = [slot for slot in recording.blocks if heard < slot <= newest]
        # Slots that are known and do not come are missing after a minute.
        again = partial(Notified, url, key, heard + 1)
        notified = to_the_end(notified, again, lambda each: each.is_told(newest))
        notified.check(recording, since)
        notified.close()
        # The node has the blocks still, and nothing has the writes.
        never_came = {*range(first + _ENDS + 1, lost_last)}
        told = {name: gaps for name, gaps in notified.gaps.items() if gaps}
        assert told.keys() == {"account", "program"}
        assert all(never_came <= gaps <= hole for gaps in told.values()), told
        since_then = partial(Since, grpc_port, key, heard + 1)
        updates = to_the_end(updates, since_then, lambda each: each.failure)
        go_on = max(hole) + 1
        assert f"slots {min(hole)} to {max(hole)} are not stored" in str(updates.failure)
        assert f"with from_slot {go_on} to go on" in str(updates.failure)
        updates.failure = None
        updates.check(recording, [slot for slot in since if slot < min(hole)])
        rest = partial(Since, grpc_port, key, go_on)
        updates = to_the_end(rest(), rest, lambda each: each.has(newest))
        updates.check(recording, [slot for slot in since if slot >= go_on])
        updates.close()

        check_blocks(recording, service, since)
        states = check_accounts(recording, service, sorted({*since} - hole))
        snapshot = LATER_SNAPSHOTS[version]
        import_snapshot(recording, folder, snapshot, service)

        def proven() -> bool:
            (coverage,) = of_service(service, "/rewind", [("getRewindCoverage",)])
            return bool((coverage["provenThrough"] or 0) >= newest - 1)

        until(proven, "every slot behind the snapshot proven")
        behind = [slot for slot in since if slot > snapshot]
        check_banks(recording, service, behind)
        verdicts = check_replays(recording, service, behind)
        print(f"\n{version}, restarted: {len(since)} slots, {len(hole)} lost, {states} states,")
        print(f"{len(behind)} behind the snapshot, replays {verdicts}")
        assert behind and verdicts and set(verdicts) <= VERDICTS[version], verdicts


def to_the_end(found: T, again: Callable[[], T], is_over: Callable[[T], object]) -> T:
    """What was subscribed to, when it is over: again where the chain, or a busy machine, was silent
    meanwhile.
    """
    while True:
        until(partial(is_over, found), "the end of a subscription")
        if "stream_silent" not in str(found.failure):
            return found
        found = again()


def missing(service: Service, first: int, last: int) -> set[int]:
    """The range's slots that the archive lacks, once each of them is known to be missing and the
    ledger has all.
    """
    (ledger,) = of_service(service, "/historical", [("getLedgerCoverage", {"fromSlot": first})])
    (archive,) = of_service(service, "/rewind", [("getRewindCoverage", {"fromSlot": first})])
    is_over = (archive["latestSlot"] or 0) >= last and not ledger["value"]["missingSlotCount"]
    is_told = is_over and all(gap["status"] == "missing" for gap in archive["gaps"])
    gaps = archive["gaps"] if is_told else []
    return {slot for gap in gaps for slot in range(gap["fromSlot"], gap["toSlot"] + 1)}


def is_stored(service: Service, first: int, last: int) -> bool:
    """Whether ledger and archive have every slot of the range."""
    (blocks,) = of_service(service, "/historical", [("getBlocks", first, last)])
    (archive,) = of_service(service, "/rewind", [("getRewindCoverage", {"fromSlot": first})])
    is_archived = (archive["latestSlot"] or 0) >= last and not archive["missingSlotCount"]
    return len(blocks) == last + 1 - first and is_archived


class Since:
    """The service's own gRPC since a slot."""

    def __init__(self, port: int, key: str, first: int) -> None:
        self._updates: list[Any] = []
        self._call: Any = None
        self.failure: Exception | None = None
        threading.Thread(target=self._read, args=(port, key, first), daemon=True).start()

    def _read(self, port: int, key: str, first: int) -> None:
        request = Request(from_slot=first)
        request.MergeFrom(SINCE)
        try:
            with Geyser(port, None, key).subscribed(request) as stream:  # type: ignore[arg-type]
                self._call = stream.call
                for each in stream:
                    self._updates.append(each)
        except grpc.RpcError as error:
            self.failure = error

    def has(self, slot: int) -> bool:
        """Whether the slot came, or nothing comes any more."""
        recent = self._updates[-5_000:]
        return self.failure is not None or any(each.block_meta.slot == slot for each in recent)

    def check(self, recording: Recording, slots: Sequence[int]) -> None:
        """Of each of the slots everything came, and once."""
        assert self.failure is None, self.failure
        found: dict[int, Counter[Any]] = {slot: Counter() for slot in slots}
        for update in list(self._updates):
            each = getattr(update, update.WhichOneof("update_oneof"))
            if each.slot in found:
                found[each.slot][_essence(each)] += 1
        for slot in slots:
            wanted = Counter(_essence(each) for each in last_writes_of(recording, slot))
            for kind in ("transaction", "block_meta"):
                wanted.update(map(_essence, recording.of_slot(slot, kind)))
            assert found[slot] == wanted, (slot, wanted - found[slot], found[slot] - wanted)

    def close(self) -> None:
        self._call.cancel()


def last_writes_of(recording: Recording, slot: int) -> list[Any]:
    """The updates with the newest write of each account."""
    newest = last_writes(recording, slot)
    return [
        each
        for each in recording.of_slot(slot, "account")
        if newest[each.account.pubkey].write_version == each.account.write_version
    ]


def _essence(each: Any) -> tuple[Any, ...]:
    """What an update says."""
    if isinstance(each, schema.SubscribeUpdateAccount):
        account = each.account
        held = account.lamports, account.owner, account.executable, account.data
        return ("account", account.pubkey, *held)
    if isinstance(each, schema.SubscribeUpdateTransaction):
        info = each.transaction
        meta = info.meta.SerializeToString(deterministic=True)
        return "transaction", info.index, info.signature, info.is_vote, meta
    return "block", each.blockhash, each.parent_slot, each.executed_transaction_count
