"""GET /metrics: the door, what it tells, and the page of it."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from access import usage
from gaps.slot_gap import GapStatus
from ingest.follower_state import FollowerState, publish
from operations.metrics import METRICS, page
from operations.models import Alarm, Sample
from operations.services import watching
from rewind.coverage.services.gaps import archive_gaps
from shared_state import counters, heartbeats
from shared_state.database_writes import CLAIMED
from shared_state.redis_client import client as redis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]


def scrape(client: Any) -> dict[tuple[str, ...], float]:
    """{(name, values of labels…): value}"""
    token = f"Bearer {settings.METRICS_TOKEN}"
    answer = client.get("/metrics", headers={"Authorization": token})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    return {
        (
            sample.name,
            *(sample.labels[label] for label in METRICS[sample.name].labels),
        ): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer wrong",
        pytest.param(f"Basic {settings.METRICS_TOKEN}", id="another scheme"),
    ],
)
def test_it_answers_only_to_who_knows_the_token(client: Any, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 401
    assert answer.json() == {"error": "unauthorized"}
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_it_is_read_and_on_no_tier_host(client: Any) -> None:
    token = f"Bearer {settings.METRICS_TOKEN}"
    refused = client.post("/metrics", headers={"Authorization": token})
    assert (refused.status_code, refused.json()) == (405, {"error": "http_method_not_allowed"})
    host = f"basic.rpc.{settings.DOMAIN}"
    headers = {"Authorization": token, "Host": host}
    assert client.get("/metrics", headers=headers).status_code == 404


def test_calls_of_all_processes_only_grow(client: Any) -> None:
    assert usage.flush()  # what other tests of this process have counted
    before = scrape(client)
    calls = before.get(("tidemark_calls_total", "getSlot", "ok", "counted"), 0)
    seconds = before.get(("tidemark_call_seconds_total", "getSlot", "ok"), 0)
    for number in (1, 2):
        for _ in range(3):
            usage.count(
                None, "getSlot", "ok", seconds=time.time(), microseconds=500_000, address=""
            )
        assert usage.flush()
        found = scrape(client)
        assert found["tidemark_calls_total", "getSlot", "ok", "counted"] == calls + 3 * number
        total = found["tidemark_call_seconds_total", "getSlot", "ok"]
        assert total == pytest.approx(seconds + 1.5 * number)


def test_it_tells_the_chain_the_queues_and_who_lives(client: Any) -> None:
    now = timezone.now()
    publish(FollowerState("a", 1.0, heard_at=time.time(), head_slot=9, finalized_slot=7))
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=now)
    archive_gaps.open_gap(12, 13, status=GapStatus.MISSING, cause="stream_lost", now=now)
    archive_gaps.give_up([archive_gaps.open_gaps(12, 13)[0].pk], by="somebody", now=now)
    heartbeats.beat("worker")
    counters.add({(counters.ATTEMPTS, "leaders", "sent"): 4, (counters.SLOTS, "ledger"): 2})
    Alarm.objects.create(name="gaps_open", severity="warning", began_at=now, opened_at=now)
    Alarm.objects.create(name="disk_low", severity="critical", began_at=now)
    found = scrape(client)
    expected = {
        ("tidemark_following",): 1,
        ("tidemark_head_slot",): 9,
        ("tidemark_gap_slots", "archive", "stream_lost"): 3,
        ("tidemark_gap_slots_given_up", "archive"): 2,
        ("tidemark_attempts_total", "leaders", "sent"): 4,
        ("tidemark_slots_stored_total", "ledger"): 2,
        ("tidemark_up", "worker"): 1,
        ("tidemark_up", "beat"): 0,
        ("tidemark_alarms_open", "gaps_open", "warning"): 1,
        ("tidemark_queue_length", "default"): 0,
        ("tidemark_queue_length", "unsent"): 0,
        ("tidemark_queue_age_seconds",): 0,
        ("tidemark_redis_up",): 1,
    }
    assert {name: found[name] for name in expected} == expected
    assert ("tidemark_alarms_open", "disk_low", "critical") not in found, "it has not opened"
    assert ("tidemark_slots_behind",) not in found, "nothing is stored: nobody knows"


def test_tips_are_summed_once_and_then_from_there(client: Any, issue: Any) -> None:
    from tests.tipping.tipped_samples import fill_tipping
    from tipping.models import TipEntry

    fill_tipping(timezone.now(), key=issue().key)
    tips = TipEntry.objects.filter(kind="tip")
    known = sum(tips.values_list("lamports", flat=True))
    assert known > 0

    def told() -> float:
        found = scrape(client)
        return sum(found["tidemark_tip_lamports_total", kind] for kind in ("static", "dynamic"))

    assert told() == known
    TipEntry.objects.update(recorded_at=timezone.now() - timedelta(minutes=20))
    watching.watch(now=timezone.now())
    assert Sample.objects.get().totals["tips_upto"] == max(
        TipEntry.objects.values_list("pk", flat=True)
    )
    TipEntry.objects.update(lamports=1)  # what was summed is not looked at again
    assert told() == known


def test_without_redis_it_says_so_and_leaves_out_what_it_cannot_know(client: Any) -> None:

    url = settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    try:
        found = scrape(client)
    finally:
        settings.REDIS_URL = url
    assert found["tidemark_redis_up",] == 0
    assert not [name for name in found if name[0] in ("tidemark_up", "tidemark_calls_total")]
    assert found["tidemark_database_bytes",] > 0


def test_a_scrape_asks_little(client: Any, django_assert_max_num_queries: Any) -> None:
    redis().set(CLAIMED, "")  # another process tries whether the database takes writes
    with django_assert_max_num_queries(29):
        scrape(client)


def test_the_page_of_metrics_is_what_the_code_says() -> None:
    stored = (settings.ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert stored == page(), "run manage.py metric_catalogue"


def test_counters_are_named_as_prometheus_wants() -> None:
    for metric in METRICS.values():
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert metric.meaning
