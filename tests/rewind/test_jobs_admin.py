"""The admin's pages of simulation jobs, as a browser's requests."""

from collections.abc import Callable
from typing import Any

import pytest

from rewind.jobs.models import SimulationJob
from tests.rewind.little_chain import LittleChain
from tests.rewind.test_audit_admin import text_of
from tests.rewind.test_jobs import Ask, archive, ask, chain, signatures, work

__all__ = ["archive", "ask", "chain"]  # fixtures

JOBS = "/admin/rewind/simulationjob/"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


def test_jobs_are_listed_with_their_key_and_how_far_they_are(
    admin_client: Any,
    archive: LittleChain,
    ask: Ask,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    wanted = signatures(archive)
    jobs = [ask("submitSimulationJob", {"signatures": wanted}) for _ in range(3)]
    work(jobs[0]["jobId"])
    with django_assert_max_num_queries(10):
        text = text_of(admin_client, JOBS)
    for told in ("6 of 6", "0 of 6", "test (tmk_", ">few<", ">done<", ">queued<", jobs[0]["jobId"]):
        assert told in text
    assert jobs[1]["jobId"] in text_of(admin_client, JOBS, q=jobs[1]["jobId"][:13])
    assert jobs[1]["jobId"] not in text_of(admin_client, JOBS, state__exact="done")
    page = text_of(admin_client, f"{JOBS}{jobs[0]['jobId']}/change/")
    assert "6 signatures, each at its own place" in page
    assert jobs[0]["jobId"] in page


def test_jobs_are_cancelled_from_the_list(
    admin_client: Any, archive: LittleChain, ask: Ask
) -> None:
    spec = {"signatures": signatures(archive), "slotRange": {"fromSlot": 1, "toSlot": 2}}
    jobs = [ask("submitSimulationJob", spec) for _ in range(2)]
    work(jobs[0]["jobId"])
    ids = [job["jobId"] for job in jobs]
    order = {"action": "cancel_jobs", "_selected_action": ids}
    answer = admin_client.post(JOBS, order, follow=True)
    assert "1 job cancelled" in answer.content.decode()
    assert [ask("getSimulationJob", each)["state"] for each in ids] == ["done", "cancelled"]
    page = text_of(admin_client, f"{JOBS}{ids[1]}/change/")
    assert "6 signatures, each at 2 positions" in page
    SimulationJob.objects.filter(pk=ids[1]).update(request={})
    assert "deleted with the results" in text_of(admin_client, f"{JOBS}{ids[1]}/change/")


def test_who_may_only_look_cannot_cancel(
    client: Any, django_user_model: Any, archive: LittleChain, ask: Ask
) -> None:
    from django.contrib.auth.models import Permission

    job = ask("submitSimulationJob", {"signatures": signatures(archive)})
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_simulationjob"))
    client.force_login(user)
    text = text_of(client, JOBS)
    assert job["jobId"] in text
    assert "cancel_jobs" not in text
    order = {"action": "cancel_jobs", "_selected_action": [job["jobId"]]}
    client.post(JOBS, order)
    assert SimulationJob.objects.get().state == "queued"
