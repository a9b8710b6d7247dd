"""The audit log: complete, append-only, and a chain."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

LOG = "/admin/staff/auditentry/"


@pytest.fixture
def allow_tampering(db: None) -> Callable[[str], None]:
    """Runs a statement on the log as somebody would who owns the database."""
    from django.db import connection

    def run(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE staff_auditentry DISABLE TRIGGER USER")
            cursor.execute(sql)
            cursor.execute("ALTER TABLE staff_auditentry ENABLE TRIGGER USER")

    return run


@pytest.mark.parametrize(
    "sql", ["UPDATE staff_auditentry SET who = 'x'", "DELETE FROM staff_auditentry"]
)
def test_the_database_refuses_to_change_an_entry(db: None, sql: str) -> None:
    from django.db import DatabaseError, connection, transaction

    from staff import audit

    audit.record(None, "tried", "this")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute(sql)


def test_an_entry_comes_back_from_the_database_with_its_digest(db: None, rf: Any) -> None:
    from staff import audit, audit_chain
    from staff.models import AuditEntry

    awkward = {
        "floats": [1e22, -0.0],
        "small": [1e-9, 0.1],
        "odd": [float("nan"), float("inf")],
        "text": ["nul \0 and half \ud800", "grüße €"],
        "big": [2**64 - 1, Decimal("1.50")],
        "lists": [["b", "a"], {"z": 1, "a": [None, True]}],
        "not a pair": 7,
    }
    for address in ("::ffff:192.0.2.1", "::192.0.2.1", "fe80::1%eth0", "2001:DB8::1", "unix", ""):
        request = rf.post("/admin/", REMOTE_ADDR=address)
        entry = audit.record(request, "tried", "x" * 400, text="\0", changes=awkward)
        stored = AuditEntry.objects.get(pk=entry.pk)
        assert stored.changes == entry.changes
        assert stored.at == entry.at
    looked = audit_chain.walk()
    assert (looked.problem, looked.entries) == ("", AuditEntry.objects.count())
    assert AuditEntry.objects.first().address is None  # type: ignore[union-attr]
    assert AuditEntry.objects.filter(address="192.0.2.1").count() == 1


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("UPDATE staff_auditentry SET who = 'somebody else' WHERE id = {1}", "Entry {1} does not"),
        ("UPDATE staff_auditentry SET at = at + interval '1 us' WHERE id = {0}", "Entry {0} does"),
        ("DELETE FROM staff_auditentry WHERE id = {1}", "Entry {2} does not follow entry {0}"),
        ("DELETE FROM staff_auditentry WHERE id = {0}", "Entry {1} does not follow the begin"),
        ("UPDATE staff_auditentry SET digest = '\\x00' WHERE id = {2}", "Entry {2} does not"),
    ],
)  # fmt: skip
def test_the_first_break_of_the_chain_is_told(
    allow_tampering: Callable[[str], None], tamper: str, said: str
) -> None:
    from django.core.management import CommandError, call_command
    from django.utils import timezone

    from staff import audit, audit_chain

    numbers = [
        audit.record(None, "counted", str(i), changes={"n": [i, i + 1]}).pk for i in range(3)
    ]
    assert audit_chain.check(timezone.now()).problem == ""
    allow_tampering(tamper.format(*numbers))
    with pytest.raises(CommandError, match=said.format(*numbers)):
        call_command("verify_audit_log")
    later = timezone.now() + timedelta(days=2)
    assert audit_chain.check(later).problem.startswith("Entry ")


def test_a_cut_off_end_is_noticed_by_the_check_and_by_a_kept_mark(
    allow_tampering: Callable[[str], None],
) -> None:
    from django.core.management import CommandError, call_command
    from django.utils import timezone

    from staff import audit, audit_chain
    from staff.models import AuditEntry

    for i in range(3):
        audit.record(None, "counted", str(i))
    out = io.StringIO()
    call_command("verify_audit_log", stdout=out)
    mark = out.getvalue().splitlines()[-1]
    call_command("verify_audit_log", expect=mark, stdout=out)
    audit_chain.check(timezone.now())
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True)[0]
    allow_tampering(f"DELETE FROM staff_auditentry WHERE id = {last}")
    assert audit_chain.walk().problem == ""  # what is left is a chain
    assert f"Entry {last}" in audit_chain.check(timezone.now()).problem
    with pytest.raises(CommandError, match=f"Entry {last} was deleted since the last check"):
        call_command("verify_audit_log", expect=mark)
    with pytest.raises(CommandError, match="is not a mark"):
        call_command("verify_audit_log", expect="nonsense")


def test_a_long_log_is_looked_at_in_steps(allow_tampering: Callable[[str], None]) -> None:
    from django.utils import timezone

    from staff import audit, audit_chain

    numbers = [audit.record(None, "counted", str(i)).pk for i in range(5)]
    now = timezone.now()
    steps = [audit_chain.check(now, most=2) for _ in range(4)]
    assert [step.entry_id for step in steps] == [numbers[1], numbers[3], numbers[4], numbers[4]]
    assert [step.round_id for step in steps] == [numbers[1], numbers[3], 0, 0]
    assert [step.whole_at for step in steps] == [None, None, now, now]
    allow_tampering(f"UPDATE staff_auditentry SET who = 'x' WHERE id = {numbers[2]}")
    later = now + timedelta(days=1)
    found = [bool(audit_chain.check(later, most=2).problem) for _ in range(5)]
    assert found == [False, True, True, True, True]
    allow_tampering(f"UPDATE staff_auditentry SET who = 'command line' WHERE id = {numbers[2]}")
    found = [bool(audit_chain.check(later, most=2).problem) for _ in range(2)]
    assert found == [True, False]  # the round that was on its way finds no break


def test_changes_are_told_in_words_and_never_a_secret(admin_client: Any) -> None:
    from staff.models import AuditEntry

    sent = {"username": "grace", "first_name": "Grace", "role": "viewer"}
    admin_client.post("/admin/auth/user/add/", sent)
    added = AuditEntry.objects.get(verb="added")
    assert added.changes["first_name"] == [None, "Grace"]
    assert added.changes["role"] == [None, "viewer: sees every page, changes nothing"]
    path = f"/admin/auth/user/{added.subject_id}/"
    admin_client.post(f"{path}change/", {**sent, "role": "operator", "is_active": "on"})
    changed = AuditEntry.objects.get(verb="changed")
    assert list(changed.changes) == ["role"]
    assert changed.changes["role"][0].startswith("viewer")
    admin_client.post(f"{path}change/", {**sent, "role": "operator", "is_active": "on"})
    assert AuditEntry.objects.filter(verb="saved, unchanged").count() == 1
    admin_client.post(f"{path}delete/", {"post": "yes"})
    deleted = AuditEntry.objects.get(verb="deleted")
    assert deleted.changes["username"] == ["grace", None]
    assert not any("password" in name for name in deleted.changes)
    assert deleted.who == "admin"
    assert deleted.address == "127.0.0.1"


def test_a_changed_password_is_told_and_a_refused_one_is_not(
    admin_client: Any, empty_redis: None
) -> None:
    from staff.models import AuditEntry

    before = AuditEntry.objects.count()
    wrong = {"old_password": "wrong", "new_password1": "a", "new_password2": "b"}
    assert admin_client.post("/admin/password_change/", wrong).status_code == 200
    assert AuditEntry.objects.count() == before
    new = "Low-tide-7"
    right = {"old_password": "password", "new_password1": new, "new_password2": new}
    assert admin_client.post("/admin/password_change/", right).status_code == 302
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.verb, entry.subject, entry.who) == ("changed the password", "admin", "admin")
    assert new not in json.dumps([entry.text, entry.changes])
    assert AuditEntry.objects.count() == before + 1


def test_an_action_without_an_entry_gets_one_with_the_number_of_rows(
    admin_client: Any, monkeypatch: Any
) -> None:
    from django.contrib import admin
    from django.http import HttpResponse

    from access.models import Tier
    from staff.models import AuditEntry

    def quietly(model_admin: Any, request: Any, queryset: Any) -> Any:
        queryset.update(requests_burst=77)
        return HttpResponse("<p>done</p>")

    page = admin.site._registry[Tier]
    monkeypatch.setattr(page, "actions", [quietly])
    rows = list(Tier.objects.values_list("pk", flat=True)[:2])
    sent = {"action": "quietly", "_selected_action": rows, "index": "0"}
    assert admin_client.post("/admin/access/tier/", sent).status_code == 200
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert entry.text == "The action “quietly” on 2 rows."
    before = AuditEntry.objects.count()
    admin_client.post("/admin/access/tier/", {**sent, "_selected_action": []})
    assert AuditEntry.objects.count() == before


def test_the_address_is_the_callers_behind_a_trusted_proxy(
    db: None, client: Any, settings: Any
) -> None:
    from ipaddress import ip_network

    from gateway import addresses
    from staff.models import AuditEntry

    settings.TRUSTED_PROXIES = (ip_network("127.0.0.1"),)
    addresses.is_trusted.cache_clear()
    try:
        sent = {"username": "eve", "password": "guess"}
        client.post("/admin/login/", sent, headers={"X-Forwarded-For": "203.0.113.9"})
    finally:
        addresses.is_trusted.cache_clear()
    entry = AuditEntry.objects.get(verb="failed to sign in")
    assert (entry.address, entry.who, entry.subject) == ("203.0.113.9", "nobody", "eve")


def test_the_log_is_filtered_searched_and_exported(
    signed_in: Callable[..., Any], person: Callable[..., Any]
) -> None:
    from staff import audit
    from staff.models import AuditEntry

    viewer, grace = signed_in("viewer"), person("operator", "grace")
    audit.record(None, "counted", "=1+1", changes={"n": [1, 2]})
    audit.record(None, "calmed", grace, text="a storm", by=grace)

    def shown(**asked: str) -> str:
        answer = viewer.get(LOG, asked)
        assert answer.status_code == 200, answer.get("Location")
        page = answer.content.decode()
        return str(page.partition('id="result_list"')[2].partition("</table>")[0])

    assert "counted" in shown() and "calmed" in shown()
    assert "counted" not in shown(verb="calmed")
    assert "calmed" not in shown(verb="counted")
    assert "counted" not in shown(person=str(grace.pk))
    assert "calmed" not in shown(person="command")
    assert "calmed" in shown(subject_type="auth.user", subject_id=str(grace.pk))
    assert "counted" not in shown(subject_type="auth.user")
    assert "counted" not in shown(q="storm")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert "counted" in shown(**{"from": today, "until": today})
    assert "counted" not in shown(until="2020-01-01")
    assert "counted" in shown(when="hour")
    assert "counted" in shown(**{"from": "yesterday"})  # no day: no filter

    answer = viewer.get(f"{LOG}file/csv/")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    counted = next(row for row in rows if row["verb"] == "counted")
    assert counted["subject"] == "'=1+1"
    assert json.loads(counted["changes"]) == {"n": [1, 2]}
    answer = viewer.get(f"{LOG}file/jsonl/", {"verb": "calmed"})
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    assert [line["who"] for line in lines] == ["grace"]
    assert viewer.get(f"{LOG}file/xml/").status_code == 404
    for unknown in ({"nothing": "1"}, {"pk__in": "x"}, {"user__password__startswith": "a"}):
        assert viewer.get(f"{LOG}file/csv/", unknown).status_code == 400, unknown
    exported = AuditEntry.objects.filter(verb="exported").first()
    assert exported is not None
    assert exported.text == "As jsonl: what was done: calmed."
    for asked, words in (
        ({}, "everything"),
        ({"q": "storm"}, "search: “storm”"),
        ({"person": str(grace.pk)}, "person: grace"),
        ({"subject_type": "auth.user", "subject_id": "5"}, "to what kind: user (auth); number: 5"),
        ({"verb": "calmed", "when": "day"}, "time: last 24 hours; what was done: calmed"),
        ({"verb": "vanished"}, "what was done: vanished"),
        ({"from": "2026-01-31", "until": today}, f"from: 2026-01-31; until: {today}"),
        # Neither narrows the list.
        ({"from": "yesterday", "person": "none", "o": "1", "p": "2"}, "everything"),
        ({"person": "999999"}, "person: number 999999"),
    ):
        assert viewer.get(f"{LOG}file/csv/", asked).status_code == 200, asked
        exported = AuditEntry.objects.filter(verb="exported").order_by("-pk").first()
        assert exported is not None and exported.text == f"As csv: {words}.", asked

    entry = AuditEntry.objects.get(verb="counted")
    page = viewer.get(f"{LOG}{entry.pk}/change/").content.decode()
    assert 'data-says="before">1<' in page and 'data-says="after">2<' in page


def test_the_log_answers_in_as_many_queries_for_fifty_as_for_two(
    signed_in: Callable[..., Any], django_assert_max_num_queries: Any
) -> None:
    from staff import audit

    viewer = signed_in("viewer")
    for i in range(60):
        audit.record(None, f"did {i % 7}", viewer.user, changes={"n": [i, i + 1]}, by=viewer.user)
    with django_assert_max_num_queries(14):
        assert viewer.get(LOG).status_code == 200


def test_the_page_of_the_log_says_whether_it_is_whole(
    signed_in: Callable[..., Any], allow_tampering: Callable[[str], None]
) -> None:
    from staff import audit
    from staff.tasks import check_audit_log

    viewer = signed_in("viewer")
    audit.record(None, "counted", "1")
    assert "has not yet" in viewer.get(LOG).content.decode()
    check_audit_log()
    assert "The log is intact" in viewer.get(LOG).content.decode()
    allow_tampering("DELETE FROM staff_auditentry")
    check_audit_log()
    assert "The log is broken" in viewer.get(LOG).content.decode()


def test_a_row_has_its_own_history(signed_in: Callable[..., Any]) -> None:
    from access.models import Tier

    browser = signed_in("administrator")
    tier = Tier.objects.get(name="basic")
    path = f"/admin/access/tier/{tier.pk}/"
    assert "No changes yet" in browser.get(f"{path}history/").content.decode()
    form = browser.get(f"{path}change/").context["adminform"].form
    sent = {name: "" if (value := form[name].value()) is None else value for name in form.fields}
    browser.post(f"{path}change/", {**sent, "requests_burst": 4321})
    page = browser.get(f"{path}history/").content.decode()
    assert "4321" in page and "requests_burst" in page and "administrator" in page
    assert f"subject_type=access.tier&amp;subject_id={tier.pk}" in page
    assert f"{path}history/" in browser.get(f"{path}change/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_make_one_chain() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection, transaction

    from staff import audit, audit_chain

    def write(number: int) -> None:
        try:
            with transaction.atomic():
                for step in range(5):
                    audit.record(None, "raced", f"{number}.{step}")
                if number % 4 == 0:
                    transaction.set_rollback(True)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    looked = audit_chain.walk()
    assert (looked.problem, looked.entries) == ("", 60)


def test_what_an_address_hides_in_its_path_is_nobodys_to_read(
    signed_in: Callable[..., Any],
) -> None:
    from alerts.services import webhooks
    from priority.upstreams.models import Upstream
    from staff.models import AuditEntry

    viewer, boss = signed_in("viewer"), signed_in("administrator")
    hush = "https://me:hush@node.example/hush?key=hush"
    form = {"name": "theirs", "kind": "node", "url": hush, "weight": 1, "timeout_ms": 2_000}
    form |= {"own_tip_lamports": 0, "is_enabled": "on"}
    added = boss.post("/admin/priority/upstream/add/", form)
    assert added.status_code == 302, added.context["adminform"].errors
    row = Upstream.objects.get(name="theirs")
    page = f"/admin/priority/upstream/{row.pk}/"
    assert boss.post(f"{page}change/", {**form, "url": f"{hush}2"}).status_code == 302
    assert boss.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    hook = webhooks.create(None, name="chat", url="http://127.0.0.1:9/hush")
    entries = list(AuditEntry.objects.filter(subject_type="priority.upstream"))
    assert [entry.verb for entry in entries] == ["deleted", "changed", "added"]
    assert [entry.changes["url"][1] for entry in entries] == [None, *["node.example"] * 2]
    assert "hush" not in str([(entry.changes, entry.text) for entry in entries])
    listed = "/admin/alerts/webhook/"
    assert "chat" in viewer.get(listed).content.decode()
    for asked in ("url__contains=hush", "url__startswith=http"):
        assert viewer.get(f"{listed}?{asked}").status_code == 400, asked
    assert f"/{hook.pk}/change/" not in viewer.get(f"{listed}?q=hush").content.decode()
    assert f"/{hook.pk}/change/" in boss.get(f"{listed}?q=hush").content.decode()
