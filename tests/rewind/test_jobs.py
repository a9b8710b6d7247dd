"""Batches of simulations through the public door, their workers' turns taken by the test."""

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.keypair import Keypair
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from ingest.services.slots import store_records
from rewind import tasks
from rewind.jobs.methods import simulate
from rewind.jobs.models import SimulationJob, SimulationResult
from rewind.jobs.services import running
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.samples import WHOLE

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
KEYS = [Keypair.from_seed(bytes([100 + number]) * 32).pubkey() for number in range(8)]
TERMS = running.Terms(
    turn_seconds=60.0, gone_after=timedelta(seconds=30), most_bytes=10**7, keep_hours=2
)
Ask = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("nothing_remembered")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittleChain]:
    """Slots 0, 1, 2, 4 of two payments each, in ledger and archive."""
    made = LittleChain(tmp_path_factory.mktemp("chain"))
    for slot, skip in ((1, 0), (2, 0), (4, 1)):
        made.block(
            *(made.payment(KEYS[payer], SOL + slot, payer=payer) for payer in (0, 1)), skip=skip
        )
    yield made
    made.close()


@pytest.fixture
def archive(chain: LittleChain, empty_ledger: None) -> LittleChain:
    store_records(chain.records, source="stream", now=NOW)
    return chain


@pytest.fixture
def ask(client: Any, issue: Callable[..., Any], tier: Callable[..., Any]) -> Ask:
    """`ask("submitSimulationJob", spec)` → its result; `ask(…, error=True)` → its error. `by` is
    the secret of another key, "" none.
    """
    few = tier("few", requests_per_second=None, simulation_jobs=3, simulations_per_job=50)
    own = issue(tier=few).secret

    def call(method: str, *params: Any, error: bool = False, by: str | None = None) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        key = own if by is None else by
        headers = {"Authorization": key} if key else {}
        response = client.post(
            "/rewind", json.dumps(body), content_type="application/json", headers=headers
        )
        answer = json.loads(response.content)
        assert ("error" in answer) == error, answer
        return answer["error" if error else "result"]

    return call


