"""The admin's home: questions answered at a glance, alive, and each by whom it may be seen."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from ingest.follower_state import FollowerState, publish
from operations.models import Alarm, Sample
from operations.readings.processes import DUTIES
from operations.services.sampling import step_of
from priority.upstreams.models import Upstream
from rewind.coverage.services.gaps import archive_gaps
from shared_state import heartbeats
from shared_state.database_writes import CLAIMED
from shared_state.redis_client import client as redis
from staff.formatting import timed
from staff.models import AuditEntry
from tests.readiness import keep_alive
from tipping.models import TtlClass

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

FIX = "/admin/fix/"


def home(client: Any, path: str = "/admin/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def light(client: Any, name: str) -> str:
    text = home(client)
    return text.partition(f'id="light-{name}"')[2].partition("</section>")[0]


@pytest.fixture
def alive(settings: Any, tmp_path: Path) -> None:
    """Heartbeats of every process, a stream that is heard, and a sample of the worker's."""
    settings.LOCALNET_DIR = tmp_path
    keep_alive(DUTIES, localnet=tmp_path)
    TtlClass.objects.all().delete()
    followed()
    Sample.objects.create(at=step_of(timezone.now(), 15), resolution=15)


def needs(text: str) -> str:
    return text.partition('id="needs"')[2].partition("</section>")[0]


def card(client: Any, name: str, path: str = "/admin/") -> str:
    text = home(client, path)
    return text.partition(f'id="card-{name}"')[2].partition("</section>")[0]


def followed(**values: Any) -> None:
    now = time.time()
    publish(FollowerState(**{"source": "a", "connected_since": 1.0, "heard_at": now, **values}))


def alarm(**values: Any) -> Alarm:
    now = timezone.now() - timedelta(minutes=7)
    defaults = {"name": "gaps_open", "severity": "warning", "text": "2 gaps are not filled."}
    return Alarm.objects.create(**{**defaults, "began_at": now, "opened_at": now, **values})


# --- the chain ---


def test_without_a_follower_it_says_so(admin_client: Any) -> None:
    assert '<p class="tm-figure">not followed' in card(admin_client, "chain")


def test_it_tells_the_stream_its_head_and_the_open_gaps(admin_client: Any, alive: None) -> None:
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=timezone.now())
    followed(source="stream of a.example", finalized_slot=1234)
    chain = card(admin_client, "chain")
    assert "<dt>Newest finalized slot</dt><dd>1234</dd>" in chain
    assert 'title="stream of a.example">connected</span>' in chain
    gaps = card(admin_client, "gaps")
    is_open = 'href="/admin/rewind/gap/?state=open">'
    assert f'{is_open}3 slots open</a>, <a class="tm-link"' in gaps and ">0 given up</a>" in gaps
    row = gaps.partition("<dt>Open gaps of the archive</dt><dd>")[2].partition("</dd>")[0]
    assert is_open in row and 'title="3 slots">1<' in row


def test_a_silent_stream_is_not_called_connected(admin_client: Any) -> None:
    followed(heard_at=time.time() - 20 * 60, finalized_slot=1234)
    chain = card(admin_client, "chain")
    assert "silent for 20 min" in chain
    assert "behind" not in chain.partition("</p>")[0]
    assert ">connected<" not in chain


def test_a_lost_stream_is_told_with_its_reason(admin_client: Any) -> None:
    followed(connected_since=0.0, problem="the stream of a: UNAVAILABLE: refused <b>")
    chain = card(admin_client, "chain")
    assert "not connected</span>" in chain
    assert "UNAVAILABLE: refused &lt;b&gt;" in chain


# --- what is wrong ---


