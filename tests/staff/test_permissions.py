"""Who may do what: at every address of the admin, so that new pages are covered by themselves."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.staff.admin_walk import OWN, addresses, of_our_own, rows

# Written whatever is asked: that it was.
_LOG = {"staff_auditentry"}


@pytest.fixture
def every_row(issue: Callable[..., Any]) -> dict[str, str]:
    from rewind.models import ArchiveState

    issue()
    ArchiveState.objects.get_or_create(pk=1)  # one row, made when it is first asked for
    found = rows()
    assert len(found) >= 25, found
    return found


def test_a_viewer_sees_every_list_and_changes_nothing_anywhere(
    every_row: dict[str, str], signed_in: Callable[..., Any]
) -> None:
    from django.contrib import admin

    from staff.writes import Writes

    viewer = signed_in("viewer")
    wrong = []
    for model in admin.site._registry:
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        if viewer.get(path).status_code != 200:
            wrong.append(f"GET {path}")
        if viewer.post(f"{path}add/", {"name": "x"}).status_code != 403:
            wrong.append(f"POST {path}add/")
    for path, key in every_row.items():
        for what in ("change", "delete"):
            answer = viewer.post(f"{path}{key}/{what}/", {"post": "yes", "name": "x"})
            if answer.status_code != 403:
                wrong.append(f"POST {path}{key}/{what}/: {answer.status_code}")
    assert not wrong
    for address in of_our_own(every_row):
        with Writes() as writes:
            answer = viewer.post(address, {"ids": "1", "post": "yes", "name": "x", "_save": "1"})
        if writes.tables - _LOG or answer.status_code >= 500:
            wrong.append(f"POST {address}: {answer.status_code} {writes.tables}")
    assert not wrong


def test_a_viewer_is_offered_no_action_and_may_carry_out_none(
    every_row: dict[str, str], signed_in: Callable[..., Any], rf: Any
) -> None:
    from django.contrib import admin

    from staff.writes import Writes

    viewer = signed_in("viewer")
    request = rf.get("/")
    request.user = viewer.user
    for model, page in admin.site._registry.items():
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        # Comparing keys only reads: it leads to a page.
        assert set(page.get_actions(request)) <= {"compare_keys"}, path
        names = [getattr(found, "__name__", found) for found in page.actions or ()]
        for name in (*names, "delete_selected"):
            sent = {"action": name, "_selected_action": every_row.get(path, "1"), "index": "0"}
            with Writes() as writes:
                answer = viewer.post(path, {**sent, "post": "yes"})
            assert not writes.tables - _LOG, f"{path} {name}"
            assert answer.status_code < 500, f"{path} {name}"


def test_no_page_changes_anything_by_being_looked_at(
    every_row: dict[str, str], signed_in: Callable[..., Any]
) -> None:
    """A GET needs no token: whoever makes an administrator open an address must gain nothing."""
    from staff.writes import Writes

    browser = signed_in("administrator")
    wrong = []
    for address in of_our_own(every_row):
        with Writes() as writes:
            answer = browser.get(address)
        if writes.tables - _LOG or answer.status_code >= 500:
            wrong.append(f"GET {address}: {answer.status_code} {writes.tables}")
    assert not wrong


def test_no_form_is_taken_without_its_token(
    every_row: dict[str, str], signed_in: Callable[..., Any], settings: Any
) -> None:
    from django.test import Client

    settings.CSRF_FAILURE_VIEW = (
        "tests.staff.admin_walk.without_token"  # Django's own is a long page
    )
    known = signed_in("administrator")
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = known.cookies
    assert browser.get("/admin/").status_code == 200
    found = addresses(every_row)
    assert len(found) > 80
    answers = {address: browser.post(address).content for address in found}
    taken = [address for address, content in answers.items() if content != b"no token"]
    assert not taken


def test_nothing_is_open_to_strangers(every_row: dict[str, str]) -> None:
    from django.test import Client

    opened, browser = [], Client()
    for address in addresses(every_row):
        if address in OWN:
            continue
        for answer in (browser.get(address), browser.post(address)):
            to_sign_in = answer.get("Location", "").startswith(("/admin/login/", "/admin/?"))
            if not to_sign_in and answer.status_code not in (401, 403, 405):
                opened.append(f"{address}: {answer.status_code}")
    assert not opened


def test_an_operator_runs_the_service_and_issues_nothing(
    every_row: dict[str, str], signed_in: Callable[..., Any], issue: Callable[..., Any]
) -> None:
    from access.models import ApiKey
    from staff.models import AuditEntry

    operator = signed_in("operator")
    key = issue().key
    answer = operator.post("/admin/access/apikey/orders/suspend/", {"ids": key.pk})
    assert answer.status_code == 302
    assert ApiKey.objects.get(pk=key.pk).suspended_at is not None
    assert AuditEntry.objects.filter(user=operator.user, subject_id=str(key.pk)).exists()
    upstream = "/admin/priority/upstream/"
    sent = {"action": "disable", "_selected_action": every_row.get(upstream, "1"), "index": "0"}
    assert operator.post(upstream, sent).status_code == 302
    for path in (
        "/admin/access/apikey/add/",
        "/admin/access/customer/add/",
        "/admin/access/tier/add/",
        "/admin/auth/user/add/",
        f"/admin/auth/user/{operator.user.pk}/change/",
        "/admin/access/apikey/orders/rotate/",
        "/admin/portal/member/add/",
    ):
        assert operator.post(path, {"ids": key.pk, "name": "x"}).status_code in (403, 404), path


def test_an_operator_suspends_keys_and_gives_none_more_than_it_has(
    signed_in: Callable[..., Any], issue: Callable[..., Any], tier: Callable[..., Any]
) -> None:
    from access.models import ApiKey

    key, higher = issue(scopes=["historical"], calls_per_month=5).key, tier("epic", 40)
    page = f"/admin/access/apikey/{key.pk}/change/"
    form = {
        "name": "mine",
        "tier": higher.pk,
        "scopes": ["historical", "priority"],
        "networks": "",
        "methods": "",
        "calls_per_month": "",
        "expires_at_0": "",
        "expires_at_1": "",
        "notes": "",
        "environment": "",
    }
    before = ApiKey.objects.filter(pk=key.pk).values().get()
    operator = signed_in("operator")
    assert 'name="_save"' not in operator.get(page).content.decode()
    operator.post(page, form)
    assert ApiKey.objects.filter(pk=key.pk).values().get() == before
    signed_in("administrator").post(page, form)
    changed = ApiKey.objects.get(pk=key.pk)
    assert (changed.name, changed.tier) == ("mine", higher)