def text(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def signatures(chain: LittleChain) -> list[str]:
    return [str(each.signatures[0]) for each in chain.sent]


def work(job_id: str, terms: running.Terms = TERMS) -> int:
    """Takes turns of the job until there are none; how many."""
    for count in range(1, 1_000):
        job = SimulationJob.objects.get(pk=job_id)
        turn = running.run(job.pk, job.turn, simulate=simulate, terms=terms, now=timezone.now)
        if turn is None:
            return count
    raise AssertionError("it never ends")


def results(ask: Ask, job_id: str, **config: Any) -> list[dict[str, Any]]:
    """All that there are, page by page."""
    found, cursor = [], None
    while True:
        page = ask("getSimulationJobResults", job_id, {**config, "cursor": cursor})
        found += page["results"]
        cursor = page["next"]
        if cursor is None or not page["results"]:
            return found


@pytest.mark.django_db
def test_each_signature_is_simulated_at_its_own_place(archive: LittleChain, ask: Ask) -> None:
    wanted = signatures(archive)
    job = ask("submitSimulationJob", {"signatures": wanted})
    assert (job["state"], job["total"]) == ("queued", 6)
    assert abs(job["submittedAt"] - timezone.now().timestamp()) < 60
    waiting = ask("getSimulationJob", job["jobId"])
    assert (waiting["done"], waiting["startedAt"], waiting["expiresAt"]) == (0, None, None)
    nothing = ask("getSimulationJobResults", job["jobId"])
    assert (nothing["results"], nothing["complete"]) == ([], False)
    assert nothing["next"] is not None
    work(job["jobId"])
    done = ask("getSimulationJob", job["jobId"])
    assert (done["state"], done["done"], done["failed"]) == ("done", 6, 0)
    assert done["startedAt"] <= done["finishedAt"] == done["expiresAt"] - 2 * 3_600
    page = ask("getSimulationJobResults", job["jobId"])
    assert (page["next"], page["complete"], page["truncatedByBytes"]) == (None, True, False)
    for number, (signature, sent) in enumerate(zip(wanted, archive.sent, strict=True)):
        found = page["results"][number]
        assert (found["number"], found["transaction"], found["signature"]) == (
            number,
            number,
            signature,
        )
        assert found["position"] == {"anchor": {"signature": signature, "position": "before"}}
        alone = ask("simulateHistoricalTransaction", text(sent), found["position"])
        assert (found["value"], found["context"]) == (alone["value"], alone["context"])
        assert found["context"]["completeness"] == WHOLE
        assert (found["value"]["fidelity"], found["value"]["err"]) == ("verified", None)


@pytest.mark.django_db
def test_transactions_times_positions_come_in_order(archive: LittleChain, ask: Ask) -> None:
    sent = archive.sent[:2]
    anchor = {"signature": signatures(archive)[3], "position": "after"}
    positions: list[dict[str, Any]] = [
        {"slot": 2},
        {"slot": 4, "preStateSlot": 1},
        {"anchor": anchor},
        {"slot": 2, "transactionIndex": 0},
        {"anchor": {"slot": 4, "transactionIndex": 1}},
    ]
    config = {
        "innerInstructions": True,
        "accounts": {"encoding": "base64", "addresses": [str(KEYS[0]), str(KEYS[7])]},
        "overrides": {str(KEYS[1]): {"lamports": 77 * SOL}},
        "overrideLoads": {str(KEYS[0]): 1},
        "tolerateGaps": True,
    }
    job = ask(
        "submitSimulationJob",
        {"transactions": [text(each) for each in sent], "positions": positions, "config": config},
    )
    assert job["total"] == 10
    work(job["jobId"])
    found = results(ask, job["jobId"], limit=3)
    for each, (number, (index, position)) in zip(
        found, enumerate(itertools.product(range(2), positions)), strict=True
    ):
        assert (each["number"], each["transaction"], each["position"]) == (number, index, position)
        # Each transaction has of the job's overrides what it reads.
        other = {"overrides": {}} if index == 0 else {"overrideLoads": {}}
        alone = ask(
            "simulateHistoricalTransaction", text(sent[index]), {**config, **other, **position}
        )
        assert each["value"] == alone["value"]
    assert found[1]["value"]["rewindLoadSlot"] == 1


@pytest.mark.django_db
def test_accounts_are_shown_as_a_single_simulation_shows_them(
    archive: LittleChain, ask: Ask
) -> None:
    """A list is for all transactions of the job: it may be longer than one of them."""
    clock = "SysvarC1ock11111111111111111111111111111111"
    addresses = [*map(str, (archive.payers[0].pubkey(), KEYS[0], KEYS[1], KEYS[7])), clock]
    wanted = {"encoding": "base64+zstd", "addresses": addresses}
    spec = {"signatures": signatures(archive), "config": {"accounts": wanted}}
    job = ask("submitSimulationJob", spec)
    work(job["jobId"])
    for each, sent in zip(results(ask, job["jobId"]), archive.sent, strict=True):
        for address, found in zip(addresses, each["value"]["accounts"], strict=True):
            config = {**each["position"], "accounts": {**wanted, "addresses": [address]}}
            alone = ask("simulateHistoricalTransaction", text(sent), config)["value"]
            assert alone["accounts"] == [found]
            assert (found is None) == (address == str(KEYS[7]) or _is_early(each, address))
    for config, reason in (
        ({"encoding": "base58", "addresses": []}, "base58_not_supported"),
        ({"addresses": [clock] * 101}, "too_many_addresses"),
    ):
        error = ask("submitSimulationJob", {**spec, "config": {"accounts": config}}, error=True)
        assert error["data"]["reason"] == reason


def _is_early(result: dict[str, Any], address: str) -> bool:
    """The account is first paid by the second transaction, and this is the first."""
    return bool(result["number"] == 0 and address == str(KEYS[1]))


@pytest.mark.django_db
def test_simulations_say_whether_their_accounts_are_proven(archive: LittleChain, ask: Ask) -> None:
    from rewind.proof.store import proof_runs

    proof_runs.mark(0, 2, proof_runs.PROVEN)
    proof_runs.mark(3, 4, proof_runs.UNPROVEN, "votes_not_seen")
    sent, config = text(archive.sent[0]), {"proof": True, "tolerateGaps": True}
    positions = [{"slot": 2}, {"slot": 4}, {"slot": 4, "preStateSlot": 1}]
    job = ask(
        "submitSimulationJob", {"transactions": [sent], "positions": positions, "config": config}
    )
    work(job["jobId"])
    found = [each["context"]["proof"]["state"] for each in results(ask, job["jobId"])]
    # Of the last one the accounts are those of slot 1.
    assert found == ["proven", "unproven", "proven"]
    for position, state in zip(positions, found, strict=True):
        alone = ask("simulateHistoricalTransaction", sent, {**config, **position})
        assert alone["context"]["proof"]["state"] == state
    plain = ask("simulateHistoricalTransaction", sent, {"slot": 2})
    assert "proof" not in plain["context"]


@pytest.mark.django_db
def test_a_range_of_slots_and_base58(archive: LittleChain, ask: Ask) -> None:
    from chain.encodings import b58encode

    sent = archive.sent[0]
    job = ask(
        "submitSimulationJob",
        {
            "transactions": [b58encode(bytes(sent))],
            "encoding": "base58",
            "slotRange": {"fromSlot": 0, "toSlot": 4, "step": 2},
        },
    )
    assert job["total"] == 3
    work(job["jobId"])
    found = results(ask, job["jobId"])
    assert [each["position"] for each in found] == [{"slot": 0}, {"slot": 2}, {"slot": 4}]
    assert [each["value"]["rewindSlot"] for each in found] == [0, 2, 4]
    every = ask(
        "submitSimulationJob",
        {"signatures": signatures(archive)[:2], "slotRange": {"fromSlot": 3, "toSlot": 4}},
    )
    assert every["total"] == 4


@pytest.mark.django_db
def test_what_a_single_simulation_is_refused_for_is_its_result(
    archive: LittleChain, ask: Ask
) -> None:
    unknown = str(Signature(bytes([7]) * 64))
    known = signatures(archive)[0]
    job = ask("submitSimulationJob", {"signatures": [unknown, known]})
    work(job["jobId"])
    first, second = results(ask, job["jobId"])
    assert (first["error"]["code"], first["error"]["data"]["reason"]) == (
        -32016,
        "unknown_signature",
    )
    assert second["value"]["fidelity"] == "verified"
    done = ask("getSimulationJob", job["jobId"])
    assert (done["state"], done["done"], done["failed"]) == ("done", 2, 1)
    job = ask(
        "submitSimulationJob",
        {"signatures": [known], "positions": [{"slot": 4, "transactionIndex": 9}, {"slot": 4}]},
    )
    work(job["jobId"])
    assert [each.get("error", {}).get("code") for each in results(ask, job["jobId"])] == [
        -32602,
        None,
    ]


KNOWN = "5" * 88
GOOD = {"signatures": [KNOWN], "slotRange": {"fromSlot": 0, "toSlot": 1}}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("spec", "code", "reason", "data"),
    [
        ({}, -32602, "bad_job", {}),
        ({"signatures": []}, -32602, "bad_job", {"at": "[0].signatures"}),
        ({"signatures": [KNOWN], "transactions": ["AA=="]}, -32602, "bad_job", {}),
        ({"transactions": ["AA=="]}, -32602, "bad_job", {}),
        ({"signatures": [KNOWN], "positions": []}, -32602, "bad_job", {}),
        ({**GOOD, "positions": [{"slot": 1}]}, -32602, "bad_job", {}),
        ({**GOOD, "config": {"slot": 1}}, -32602, "bad_job", {"at": "[0].config"}),
        ({"signatures": [KNOWN[:-1] + "0"]}, -32602, "invalid_params", {}),
        ({"signatures": [KNOWN], "positions": [{}]}, -32602, "bad_position", {}),
        (
            {"signatures": [KNOWN], "positions": [{"slot": 1, "anchor": {"signature": KNOWN}}]},
            -32602,
            "bad_position",
            {},
        ),
        (
            {"signatures": [KNOWN], "positions": [{"slot": 1, "preStateSlot": 2}]},
            -32602,
            "pre_state_too_new",
            {"found": 2, "maximum": 1},
        ),
        ({**GOOD, "config": {"preStateSlot": 1}}, -32602, "pre_state_too_new", {"maximum": 0}),
        (
            {"transactions": ["AA=="], "positions": [{"slot": 1}]},
            -32602,
            "transaction_undecodable",
            {"at": "[0].transactions[0]"},
        ),
        ({**GOOD, "slotRange": {"fromSlot": 2, "toSlot": 1}}, -32602, "empty_range", {}),
        (
            {**GOOD, "slotRange": {"fromSlot": 0, "toSlot": 1, "step": 0}},
            -32602,
            "invalid_params",
            {},
        ),
        ({**GOOD, "slotRange": {"toSlot": 1}}, -32602, "invalid_params", {}),
        ({"signatures": [KNOWN], "slotrange": {}}, -32602, "invalid_params", {"at": "[0]"}),
        (
            {"signatures": [KNOWN], "positions": [{"slot": 1, "preState": 0}]},
            -32602,
            "invalid_params",
            {"at": "[0].positions[0]"},
        ),
        (
            {**GOOD, "slotRange": {"fromSlot": 0, "toSlot": 1, "steps": 2}},
            -32602,
            "invalid_params",
            {"at": "[0].slotRange"},
        ),
        (
            {**GOOD, "config": {"overrides": {"x": {}}}},
            -32602,
            "bad_override",
            {"at": "[0].config.overrides.x"},
        ),
        (
            {**GOOD, "config": {"accounts": {"addresses": [], "encoding": "base58"}}},
            -32602,
            "base58_not_supported",
            {"at": "[0].config.accounts.encoding"},
        ),
        ({**GOOD, "clientReference": ""}, -32602, "invalid_params", {}),
        ({**GOOD, "clientReference": "x" * 101}, -32602, "invalid_params", {}),
        (
            {**GOOD, "clientReference": "a\0b"},
            -32602,
            "bad_job",
            {"at": "[0].clientReference"},
        ),
        (
            {**GOOD, "slotRange": {"fromSlot": 0, "toSlot": 2**64 - 1}},
            -32602,
            "too_many_simulations",
            {"found": 2**64, "maximum": 50},
        ),
        (
            {"signatures": [KNOWN] * 51},
            -32602,
            "too_many_simulations",
            {"found": 51, "maximum": 50},
        ),
        (
            {**GOOD, "slotRange": {"fromSlot": 0, "toSlot": 5}},
            -32014,
            "slot_too_new",
            {"slot": 5, "latestSlot": 4},
        ),
        ({"signatures": [KNOWN], "positions": [{"slot": 2**64 - 1}]}, -32014, "slot_too_new", {}),
    ],
)
def test_what_can_never_be_is_refused_at_once(
    archive: LittleChain, ask: Ask, spec: Any, code: int, reason: str, data: Any
) -> None:
    error = ask("submitSimulationJob", spec, error=True)
    assert (error["code"], error["data"]["reason"]) == (code, reason), error
    assert data.items() <= error["data"].items()
    assert not SimulationJob.objects.exists()


