"""The admin's pages of the replay audit, as a browser's requests."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature

from rewind.replay.models import AuditedDay, Divergence
from rewind.replay.store import audits as store
from rewind.replay.store.audits import Count
from tests.rewind.little_chain import LittleChain
from tests.rewind.test_audit import chain, run, spoil, stored

__all__ = ["chain"]  # a fixture

AUDIT = "/admin/rewind/auditedday/"
DIVERGENCES = "/admin/rewind/divergence/"
PROGRAM = Pubkey(bytes([9]) * 32)

pytestmark = pytest.mark.django_db


def text_of(client: Any, path: str, **data: Any) -> str:
    page = client.get(path, data)
    assert page.status_code == 200
    text: str = " ".join(page.content.decode().split())
    return text


def today() -> date:
    return timezone.now().date()


def diverged(number: int = 1, **told: Any) -> Divergence:
    now = timezone.now()
    entry: Divergence = Divergence.objects.create(
        **{
            "slot": 100 + number,
            "position": number,
            "signature": Signature(bytes([number]) * 64),
            "programs": [PROGRAM],
            "fields": ["logs", "accounts"],
            "differences": [
                {"field": "logs", "expected": ["a <b>"], "found": ["c"]},
                {"field": "accounts", "expected": {"lamports": 5}, "found": "cut…"},
            ],
            "found_at": now - timedelta(minutes=number),
            "tried_at": now,
            **told,
        }
    )
    return entry


def test_before_the_first_replay_the_page_says_so(admin_client: Any) -> None:
    text = text_of(admin_client, AUDIT)
    assert "not begun" in text
    assert "Nothing was replayed yet." in text
    assert "1%</strong> of the transactions" in text or "10%</strong> of the transactions" in text
    assert "None: every replay ended as the chain says" in text


def test_the_page_tells_rates_programs_reasons_and_what_is_open(admin_client: Any) -> None:
    store.add_to_day(today(), Count(999, 1, 5), reasons={"filtered_account": 5})
    store.add_to_day(
        today() - timedelta(days=3), Count(2_000, 0, 1), reasons={"no_meta": 1}, passed_over=1_234
    )
    store.add_to_day(today() - timedelta(days=40), Count(7, 7, 7))
    store.add_to_programs(today(), {bytes(PROGRAM): Count(1_999, 1, 3), bytes(32): Count(50)})
    diverged()
    text = text_of(admin_client, AUDIT)
    for told in (
        "99.9%",
        "99.967%",
        "filtered account",
        "no meta",
        "1,234",
        "99.95%",
        str(PROGRAM),
    ):
        assert told in text
    chart = admin_client.get(AUDIT).context["chart"]
    assert len(chart.starts) == 4, "from the first day with a replay"
    assert chart.rows[-1] == (f"{today():%Y-%m-%d}", ["999", "1", "5"])
    assert f"No replays in the days before {today() - timedelta(days=3)}" in chart.note
    assert f"Slots passed over: 1,234 on {today() - timedelta(days=3)}." in chart.note
    assert "logs, accounts" in text
    home = text_of(admin_client, "/admin/")
    assert "<dt>Replays that match the chain</dt><dd>99.9% of 1,000</dd>" in home
    assert '<dt>Open divergences</dt><dd><span class="tm-word tm-warning" title="">1<' in home


def test_an_audit_that_is_off_says_so(admin_client: Any, settings: Any) -> None:
    settings.REPLAY_AUDIT_PERMILLE = 0
    assert "The audit is <strong>off</strong>" in text_of(admin_client, AUDIT)


def test_the_page_asks_little(
    admin_client: Any, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    for number in range(1, 21):
        diverged(number)
        store.add_to_day(today() - timedelta(days=number), Count(number))
        store.add_to_programs(today(), {bytes([number]) * 32: Count(number)})
    with django_assert_max_num_queries(12):
        text_of(admin_client, AUDIT)
    with django_assert_max_num_queries(8):
        text_of(admin_client, DIVERGENCES)


def test_a_divergence_shows_both_sides(admin_client: Any) -> None:
    entry = diverged()
    text = text_of(admin_client, f"{DIVERGENCES}{entry.pk}/change/")
    assert str(entry.signature) in text
    assert "&quot;a &lt;b&gt;&quot;" in text
    assert "<pre>cut…</pre>" in text
    assert "/admin/rewind/archivedslot/101/change/" in text
    assert str(PROGRAM) in text
    listed = text_of(admin_client, DIVERGENCES)
    assert "logs, accounts" in listed
    for found in ("101", str(entry.signature)):
        assert "logs, accounts" in text_of(admin_client, DIVERGENCES, q=found)
    for absent in ("102", "nonsense", str(Signature(bytes(64)))):
        assert "logs, accounts" not in text_of(admin_client, DIVERGENCES, q=absent)
    diverged(2, resolved_at=timezone.now(), fields=["err"])
    assert "logs, accounts" in text_of(admin_client, DIVERGENCES, state="open")
    assert "logs, accounts" not in text_of(admin_client, DIVERGENCES, state="resolved")


def test_a_replay_is_ordered_from_the_page_and_from_the_list(
    admin_client: Any, chain: LittleChain, empty_ledger: None
) -> None:
    signatures = stored(chain, blocks=2, each=2)
    mend = spoil(signatures[2], chain)
    run()
    entry = Divergence.objects.get()
    page = f"{DIVERGENCES}{entry.pk}/"
    assert "/admin/historical/block/4/change/" in text_of(admin_client, f"{page}change/")
    assert admin_client.get(f"{page}replay/").status_code == 405
    answer = admin_client.post(f"{page}replay/", follow=True).content.decode()
    assert "still diverges from the chain" in answer
    mend()
    order = {"action": "replay_again", "_selected_action": [entry.pk]}
    answer = admin_client.post(DIVERGENCES, order, follow=True).content.decode()
    assert "now matches the chain" in answer
    entry.refresh_from_db()
    assert entry.resolved_at is not None
    assert "resolved" in text_of(admin_client, f"{page}change/")


def test_what_the_ledger_has_no_more_is_said(admin_client: Any) -> None:
    entry = diverged()
    answer = admin_client.post(f"{DIVERGENCES}{entry.pk}/replay/", follow=True)
    assert "is no longer in the ledger" in answer.content.decode()
    order = {"action": "dismiss", "_selected_action": [entry.pk]}
    for told in ("1 divergence dismissed", "0 divergences dismissed"):
        answer = admin_client.post(DIVERGENCES, order, follow=True)
        assert told in answer.content.decode()
    assert ">dismissed</span>" in text_of(admin_client, DIVERGENCES, state="resolved")
    assert "logs, accounts" not in text_of(admin_client, DIVERGENCES, state="open")


def test_who_may_only_look_cannot_order_a_replay(client: Any, django_user_model: Any) -> None:
    from django.contrib.auth.models import Permission

    entry = diverged()
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_divergence"))
    client.force_login(user)
    assert "replay_again" not in text_of(client, DIVERGENCES)
    assert "Replay again" not in text_of(client, f"{DIVERGENCES}{entry.pk}/change/")
    assert client.post(f"{DIVERGENCES}{entry.pk}/replay/").status_code == 403
    assert client.get(AUDIT).status_code == 403
    assert client.get(f"{AUDIT}{AuditedDay.objects.count()}/change/").status_code == 403
