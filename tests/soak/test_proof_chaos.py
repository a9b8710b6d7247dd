"""The running proof of a voting localnet under mixed load, while processes are killed, streams
misbehave and single writes are lost or altered: every slot is proven, but for those of which the
archive has something otherwise, until they are mended.
"""

import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from solders.pubkey import Pubkey

from columns.packed_data import unpack
from tests import forked_commands
from tests.clients.service import Service, running_service
from tests.localnet_process import Localnet
from tests.soak.mixed_load import MixedLoad
from tests.soak.test_chaos import (
    FAULTS,
    NO_FAULTS,
    VICTIMS,
    data_of,
    kill,
    localnet_of,
    rows,
)

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
# Only ends hangs: the proof comes as far as it should, with gaps to fill on its way.
SETTLE_SECONDS = 600.0
# Turns of kills and stream faults between two faults of a single write.
TURNS = 3

Run = tuple[int, int, str, str]


@dataclass
class Storm:
    """What was done to the service, and what was found."""

    service: Service
    localnet: Localnet
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    strikes: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    # Slots that were refuted, and mended: those of strikes, and those of losses that a stream did
    # not show, of an account's write that changed no balance.
    refuted: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    # Seconds until one was found, and until the proof went on above it.
    found_after: list[float] = field(default_factory=list)
    mended_after: list[float] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)

    def run(self) -> None:
        end, turn = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            turn += 1
            self.localnet.call("setFaults", NO_FAULTS)
            if turn % TURNS == 0:
                self.strike()
                continue
            self.localnet.call("setFaults", self.chance.choice(FAULTS))
            time.sleep(self.chance.uniform(1.0, 4.0))
            self.kill(self.chance.choice([*VICTIMS, "worker", "ingest"]))
            self.lags.append(self.head() - (through(runs(self.service)) or 0))
        self.localnet.call("setFaults", NO_FAULTS)

    def kill(self, victim: str) -> None:
        if kill(self.service.run_dir, VICTIMS[victim], self.chance):
            self.kills[victim] += 1

    def head(self) -> int:
        return int(self.localnet.call("getSlot", {"commitment": "finalized"}))

    def gaps(self) -> int:
        """How many there ever were."""
        ((count,),) = rows(self.service, "SELECT count(*) FROM rewind_gap")
        return int(count)

    def strike(self) -> None:
        """One write of a transaction is lost or altered. It is refuted unless a later write of the
        same slot took its place, or the slot was fetched again for another reason.
        """
        self.mend_losses(int(self.localnet.call("getSlot", {"commitment": "processed"})))
        fault = self.chance.choice(["loseWrite", "corruptWrite"])
        gaps = self.gaps()
        self.localnet.call("setFaults", {fault: 1})
        began = time.monotonic()
        while self.localnet.call("getFaults")[fault]:
            time.sleep(0.05)
        self.strikes[fault] += 1
        above = int(self.localnet.call("getSlot", {"commitment": "processed"})) + 5
        if self.chance.random() < 0.5:
            self.kill("worker")  # the prover, before it has seen it
        struck = self.settle(above, "a slot refuted, or proven")
        if struck is None:
            # Ingest itself noticed what a transaction must have written, and fetched it again.
            self.outcomes["repaired" if self.gaps() > gaps else "of no effect"] += 1
            return
        self.outcomes["refuted"] += 1
        self.found_after.append(time.monotonic() - began)
        self.refuted.append(struck)
        located = self.mend(struck)
        assert re.search(": 1 accounts differ", located), located
        assert self.settle(above, "the proof above the refuted slot") is None
        self.mended_after.append(time.monotonic() - began)

    def mend_losses(self, slot: int) -> None:
        """Everything to the slot is proven."""
        while (lost := self.settle(slot, "everything proven, or refuted for a loss")) is not None:
            self.lost.append(lost)
            print(f"a loss of the stream, {self.mend(lost)}")

    def mend(self, slot: int) -> str:
        """What located the fault said."""
        wrong = differing(self.service, self.localnet, slot)
        assert wrong, f"slot {slot} is right"
        arguments = ["locate_refuted", str(slot), "--open-gap"]
        done = forked_commands.run(arguments, environment=self.service.environment)
        assert done.returncode == 0, done.stderr

        def gone() -> bool:
            retry_gaps(self.service)
            # The next one may have lost something, too, and be refuted as soon as this is right.
            found = runs(self.service)
            return not any(state == "refuted" and last <= slot for _, last, state, _ in found)

        wait(gone, f"slot {slot} computed again", self.service)
        return f"{wrong}: {done.stdout}"

    def settle(self, slot: int, what: str) -> int | None:
        """Waits until everything to the slot is proven, or one is refuted: that one."""

        def found() -> tuple[int | None] | None:
            now = runs(self.service)
            for first, last, state, _reason in now:
                if state == "refuted":
                    # Skipped slots below a block are of its state.
                    assert not archived_between(self.service, first, last - 1), now
                    return (last,)
            reached = through(now)
            retry_gaps(self.service)
            return (None,) if reached is not None and reached >= slot else None

        return wait(found, f"{what}, to slot {slot}", self.service)[0]