@pytest.mark.django_db
def test_without_a_key_there_are_no_jobs(archive: LittleChain, ask: Ask) -> None:
    some = "00000000-0000-4000-8000-000000000000"
    for method, param in (
        ("submitSimulationJob", GOOD),
        ("getSimulationJob", some),
        ("getSimulationJobResults", some),
        ("cancelSimulationJob", some),
    ):
        error = ask(method, param, error=True, by="")
        assert (error["code"], error["data"]["reason"]) == (-32003, "key_required")


@pytest.mark.django_db
def test_a_job_is_its_keys_alone(archive: LittleChain, ask: Ask, issue: Callable[..., Any]) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    other = issue(requests_per_second=None).secret
    for method in ("getSimulationJob", "getSimulationJobResults", "cancelSimulationJob"):
        for asked, by in ((job["jobId"], other), ("nonsense", None), (str(KEYS[0]), None)):
            error = ask(method, asked, error=True, by=by)
            assert (error["code"], error["data"]["reason"]) == (-32602, "job_not_found")
    assert ask("getSimulationJob", job["jobId"])["state"] == "queued"


@pytest.mark.django_db
def test_a_key_has_so_many_open_jobs_as_its_tier_lets_it(
    archive: LittleChain, ask: Ask, client: Any, issue: Callable[..., Any], tier: Any
) -> None:
    spec = {"signatures": signatures(archive)[:1]}
    jobs = [ask("submitSimulationJob", spec) for _ in range(3)]
    error = ask("submitSimulationJob", spec, error=True)
    assert (error["code"], error["data"]) == (
        -32005,
        {"reason": "too_many_jobs", "found": 3, "maximum": 3},
    )
    work(jobs[0]["jobId"])
    ask("cancelSimulationJob", jobs[1]["jobId"])
    assert len([ask("submitSimulationJob", spec) for _ in range(2)]) == 2
    none = issue(tier=tier("none", rank=11, simulation_jobs=0)).secret
    assert ask("submitSimulationJob", spec, error=True, by=none)["data"]["maximum"] == 0


