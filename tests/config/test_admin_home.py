"""The admin's home: questions answered at a glance, alive, and each by whom it may be seen."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from gaps.slot_gap import GapStatus
from ingest.follower_state import FollowerState, publish
from operations.models import Alarm, Sample
from operations.services.sampling import step_of
from rewind.services.gaps import archive_gaps

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]


def home(client: Any, path: str = "/admin/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


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
    assert '<p class="tm-figure">not followed ' in card(admin_client, "chain")


def test_it_tells_the_stream_its_head_and_the_open_gaps(admin_client: Any) -> None:
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=timezone.now())
    followed(source="stream of a.example", finalized_slot=1234)
    chain = card(admin_client, "chain")
    assert "<dt>Newest finalized slot</dt><dd>1234</dd>" in chain
    assert 'title="stream of a.example">connected</span>' in chain
    gaps = card(admin_client, "gaps")
    assert "3 slots in 1 gap " in gaps
    assert (
        '<dt>Open gaps of the archive</dt><dd><span class="tm-word tm-warning" title="3 slots">1<'
        in gaps
    )


def test_a_silent_stream_is_not_called_connected(admin_client: Any) -> None:
    followed(heard_at=time.time() - 20, finalized_slot=1234)
    chain = card(admin_client, "chain")
    assert "silent for 20 s" in chain
    assert "behind" not in chain.partition("</p>")[0]
    assert ">connected<" not in chain


def test_a_lost_stream_is_told_with_its_reason(admin_client: Any) -> None:
    followed(connected_since=0.0, problem="the stream of a: UNAVAILABLE: refused <b>")
    chain = card(admin_client, "chain")
    assert "not connected</span>" in chain
    assert "UNAVAILABLE: refused &lt;b&gt;" in chain


# --- what needs somebody ---


def test_open_alarms_stand_on_top_with_what_to_do_and_where(admin_client: Any) -> None:
    alarm(severity="critical", name="process_missing", subject="worker", text="No worker lives.")
    alarm()
    alarm(name="chain_behind", closed_at=timezone.now(), text="It was behind.")
    alarm(name="landing_low", opened_at=None, text="Not for long enough yet.")
    text = home(admin_client)
    needs = text.partition('id="needs"')[2].partition("</section>")[0]
    assert needs.index("No worker lives.") < needs.index("2 gaps are not filled.")
    assert "FILL_RPC_URLS" in needs
    assert 'href="/admin/rewind/gap/?state=open">Operate</a>' in needs
    assert "7 min ago" in needs
    assert "It was behind." not in text and "Not for long enough yet." not in text


def test_without_alarms_it_says_that_nothing_is_the_matter_and_who_looks(admin_client: Any) -> None:
    text = home(admin_client)
    assert "No active alarms." in text
    assert "The rules were not checked yet" in text
    Sample.objects.create(at=timezone.now(), resolution=15)
    text = home(admin_client)
    assert "not checked yet" not in text and "Neither worker" not in text
    Sample.objects.update(at=timezone.now() - timedelta(minutes=3))
    assert "The worker or beat has not run for 3 min" in home(admin_client)


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


# --- alive ---


def test_the_live_part_is_what_the_page_shows(admin_client: Any) -> None:
    answer = admin_client.get("/admin/live/")
    assert answer.headers["Cache-Control"] == "no-store"
    live = " ".join(answer.content.decode().split())
    assert 'id="card-chain"' in live
    assert "<html" not in live
    whole = home(admin_client)
    for name in ("needs", "card-landers", "card-processes", "question-landing"):
        assert f'id="{name}" data-live' in live and f'id="{name}" data-live' in whole


def test_who_is_not_signed_in_is_told_so_and_not_led_away(client: Any, admin_user: Any) -> None:
    assert client.get("/admin/live/").status_code == 401
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
        alarm(subject=f"gap {number}")
        at = step_of(now - timedelta(seconds=15 * number), 15)
        Sample.objects.create(at=at, resolution=15, values={"behind": number})
        from_slot = 10 * number
        archive_gaps.open_gap(
            from_slot, from_slot + 1, status=GapStatus.MISSING, cause=f"{number}", now=now
        )
    with django_assert_max_num_queries(36):
        home(admin_client)
