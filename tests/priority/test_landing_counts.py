"""Counts of what landed: the sums are the rows, whatever becomes of them and however often."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from priority.fates.services import settling
from priority.fates.store.settling import FoundRow
from priority.models import Attempt, Submission
from priority.reports.models import LandingChange, LandingCount, LandingKeyCount
from priority.reports.services import counting
from priority.reports.store.counts import DAY, HOUR, STEP
from tests.priority.landed_samples import fill_landing

pytestmark = pytest.mark.django_db
KEPT = timedelta(days=30)


def count(now: datetime) -> int:
    return counting.count(kept=KEPT, now=now, calm=timedelta(0))


def mark_all() -> None:
    """All steps are to be counted, as after an upgrade from a build without counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO priority_landingchange (start, noted_at) SELECT date_bin('300 seconds',"
            " accepted_at, '2000-01-01+00'), now() - interval '1 hour' FROM priority_submission"
        )


def assert_the_sums_are_the_rows() -> None:
    rows = Submission.objects.exclude(kind="sweep").order_by()
    states = Counter(rows.values_list("state", flat=True))
    tries = Attempt.objects.exclude(submission__kind="sweep").count()
    by_key = Counter(rows.values_list("key", "state"))
    tips = rows.filter(state="landed").aggregate(sum=Sum("tip_lamports"))["sum"] or 0
    for seconds in (STEP, HOUR, DAY):
        tallies = LandingCount.objects.filter(seconds=seconds).order_by()
        counted = tallies.filter(measure="state").values_list("word").annotate(Sum("count"))
        assert dict(counted) == states, seconds
        assert sum(tallies.filter(measure="try").values_list("count", flat=True)) == tries
        assert sum(tallies.filter(measure="tip").values_list("amount", flat=True)) == tips
        keys = LandingKeyCount.objects.filter(seconds=seconds).order_by()
        found = keys.values_list("key", "state").annotate(Sum("count"))
        assert {(key, state): n for key, state, n in found} == by_key


@pytest.fixture
def filled(issue: Callable[..., Any]) -> datetime:
    now = timezone.now()
    fill_landing(now, key=issue().key)
    return now


def test_the_sums_are_the_rows_and_counting_again_changes_nothing(filled: datetime) -> None:
    mark_all()
    assert count(filled) > 0
    assert_the_sums_are_the_rows()
    assert not LandingChange.objects.exists()
    count(filled)
    assert_the_sums_are_the_rows()


def test_a_fate_that_settles_late_moves_the_counts(filled: datetime) -> None:
    mark_all()
    count(filled)
    late = filled + timedelta(days=2)
    sent = Submission.objects.filter(state="sent", settled_at=None).exclude(kind="sweep")
    some, others = list(sent[:2]), list(sent[2:])
    assert some and others
    found = [FoundRow(bytes(each.signature), 332_254_857, 3, None) for each in some]
    settling.settle_found(found, now=late)
    settling.settle_lost({each.pk: "blockhash_expired" for each in others}, now=late)
    assert LandingChange.objects.count() >= 1
    counting.count(kept=KEPT, now=late + timedelta(seconds=60))
    rows = LandingCount.objects.filter(seconds=DAY, measure="state").order_by()
    states = Counter(Submission.objects.exclude(kind="sweep").values_list("state", flat=True))
    assert dict(rows.values_list("word").annotate(Sum("count"))) == states
    assert states["expired"] > len(others)


def test_what_is_forgotten_stays_counted(filled: datetime) -> None:
    mark_all()
    count(filled)
    before = Submission.objects.exclude(kind="sweep").count()
    Attempt.objects.all().delete()
    Submission.objects.all().delete()
    mark_all()
    LandingChange.objects.create(start=filled - timedelta(minutes=5), noted_at=filled)
    counting.count(kept=KEPT, now=filled + timedelta(days=31))
    days = LandingCount.objects.filter(seconds=DAY, measure="state")
    assert days.aggregate(sum=Sum("count"))["sum"] == before


def test_slots_and_who_took_it_first(filled: datetime) -> None:
    mark_all()
    count(filled)
    rows = LandingCount.objects.filter(seconds=DAY)
    landed = Submission.objects.filter(state__in=["landed", "failed"], slot__isnull=False)
    overall = rows.filter(measure="slots", upstream="").aggregate(sum=Sum("count"))["sum"]
    assert overall == landed.exclude(kind="sweep").count()
    first = rows.filter(measure="took").aggregate(sum=Sum("amount"))["sum"]
    taken = Attempt.objects.filter(outcome="sent").values("submission").distinct().count()
    assert first == taken
    assert {each.upstream for each in rows.filter(measure="took")} == {"leaders", "node"}
    refused = rows.filter(measure="try", upstream="frankfurt").values_list("word", flat=True)
    assert set(refused) == {"refused: Transaction simulation failed: Blockhash not found (-32002)"}
