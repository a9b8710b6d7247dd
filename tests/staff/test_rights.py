"""Every page of the admin, and every form, button and action on them, as everybody: what the
database holds is what it held before, unless the table of rights says so.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from staff.roles import Role
from tests.rows import Rows
from tests.staff import lived_in
from tests.staff.deeds import Deed, pages_and_deeds
from tests.staff.rights import DEEDS, PAGES, WITHOUT_ROWS

_WHO = ("nobody", "customer", *Role)  # each may do what those before it may
pytestmark = pytest.mark.soak
# People, keys and customers, and everything else.
_PLACES = ("people", "service")


def _is_at(route: str, place: str) -> bool:
    return (place == "people") == route.startswith(("access/", "auth/", "portal/"))


def _rank(who: str) -> int:
    return [str(each) for each in _WHO].index(str(who))


@pytest.fixture
def people(
    signed_in: Callable[..., Any], issue: Callable[..., Any], nothing_remembered: None
) -> dict[str, Client]:
    """A browser of everybody who might come."""
    from portal.services import members

    found = {str(role): signed_in(str(role)) for role in Role}
    found |= {"nobody": Client(), "customer": Client()}
    customer = issue().key.customer
    found["customer"].force_login(
        members.invite(customer, email="who@ada.example", role="owner").user
    )
    for browser in found.values():
        browser.raise_request_exception = False
    return {str(who): found[str(who)] for who in _WHO}


def _is_away(answer: Any) -> bool:
    """Was whoever asked sent to sign in, or refused?"""
    to_sign_in = answer.headers.get("Location", "").startswith("/admin/login/")
    return to_sign_in or answer.status_code in (401, 403, 404)


@pytest.mark.parametrize("place", _PLACES)
def test_each_page_and_each_deed_is_for_whom_the_table_says(
    people: dict[str, Client],
    issue: Callable[..., Any],
    tier: Callable[..., Any],
    person: Callable[..., Any],
    place: str,
) -> None:
    states = lived_in.fill(issue, tier, person)
    rows = Rows()
    pages, deeds = pages_and_deeds(
        people[Role.ADMINISTRATOR], states, lived_in.typed(), lambda route: _is_at(route, place)
    )
    assert not rows.changed(), "a GET wrote something"

    listed = {page: who for who, some in PAGES.items() for page in some if _is_at(page, place)}
    assert listed.keys() == pages.keys(), "list the page in tests/staff/rights.py"
    wrong = []
    for page, address in pages.items():
        for who, browser in people.items():
            if who == Role.ADMINISTRATOR:
                continue
            answer = browser.get(address)
            if _is_away(answer) != (_rank(who) < _rank(listed[page])):
                wrong.append(f"GET {address} as {who}: {answer.status_code}")
            elif not answer.streaming and _has_secrets(answer.content, who):
                wrong.append(f"GET {address} as {who}: shows a secret")
    assert not rows.changed(), "a GET wrote something"

    may = {deed: who for who, some in DEEDS.items() for deed in some}
    assert may.keys().isdisjoint(WITHOUT_ROWS)
    known = {each for each in (*may, *WITHOUT_ROWS) if _is_at(each, place)}
    assert known == deeds.keys(), "list it in tests/staff/rights.py"
    for name, deed in deeds.items():
        for who, browser in people.items():
            allowed = _rank(who) >= _rank(may.get(name) or WITHOUT_ROWS[name])
            wrong += _tried(browser, who, deed, rows, allowed=allowed, writes=name in may)
    assert not wrong, "\n".join(wrong)


def _has_secrets(content: bytes, who: str) -> bool:
    """Parts of addresses that only those see who may change them."""
    return who != Role.OPERATOR and any(
        each.encode() in content for each in (lived_in.HOOK, lived_in.NODE)
    )


def _tried(
    browser: Client, who: str, deed: Deed, rows: Rows, *, allowed: bool, writes: bool
) -> list[str]:
    """What was wrong with the rows behind the answer, which are as before afterwards; of deeds that
    write none, with its status. Those who may not also try it from a popup, and on all rows.
    """
    found = []
    more: tuple[dict[str, str], ...] = ({"post": "yes"},)
    if (not allowed and who == Role.OPERATOR) or who == Role.VIEWER:
        more = (*more, {"post": "yes", "_popup": "1", "select_across": "1"})
    for each in more:
        before = transaction.savepoint()
        answer = browser.post(deed.path, deed.sent(**each))
        changed = rows.changed()
        transaction.savepoint_rollback(before)
        is_action = any(name == "action" for name, _ in deed.fields)
        refused = _is_away(answer) or (is_action and not changed)
        if answer.status_code >= 500 or bool(changed) != (allowed and writes):
            found.append(f"{deed.name} as {who}: {answer.status_code}, {changed or 'no row'}")
        elif not writes and allowed == refused and not is_action:
            found.append(f"{deed.name} as {who}: {answer.status_code}")
    return found