def test_what_is_wrong_stands_on_top_with_what_fixes_it(admin_client: Any, alive: None) -> None:
    minutes = timezone.now() - timedelta(minutes=7)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=minutes)
    alarm(subject="archive")
    heartbeats.beat("worker", at=time.time() - 50)
    alarm(name="chain_behind", closed_at=timezone.now(), text="It was behind.")
    alarm(name="landing_low", opened_at=None, text="Not for long enough yet.")
    text = home(admin_client)
    wrong = needs(text)
    assert wrong.index("worker process makes no progress") < wrong.index("1 gap is not filled")
    assert "FILL_RPC_URLS" in wrong
    assert 'href="/admin/rewind/gap/?state=open">Operate</a>' in wrong
    assert 'form="tm-fix" name="do" value="retry-archive:"' in wrong
    assert "celery" in wrong.partition("<code")[2].partition("</code>")[0], "its command"
    assert "7 min ago" in wrong and "Just now" in wrong
    assert "It was behind." not in text and "Not for long enough yet." not in text


def test_an_alarm_that_is_over_says_so_until_it_closes(admin_client: Any, alive: None) -> None:
    alarm(subject="archive")
    wrong = needs(home(admin_client))
    assert "2 gaps are not filled." in wrong and "the alarm closes in a moment" in wrong
    assert "retry-archive" not in wrong


def test_without_alarms_it_says_that_nothing_is_wrong_and_who_looks(
    admin_client: Any, alive: None
) -> None:
    text = home(admin_client)
    assert "No active alarms." in text
    assert "not checked yet" not in text
    Sample.objects.update(at=timezone.now() - timedelta(minutes=3))
    assert "The worker or beat has not run for 3 min" in home(admin_client)
    Sample.objects.all().delete()
    assert "The rules were not checked yet" in home(admin_client)


# --- lights: what is red is red everywhere ---


def test_four_lights_are_green_and_what_is_below_is_folded(admin_client: Any, alive: None) -> None:
    text = home(admin_client)
    for name in ("following", "landing", "calling", "room"):
        assert f'class="tm-light tm-is-good" id="light-{name}"' in text, name
        folded = text.partition(f'<details class="tm-question" id="group-{name}"')[2]
        assert " open" not in folded.partition(">")[0]


def test_nothing_says_landing_while_the_lander_hangs(admin_client: Any, alive: None) -> None:
    heartbeats.beat("lander", at=time.time() - 9)
    text = home(admin_client)
    assert 'class="tm-light tm-is-bad" id="light-landing"' in text
    assert "makes no progress" in light(admin_client, "landing")
    group = text.partition('id="group-landing"')[2]
    assert " open" in group.partition(">")[0], "unfolded"
    for name in ("submissions", "landers"):
        shown = card(admin_client, name)
        assert 'tm-bad"' in shown and ">lander hung<" in shown
        assert ">landing<" not in shown and ">alive<" not in shown
    assert 'Submissions accepted</dt><dd><span class="tm-word tm-bad"' in card(
        admin_client, "queues"
    )
    assert 'tm-is-good" id="light-calling"' in text, "the others are as they were"


@pytest.mark.parametrize(
    ("kind", "queue"), [("worker", "default"), ("ingest", "ingest"), ("simulations", "simulations")]
)
def test_a_queue_that_no_one_empties_is_red(
    admin_client: Any, alive: None, kind: str, queue: str
) -> None:
    heartbeats.beat(kind, at=time.time() - 9)
    shown = card(admin_client, "queues")
    row = shown.partition(f"Tasks in {queue}</dt>")[2].partition("</dd>")[0]
    assert "tm-bad" in row and "stopped" in row
    assert ">moving<" not in shown


@pytest.mark.parametrize("kind", ["web", "worker", "ingest", "simulations", "follower", "lander"])
def test_no_light_is_better_than_a_card_below_it(admin_client: Any, alive: None, kind: str) -> None:
    heartbeats.beat(kind, at=time.time() - 9)
    text = home(admin_client)
    for area in ("following", "landing", "calling", "room"):
        group = text.partition(f'id="group-{area}"')[2].partition("</details>")[0]
        has_bad_card = "makes no progress" in group.partition('id="card-')[2]
        is_bad = f'class="tm-light tm-is-bad" id="light-{area}"' in text
        assert is_bad or not has_bad_card, (kind, area)
    assert 'class="tm-light tm-is-bad" id="light-room"' in text
    assert f"The {kind} process" in light(admin_client, "room") or kind == "web"
    assert "kinds of processes run" not in text


