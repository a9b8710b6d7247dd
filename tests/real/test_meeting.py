"""The service at a real validator, and at localnet in its place: both say the same of one load."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests import forked_commands
from tests.clients.chain_endpoints import (
    Question,
    answers_of_service,
    of_service,
    sending,
    statuses,
    until,
)
from tests.clients.planned import Planned
from tests.clients.service import Service
from tests.real.comparing import of_ledger, of_node, unequal, unlike
from tests.real.listening import Listener
from tests.real.meeting import Meeting, coverage, import_newest, met
from tests.real.shapes import Seen, seen
from tests.real.sockets import LEVELS, differing, far_roots
from tests.real.validator import EPOCH_SLOTS
from tests.real.workload import fate
from tests.recorded_doors import (
    check_accounts,
    check_banks,
    check_blocks,
    check_geyser,
    check_replays,
)
from tests.subscriptions.socket_client import Socket

pytestmark = pytest.mark.real

# Features that the engine does not have (docs/decisions/missing-rules.md).
VERDICTS = {"verified", "unverified engine_missing_rules"}
# The validator's memo program is newer than localnet's.
_OF_A_NEWER_PROGRAM = {"memo that is no text": {"InstructionError": [0, "InvalidInstructionData"]}}
_NOT_FINAL_SLOTS = 32
# By the kind of the node; tests/real/test_shapes.py compares them.
SEEN: dict[str, Seen] = {}


@pytest.fixture(scope="module", params=["validator", "localnet"])
def meeting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Meeting]:
    # The same load at both: the validator may not know transactions of version 1.
    like = next((each.version for each in SEEN.values()), None)
    with met(request.param, tmp_path_factory.mktemp("node"), like=like) as found:
        print(f"\n{request.param} {found.version}: slots {found.slots[0]} to {found.slots[-1]},")
        print(f"{len(found.workload.signatures)} transactions, snapshot of {found.baseline}")
        SEEN[request.param] = seen(found, calls(found))
        yield found


def calls(meeting: Meeting) -> list[Question]:
    keys = [str(each) for each in meeting.workload.wallets]
    return of_node(keys, meeting.workload.taken[-1].transaction, meeting.slots[-1])


def test_each_transaction_came_to_what_it_was_meant_to(meeting: Meeting) -> None:
    load = meeting.workload
    sent = [*load.taken, *load.submitted]
    found = statuses(meeting.node, [each.signature for each in sent])
    others = Counter(
        f"{each.kind}: {status['err'] if status else 'not there'} instead of {each.err}"
        for each, status in zip(sent, found, strict=True)
        if status is None or status["err"] not in (each.err, _OF_A_NEWER_PROGRAM.get(each.kind))
    )
    assert not others, others


def test_blocks_and_transactions_are_the_nodes_in_every_form(meeting: Meeting) -> None:
    assert len({slot // EPOCH_SLOTS for slot in meeting.slots}) > 1
    check_blocks(meeting.recording, meeting.service, meeting.slots)
    keys = [str(each) for each in meeting.workload.wallets]
    asked = of_ledger(meeting.workload.signatures, meeting.slots, keys)
    found = unequal(meeting.node, meeting.service, "/historical", asked)
    assert not found, (len(found), len(asked), found[:20])


def test_accounts_are_what_the_stream_wrote(meeting: Meeting) -> None:
    assert check_accounts(meeting.recording, meeting.service, meeting.slots) > len(meeting.slots)


def test_every_transaction_runs_again_as_it_ran(meeting: Meeting) -> None:
    verdicts = check_replays(meeting.recording, meeting.service, meeting.replayable)
    print(verdicts)
    assert verdicts.keys() <= VERDICTS and verdicts["verified"], verdicts


def test_every_slot_behind_the_snapshot_is_proven(meeting: Meeting) -> None:
    behind = meeting.replayable
    until(lambda: proven_through(meeting) >= behind[-1] - 1, "every slot proven")
    assert not [each for each in coverage(meeting.service)["proof"] if each["state"] == "refuted"]
    if len(meeting.recording.banks) > 1:  # localnet logs none
        check_banks(meeting.recording, meeting.service, behind[:-1])


def test_our_stream_is_the_plugins(meeting: Meeting) -> None:
    check_geyser(meeting.recording, meeting.updates, meeting.live)


def test_subscribers_hear_what_they_hear_at_the_node(meeting: Meeting) -> None:
    heard = Counter({name: len(each) for name, each in meeting.theirs.results.items()})
    print(len(meeting.live), "slots:", dict(heard))
    assert all(heard.values()), heard
    landed = {
        each["transaction"]["signatures"][0]
        for block in meeting.recording.blocks.values()
        for each in block["transactions"]
    }
    found = differing(meeting.theirs, meeting.ours, meeting.live, landed)
    assert not found, json.dumps(found, indent=1)
    far = far_roots(meeting.theirs, meeting.ours, meeting.live)
    assert not far, far


def test_signatures_are_told_as_by_the_node(meeting: Meeting) -> None:
    node, service = meeting.node, meeting.service
    paid = meeting.workload.payments()
    with (
        Socket(node.websocket_url) as theirs,
        Socket(f"ws://{service.host}:{service.port}/", service.key) as ours,
    ):
        numbers = [
            [
                socket.call("signatureSubscribe", each.signature, {"commitment": level})
                for each in paid
                for level in LEVELS
            ]
            for socket in (theirs, ours)
        ]
        of_service(service, "/", sending(paid))
        told = [
            [socket.result(number) for number in of_it]
            for socket, of_it in zip((theirs, ours), numbers, strict=True)
        ]
    assert told[1] == told[0]
    errors = [each["value"]["err"] for each in told[0]]
    assert errors == [each.err for each in paid for _ in LEVELS]


def test_calls_are_answered_as_by_the_node(meeting: Meeting) -> None:
    found = unlike(meeting.node, meeting.service, "/", calls(meeting))
    assert not found, found


def test_what_was_submitted_has_its_fate(meeting: Meeting) -> None:
    sent = meeting.workload.submitted
    found = statuses(meeting.node, [each.signature for each in sent])
    assert sent
    for each, status in zip(sent, found, strict=True):
        known = until(lambda each=each: _final(meeting, each.signature), f"{each.kind} is final")
        assert status is not None
        state = "landed" if each.err is None else "failed"
        assert (known["state"], known["slot"], known["err"]) == (state, status["slot"], each.err)


@pytest.mark.parametrize("kind", ["leaders", "node"])
def test_submissions_land_by_each_way_alone(meeting: Meeting, kind: str) -> None:
    with alone(meeting.service, kind):
        sent = until(lambda: submitted_by(meeting, kind), f"nothing is sent but to {kind}")
        fates = [
            until(lambda each=each: _final(meeting, each.signature), f"{each.kind} is final")
            for each in sent
        ]
    later = Counter(each["slot"] - each["acceptedSlot"] for each in fates)
    print(f"{kind}: slots from acceptance to the block {dict(sorted(later.items()))}")
    for each, known in zip(sent, fates, strict=True):
        assert known["state"] == ("landed" if each.err is None else "failed"), known


def submitted_by(meeting: Meeting, kind: str) -> list[Planned] | None:
    """Submissions, if the lander sent them so alone: it reads its upstreams now and then."""
    sent = meeting.workload.submit()
    for each in sent:
        known = until(lambda each=each: _final(meeting, each.signature), f"{each.kind} is final")
        if {attempt["upstream"] for attempt in known["attempts"]} != {kind}:
            return None
    return sent


@contextmanager
def alone(service: Service, kind: str) -> Iterator[None]:
    """No other upstream is enabled, until the end of the block."""
    rows = (
        "from priority.upstreams.models import Upstream;"
        " Upstream.objects.exclude(kind=%r).update(%s)"
    )
    for is_enabled in (False, True):
        code = rows % (kind, f"is_enabled={is_enabled}")
        done = forked_commands.run(["shell", "-c", code], environment=service.environment)
        assert done.returncode == 0, done.stderr
        if not is_enabled:
            yield


def test_what_comes_behind_a_restart_and_a_kill_of_the_node_is_whole(meeting: Meeting) -> None:
    node, service = meeting.node, meeting.service
    for end in (node.stop, node.kill):
        before = node.call("getSlot", {"commitment": "finalized"})
        end()
        node.start()
        with Listener(node) as listener:
            paid = meeting.workload.again()
            last = node.wait_for_slot(node.call("getSlot", {"commitment": "processed"}))
            until(lambda last=last: stored_to(service) >= last, f"slot {last} stored")
            recording = listener.recording(meeting.version, last)
        slots = sorted(recording.blocks)
        try:
            until(lambda asked=slots: not _absent(service, asked), "the ledger is filled")
        except AssertionError as error:
            absent, found = (
                _absent(service, slots),
                of_service(service, "/historical", [("getLedgerCoverage",)]),
            )
            raise AssertionError(
                f"{error}: {slots[0]} to {slots[-1]} without {absent}: {found}"
            ) from None
        check_blocks(recording, service, slots, has_restarted=True)
        held = [slot for slot in slots if slot not in _missing(service)]
        print(f"{end.__name__}: {slots[0]} to {slots[-1]}, without {sorted({*slots} - {*held})}")
        # In the midst of one the node ended, and it made some before our stream was joined
        # (docs/following.md).
        assert len(slots) - len(held) <= _NOT_FINAL_SLOTS, (slots, coverage(service))
        check_accounts(recording, service, held)
        asked = of_ledger([each.signature for each in paid], slots[-3:], [])
        others = unequal(node, service, "/historical", asked)
        assert not others, others
        baseline = import_newest(node, service, above=slots[0])
        goes_on = lambda slot=baseline: proven_through(meeting) > slot  # noqa: E731
        until(goes_on, f"the proof goes on above {baseline}")
        print(f"{end.__name__} behind {before}: whole from {slots[0]}, proven from {baseline}")
        print(f"gaps: {coverage(service)['gaps']}")


def _absent(service: Service, slots: Sequence[int]) -> list[int]:
    """The slots whose blocks are not in the ledger."""
    asked = [("getBlock", slot, {"transactionDetails": "none"}) for slot in slots]
    answers = answers_of_service(service, "/historical", asked)
    return [slot for slot, each in zip(slots, answers, strict=True) if "error" in each]


def _missing(service: Service) -> set[int]:
    """The slots whose accounts are not archived."""
    return {
        slot
        for each in coverage(service)["gaps"]
        for slot in range(each["fromSlot"], each["toSlot"] + 1)
    }


def stored_to(service: Service) -> int:
    return int(of_service(service, "/historical", [("getSlot",)])[0])


def _final(meeting: Meeting, signature: str) -> dict[str, Any] | None:
    found = fate(meeting.service, signature)
    return found if found["final"] else None


def proven_through(meeting: Meeting) -> int:
    return int(coverage(meeting.service)["provenThrough"] or 0)
