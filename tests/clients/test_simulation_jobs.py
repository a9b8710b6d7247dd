"""Batches of simulations on a running service, by its own workers; and its replay audit."""

import json
import urllib.error
import urllib.request
from typing import Any

import psycopg
import pytest

from embedded.addresses import embedded_addresses
from tests.clients.chain_endpoints import of_service, until
from tests.clients.mixed_history import History
from tests.clients.service import Service
from tests.localnet.wallets import encoded
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.soak


def answer(service: Service, method: str, *params: Any, tier: str = "epic") -> dict[str, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"Content-Type": "application/json"}
    if tier:
        headers["Authorization"] = service.keys[tier]
    request = urllib.request.Request(service.base_url + "/rewind", body.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            found: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code != 401:
            raise
        found = json.load(error)
    return found


def ask(service: Service, method: str, *params: Any, tier: str = "epic") -> Any:
    found = answer(service, method, *params, tier=tier)
    assert "error" not in found, found
    return found["result"]


def state_of(service: Service, job: dict[str, Any], tier: str = "epic") -> dict[str, Any]:
    found: dict[str, Any] = ask(service, "getSimulationJob", job["jobId"], tier=tier)
    return found


def finished(service: Service, job: dict[str, Any], tier: str = "epic") -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        try:
            found = state_of(service, job, tier)
        except urllib.error.HTTPError as error:
            assert error.code == 429
            return None
        return found if found["state"] not in ("queued", "running") else None

    found = until(over, "the job is over")
    assert found is not None
    return found


def results(service: Service, job: dict[str, Any], limit: int = 1_000) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        config = {"limit": limit, "cursor": cursor}
        page = ask(service, "getSimulationJobResults", job["jobId"], config)
        found += page["results"]
        cursor = page["next"]
        if cursor is None:
            assert page["complete"]
            return found


def test_two_hundred_signatures_end_as_they_do_alone(history: History) -> None:
    service, taken = history.service, history.taken[:200]
    job = ask(service, "submitSimulationJob", {"signatures": [each.signature for each in taken]})
    assert job["total"] == 200
    done = finished(service, job)
    assert (done["state"], done["done"], done["failed"]) == ("done", 200, 0)
    found = results(service, job, limit=60)
    assert [each["number"] for each in found] == list(range(200))
    questions = [
        (
            "simulateHistoricalTransaction",
            encoded(each.transaction),
            {"anchor": {"signature": each.signature}},
        )
        for each in taken
    ]
    alone = of_service(service, "/rewind", questions)
    for each, one, planned in zip(found, alone, taken, strict=True):
        assert each["value"] == one["value"], planned.kind
        assert (each["value"]["fidelity"], each["value"]["err"]) == ("verified", planned.err)


def long_job(history: History) -> dict[str, Any]:
    """One that takes longer than those that come after it."""
    spec = {
        "signatures": [each.signature for each in history.taken[:200]],
        "slotRange": {"fromSlot": 1, "toSlot": history.last},
    }
    job: dict[str, Any] = ask(history.service, "submitSimulationJob", spec)
    assert job["total"] >= 2_000
    return job


def test_a_small_job_of_another_key_is_not_kept_waiting_and_a_large_one_is_cancelled(
    history: History,
) -> None:
    service = history.service
    large = long_job(history)
    until(lambda: state_of(service, large)["done"] > 0, "the large job has begun")
    spec = {"signatures": [each.signature for each in history.taken[:40]]}
    small = ask(service, "submitSimulationJob", spec, tier="basic")
    assert finished(service, small, tier="basic")["done"] == 40
    assert state_of(service, large)["state"] == "running"
    cancelled = ask(service, "cancelSimulationJob", large["jobId"])
    assert cancelled["state"] == "cancelled"
    assert 0 < cancelled["done"] < cancelled["total"]
    # Its worker, which was at it, keeps nothing more.
    again = ask(service, "submitSimulationJob", spec)
    finished(service, again)
    assert state_of(service, large)["done"] == cancelled["done"]
    assert len(results(service, large)) == cancelled["done"]


def test_each_tier_has_its_limits(history: History) -> None:
    service = history.service
    signatures = [each.signature for each in history.taken[:200]]
    spec = {"signatures": signatures, "slotRange": {"fromSlot": 1, "toSlot": 6}}
    refused = answer(service, "submitSimulationJob", spec, tier="basic")["error"]
    assert refused["data"] == {"reason": "too_many_simulations", "found": 1_200, "maximum": 1_000}
    refused = answer(service, "submitSimulationJob", spec, tier="")["error"]
    assert (refused["code"], refused["data"]["reason"]) == (-32003, "key_required")
    jobs = [ask(service, "submitSimulationJob", spec, tier="ultra") for _ in range(3)]
    refused = answer(service, "submitSimulationJob", spec, tier="ultra")["error"]
    assert refused["data"] == {"reason": "too_many_jobs", "found": 3, "maximum": 3}
    refused = answer(service, "getSimulationJob", jobs[0]["jobId"], tier="elite")["error"]
    assert refused["data"]["reason"] == "job_not_found"
    for job in jobs:
        ask(service, "cancelSimulationJob", job["jobId"], tier="ultra")


def test_every_transaction_of_the_chain_is_audited_and_none_diverges(history: History) -> None:
    address = embedded_addresses(history.service.run_dir).database_url

    def told(query: str) -> Any:
        with psycopg.connect(address) as connection:
            return connection.execute(query).fetchone()

    def audited() -> bool:
        row = told("SELECT audited_slot FROM rewind_archivestate")
        return row is not None and row[0] >= history.last

    until(audited, "all of it audited")
    total = told(f"SELECT count(*) FROM historical_transaction WHERE slot <= {history.last}")
    counts = told(
        "SELECT sum(verified)::int, sum(diverged)::int, sum(unverified)::int, sum(passed_over)::int"
        " FROM rewind_auditedday"
    )
    assert counts[0] >= total[0] >= len(history.signatures)
    assert counts[1:] == (0, 0, 0)
    assert told("SELECT count(*) FROM rewind_divergence") == (0,)
    programs = told("SELECT count(*), sum(verified)::int FROM rewind_replaytally")
    assert programs[0] >= 5
