"""Workers at simulation jobs: killed, too many at once, slow, and jobs that are over."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from rewind import tasks
from rewind.errors import EngineFailed
from rewind.jobs.methods import simulate
from rewind.jobs.models import SimulationJob, SimulationResult
from rewind.jobs.services import running, upkeep
from rewind.jobs.services.requests import Item, JobRequest, SlotSteps
from shared_state.redis_client import client as redis_client
from tests.rewind.little_chain import LittleChain
from tests.rewind.test_jobs import TERMS, Ask, archive, ask, chain, results, signatures, work

__all__ = ["archive", "ask", "chain"]  # fixtures

pytestmark = pytest.mark.usefixtures("nothing_remembered")
HUGE = {"fromSlot": 0, "toSlot": 4}


class Killed(BaseException):
    """A worker that ends where it stands."""


def killed_at(number: int) -> running.Simulate:
    def simulating(request: JobRequest, item: Item) -> Any:
        if item.number == number:
            raise Killed
        return simulate(request, item)

    return simulating


def turn_of(
    job: dict[str, Any], simulating: running.Simulate = simulate, **terms: Any
) -> int | None:
    """The next turn of the job."""
    row = SimulationJob.objects.get(pk=job["jobId"])
    wanted = {name: getattr(TERMS, name) for name in TERMS.__slots__} | terms
    return running.run(
        row.pk,
        row.turn,
        simulate=simulating,
        terms=running.Terms(**wanted),
        now=timezone.now,
    )


def gone() -> list[tuple[Any, int]]:
    """What is called again once every worker has been silent for too long."""
    later = timezone.now() + timedelta(minutes=5)
    return upkeep.idle_jobs(now=later, gone_after=TERMS.gone_after)


@pytest.mark.django_db
def test_a_killed_workers_job_goes_on_where_it_stopped(
    archive: LittleChain, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine keeps no results before the kill.
    monkeypatch.setattr(running, "_KEPT_SECONDS", 3_600.0)
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    assert turn_of(job, turn_seconds=0.0) == 2
    with pytest.raises(Killed):
        turn_of(job, killed_at(3))
    known = SimulationJob.objects.get()
    assert (known.done, known.turn, known.state) == (1, 3, "running")
    # Nobody takes it while its worker may live.
    assert upkeep.idle_jobs(now=timezone.now(), gone_after=TERMS.gone_after) == []
    tasks.run_simulation_job(job["jobId"], 3)
    assert SimulationJob.objects.get().done == 1
    assert gone() == [(known.pk, 4)]
    # Called once, it is not called again at once.
    assert upkeep.idle_jobs(now=timezone.now(), gone_after=TERMS.gone_after) == []
    work(job["jobId"])
    found = results(ask, job["jobId"])
    assert [each["number"] for each in found] == list(range(6))
    assert all(each["value"]["fidelity"] == "verified" for each in found)


@pytest.mark.django_db
def test_a_simulation_that_ends_its_workers_is_left_out(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    for _ in range(5):
        try:
            if turn_of(job, killed_at(2)) is None:
                break
        except Killed:
            gone()
    found = results(ask, job["jobId"])
    assert [each["number"] for each in found] == list(range(6))
    reasons = [each.get("error", {}).get("data", {}).get("reason") for each in found]
    assert reasons == [None, None, "simulation_lost", None, None, None]
    done = ask("getSimulationJob", job["jobId"])
    assert (done["state"], done["failed"]) == ("done", 1)


@pytest.mark.django_db
def test_a_worker_that_woke_too_late_keeps_nothing(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})

    def overtaken(request: JobRequest, item: Item) -> Any:
        if item.number == 2:
            gone()
            assert turn_of(job) is None  # another takes the job up, and ends it
        return simulate(request, item)

    assert turn_of(job, overtaken) is None
    assert SimulationResult.objects.count() == 6
    done = ask("getSimulationJob", job["jobId"])
    assert (done["state"], done["done"], done["failed"]) == ("done", 6, 0)


def test_two_workers_at_once_double_nothing_and_lose_nothing(
    archive: LittleChain, ask: Ask, transactional_db: None
) -> None:
    spec = {"signatures": signatures(archive), "slotRange": HUGE}
    jobs = [ask("submitSimulationJob", spec)["jobId"] for _ in range(2)]
    started = threading.Barrier(3)
    failures: list[BaseException] = []

    def take_turns() -> None:
        try:
            started.wait()
            while open_jobs := list(SimulationJob.objects.filter(finished_at__isnull=True)):
                for row in open_jobs:
                    running.run(
                        row.pk,
                        row.turn,
                        simulate=simulate,
                        terms=running.Terms(0.05, TERMS.gone_after, 10**7, 1),
                        now=timezone.now,
                    )
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=take_turns) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for job_id in jobs:
        found = results(ask, job_id)
        assert [each["number"] for each in found] == list(range(30))
        job = ask("getSimulationJob", job_id)
        assert (job["state"], job["done"], job["failed"]) == ("done", 30, 0)


def test_handed_in_at_once_no_more_are_open_than_may_be(
    archive: LittleChain, ask: Ask, transactional_db: None
) -> None:
    from access.models import ApiKey
    from rewind.jobs.errors import TooManyJobs
    from rewind.jobs.services.submitting import submit

    wanted = signatures(archive)
    request = JobRequest(wanted, None, "base64", None, SlotSteps(), {})
    key_id = ApiKey.objects.get().pk
    started = threading.Barrier(6)
    refused: list[int] = []

    def hand_in(number: int) -> None:
        try:
            started.wait()
            submit(
                request,
                key_id=key_id,
                tier="few",
                reference=f"r{number % 2}" if number < 4 else None,
                most_open=3,
                most_simulations=50,
                slots=(),
                now=timezone.now(),
            )
        except TooManyJobs:
            refused.append(number)
        finally:
            connection.close()

    threads = [threading.Thread(target=hand_in, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert SimulationJob.objects.count() == 3
    references = SimulationJob.objects.values_list("client_reference", flat=True)
    assert len({each for each in references if each}) == sum(
        each is not None for each in references
    )


@pytest.mark.django_db
def test_faults_of_the_engine_and_ours_are_results(
    archive: LittleChain, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})

    def faulty(request: JobRequest, item: Item) -> Any:
        if item.number == 1:
            raise EngineFailed("it stopped")
        if item.number == 2:
            raise ZeroDivisionError
        return simulate(request, item)

    assert turn_of(job, faulty) is None
    errors = [each.get("error", {}) for each in results(ask, job["jobId"])]
    assert [each.get("data", {}).get("reason") for each in errors] == [
        None,
        "engine_fault",
        "internal_error",
        None,
        None,
        None,
    ]
    assert errors[2] == {
        "code": -32603,
        "message": "Internal error",
        "data": {"reason": "internal_error"},
    }
    assert "simulation 2 failed" in caplog.text


@pytest.mark.django_db
def test_an_answer_that_is_too_large_is_an_error(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)[:1]})
    assert turn_of(job, most_bytes=100) is None
    (found,) = results(ask, job["jobId"])
    assert found["error"]["data"]["reason"] == "answer_too_large"
    assert found["error"]["data"]["found"] > found["error"]["data"]["maximum"] == 100


@pytest.mark.django_db
def test_a_job_whose_results_take_too_much_ends(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    assert turn_of(job, turn_seconds=0.0) == 2
    SimulationJob.objects.update(stored_bytes=running.MOST_STORED_BYTES)
    assert turn_of(job, turn_seconds=0.0) is None
    told = ask("getSimulationJob", job["jobId"])
    assert (told["state"], told["done"]) == ("failed", 2)
    assert "its results take more than" in told["failure"]
    assert len(results(ask, job["jobId"])) == 2


@pytest.mark.django_db
def test_pages_end_at_the_limit_at_the_bytes_and_at_what_is_done(
    archive: LittleChain, ask: Ask, settings: Any
) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})["jobId"]
    work(job)
    first = ask("getSimulationJobResults", job, {"limit": 4})
    assert (len(first["results"]), first["complete"]) == (4, True)
    second = ask("getSimulationJobResults", job, {"limit": 4, "cursor": first["next"]})
    assert [each["number"] for each in second["results"]] == [4, 5]
    assert second["next"] is None
    every = results(ask, job, limit=5_000)
    settings.ARCHIVE_ANSWER_BYTES = 3_000
    cut = ask("getSimulationJobResults", job)
    assert cut["truncatedByBytes"] is True
    assert 0 < len(cut["results"]) < 6
    assert results(ask, job) == every
    settings.ARCHIVE_ANSWER_BYTES = 1
    assert results(ask, job) == every


@pytest.mark.django_db
def test_pages_of_a_running_job_lead_on(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    found, cursor = [], None
    for turns in range(8):
        page = ask("getSimulationJobResults", job["jobId"], {"cursor": cursor})
        found += page["results"]
        cursor = page["next"]
        if page["complete"]:
            break
        assert cursor is not None
        assert len(found) == turns
        turn_of(job, turn_seconds=0.0)
    assert cursor is None
    assert [each["number"] for each in found] == list(range(6))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"cursor": "x"}, "bad_cursor"),
        ({"cursor": "eyJudW1iZXIiOi0xfQ=="}, "bad_cursor"),
        ({"cursor": "eyJudW1iZXIiOjd9"}, "bad_cursor"),
        ({"cursor": "eyJudW1iZXIiOjEsImEiOjF9"}, "bad_cursor"),
        ({"cursor": "\u00e9"}, "bad_cursor"),
        ({"limit": 0}, "bad_limit"),
        ({"limit": -1}, "invalid_params"),
        ({"limit": "all"}, "invalid_params"),
    ],
)
def test_a_page_that_cannot_be(archive: LittleChain, ask: Ask, config: Any, reason: str) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    error = ask("getSimulationJobResults", job["jobId"], config, error=True)
    assert (error["code"], error["data"]["reason"]) == (-32602, reason)


@pytest.mark.django_db
def test_results_are_deleted_when_they_are_over_and_jobs_forgotten(
    archive: LittleChain, ask: Ask, settings: Any
) -> None:
    spec = {"signatures": signatures(archive), "clientReference": "a"}
    job = ask("submitSimulationJob", spec)
    settings.SIMULATION_JOB_HOURS = 5
    tasks.run_simulation_job(job["jobId"], 0)
    done = ask("getSimulationJob", job["jobId"])
    assert (done["state"], done["expiresAt"]) == ("done", done["finishedAt"] + 5 * 3_600)
    tasks.resume_simulation_jobs()
    assert len(results(ask, job["jobId"])) == 6
    SimulationJob.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    error = ask("getSimulationJobResults", job["jobId"], error=True)
    assert error["data"]["reason"] == "results_expired"
    tasks.resume_simulation_jobs()
    assert not SimulationResult.objects.exists()
    assert ask("getSimulationJob", job["jobId"])["done"] == 6
    # Its reference is free for another.
    assert ask("submitSimulationJob", spec)["jobId"] != job["jobId"]
    SimulationJob.objects.filter(pk=job["jobId"]).update(
        expires_at=timezone.now() - timedelta(days=31)
    )
    tasks.resume_simulation_jobs()
    assert ask("getSimulationJob", job["jobId"], error=True)["data"]["reason"] == "job_not_found"


def queued() -> int:
    count = redis_client().llen("simulations")
    assert isinstance(count, int)
    return count


@pytest.mark.django_db
def test_a_job_is_called_as_it_comes_and_again_where_nobody_took_it(
    archive: LittleChain, ask: Ask
) -> None:
    ask("submitSimulationJob", {"signatures": signatures(archive)})
    assert queued() == 1
    redis_client().delete("simulations")  # as a Redis that is killed may
    tasks.resume_simulation_jobs()
    assert queued() == 1
    tasks.resume_simulation_jobs()
    assert queued() == 1
    # Where no worker comes, calls do not heap up.
    redis_client().rpush("simulations", *["{}"] * 1_000)
    SimulationJob.objects.update(due_at=timezone.now())
    tasks.resume_simulation_jobs()
    assert queued() == 1_001


@pytest.mark.django_db
def test_a_turn_that_is_over_stands_in_line_again(
    archive: LittleChain, ask: Ask, settings: Any
) -> None:
    jobs = [ask("submitSimulationJob", {"signatures": signatures(archive)}) for _ in range(2)]
    before = queued()
    row = SimulationJob.objects.get(pk=jobs[0]["jobId"])
    assert turn_of(jobs[0], turn_seconds=0.0) == row.turn + 2
    tasks.run_simulation_job(jobs[0]["jobId"], row.turn)  # a call that came twice does nothing
    assert queued() == before
    tasks.run_simulation_job(jobs[0]["jobId"], row.turn + 2)
    tasks.run_simulation_job(jobs[1]["jobId"], 0)
    assert {ask("getSimulationJob", job["jobId"])["state"] for job in jobs} == {"done"}


@pytest.mark.django_db
def test_a_job_that_cannot_be_read_fails(archive: LittleChain, ask: Ask) -> None:
    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    with transaction.atomic():
        SimulationJob.objects.update(request={"of": "another version"})
    assert turn_of(job) is None
    told = ask("getSimulationJob", job["jobId"])
    assert (told["state"], told["failure"]) == ("failed", "the job cannot be read")
