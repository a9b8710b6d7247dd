"""The public status page: lights over 90 days and incidents, without a name of anything."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from columns.kept import forget_all
from operations.models import Alarm, Sample
from operations.rules.rule import Area
from operations.rules.table import RULES
from operations.services import sampling
from operations.status import present
from tests.operations.reading import changed, well

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

PATHS = ("/status/", "/status.json", "/status/feed/")
ATOM = "{http://www.w3.org/2005/Atom}"
NAMES = ("db-7.internal.example", "Northern Lights", "tmk_AbCd", "frankfurt")


@pytest.fixture(autouse=True)
def page(settings: Any) -> None:
    settings.STATUS_PAGE = True


def read(client: Any, path: str = "/status/") -> str:
    answer = client.get(path, HTTP_HOST="localhost")
    assert answer.status_code == 200, answer.content
    found: str = answer.content.decode()
    return found


def status(client: Any) -> dict[str, Any]:
    forget_all()
    found: dict[str, Any] = client.get("/status.json", HTTP_HOST="localhost").json()
    return found


def light(client: Any, name: str) -> dict[str, Any]:
    (found,) = [each for each in status(client)["lights"] if each["name"] == name]
    return found


def alarm(name: str, minutes: float, *, lasted: float | None = None, **more: Any) -> Alarm:
    """It began so many minutes ago."""
    began = timezone.now() - timedelta(minutes=minutes)
    ended = None if lasted is None else began + timedelta(minutes=lasted)
    severity = next(str(rule.severity) for rule in RULES if rule.name == name)
    values = {
        "name": name,
        "severity": severity,
        "began_at": began,
        "opened_at": began,
        "well_since": ended,
        "closed_at": ended,
        "text": f"No answer of {NAMES}.",
    }
    return Alarm.objects.create(**values | more)


def sampled(*, at: datetime, **readings: Any) -> None:
    found = changed(well(at), **readings)
    assert sampling.store_sample(found, now=at, stands_in=False)


@pytest.mark.parametrize("path", PATHS)
def test_it_is_not_there_unless_it_is_turned_on(client: Any, settings: Any, path: str) -> None:
    settings.STATUS_PAGE = False
    assert client.get(path, HTTP_HOST="localhost").status_code == 404
    settings.STATUS_PAGE = True
    answer = client.get(path, HTTP_HOST="localhost")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "public, max-age=3")
    assert client.post(path, HTTP_HOST="localhost").status_code == 405


def test_other_pages_link_to_it_where_it_is(client: Any, settings: Any) -> None:
    assert 'href="/status/"' in read(client, "/docs/")
    settings.STATUS_PAGE = False
    assert 'href="/status/"' not in read(client, "/docs/")


def test_all_is_well(client: Any) -> None:
    sampled(at=timezone.now())
    found = status(client)
    assert found["state"] == "operational"
    assert [each["name"] for each in found["lights"]] == list(Area)
    assert {each["state"] for each in found["lights"]} == {"operational"}
    text = read(client)
    assert "All systems are operational." in text and "None." in text
    assert text.count("<svg") == 4 and text.count("<g>") == 4 * 90


def test_what_this_installation_does_not_do_is_left_out(client: Any) -> None:
    now = timezone.now()
    readings = well(now)
    processes = [each for each in readings.processes or [] if each.kind != "lander"]
    chain = changed(readings.chain, stream="not followed")
    sampled(at=now, processes=processes, chain=chain)
    assert [each["name"] for each in status(client)["lights"]] == ["calling", "room"]


def test_a_light_is_the_worse_of_its_sample_and_its_alarms(client: Any) -> None:
    now = timezone.now()
    silent = changed(well(now).chain, stream="silent", silent_seconds=12)
    sampled(at=now, chain=silent)
    found = light(client, "following")
    assert (found["state"], found["text"]) == ("outage", "A problem was just noticed.")
    assert light(client, "landing")["state"] == "outage"
    assert light(client, "calling")["state"] == "operational"
    alarm("stream_silent", 1, opened_at=None)
    assert light(client, "following")["text"].startswith("New slots do not arrive.")
    alarm("class_running_dry", 5, subject="10 min")
    found = light(client, "calling")
    assert (found["state"], found["text"]) == (
        "degraded",
        "Some tip addresses may become unavailable.",
    )
    assert status(client)["state"] == "outage"


def test_what_only_the_operator_notices_changes_nothing(client: Any) -> None:
    now = timezone.now()
    alerts = changed(well(now).alerts, failing=["a pager"])
    sampled(at=now, alerts=alerts)
    for name in ("webhook_failing", "upstream_broken", "sealing_behind"):
        alarm(name, 5)
    found = status(client)
    assert (found["state"], found["incidents"]) == ("operational", [])


def test_old_samples_say_nothing_of_now(client: Any) -> None:
    sampled(at=timezone.now() - timedelta(minutes=2))
    found = status(client)
    assert found["state"] == "unknown"
    assert "The current state is not known." in read(client)


def test_incidents_have_no_name_of_anything(client: Any) -> None:
    sampled(at=timezone.now())
    for rule in RULES:
        alarm(rule.name, 50, lasted=9, subject=f"{NAMES[0]} of {NAMES[1]} ({NAMES[2]})")
    alarm("no_upstream", 5, subject=NAMES[3])
    pages = [read(client, path) for path in PATHS]
    for name in NAMES:
        assert not [each for each in pages if name in each]
    for rule in RULES:
        if rule.incident:
            assert all(rule.incident in unescape(each) for each in pages), rule.name
            assert rule.incident[-1] == "." and rule.at.lights, rule.name


def test_alarms_of_one_rule_are_one_incident(client: Any) -> None:
    first = alarm("class_unavailable", 60, lasted=10, subject="10 min")
    alarm("class_unavailable", 58, lasted=20, subject="1 h")
    alarm("class_unavailable", 31, lasted=1, subject="10 min")
    alone = alarm("class_unavailable", 10, lasted=1)
    last = alarm("no_upstream", 5)
    found = status(client)["incidents"]
    assert [each["id"] for each in found] == [last.pk, alone.pk, first.pk]
    assert [each["state"] for each in found] == ["outage"] * 3
    assert found[0]["endedAt"] is None and found[0]["lights"] == ["landing"]
    began, ended = (datetime.fromisoformat(found[2][name]) for name in ("beganAt", "endedAt"))
    # Each alarm was made at its own moment, and the page has whole seconds.
    assert timedelta(minutes=30) <= ended - began <= timedelta(minutes=31)
    text = read(client)
    assert f'id="incident-{last.pk}"' in text and "lasted 30 min" in text


def test_each_day_has_its_share(client: Any) -> None:
    """Two hours of yesterday were red by samples, ten minutes of the day before by an alarm."""
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    yesterday, before = midnight - timedelta(days=1), midnight - timedelta(days=2)
    for day in (yesterday, before):
        for step in range(288):
            red = float(day == yesterday and step < 24)
            values = {"landing_bad": red, "landing_warning": 0.0, "database_ms": 1.0}
            at = day + step * timedelta(minutes=5)
            Sample.objects.create(at=at, resolution=300, values=values)
    began = before + timedelta(hours=3)
    ended = began + timedelta(minutes=10)
    alarm("no_upstream", 0, began_at=began, opened_at=began, well_since=ended, closed_at=ended)
    for _ in range(2):
        found = light(client, "landing")["days"]
        assert len(found) == 90 and found[-1]["day"] == f"{midnight:%Y-%m-%d}"
        assert [each["outageSeconds"] for each in found[-3:-1]] == [600, 7200]
        assert [each["measuredSeconds"] for each in found[-3:-1]] == [86400, 86400]
        assert found[0] == {
            "day": f"{midnight - timedelta(days=89):%Y-%m-%d}",
            "measuredSeconds": 0,
            "outageSeconds": 0,
            "degradedSeconds": 0,
        }
        # The same again from the means of days that have no shorter sample left.
        sampling.roll_up(now=midnight + timedelta(minutes=1))
        Sample.objects.filter(resolution=300).delete()
    assert light(client, "landing")["availablePercent"] == pytest.approx(95.4861, abs=1e-4)
    text = read(client)
    assert f"{yesterday:%Y-%m-%d}: 2 h outage" in text and "95.49% without an outage" in text


def test_days_are_kept_for_90_days(client: Any) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    for age in (1, 89, 91):
        at = now.replace(hour=0) - timedelta(days=age)
        Sample.objects.create(at=at, resolution=86_400, values={"landing_bad": 0.0})
    sampling.roll_up(now=now)
    assert Sample.objects.filter(resolution=86_400).count() == 2


def test_the_feed_is_atom_and_an_end_updates_its_entry(client: Any) -> None:
    incident = alarm("no_upstream", 50)

    def entry() -> dict[str, str]:
        forget_all()
        answer = client.get("/status/feed/", HTTP_HOST="localhost")
        assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
        (found,) = ElementTree.fromstring(answer.content).iter(f"{ATOM}entry")
        return {each.tag.removeprefix(ATOM): each.text or "" for each in found}

    before = entry()
    assert before["title"].startswith("Outage: Transactions are not sent")
    assert before["id"] == f"http://localhost/status/#incident-{incident.pk}"
    ended = incident.began_at + timedelta(minutes=40)
    Alarm.objects.update(well_since=ended, closed_at=ended)
    after = entry()
    assert after["title"].startswith("Resolved: ") and "It lasted 40 min." in after["summary"]
    assert after["id"] == before["id"] and after["updated"] > before["updated"]


def test_many_visitors_ask_the_database_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(present._kept, "_seconds", 3_600.0)  # a busy machine takes its time
    sampled(at=timezone.now())
    forget_all()
    counts = []
    for _ in range(3):
        with CaptureQueriesContext(connection) as queries:
            read(client)
        counts.append(len(queries))
    assert counts[0] <= 4 and counts[1:] == [0, 0]


@pytest.mark.django_db(transaction=True)
def test_without_its_database_it_has_what_it_read_before(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled(at=timezone.now())
    alarm("no_upstream", 50, lasted=9)
    before = status(client)
    assert before["incidents"]
    present._kept._until = 0.0
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")
    found = client.get("/status.json", HTTP_HOST="localhost").json()
    monkeypatch.undo()
    assert found["state"] == "unknown" and found["incidents"] == before["incidents"]
    assert [each["days"] for each in found["lights"]] == [each["days"] for each in before["lights"]]


def test_its_address_is_limited(client: Any) -> None:
    answers = [client.get("/status.json", HTTP_HOST="localhost") for _ in range(301)]
    assert answers[0].status_code == 200
    assert re.match(r"Too many pages", answers[-1].content.decode())
    assert answers[-1].status_code == 429