def runs(service: Service) -> list[Run]:
    return rows(  # type: ignore[return-value]
        service, "SELECT first_slot, last_slot, state, reason FROM rewind_proofrun ORDER BY 1"
    )


def through(found: list[Run]) -> int | None:
    """The last slot of a proof without a break from the chain's first one."""
    return found[0][1] if found and found[0][2] == "proven" else None


def archived_between(service: Service, first: int, last: int) -> list[int]:
    found = rows(
        service,
        "SELECT slot FROM rewind_archivedslot WHERE slot BETWEEN %s AND %s ORDER BY 1",
        first,
        last,
    )
    return [slot for (slot,) in found]


def retry_gaps(service: Service) -> None:
    """As an operator's "try again now" does."""
    rows(service, "UPDATE rewind_gap SET next_try_at = now() WHERE closed_at IS NULL")


def wait(condition: Any, what: str, service: Service) -> Any:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            gaps = rows(
                service,
                "SELECT from_slot, to_slot, status, cause, tries FROM rewind_gap"
                " WHERE closed_at IS NULL ORDER BY 1 LIMIT 10",
            )
            queue = rows(
                service,
                "SELECT slot, parent_slot, is_done FROM rewind_slotwrites ORDER BY 1 LIMIT 10",
            )
            raise AssertionError(f"not in time: {what}; {runs(service)[-8:]}, {gaps}, {queue}")
        time.sleep(1.0)
    return found


def differing(service: Service, localnet: Localnet, slot: int) -> list[str]:
    """The accounts that the archive has otherwise at the slot's end than localnet."""
    made = [
        (each["pubkey"], each["lamports"], data_of(each))
        for each in localnet.call("getAccountWrites", slot)
    ]
    stored = Counter(
        (str(Pubkey(bytes(pubkey))), int(lamports), unpack(bytes(data)))
        for pubkey, lamports, data in rows(
            service,
            "SELECT pubkey, lamports, data FROM rewind_accountchange WHERE kind = 0 AND slot = %s",
            slot,
        )
    )
    return [each[0] for each in {each[0]: each for each in made}.values() if each not in stored]