# Every process, and the lights that it turns red beside Room.
AFFECTED = {
    "web": {"calling"},
    "worker": set(),
    "ingest": {"following"},
    "simulations": set(),
    "follower": {"following", "landing"},
    "lander": {"landing"},
    "grpc": {"calling"},
    "beat": set(),
    "localnet": {"following", "landing"},
}


@pytest.mark.parametrize("by", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
@pytest.mark.parametrize("kind", DUTIES)
def test_each_process_turns_its_lights_and_room_red(
    admin_client: Any, alive: None, settings: Any, kind: str, by: signal.Signals
) -> None:
    """By a process that exists and is silent, and by one that is gone."""
    settings.GRPC_PORT = 10_000
    silent_since = time.time() - 9
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(by)
        if by is signal.SIGKILL:
            process.wait()
        heartbeats.end(kind)
        heartbeats.beat(kind, at=silent_since, pid=process.pid)
        os.utime(
            settings.LOCALNET_DIR / "heartbeat", (silent_since,) * 2 if kind == "localnet" else None
        )
        text = home(admin_client)
        process.kill()
    for area in ("following", "landing", "calling", "room"):
        is_red = area in AFFECTED[kind] | {"room"}
        hue = "bad" if is_red else "good"
        shown = text.partition(f'id="light-{area}"')[2].partition("</section>")[0]
        assert f'class="tm-light tm-is-{hue}" id="light-{area}"' in text, (area, shown)
        assert kind in shown or not is_red, (area, shown)
    assert "kinds of processes run" not in text
    trouble = "hung" if by is signal.SIGSTOP and kind != "localnet" else "missing"
    assert f"{trouble}<" in card(admin_client, "processes") or trouble in text


def test_a_follower_that_hangs_is_not_called_connected(admin_client: Any, alive: None) -> None:
    heartbeats.beat("follower", at=time.time() - 9)
    chain = card(admin_client, "chain")
    assert ">follower hung<" in chain and ">connected<" not in chain and ">following<" not in chain
    assert 'tm-is-bad" id="light-following"' in home(admin_client)


def test_gaps_that_no_source_can_fill_are_no_alarm(admin_client: Any, alive: None) -> None:
    minutes = timezone.now() - timedelta(minutes=7)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=minutes)
    assert 'tm-is-warning" id="light-following"' in home(admin_client)
    given = [gap.pk for gap in archive_gaps.open_gaps()]
    archive_gaps.give_up(given, by="somebody", now=timezone.now())
    text = home(admin_client)
    assert 'tm-is-good" id="light-following"' in text
    assert "No active alarms." in text


def test_what_was_given_up_is_said_beside_what_is_open(admin_client: Any, alive: None) -> None:
    def sentence() -> str:
        return home(admin_client).partition('id="light-following"')[2].partition("</section>")[0]

    now = timezone.now()
    assert "Missing slots" not in sentence()
    archive_gaps.open_gap(7, 102, status=GapStatus.MISSING, cause="stream_lost", now=now)
    archive_gaps.give_up([gap.pk for gap in archive_gaps.open_gaps()], by="ada", now=now)
    line = (
        '<a class="tm-link" href="/admin/rewind/gap/?state=open">0 open</a>,'
        ' <a class="tm-link" href="/admin/rewind/gap/?state=given_up">96 slots given up</a>'
    )
    assert f"Missing slots: <span>{line}</span>." in sentence()
    assert line in card(admin_client, "gaps")
    ledger_gaps.open_gap(7, 8, status=GapStatus.MISSING, cause="stream_lost", now=now)
    ledger_gaps.give_up([gap.pk for gap in ledger_gaps.open_gaps(7, 8)], by="ada", now=now)
    assert 'href="/admin/rewind/slottally/#gaps">98 slots given up</a>' in sentence()


