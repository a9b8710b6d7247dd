"""All of each recorded validator's chain through the whole service: `manage.py run` with all of its
processes; its stream is as it was, has messages twice, or has them in another order.
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.chain_endpoints import of_service, until
from tests.real.sockets import Heard
from tests.recorded_doors import (
    VERDICTS,
    check_accounts,
    check_banks,
    check_blocks,
    check_geyser,
    check_replays,
    import_snapshot,
    is_final,
    service_at,
    subscribed_geyser,
    until_heard,
)
from tests.recorded_node import Message, RecordedNode, Twist, load, serving
from tests.soak.recorded_pubsub import Pubsub

pytestmark = pytest.mark.soak

SNAPSHOTS = {"4.1.2": 200, "4.4.0": 600}
SEED = int(os.environ.get("SOAK_SEED", "5"))
_MOVABLE = ("account", "transaction", "entry")
_SLOT_SECONDS = 0.05


def as_it_came(_chance: random.Random) -> Twist:
    return lambda _number, message: (message,)


def doubled(chance: random.Random) -> Twist:
    """One message in ten comes twice."""
    return lambda _number, each: (each,) * (1 + (chance.random() < 0.1))


def disordered(chance: random.Random) -> Twist:
    """Accounts, transactions and entries of a slot come in any order, all before its block."""
    held: dict[int, list[Message]] = {}

    def twist(number: int, message: Message) -> Iterator[Message]:
        waiting = held.setdefault(number, [])
        if message.kind in _MOVABLE:
            waiting.append(message)
            return
        if message.kind == "block_meta":
            chance.shuffle(waiting)
            yield from waiting
            waiting.clear()
        yield message

    return twist


TWISTS: dict[str, Callable[[random.Random], Twist]] = {
    "whole": as_it_came,
    "doubled": doubled,
    "disordered": disordered,
}


@pytest.mark.parametrize("version", SNAPSHOTS)
@pytest.mark.parametrize("how", TWISTS)
def test_the_whole_chain_is_at_every_door_as_the_node_had_it(
    fixtures: Path, version: str, how: str
) -> None:
    twist = TWISTS[how](random.Random(SEED))
    folder, snapshot = fixtures / f"agave-{version}", SNAPSHOTS[version]
    recording = load(folder)
    first = recording.messages[0].slot
    pubsub = Pubsub(recording, first + 2)
    with (
        serving(RecordedNode(recording, kept=400, twist=twist)) as node,
        service_at(node, version, FOLLOW_ENTRIES="true", ARCHIVE_PROOF_PERCENT="100") as (
            service,
            grpc_port,
        ),
    ):
        node.play(recording.place(first + 2, 0.5))
        until(lambda: node.subscribed, "the stream is joined")
        heard = until_heard(node, grpc_port, service.key, first + 2)
        sockets = Heard(f"ws://127.0.0.1:{service.port}/", service.key, pubsub.asked)
        with subscribed_geyser(grpc_port, service.key) as updates:
            node.play(slot_seconds=_SLOT_SECONDS)
            newest = node.newest["finalized"]
            until(lambda: sockets.failure or newest in sockets.results["root"], "the last root")
            until(lambda: is_final(updates, newest), "its status")
            live = range(heard + 1, newest + 1)
            sent = list(updates)
            count = pubsub.check(sockets, live)
            check_geyser(recording, sent, live)
            sockets.close()

        def covered() -> dict[str, Any] | None:
            (found,) = of_service(service, "/rewind", [("getRewindCoverage",)])
            is_over = found["latestSlot"] == newest and not found["missingSlotCount"]
            return found if is_over else None

        found = until(covered, f"everything up to slot {newest}")
        # Without its beginning an archive knows less, and says so.
        early = [slot for slot in recording.blocks if found["earliestSlot"] < slot < snapshot]
        verdicts = check_replays(recording, service, early, tolerate_gaps=True)
        assert verdicts["verified"] and not verdicts["diverged"], verdicts
        import_snapshot(recording, folder, snapshot, service)
        slots = [slot for slot in recording.blocks if found["earliestSlot"] <= slot <= newest]
        check_blocks(recording, service, slots)
        states = check_accounts(recording, service, slots)

        def proven() -> bool:
            (coverage,) = of_service(service, "/rewind", [("getRewindCoverage",)])
            return bool((coverage["provenThrough"] or 0) >= newest - 1)

        until(proven, "every slot proven")
        behind = [slot for slot in slots if slot > snapshot]
        check_banks(recording, service, behind)
        verdicts = check_replays(recording, service, behind)
        print(f"\n{version}, {how}: {len(slots)} blocks, {states} states, replays {verdicts},")
        print(f"{count} notifications of {len(pubsub.asked)} subscriptions over {len(live)} slots")
        assert "verified" in verdicts and set(verdicts) <= VERDICTS[version], verdicts