@pytest.mark.django_db
def test_handed_in_twice_under_one_reference_it_is_one_job(
    archive: LittleChain, ask: Ask, issue: Callable[..., Any]
) -> None:
    spec = {"signatures": signatures(archive), "clientReference": "night 7"}
    first = ask("submitSimulationJob", spec)
    assert ask("submitSimulationJob", spec) == first
    work(first["jobId"])
    again = ask("submitSimulationJob", spec)
    assert (again["jobId"], again["state"]) == (first["jobId"], "done")
    assert ask("getSimulationJob", first["jobId"])["clientReference"] == "night 7"
    error = ask("submitSimulationJob", {**spec, "encoding": "base58"}, error=True)
    assert error["data"] == {"reason": "client_reference_taken", "jobId": first["jobId"]}
    other = issue(requests_per_second=None).secret
    assert ask("submitSimulationJob", spec, by=other)["jobId"] != first["jobId"]


@pytest.mark.django_db
def test_a_cancelled_job_stops_and_keeps_what_it_has(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    short = running.Terms(
        turn_seconds=0.0, gone_after=TERMS.gone_after, most_bytes=10**7, keep_hours=2
    )
    row = SimulationJob.objects.get()
    turn = running.run(row.pk, 0, simulate=simulate, terms=short, now=timezone.now)
    assert turn == 2
    cancelled = ask("cancelSimulationJob", job["jobId"])
    assert (cancelled["state"], cancelled["done"]) == ("cancelled", 1)
    assert cancelled["expiresAt"] is not None
    tasks.run_simulation_job(job["jobId"], 2)
    assert ask("cancelSimulationJob", job["jobId"]) == cancelled
    page = ask("getSimulationJobResults", job["jobId"])
    assert (len(page["results"]), page["next"], page["complete"]) == (1, None, True)


@pytest.mark.django_db
def test_a_job_that_is_cancelled_meanwhile_keeps_nothing_more(
    archive: LittleChain, ask: Ask
) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    asked = []

    def cancelling(request: Any, item: Any) -> Any:
        asked.append(item.number)
        if item.number == 2:
            ask("cancelSimulationJob", job["jobId"])
        return simulate(request, item)

    row = SimulationJob.objects.get()
    assert running.run(row.pk, 0, simulate=cancelling, terms=TERMS, now=timezone.now) is None
    assert ask("getSimulationJob", job["jobId"])["state"] == "cancelled"
    assert SimulationResult.objects.count() == SimulationJob.objects.get().done
