"""A recorded validator's chain through the whole service, whose stream breaks or loses messages:
all of it is stored, and sent to those who subscribe since a slot.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.clients.chain_endpoints import of_service, until
from tests.clients.service import Service
from tests.recorded_doors import (
    Notified,
    check_accounts,
    check_blocks,
    check_replays,
    import_snapshot,
    last_writes,
    service_at,
    until_heard,
)
from tests.recorded_node import BEGINNINGS, Message, RecordedNode, Recording, Twist, load
from tests.recorded_node import serving as serving_node
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.soak

# A snapshot, and the slots from some before it to the recording's end.
SNAPSHOTS, PARTS = {"4.1.2": 200}, {"4.1.2": (180, 361)}
SEED = int(os.environ.get("SOAK_SEED", "5"))
# So many slots long something breaks, and then nothing does: a slot is repaired some final slots
# later. Afterwards the chain goes on, slowly, for a subscriber of a silent one is disconnected.
_BROKEN_SLOTS = 90
_QUIET_SLOTS = 60
_SLOT_SECONDS = 0.1
_SLOW_SECONDS = 3.0
_BREAK_SLOTS = 12
_LOST_PERCENT = 2
SINCE = Request(
    accounts={"all": {}},
    transactions={"all": {}},
    blocks_meta={"all": {}},
    commitment=schema.CommitmentLevel.PROCESSED,
)

# From the node, the service's subscribers' first slot and the last slot that breaks.
Play = Callable[[RecordedNode, random.Random, int, int], None]


def cut(node: RecordedNode, chance: random.Random, first: int, last: int) -> None:
    """The connection is lost amid a slot, at any message. While it is, the chain stands still, or
    now and then goes on.
    """
    for number, slot in enumerate(range(first, last, _BREAK_SLOTS)):
        node.play(node.recording.place(slot, chance.random()), slot_seconds=_SLOT_SECONDS)
        before = len(node.subscribed)
        node.cut()
        if number % 3 or slot + _BREAK_SLOTS >= last:
            until(partial(_is_joined, node, before), "the stream is joined again")


def _is_joined(node: RecordedNode, before: int) -> bool:
    return len(node.subscribed) > before


def on(node: RecordedNode, chance: random.Random, first: int, last: int) -> None:
    node.play(node.recording.place(last), slot_seconds=_SLOT_SECONDS)


def losing(chance: random.Random, last: int) -> Twist:
    """Transactions and account writes are lost live; a replay has those that came in their slot."""
    begun: set[int] = set()

    def twist(_number: int, message: Message) -> Iterable[Message]:
        if message.kind == "slot" and message.update.slot.status in BEGINNINGS:
            begun.add(message.slot)
        can_be_lost = message.kind in ("account", "transaction") and message.slot in begun
        is_lost = can_be_lost and message.slot < last and chance.random() < _LOST_PERCENT / 100
        return () if is_lost else (message,)

    return twist


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
    lossy = losing(chance, last)
    node = RecordedNode(recording, kept=400, **({"twist": lossy} if how == "lossy" else {}))
    play: Play = {"cut": cut, "lossy": on}[how]
    with (
        serving_node(node),
        service_at(node, version) as (service, grpc_port),
    ):
        node.play(recording.place(first + 2, 0.5))
        until(lambda: node.subscribed, "the stream is joined")
        heard = until_heard(node, grpc_port, service.key, first + 2)
        notified = Notified(f"ws://127.0.0.1:{service.port}/", service.key, heard + 1)
        updates = Since(grpc_port, service.key, heard + 1)
        play(node, chance, heard + _BREAK_SLOTS, last)
        node.play(recording.place(last + _QUIET_SLOTS), slot_seconds=_SLOT_SECONDS)
        newest = node.newest["finalized"]
        going_on = partial(node.play, slot_seconds=_SLOW_SECONDS)
        threading.Thread(target=going_on, daemon=True).start()
        until(lambda: is_stored(service, heard + 1, newest), f"everything up to slot {newest}")
        until(lambda: notified.is_told(newest), "the last slot's notifications")
        until(lambda: updates.has(newest), "the last slot's updates")
        since = [slot for slot in recording.blocks if heard < slot <= newest]
        assert not any(notified.gaps.values()), notified.gaps
        notified.check(recording, since, may_lack_writes=how == "lossy")
        updates.check(recording, since, may_lack_writes=how == "lossy")
        notified.close()
        updates.close()
        import_snapshot(recording, folder, SNAPSHOTS[version], service)
        check_blocks(recording, service, since)
        states = check_accounts(recording, service, since)
        verdicts = check_replays(recording, service, since, tolerate_gaps=True)
        print(f"\n{version}, {how}: {len(since)} slots, {states} states, replays {verdicts}")
        assert not [each for each in verdicts if each.startswith("diverged")], verdicts


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

    def check(
        self, recording: Recording, slots: Sequence[int], *, may_lack_writes: bool = False
    ) -> None:
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
            missing = wanted - found[slot]
            if may_lack_writes:
                missing = Counter(each for each in missing if each[0] != "account")
            assert not missing and not found[slot] - wanted, (slot, missing, found[slot] - wanted)

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
