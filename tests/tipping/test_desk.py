"""The page of TTL classes, as a browser's requests; and sums of the ledger that are its rows."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature

from shared_state.redis_client import client as redis_client
from staff.formatting import moment
from staff.models import AuditEntry
from tests.rewind.test_audit_admin import text_of
from tests.tipping.test_admin import CLASSES, give
from tests.tipping.tipped_samples import STATIC, fill_tipping
from tipping.models import Edge, TipAddress, TipBatch, TipDay, TipEntry, TtlClass
from tipping.services import batches, desk, treasury_reading
from tipping.store import tip_days

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def ids(issue: Callable[..., Any], settings: Any) -> dict[str, Any]:
    settings.TIP_ADDRESSES = [STATIC]
    found = fill_tipping(timezone.now(), key=issue().key)
    tip_days.count_days()
    return found


def test_the_desk_shows_the_state_of_every_class(
    admin_client: Any, ids: dict[str, Any], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(40):
        text = text_of(admin_client, CLASSES)
    assert text.count(">available<") == 2
    assert text.count(">unavailable<") == 2
    assert "15 of 24 left" in text
    # 9 were issued half a minute ago and counted over ten: 15 are left for longer than the window.
    assert text.count("0.9 a minute") == 2
    assert "not before it rotates" in text
    batch = TipBatch.objects.get(state="prepared", ttl_seconds=900)
    batch.addresses.all().delete()
    batch.delete()
    text = text_of(admin_client, CLASSES)
    assert ">running dry<" in text
    assert 'class="tm-rotation"' in text
    over = TipBatch.objects.filter(state="open", ttl_seconds=900)
    over.update(window_ends_at=timezone.now() - timedelta(seconds=1))
    text = text_of(admin_client, CLASSES)
    assert ">running dry<" not in text and text.count(">unavailable<") == 3
    assert "The open batch has nothing left to issue" in text and ">nothing to issue<" in text


def test_a_class_that_is_used_up_before_it_rotates_shows_when(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    TipAddress.objects.filter(batch__state="open", position__lt=23).update(
        issued_at=timezone.now(), edge=Edge.objects.get()
    )
    classes = desk.desk(treasury=STATIC, static=[STATIC], now=timezone.now()).classes
    found = {each.state.ttl_class.ttl_seconds: each for each in classes}
    assert found[900].per_minute == pytest.approx(2.3)
    assert found[900].dry_at is not None
    assert found[900].dry_at - timezone.now() < timedelta(seconds=27)
    assert found[172_800].dry_at is None
    assert "the next batch opens then" in text_of(admin_client, CLASSES)


def test_a_rotation_that_no_worker_makes_is_overdue(admin_client: Any, ids: dict[str, Any]) -> None:
    def rotates() -> str:
        text = text_of(admin_client, CLASSES).partition(">Class 15 min")[2]
        return text.partition(">Rotates</dt>")[2].partition("</dd>")[0]

    now = timezone.now()
    is_open = TipBatch.objects.filter(state="open", ttl_seconds=900)
    is_open.update(window_ends_at=now - timedelta(seconds=2))
    assert "overdue" not in rotates(), "the worker has its second"
    ended = now - timedelta(minutes=3)
    is_open.update(window_ends_at=ended)
    assert f">overdue since {moment(ended, seconds=True)}<" in rotates()
    assert "tm-countdown" not in rotates(), "nothing counts it down to now"


def test_a_rotation_to_the_last_prepared_batch_is_warned_of(admin_client: Any) -> None:
    ttl_class = TtlClass.objects.get(ttl_seconds=900)
    TtlClass.objects.filter(pk=ttl_class.pk).update(batch_size=16)
    rotate = f"{CLASSES}order/{ttl_class.pk}/rotate/"
    for _ in range(2):
        give(admin_client, ttl_class.pk, "prepare")
        asked = text_of(admin_client, rotate)
        assert "it is the last prepared batch" in asked
        give(admin_client, ttl_class.pk, "prepare")
        assert "last prepared batch" not in text_of(admin_client, rotate)
        give(admin_client, ttl_class.pk, "rotate")
        give(admin_client, ttl_class.pk, "rotate")


def test_a_class_is_rotated_and_prepared_for_by_hand(admin_client: Any) -> None:
    ttl_class = TtlClass.objects.get(ttl_seconds=900)
    TtlClass.objects.filter(pk=ttl_class.pk).update(batch_size=16)
    rotate = f"{CLASSES}order/{ttl_class.pk}/rotate/"
    asked = text_of(admin_client, rotate)
    assert "No batch is prepared: prepare one first." in asked
    assert "<button" not in asked[asked.index("No batch is prepared") :].partition("</section>")[0]
    assert admin_client.post(rotate).status_code == 200
    assert "one more batch is prepared" in give(admin_client, ttl_class.pk, "prepare")
    assert "a new batch is open" in give(admin_client, ttl_class.pk, "rotate")
    first = TipBatch.objects.get(state="open")
    give(admin_client, ttl_class.pk, "prepare")
    assert f"Batch {first.number} closes now, and 16 of its 16" in text_of(admin_client, rotate)
    assert "a new batch is open" in give(admin_client, ttl_class.pk, "rotate")
    first.refresh_from_db()
    assert first.state == "closed"
    state = next(
        each for each in batches.overview(now=timezone.now()) if each.ttl_class == ttl_class
    )
    assert (state.left, state.prepared) == (16, 0)
    verbs = Counter(AuditEntry.objects.filter(subject="15 min").values_list("verb", "subject"))
    assert verbs == {("prepared a batch of", "15 min"): 2, ("rotated", "15 min"): 2}
    assert admin_client.get(f"{CLASSES}order/{ttl_class.pk}/other/").status_code == 404
    assert admin_client.get(f"{CLASSES}order/999999/rotate/").status_code == 404


def test_what_expired_is_swept_by_class(admin_client: Any, ids: dict[str, Any]) -> None:
    waiting = TipBatch.objects.filter(swept_at=None, state="closed", expires_at__lte=timezone.now())
    ttl_class = waiting.get(ttl_seconds=900).ttl_class
    waiting.update(balances_read_at=timezone.now())
    asked = text_of(admin_client, f"{CLASSES}order/{ttl_class.pk}/sweep/")
    assert "Reads the balances of 1 expired batch within seconds" in asked
    assert "sweeping 1 batch" in give(admin_client, ttl_class.pk, "sweep")
    assert list(waiting.filter(balances_read_at=None)) == [waiting.get(ttl_class=ttl_class)]
    waiting.update(swept_at=timezone.now())
    asked = text_of(admin_client, f"{CLASSES}order/{ttl_class.pk}/sweep/")
    assert "Every expired batch of the class is swept." in asked
    assert AuditEntry.objects.get(subject="15 min").verb == "ordered sweeps of"


def test_actions_need_a_post_with_a_token(ids: dict[str, Any], admin_user: Any) -> None:
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin_user)
    ttl_class = TtlClass.objects.get(ttl_seconds=900)
    before = TipBatch.objects.get(ttl_class=ttl_class, state="open")
    assert strict.post(f"{CLASSES}order/{ttl_class.pk}/rotate/").status_code == 403
    assert strict.get(f"{CLASSES}order/{ttl_class.pk}/rotate/").status_code == 200
    assert TipBatch.objects.get(ttl_class=ttl_class, state="open") == before


def test_the_treasury_by_ledger_and_by_chain(
    admin_client: Any, ids: dict[str, Any], settings: Any
) -> None:
    settings.TREASURY_ADDRESS = STATIC
    held = TipEntry.objects.filter(pubkey=STATIC).aggregate(sum=Sum("lamports"))["sum"]
    text = text_of(admin_client, CLASSES)
    assert f"{held:,}" in text
    assert "not known" in text
    reading = {"address": str(STATIC), "lamports": held + 5, "slot": 7, "at": 1.0}
    redis_client().set(treasury_reading._KEY, json.dumps(reading))
    text = text_of(admin_client, CLASSES)
    assert ">+5<" in text
    assert "The balance on chain is higher" in text
    assert treasury_reading.last_reading(Pubkey(bytes(32))) is None


def test_sums_by_day_are_those_of_the_ledger_also_when_counted_again(ids: dict[str, Any]) -> None:
    def compare() -> None:
        rows = TipEntry.objects.order_by()
        counted = TipDay.objects.order_by()
        for kind in ("tip", "sweep", "other"):
            entries, days = rows.filter(kind=kind), counted.filter(kind=kind)
            assert days.aggregate(n=Sum("count"))["n"] == (entries.count() or None)
            came = entries.filter(lamports__gt=0).aggregate(n=Sum("lamports"))["n"] or 0
            went = entries.filter(lamports__lt=0).aggregate(n=Sum("lamports"))["n"] or 0
            sums = days.aggregate(received=Sum("received"), paid=Sum("paid"))
            assert (sums["received"] or 0, sums["paid"] or 0) == (came, -went)

    compare()
    TipEntry.objects.create(
        signature=Signature(b"\5" * 64),
        pubkey=STATIC,
        kind="tip",
        lamports=77,
        slot=1,
        is_static=True,
        recorded_at=timezone.now(),
    )
    tip_days.count_days()
    tip_days.count_days()
    compare()
    now = timezone.now()
    found = desk.desk(treasury=Pubkey(bytes(32)), static=[STATIC], now=now)
    static = TipEntry.objects.filter(pubkey=STATIC, kind="tip")
    assert found.named[0].tipped == static.aggregate(n=Sum("lamports"))["n"]
    month = TipEntry.objects.filter(kind="tip").aggregate(n=Sum("lamports"))["n"]
    assert found.sums[2].static + found.sums[2].dynamic == month
    assert found.sums[0].static >= 77


def test_without_classes_the_desk_says_what_to_do(admin_client: Any) -> None:
    TtlClass.objects.all().delete()
    text = text_of(admin_client, CLASSES)
    assert "no classes" in text and "/admin/tipping/ttlclass/add/" in text
    assert "No batch was open in the last two days." in text
