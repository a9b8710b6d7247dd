"""The whole service at a node that it knows by its ports alone, under a mixed load."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.chain_endpoints import of_service, until
from tests.clients.service import Service
from tests.localnet_process import Localnet, running_localnet
from tests.real.listening import Listener
from tests.real.sockets import Heard, subscriptions
from tests.real.validator import EPOCH_SLOTS, Validator, running_validator
from tests.real.workload import Workload
from tests.recorded_doors import import_baseline, is_final, service_at, subscribed_geyser
from tests.recorded_node import Recording
from tests.yellowstone.conftest import Geyser

# Of the load behind the imported snapshot, and of all that is heard: an epoch ends in it.
_SLOTS_BEHIND = 40
_SLOTS = EPOCH_SLOTS + 8
# Some kinds of transactions come late.
_ROUNDS = 4
LOCALNET = {"LOCALNET_VOTES": "true", "LOCALNET_VALIDATORS": 1, "LOCALNET_SLOT_MS": 200}


@dataclass
class Meeting:
    """What the node and the service said of one load. `slots` are all that are stored and compared,
    `live` those that subscribers heard whole; the service knows the chain's accounts and stakes
    as of slot `baseline`.
    """

    node: Localnet
    service: Service
    version: str
    workload: Workload
    recording: Recording
    slots: list[int]
    live: list[int]
    baseline: int
    theirs: Heard
    ours: Heard
    updates: list[Any] = field(repr=False)

    @property
    def replayable(self) -> list[int]:
        return [slot for slot in self.slots if slot > self.baseline]


@contextlib.contextmanager
def running_node(kind: str, folder: Path) -> Iterator[Localnet]:
    """A real validator, or localnet in its place."""
    if kind == "validator":
        with running_validator(folder) as validator:
            yield validator
    else:
        options = LOCALNET | {"LOCALNET_EPOCH_SLOTS": EPOCH_SLOTS}
        with running_localnet(**options) as localnet:
            yield localnet


@contextlib.contextmanager
def met(kind: str, folder: Path, *, like: str | None = None) -> Iterator[Meeting]:
    """The load is over, all of it is final and stored; node and service still run. `like`: it is
    the load of a node of that version.
    """
    with running_node(kind, folder) as node:
        node.wait_for_slot(2, "processed")
        version = node.call("getVersion")["solana-core"]
        with service_at(node, version, FOLLOW_ENTRIES="true", ARCHIVE_PROOF_PERCENT="100") as (
            service,
            grpc_port,
        ):
            until(lambda: coverage(service)["latestSlot"] is not None, "a slot is archived")
            until(Geyser(grpc_port, node, service.key).is_fed, "our stream is fed")
            with Listener(node) as listener:
                workload = Workload(node, service, of_version=like or version)
                yield _load(node, service, grpc_port, version, listener, workload)


def _load(
    node: Localnet,
    service: Service,
    grpc_port: int,
    version: str,
    listener: Listener,
    workload: Workload,
) -> Meeting:
    asked = subscriptions([str(each) for each in workload.wallets])
    if isinstance(node, Validator) and not node.has_block_subscriptions:
        asked = {name: each for name, each in asked.items() if each[0] != "blockSubscribe"}
    theirs = Heard(node.websocket_url, None, asked)
    ours = Heard(f"ws://{service.host}:{service.port}/", service.key, asked)
    with subscribed_geyser(grpc_port, service.key) as updates:
        # Who subscribes within a slot hears a part of it.
        live = 2 + int(node.call("getSlot", {"commitment": "processed"}))
        workload.start()
        workload.is_open.wait()
        baseline = import_newest(node, service)
        node.wait_for_slot(max(baseline + _SLOTS_BEHIND, live + _SLOTS))
        for number in range(_ROUNDS):
            until(lambda n=number: workload.rounds > n or workload.failure, f"round {number}")
        workload.stop()
        last = node.wait_for_slot(node.call("getSlot", {"commitment": "processed"}))
        until(lambda: max(theirs.results["root"], default=0) > last, "the node's roots")
        until(lambda: max(ours.results["root"], default=0) > last, "our roots")
        until(lambda: is_final(updates, last), "the last status of our stream")
        sent = list(updates)
    time.sleep(1.0)  # the node notifies in no order
    for each in (theirs, ours):
        each.close()
    found = until(lambda: archived(service, last), f"everything up to slot {last}")
    recording = listener.recording(version, last)
    slots = [slot for slot in recording.blocks if slot >= found["earliestSlot"]]
    return Meeting(
        node,
        service,
        version,
        workload,
        recording,
        slots,
        [slot for slot in slots if slot >= live],
        baseline,
        theirs,
        ours,
        sent,
    )


def coverage(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = of_service(service, "/rewind", [("getRewindCoverage",)])[0]
    return found


def archived(service: Service, slot: int) -> dict[str, Any] | None:
    """What is archived, once everything up to the slot is."""
    found = coverage(service)
    return found if found["latestSlot"] >= slot and not found["missingSlotCount"] else None


def import_newest(node: Localnet, service: Service, above: int = 0) -> int:
    """Imports the newest full snapshot of the node, which must be above that slot: its slot, which
    is archived.
    """
    first = max(above + 1, coverage(service)["earliestSlot"])
    path = until(lambda: _snapshot(node, first), f"a snapshot from slot {first} on")
    slot = slot_of(path)
    until(lambda: coverage(service)["latestSlot"] >= slot, f"slot {slot} archived")
    import_baseline(path, node.call("getGenesisHash"), service)
    return slot


def slot_of(snapshot: Path) -> int:
    return int(snapshot.name.split("-")[1])


def _snapshot(node: Localnet, first: int) -> Path | None:
    if isinstance(node, Validator):
        paths = node.snapshots()
    else:
        paths = [Path(node.call("createSnapshot")["path"])]
    return paths[-1] if paths and slot_of(paths[-1]) >= first else None
