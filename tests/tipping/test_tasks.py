"""The scheduled tasks."""

import pytest
from django.utils import timezone

from shared_state.redis_client import client as redis_client
from tests.databases import end_session
from tipping import tasks
from tipping.models import TipAddress, TipBatch

pytestmark = pytest.mark.django_db


def test_a_new_installation_has_its_batches_after_one_call(ttl_classes, settings):
    ttl_classes(600, 7200, size=16)
    tasks.rotate_tip_batches()
    assert not TipBatch.objects.exists()
    tasks.prepare_tip_batches()
    states = sorted(TipBatch.objects.values_list("ttl_seconds", "state"))
    assert states == [(ttl, state) for ttl in (600, 7200) for state in ("open", "prepared")]
    tasks.prepare_tip_batches()
    assert TipBatch.objects.filter(state="prepared").count() == 4


def test_the_schedule_rotates_requests_batches_and_cleans_up(opened):
    opened(600, now=timezone.now(), size=16)
    TipBatch.objects.filter(state="open").update(window_ends_at=timezone.now())
    tasks.rotate_tip_batches()
    states = list(TipBatch.objects.order_by("number").values_list("state", flat=True))
    assert states == ["closed", "open"]
    assert redis_client().llen("default") == 1
    tasks.prepare_tip_batches()
    assert TipAddress.objects.filter(batch__state="closed").count() == 0
    assert TipBatch.objects.filter(state="prepared").count() == 2


@pytest.mark.django_db(transaction=True)
def test_without_the_database_a_task_ends_with_a_line(opened, caplog):
    opened(600, now=timezone.now(), size=16)
    for task in (tasks.rotate_tip_batches, tasks.prepare_tip_batches):
        end_session()
        caplog.clear()
        task()
        assert "waits for the database" in caplog.text
        task()