def test_what_landed_is_defined_where_the_figure_links_to(
    admin_client: Any, alive: None, issue: Any
) -> None:
    from tests.priority.landed_samples import fill_landing

    fill_landing(timezone.now() - timedelta(minutes=1), key=issue().key, rounds=1)
    shown = card(admin_client, "submissions")
    address = shown.partition('class="tm-figure"><a href="')[2].partition('"')[0]
    page, _, anchor = address.partition("#")
    assert anchor and f'id="{anchor}"' in admin_client.get(page).content.decode()
    assert f'href="{address}"' in home(admin_client, "/admin/priority/submission/landing/")


# --- buttons ---


def test_a_button_fixes_it_and_says_so(admin_client: Any, alive: None) -> None:
    until = timezone.now() + timedelta(minutes=1)
    upstream = Upstream.objects.create(
        name="frankfurt", kind="node", is_enabled=True, broken_until=until, broken_reason="refused"
    )
    assert 'value="reset-breaker:frankfurt"' in needs(home(admin_client))
    answer = admin_client.post(FIX, {"do": "reset-breaker:frankfurt"}, follow=True)
    assert "Retrying now: frankfurt." in answer.content.decode()
    upstream.refresh_from_db()
    assert upstream.broken_until is None
    assert AuditEntry.objects.filter(verb="reset the breaker of").count() == 1
    assert 'value="reset-breaker:frankfurt"' not in needs(home(admin_client))


def test_gaps_are_retried_from_home(admin_client: Any, alive: None) -> None:
    minutes = timezone.now() - timedelta(minutes=7)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=minutes)
    (gap,) = archive_gaps.open_gaps()
    type(gap).objects.update(next_try_at=timezone.now() + timedelta(hours=1))
    answer = admin_client.post(FIX, {"do": "retry-archive:"}, follow=True)
    assert "1 gap is due: the worker retries within seconds." in answer.content.decode()
    gap.refresh_from_db()
    assert gap.next_try_at <= timezone.now()


def test_only_who_may_presses_a_button(client: Any, django_user_model: Any, alive: None) -> None:
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    for name in ("view_alarm", "view_upstream"):
        viewer.user_permissions.add(Permission.objects.get(codename=name))
    client.force_login(viewer)
    Upstream.objects.update(is_enabled=False)
    heartbeats.beat("lander", at=time.time() - 9)
    wrong = needs(home(client))
    assert "makes no progress" in wrong
    assert 'name="do"' not in wrong and "<code" not in wrong
    assert client.post(FIX, {"do": "enable:node"}).status_code == 403
    assert client.get(FIX).status_code == 405
    assert not Upstream.objects.filter(is_enabled=True).exists()


@pytest.mark.parametrize("what", ["", "no such:thing", "reset-breaker:no such"])
def test_an_unknown_button_is_not_found(admin_client: Any, what: str) -> None:
    assert admin_client.post(FIX, {"do": what}).status_code == 404


# --- lines over time ---


def test_lines_keep_the_gaps_between_samples(admin_client: Any) -> None:
    now = timezone.now()
    for ago, behind in ((50, 0), (49, 4), (20, 2), (19, 3)):
        at = step_of(now - timedelta(minutes=ago), 15)
        for late in (0, 15, 30, 45):
            Sample.objects.create(
                at=at + timedelta(seconds=late), resolution=15, values={"behind": behind}
            )
    chain = card(admin_client, "chain")
    assert chain.count("<polyline") == 2
    assert "Slots behind over the last 1 hour: least 0, most 4, newest 3" in chain
    assert "<polyline" not in card(admin_client, "chain", "/admin/?span=7d")


def test_a_day_is_drawn_from_means(admin_client: Any) -> None:
    at = step_of(timezone.now() - timedelta(hours=20), 300)
    Sample.objects.create(at=at, resolution=300, values={"behind": 7.5})
    assert "least 7.5, most 7.5" in card(admin_client, "chain", "/admin/?span=24h")
    assert "No data in this span yet" in card(admin_client, "chain")