def test_every_slot_is_proven_whatever_is_killed() -> None:
    settings = {
        "LOCALNET": "true",
        "LOCALNET_VOTES": "true",
        "LOCALNET_SLOT_MS": "200",
        "LOCALNET_SKIP_PERCENT": "5",
        "ARCHIVE_PROOF_REPAIR": "false",  # the test looks at what is refuted
    }
    with running_service(**settings) as service:
        localnet = localnet_of(service)
        localnet.call("setFaults", {"replaySlots": 100_000})
        load = MixedLoad(localnet, pause_seconds=0.03)
        load.start()
        storm = Storm(service, localnet, random.Random(int(os.environ.get("SOAK_SEED", "9"))))
        try:
            storm.run()
        finally:
            load.stop()
        last = storm.head()
        began = time.monotonic()
        storm.mend_losses(last)
        settled = time.monotonic() - began
        kinds = Counter(
            "failed" if each["err"] else "succeeded"
            for slot in localnet.call("getBlocks", max(0, last - 200), last)
            for each in metas(localnet, slot)
        )
        proven = [run for run in runs(service) if run[0] <= last]
        assert len(proven) == 1 and proven[0][:3] == (proven[0][0], proven[0][1], "proven")
        listed = localnet.call("getBlocks", proven[0][0], last)
        wrong = [slot for slot in listed if differing(service, localnet, slot)]
        assert not wrong, f"proven, and not localnet's: {wrong}"
        storm.lags.sort()
        print(
            f"\n{SECONDS:.0f} s, {load.sent} transactions sent ({dict(kinds)} of the last), kills"
            f" {dict(storm.kills)}, faults of writes {dict(storm.strikes)}:"
            f" {dict(storm.outcomes)}, found in {rounded(storm.found_after)} s and proven again in"
            f" {rounded(storm.mended_after)} s; {len(storm.lost)} losses of the stream refuted and"
            f" mended; {len(listed)} slots of {proven[0][:2]} all proven"
            f" {settled:.1f} s after the end; behind the final head meanwhile p50"
            f" {storm.lags[len(storm.lags) // 2]} slots, most {storm.lags[-1]}"
        )
        assert kinds["failed"] and kinds["succeeded"]
        assert storm.refuted or SECONDS < 300
        break_and_go_on(service, localnet)


def rounded(seconds: list[float]) -> str:
    """The median and the most."""
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.1f} (most {ordered[-1]:.1f})" if ordered else "-"


def metas(localnet: Localnet, slot: int) -> list[dict[str, Any]]:
    config = {"transactionDetails": "accounts", "maxSupportedTransactionVersion": 0}
    return [each["meta"] for each in localnet.call("getBlock", slot, config)["transactions"]]


def break_and_go_on(service: Service, localnet: Localnet) -> None:
    """Slots that no replay has break the proof; a snapshot of a later slot takes it up."""
    localnet.call("setFaults", {"refuseStreams": True, "dropStreams": True, "replaySlots": 2})
    time.sleep(8.0)
    localnet.call("setFaults", {"refuseStreams": False})
    above = int(localnet.call("getSlot", {"commitment": "finalized"})) + 10

    def passed() -> bool:
        ((newest,),) = rows(service, "SELECT max(slot) FROM rewind_archivedslot")
        return bool(newest >= above)

    wait(passed, f"slot {above} archived", service)

    def first_lost() -> int:
        """Where the lowest gap begins: a replay may still bring some of it."""
        found = rows(service, "SELECT min(from_slot) FROM rewind_gap WHERE closed_at IS NULL")
        assert found[0][0] is not None, "no gap is reported"
        return int(found[0][0])

    def at_gap() -> bool:
        """The last block's votes are in the gap."""
        *_, below, _last = archived_between(service, 0, first_lost() - 1)
        return (through(runs(service)) or 0) >= below

    wait(at_gap, "everything proven below the gap", service)
    time.sleep(5.0)  # it would go on meanwhile
    first = first_lost()
    assert all(state != "proven" for low, _, state, _ in runs(service) if low >= first)
    assert (through(runs(service)) or 0) < first
    answer = localnet.answer("createSnapshot")
    if answer.get("error", {}).get("code") == -32601:
        print(f"the proof ends below the gap at {first}; localnet makes no snapshots to go on from")
        return
    made = answer["result"]
    done = forked_commands.run(["import_snapshot", made["path"]], environment=service.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    slot = int(made["slot"])

    def goes_on() -> bool:
        return any(
            state == "proven" and low <= slot and high >= slot + 20
            for low, high, state, _ in runs(service)
        )

    wait(goes_on, f"the proof above the snapshot of slot {slot}", service)
    print(f"the proof ends below the gap at {first} and goes on from the snapshot of {slot}")
