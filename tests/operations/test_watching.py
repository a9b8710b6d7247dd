"""Samples over time, and alarms that open, hold and close."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from access import usage
from access.models import Customer
from alerts.models import Event
from alerts.services import delivering, webhooks
from columns.raw_queries import fetch_all
from gaps.slot_gap import GapStatus
from ingest.follower_state import FollowerState, publish
from operations.models import Alarm, Sample
from operations.readings.chain import DamageReading
from operations.readings.landing import UpstreamReading
from operations.readings.present import read
from operations.readings.processes import ProcessReading
from operations.readings.rules import MissingReading
from operations.readings.sealing import SealedReading, SealingFault
from operations.readings.servers import DiskReading
from operations.readings.tips import ClassReading
from operations.rules.table import BY_NAME, RULES
from operations.services import alarms, sampling, watching
from priority.queue.store import QueueState
from rewind.coverage.services.gaps import archive_gaps
from shared_state import heartbeats
from tests.operations.reading import changed, well

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

_RULES_FILE = "platform/operations/rules/"
NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


# --- samples ---


def test_a_step_of_time_is_sampled_once_whoever_comes() -> None:
    assert watching.watch(now=NOON + seconds(3))
    assert not watching.watch(now=NOON + seconds(14))
    assert watching.watch(now=NOON + seconds(15))
    assert list(Sample.objects.order_by("at").values_list("at", "resolution")) == [
        (NOON, 15),
        (NOON + seconds(15), 15),
    ]


def test_five_minutes_become_their_mean_and_what_was_not_known_is_left_out() -> None:
    for number in range(20):
        values = {"behind": number} if number < 10 else {"calls_per_second": 4.0}
        Sample.objects.create(at=NOON + seconds(15 * number), resolution=15, values=values)
    sampling.roll_up(now=NOON + seconds(299))
    assert not Sample.objects.filter(resolution=300).exists(), "these five minutes are not over"
    for _ in range(2):
        sampling.roll_up(now=NOON + seconds(301))
    (mean,) = Sample.objects.filter(resolution=300)
    assert (mean.at, mean.values) == (NOON, {"behind": 4.5, "calls_per_second": 4.0})


def test_old_moments_go_and_old_means_stay_for_a_month() -> None:
    for resolution, age in ((15, 3_600), (15, 8_000), (300, 8_000), (300, 31 * 86_400)):
        at = sampling.step_of(NOON - seconds(age), resolution)
        Sample.objects.create(at=at, resolution=resolution)
    sampling.roll_up(now=NOON)
    kept = Sample.objects.values_list("resolution", "at")
    assert sorted((each, NOON - at < seconds(8_400)) for each, at in kept) == [
        (15, True),
        (300, True),
    ]


def test_rates_are_taken_against_an_earlier_sample() -> None:
    def called(times: int, status: str) -> None:
        for _ in range(times):
            usage.count(
                None, "getSlot", status, seconds=NOON.timestamp(), microseconds=2_000, address=""
            )
        assert usage.flush()

    called(10, "ok")
    first = read(NOON).calls
    assert first is not None and first.per_second is None, "there is nothing to compare with"
    watching.watch(now=NOON)
    called(97, "ok")
    called(2, "rate_limited")
    called(1, "queue_unavailable")
    found = read(NOON + seconds(50)).calls
    assert found is not None
    assert found.per_second == 2.0
    assert found.milliseconds is not None
    for value in found.milliseconds:  # each took 2 ms
        assert value == pytest.approx(2.0, rel=0.05)
    assert (found.refused_share, found.failed_share) == (0.02, 0.01)
    assert found.reasons == [("queue_unavailable", 1)]


def test_the_alarm_of_failed_calls_names_their_reasons() -> None:
    watching.watch(now=NOON)
    for reason, calls in (("queue_unavailable", 335), ("upstream_unreachable", 7), ("ok", 9)):
        for _ in range(calls):
            usage.count(
                None,
                "sendTransaction",
                reason,
                **{"seconds": NOON.timestamp(), "microseconds": 9, "address": ""},
            )
    assert usage.flush()
    for after in (45, 60, 75):
        alarms.evaluate(read(NOON + seconds(after)), now=NOON + seconds(after))
    text = Alarm.objects.get(name="errors_high").text
    assert text == (
        "97.4% of calls fail because of the service itself:"
        " queue_unavailable (335), upstream_unreachable (7)."
    )


# --- readings that once lied ---


def test_a_connected_stream_that_says_nothing_is_silent() -> None:
    now = timezone.now()
    heard = now.timestamp() - 20
    publish(FollowerState(source="a", connected_since=1.0, heard_at=heard, finalized_slot=7))
    found = read(now).chain
    assert (found.stream, found.silent_seconds, found.behind) == ("silent", 20, None)
    publish(FollowerState(source="a", connected_since=1.0, heard_at=heard + 19, finalized_slot=7))
    assert read(now).chain.stream == "following"


# --- alarms ---


def test_an_alarm_waits_for_its_time_and_is_told_once() -> None:
    silent = changed(well(NOON).chain, stream="silent", silent_seconds=12)
    for after in (0, 5):
        readings = changed(well(NOON + seconds(after)), chain=silent)
        alarms.evaluate(readings, now=NOON + seconds(after))
        assert alarms.open_alarms() == []
    for after in (15, 30):
        readings = changed(well(NOON + seconds(after)), chain=silent)
        alarms.evaluate(readings, now=NOON + seconds(after))
    (alarm,) = alarms.open_alarms()
    assert (alarm.name, alarm.began_at, alarm.opened_at) == (
        "stream_silent",
        NOON,
        NOON + seconds(15),
    )
    (event,) = Event.objects.filter(kind="alarm.opened")
    assert event.data["name"] == "stream_silent"
    assert event.data["runbookUrl"] == f"{settings.PUBLIC_URL}/docs/alarms/#the-stream-is-silent"
    assert "a node is connected, but has not sent anything for 12 s" in event.text

    alarms.evaluate(well(NOON + seconds(45)), now=NOON + seconds(45))
    assert alarms.open_alarms(), "it has to be well for a while"
    alarms.evaluate(well(NOON + seconds(60)), now=NOON + seconds(60))
    assert alarms.open_alarms() == []
    (event,) = Event.objects.filter(kind="alarm.closed")
    assert event.text.startswith("Resolved after 45 s.")


def test_what_passes_at_once_calls_nobody() -> None:
    silent = changed(well(NOON).chain, stream="silent", silent_seconds=12)
    alarms.evaluate(changed(well(NOON), chain=silent), now=NOON)
    alarms.evaluate(well(NOON + seconds(15)), now=NOON + seconds(15))
    assert not Alarm.objects.exists()
    assert not Event.objects.exists()


def test_a_relapse_within_the_calm_keeps_the_alarm_open() -> None:
    silent = changed(well(NOON).chain, stream="silent", silent_seconds=12)
    ill = (0, 15, 40)
    for after in (0, 15, 30, 40, 50):
        readings = well(NOON + seconds(after))
        if after in ill:
            readings = changed(readings, chain=silent)
        alarms.evaluate(readings, now=NOON + seconds(after))
    assert Alarm.objects.get().closed_at is None
    assert Event.objects.count() == 1


def test_a_gap_that_nobody_fills_opens_one_alarm_and_its_end_closes_it() -> None:
    now = timezone.now()
    opened_at = now - timedelta(minutes=3)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=opened_at)
    alarms.evaluate(changed(well(now), chain=read(now).chain), now=now)
    (alarm,) = alarms.open_alarms()
    assert (alarm.name, alarm.subject) == ("gaps_open", "archive")
    assert alarm.text == "1 gap is not filled, about 3 slots (stream lost)."
    alarms.evaluate(well(now), now=now)
    assert alarms.open_alarms(), "the gap is still there"


def test_a_gap_that_cannot_be_had_raises_no_alarm() -> None:
    now = timezone.now()
    opened_at = now - timedelta(minutes=3)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=opened_at)
    archive_gaps.give_up([gap.pk for gap in archive_gaps.open_gaps()], by="somebody", now=now)
    chain = read(now).chain
    alarms.evaluate(changed(well(now), chain=chain), now=now)
    assert not alarms.open_alarms()
    assert chain.given_up == {"archive": 3, "ledger": 0}


def test_one_of_several_streams_that_is_lost_is_told() -> None:
    now = timezone.now()
    chain = changed(read(now).chain, stream="following", streams_down=1, problem="refused")
    for after in (0, 30, 61):
        at = now + timedelta(seconds=after)
        alarms.evaluate(changed(well(at), chain=chain), now=at)
    (alarm,) = alarms.open_alarms()
    assert (alarm.name, alarm.severity) == ("streams_lacking", "warning")
    assert alarm.text == "1 of the streams is not connected: refused"


def test_dead_processes_are_missed_one_by_one_and_what_is_not_known_changes_nothing() -> None:
    readings = well(NOON)
    assert readings.processes is not None
    missing = [
        ProcessReading(each.kind, 0, NOON - seconds(50)) if each.kind == "worker" else each
        for each in readings.processes
    ]
    for after in (0, 30):
        alarms.evaluate(changed(readings, processes=missing), now=NOON + seconds(after))
    (alarm,) = alarms.open_alarms()
    assert (alarm.name, alarm.subject) == ("process_missing", "worker")
    assert "last heartbeat 50 s ago" in alarm.text
    # Redis is away: nobody knows which processes live.
    alarms.evaluate(changed(readings, processes=None), now=NOON + seconds(60))
    assert [each.name for each in alarms.open_alarms()] == ["process_missing"]
    assert Alarm.objects.get(name="process_missing").well_since is None


def test_heartbeats_become_readings() -> None:
    heartbeats.beat("worker")
    now = timezone.now()
    found = {each.kind: each.alive for each in read(now).processes or []}
    assert (found["worker"], found["beat"]) == (1, 0)
    later = {each.kind: each for each in read(now + seconds(5)).processes or []}
    assert (later["worker"].alive, later["worker"].trouble) == (0, "hung")
    assert later["beat"].trouble == "missing"


def test_nobody_watching_is_an_alarm_of_its_own() -> None:
    old = changed(well(NOON), sampled_at=NOON - seconds(60))
    alarms.evaluate(old, now=NOON)
    alarms.evaluate(changed(old, at=NOON + seconds(45)), now=NOON + seconds(45))
    assert [each.name for each in alarms.open_alarms()] == ["clock_stopped"]


def test_a_web_process_watches_only_when_nobody_else_has() -> None:
    assert watching.is_overdue(now=NOON)
    watching.watch(now=NOON)
    assert not watching.is_overdue(now=NOON + seconds(59))
    assert watching.is_overdue(now=NOON + seconds(60))
    # Then every 15 s, until the worker is back; what the worker did last is not forgotten.
    watching.watch(now=NOON + seconds(60), stands_in=True)
    assert not watching.is_overdue(now=NOON + seconds(74))
    assert watching.is_overdue(now=NOON + seconds(75))
    assert read(NOON + seconds(75)).sampled_at == NOON
    watching.watch(now=NOON + seconds(75))
    assert not watching.is_overdue(now=NOON + seconds(134))


def test_a_worker_that_is_back_takes_over_from_the_web_process() -> None:
    # The web process looks every second, so it is the first in every step of time.
    watching.watch(now=NOON)
    for after in (60, 75, 90):
        assert watching.watch(now=NOON + seconds(after), stands_in=True)
    assert watching.watch(now=NOON + seconds(97)), "in a step that was sampled in its place"
    assert read(NOON + seconds(98)).sampled_at == NOON + seconds(90)
    assert not watching.watch(now=NOON + seconds(98)), "once a step"
    assert not watching.is_overdue(now=NOON + seconds(149))


def test_every_rule_says_what_to_do_and_leads_to_a_page_that_exists() -> None:
    from django.urls import NoReverseMatch, reverse

    names = [rule.name for rule in RULES]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"two rules have the name {sorted(twice)}: rename one in {_RULES_FILE}"
    assert len(RULES) >= 20
    for rule in RULES:
        where = f"the Rule {rule.name} in {_RULES_FILE}"
        assert rule.title, f"{where} has no title: name the problem"
        advice = f"{where}: write `advice` as sentences that end with a period: what to do"
        assert rule.advice.endswith("."), advice
        for page in {rule.at.page, *(each.page for each in rule.subjects.values())} - {""}:
            try:
                path = reverse(f"admin:{page}")
            except NoReverseMatch:
                pytest.fail(f"{where}: {page} is no admin URL's name: see rewind_gap_changelist")
            assert path.startswith("/admin/"), f"{where}: {path} is not a page of the admin"


def tip_class(*, available: bool) -> ClassReading:
    """A class of 60 s behind whose batch none is prepared."""
    return ClassReading(1, 60, available, False, 5, 10, 0, None)


BROKEN = UpstreamReading(1, "node", True, NOON + timedelta(minutes=1), "refused")
BEHIND = SealedReading("archive", 0, 0, 0, 0, waiting=3, lag=36_001, limit=36_000)
FAILING = SealingFault("ledger", "seal_ledger", "SealMismatch: the texts of block 7", NOON, 2)
UNDROPPED = SealingFault("archive", "prune_archive", "ArchiveDamaged: block 7", NOON, 2)
UNCHECKED = SealingFault("ledger", "scrub_ledger", "DataCorrupted: invalid page", NOON, 2)
UNWELL: list[tuple[str, dict[str, Any]]] = [
    ("stream_lost", {"chain": {"stream": "not connected", "problem": "refused"}}),
    ("chain_behind", {"chain": {"behind": 51}}),
    ("storing_stopped", {"chain": {"unstored_seconds": 61, "waiting_slots": 150}}),
    ("archive_damaged", {"chain": {"damage": [DamageReading("archive", 2, "block 7")]}}),
    ("divergences_open", {"chain": {"divergences": 2}}),
    ("rules_missing", {"rules": {"missing": [MissingReading("feature", "9x", None)]}}),
    ("class_unavailable", {"tips": {"classes": [tip_class(available=False)]}}),
    ("class_running_dry", {"tips": {"classes": [tip_class(available=True)]}}),
    ("upstream_broken", {"landing": {"upstreams": [BROKEN]}}),
    ("redis_down", {"redis": {"takes_writes": False}}),
    ("sweep_stuck", {"tips": {"unswept": 1}}),
    ("no_upstream", {"landing": {"upstreams": []}}),
    ("landing_low", {"landing": {"others_reached": 9, "others_lost": 11}}),
    ("landing_behind", {"landing": {"queue": QueueState(2_134, 9, 250)}}),
    ("queue_deep", {"redis": {"queues": {"default": 201, "ingest": 0, "simulations": 0}}}),
    ("queue_deep", {"landing": {"queue": QueueState(0, 1_001, 250)}}),
    ("errors_high", {"calls": {"per_second": 5.0, "failed_share": 0.011}}),
    ("sealing_behind", {"sealing": {"stores": [BEHIND]}}),
    ("proof_refuted", {"proof": {"refuted": [(7, 7)]}}),
    ("proof_failing", {"proof": {"fault": "ValueError: no"}}),
    ("stakes_differ", {"proof": {"stakes_differ": "one of the two is false"}}),
    ("sealing_failing", {"sealing": {"faults": [FAILING]}}),
    ("scrub_failing", {"sealing": {"faults": [UNCHECKED]}}),
    ("retention_failing", {"sealing": {"faults": [UNDROPPED]}}),
    ("disk_low", {"disk": {"free": 4_000_000_000, "total": 100_000_000_000}}),
    ("redis_memory_high", {"redis": {"used": 81, "most": 100}}),
    ("disk_low", {"database": {"disk": DiskReading(4_000_000_000, 100_000_000_000)}}),
    ("database_down", {"database": {"problem": "PostgreSQL cannot write: its disk is full"}}),
    ("database_slow", {"database": {"milliseconds": 101.0}}),
    ("webhook_failing", {"alerts": {"failing": ["pager"]}}),
    ("deliveries_late", {"alerts": {"late": 3}}),
    ("sign_in_failing", {"sign_in": {"problem": "It does not answer"}}),
]


def test_failing_webhooks_of_one_name_do_not_end_the_watch(settings: Any) -> None:
    """Customers name them; a hook that fails twice as often is still one subject."""
    settings.WEBHOOKS_PRIVATE = True
    ada, eve = (Customer.objects.create(name=name) for name in ("Ada", "Eve"))
    for customer in (ada, eve, eve, None):
        owner = None if customer is None else customer.pk
        hook = webhooks.create(owner, name="pager", url="http://127.0.0.1:9/")
        webhooks.send_test(hook.pk, now=timezone.now())
    for turn in delivering.claim(now=timezone.now(), most=10, failing=False):
        delivering.deliver(turn, clock=timezone.now)
    for number in range(8):
        assert watching.watch(now=NOON + seconds(15 * number))
    found = Alarm.objects.filter(name="webhook_failing", opened_at__isnull=False)
    assert sorted(found.values_list("subject", "text")) == [
        ("pager", "Deliveries to the webhook pager fail."),
        ("pager of Ada", "Deliveries to the webhook pager of Ada fail."),
        ("pager of Eve", "Deliveries to the webhook pager of Eve fail."),
    ]


# Tests above take these through their whole life.
FOUND_ELSEWHERE = {"stream_silent", "streams_lacking", "gaps_open", "process_missing"}
FOUND_ELSEWHERE |= {"clock_stopped", "clock_differs"}


def test_every_rule_has_readings_that_raise_it() -> None:
    missing = {rule.name for rule in RULES} - {name for name, _ in UNWELL} - FOUND_ELSEWHERE
    assert not missing, (
        f"No test raises {sorted(missing)}: add a row to UNWELL in tests/operations/"
        "test_watching.py, with the readings that make the rule's check find something."
    )


@pytest.mark.parametrize(("name", "parts"), UNWELL, ids=lambda value: str(value)[:40])
def test_each_rule_finds_what_it_is_for(name: str, parts: dict[str, Any]) -> None:
    readings = well(NOON)
    raised = f"the check of {name} in {_RULES_FILE} finds something in readings without a problem"
    assert not _found(name, readings), raised
    unknown = parts.keys() - set(readings.__struct_fields__)
    assert not unknown, (
        f"the row {name} of UNWELL in tests/operations/test_watching.py names {sorted(unknown)}:"
        f" Readings has {readings.__struct_fields__}"
    )
    unwell = {part: changed(getattr(readings, part), **values) for part, values in parts.items()}
    assert _found(name, changed(readings, **unwell)), (
        f"the check of {name} in {_RULES_FILE} finds nothing in the row of UNWELL in tests/"
        f"operations/test_watching.py: make it yield a Finding for {parts}, or mend the row"
    )


@pytest.mark.parametrize(("name", "parts"), UNWELL, ids=lambda value: str(value)[:40])
def test_each_finding_has_a_light_and_something_to_do(
    name: str, parts: dict[str, Any], rf: Any, admin_user: Any
) -> None:
    from operations.home import fixes
    from operations.home.page import CARDS
    from operations.home.problems import page_to_act

    request = rf.get("/admin/")
    request.user = admin_user
    readings = well(NOON)
    unwell = {part: changed(getattr(readings, part), **values) for part, values in parts.items()}
    readings = changed(readings, **unwell)
    rule = BY_NAME[name]
    for finding in _found(name, readings):
        place = rule.place_of(finding.subject)
        assert place.lights, f"the Rule {name} in {_RULES_FILE} lights nothing: see its Place"
        assert set(place.cards) <= CARDS, f"{name} is about cards that home does not have"
        help_there_is = (
            rule.commands(finding.subject, readings)
            or fixes.buttons(request, rule.buttons(finding.subject, readings))
            or page_to_act(request, name, finding.subject)
        )
        assert help_there_is, (
            f"the Rule {name} in {_RULES_FILE} tells no one what to do: give it a command, buttons"
            " or a page"
        )


def _found(name: str, readings: Any) -> list[Any]:
    found = [rule for rule in RULES if rule.name == name]
    assert len(found) == 1, (
        f"{len(found)} rules have the name {name}: compare UNWELL in tests/operations/"
        f"test_watching.py with RULES in {_RULES_FILE}"
    )
    return list(found[0].check(readings) or [])


def test_the_disk_of_a_server_elsewhere_is_watched_by_what_it_reports(
    settings: Any, tmp_path: Any
) -> None:
    settings.RUN_DIR = tmp_path  # PostgreSQL is no embedded one of this directory
    assert read(NOON).database.disk is None, "how large its disk is is not known"
    settings.DATABASE_DISK_BYTES = 50_000_000_000
    found = read(NOON).database.disk
    assert found is not None and found.total == 50_000_000_000
    used = found.total - found.free
    # With the WAL that it keeps.
    ((kept,),) = fetch_all("SELECT pg_size_bytes(current_setting('max_wal_size'))")
    assert read(NOON).database.size + kept <= used < 40_000_000_000
    settings.DATABASE_DISK_BYTES = used + 1_000_000
    for after in (0, 30):
        alarms.evaluate(read(NOON + seconds(after)), now=NOON + seconds(after))
    alarm = Alarm.objects.get(name="disk_low", subject="database")
    assert alarm.opened_at and alarm.text.endswith("are free for PostgreSQL.")


def test_what_landed_is_told_by_the_way_it_went(issue: Any) -> None:
    from priority.upstreams.models import Upstream
    from tests.priority.landed_samples import fill_landing

    now = timezone.now()
    fill_landing(now, key=issue().key, rounds=1)
    found = read(now + seconds(1)).landing
    assert found.settled and 0 < found.states["landed"] < found.settled
    assert found.rate == found.states["landed"] / found.settled
    for times in (found.slots, found.first_send):
        assert times is not None and 0 <= times[0] <= times[1] <= times[2]
    by_name = {each.name: each for each in found.upstreams}
    assert by_name.keys() >= set(Upstream.objects.values_list("name", flat=True))
    for each in found.upstreams:
        assert 0 <= each.landed <= each.settled <= each.sent
    assert sum(each.landed for each in found.upstreams) > 0
    assert sum(each.sent + each.refused + each.failed for each in found.upstreams) > 3