def test_large_charts_have_the_samples_and_a_table_of_them(admin_client: Any) -> None:
    values = {"calls_per_second": 4.0, "refused_percent": 25.0, "failed_percent": 0.0}
    at = step_of(timezone.now() - timedelta(minutes=10), 15)
    Sample.objects.create(at=at, resolution=15, values=values | {"landed_percent": 87.5})
    for text in (home(admin_client), home(admin_client, "/admin/live/charts/?span=1h")):
        calls = text.partition('id="chart-calling"')[2].partition("</section>")[0]
        row = calls.partition(f'<th scope="row">{timed(f"{at:%Y-%m-%d %H:%M:%S}")}</th>')[2]
        cells = row.partition("</tr>")[0].split("</td>")
        assert [each.rpartition(">")[2] for each in cells[:3]] == ["3/s", "1/s", "0/s"]
        landing = text.partition('id="chart-landing"')[2].partition("</section>")[0]
        assert ">87.5%</td>" in landing
    assert admin_client.get("/admin/live/charts/").headers["Cache-Control"] == "no-store"


# --- alive ---


def test_the_live_part_is_what_the_page_shows(admin_client: Any) -> None:
    answer = admin_client.get("/admin/live/")
    assert answer.headers["Cache-Control"] == "no-store"
    live = " ".join(answer.content.decode().split())
    assert 'id="card-chain"' in live
    assert "<html" not in live
    whole = home(admin_client)
    for name in ("light-room", "needs", "card-landers", "card-processes", "question-landing"):
        assert f'id="{name}" data-live' in live and f'id="{name}" data-live' in whole


def test_who_is_not_signed_in_is_told_so_and_not_led_away(client: Any, admin_user: Any) -> None:
    for path in ("/admin/live/", "/admin/live/charts/"):
        assert client.get(path).status_code == 401
    admin_user.is_active = False
    admin_user.save()
    client.force_login(admin_user)
    assert client.get("/admin/live/").status_code == 401


def test_each_sees_the_cards_of_what_they_may_see(client: Any, django_user_model: Any) -> None:
    alarm()
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_import"))
    client.force_login(viewer)
    for path in ("/admin/", "/admin/live/"):
        text = home(client, path)
        assert 'id="card-imports"' in text and 'id="card-processes"' in text
        for name in ("card-chain", "card-calls", "card-landers", 'id="needs"', "2 gaps are not"):
            assert name not in text


def test_the_number_of_queries_does_not_grow_with_what_is_there(
    admin_client: Any, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    now = timezone.now()
    for number in range(60):
        alarm(name="webhook_failing", subject=f"pager {number}")
        at = step_of(now - timedelta(seconds=15 * number), 15)
        Sample.objects.create(at=at, resolution=15, values={"behind": number})
        from_slot = 10 * number
        archive_gaps.open_gap(
            from_slot, from_slot + 1, status=GapStatus.MISSING, cause=f"{number}", now=now
        )
    redis().set(CLAIMED, "", ex=60)  # another process tries whether the database takes writes
    with django_assert_max_num_queries(38):
        home(admin_client)


# --- while the database is away ---


def test_a_page_says_that_the_database_is_away(rf: Any) -> None:
    from django.core.handlers.exception import response_for_exception
    from django.db import OperationalError

    def answer(path: str) -> Any:
        try:
            try:
                psycopg.connect("postgresql://nobody@127.0.0.1:1/none", connect_timeout=5)
            except psycopg.OperationalError as refused:
                raise OperationalError(str(refused)) from refused
        except OperationalError as error:
            return response_for_exception(rf.get(path), error)

    live = answer("/admin/live/")
    assert live.status_code == 503
    assert json.loads(live.content)["why"] == "PostgreSQL does not answer"
    page = answer("/admin/")
    assert page.status_code == 503 and page.headers["Retry-After"]
    assert b"PostgreSQL does not answer" in page.content and b"manage.py doctor" in page.content
