"""The archive's audit and jobs in a real browser: orders given by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.audit_samples import fill

pytestmark = pytest.mark.soak

PAGES = {
    "audit": "/admin/rewind/auditedday/",
    "divergences": "/admin/rewind/divergence/",
    "jobs": "/admin/rewind/simulationjob/",
}


def test_a_job_is_cancelled_and_a_replay_ordered_by_hand(watched: Callable[[], Any]) -> None:
    from django.utils import timezone

    from rewind.jobs.models import SimulationJob

    visitor = watched()
    ids = fill(timezone.now())
    visitor.sign_in()
    page = visitor.page
    visitor.open(f"{PAGES['divergences']}{ids['divergence']}/change/")
    page.click("button:has-text('Replay again')")
    page.wait_for_selector("text=is no longer in the ledger")
    visitor.open(PAGES["jobs"])
    for box in page.query_selector_all("#changelist-form tbody input.action-select"):
        box.check()
    page.select_option("select[name=action]", "cancel_jobs")
    page.click("button[name=index]")
    page.wait_for_selector("text=2 jobs cancelled")
    assert not SimulationJob.objects.filter(state__in=["queued", "running"]).exists()
    assert visitor.problems == []
