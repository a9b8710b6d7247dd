"""Every page of the portal: whose rows it shows, and to whom it is open."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from portal.urls import urlpatterns
from tests.portal.conftest import Browser, People

pytestmark = pytest.mark.django_db

DOORS = {
    str(pattern.name): getattr(pattern.callback, "portal_access", None) for pattern in urlpatterns
}
# Pages before signing in, and the way out.
OPEN = {"sign_in", "code", "sign_out", "forgotten", "new_password", "invitation"}
OPEN |= {"alert_address_confirm", "by_provider", "provider_callback", "provider_sign_out"}
BEHIND_A_DOOR = sorted(set(DOORS) - OPEN)
ORDERS = {
    "key_rotate",
    "key_suspend",
    "key_resume",
    "key_revoke",
    "key_end_overlap",
    "key_extend_overlap",
    "webhook_test",
    "webhook_secret",
    "webhook_enable",
    "webhook_disable",
    "webhook_delete",
    "alert_address",
    "alert_address_members",
    "rule_test",
    "rule_enable",
    "rule_disable",
    "rule_replay",
    "rule_delete",
    "webhook_redeliver",
    "rule_redeliver",
    "alert_mails",
    "invite_again",
    "change_role",
    "remove",
    "replay_build",
    "replay_delete",
}
TAKES_POST = sorted(name for name, door in DOORS.items() if door not in ("members", None))
# Who sees a page, and who changes something there.
EVERYONE, CHANGING = {"owner", "developer", "reader"}, {"owner", "developer"}
SEE = {
    "members": EVERYONE,
    "oneself": EVERYONE,
    "owners": {"owner"},
    "owners change": EVERYONE,
    "developers": CHANGING,
    "developers change": EVERYONE,
}
CHANGE = {
    "members": set(),
    "oneself": EVERYONE,
    "owners": {"owner"},
    "owners change": {"owner"},
    "developers": CHANGING,
    "developers change": CHANGING,
}
FOR_OWNERS = sorted(name for name in TAKES_POST if DOORS[name] != "oneself")


def parts_of(name: str, rows: dict[str, Any]) -> dict[str, Any]:
    """What the URL of that name takes, of these rows."""
    pattern = next(each for each in urlpatterns if each.name == name)
    kind = next((each for each in ("webhook", "rule") if name.startswith(each)), "key")
    if name in ("invite_again", "change_role", "remove"):
        kind = "colleague"
    known = {
        "pk": rows[kind].pk,
        "delivery_pk": rows["delivery"].pk,
        "signature": rows["signature"],
        "bundle_id": rows["bundle_id"],
        "replay_pk": rows["replay"].pk,
        "token": "x",
    }
    return {part: known[part] for part in pattern.pattern.converters}


WITH_PARTS = sorted(
    str(each.name)
    for each in urlpatterns
    if each.pattern.converters and "token" not in each.pattern.converters
)


def text_of(answer: Any) -> str:
    return (answer.getvalue() if answer.streaming else answer.content).decode()  # type: ignore[no-any-return]


def test_every_page_is_behind_a_door_or_known_to_be_open() -> None:
    assert {name for name, door in DOORS.items() if door is None} == OPEN
    assert {name for name in WITH_PARTS if name not in ("key", "webhook", "rule")} >= ORDERS - {
        "alert_mails",
        "alert_address",
        "alert_address_members",
        "replay_build",
    }
    assert set(DOORS.values()) == {None, *SEE}
    assert {name for name, door in DOORS.items() if str(door).startswith("developers")} == {
        "key",
        "key_issue",
        "key_rotate",
        "key_suspend",
        "key_resume",
        "key_revoke",
        "key_end_overlap",
        "key_extend_overlap",
    }


def test_another_customers_rows_are_nowhere(
    ada: Any, eve: Any, rows_of: Callable[..., Any], person: People, browser: Browser
) -> None:
    adas, eves = rows_of(ada), rows_of(eve)
    client = browser(person(eve, "owner"))
    posted = {
        "since": "2026-01-01T00:00",
        "which": "all",
        "role": "owner",
        "overlap_hours": "1",
        "more_hours": "1",
    }
    for name in WITH_PARTS:
        method = client.post if name in ORDERS else client.get
        theirs = reverse(f"portal:{name}", kwargs=parts_of(name, adas))
        assert method(theirs, posted).status_code == 404, name
        if name not in ORDERS:
            assert (
                client.get(reverse(f"portal:{name}", kwargs=parts_of(name, eves))).status_code
                == 200
            )
    mixed = {"pk": eves["webhook"].pk, "delivery_pk": adas["delivery"].pk}
    assert client.post(reverse("portal:webhook_redeliver", kwargs=mixed)).status_code == 404
    for query in (f"key={adas['key'].pk}", "key=x"):
        for name in ("usage", "usage_csv"):
            assert client.get(reverse(f"portal:{name}") + f"?{query}").status_code == 404
    for name in (each for each in BEHIND_A_DOOR if each not in ORDERS):
        parts = parts_of(name, eves)
        text = text_of(client.get(reverse(f"portal:{name}", kwargs=parts)))
        for theirs in (str(ada).replace("&", "&amp;"), adas["signature"], adas["key"].last_four):
            assert theirs not in text, name


def test_a_new_key_follows_no_key_of_another_customer(
    ada: Any, eve: Any, rows_of: Callable[..., Any], person: People, browser: Browser
) -> None:
    adas, _ = rows_of(ada), rows_of(eve)
    before = eve.keys.count()
    form = {"name": "mine", "like": adas["key"].pk, "scopes": ["historical"]}
    answer = browser(person(eve, "owner")).post(reverse("portal:key_issue"), form)
    assert answer.status_code == 200 and "Select a valid choice" in answer.content.decode()
    assert eve.keys.count() == before


def test_what_came_without_a_key_is_nobodys(
    ada: Any, rows_of: Callable[..., Any], person: People, browser: Browser
) -> None:
    from priority.models import Bundle, Submission

    adas = rows_of(ada)
    Submission.objects.update(key=None)
    Bundle.objects.update(key=None)
    client = browser(person(ada, "owner"))
    for name in ("fate", "bundle"):
        page = reverse(f"portal:{name}", kwargs=parts_of(name, adas))
        assert client.get(page).status_code == 404


def test_a_reader_sees_all_and_changes_nothing(
    ada: Any, rows_of: Callable[..., Any], reader: Any, browser: Browser
) -> None:
    from staff.models import AuditEntry

    rows = rows_of(ada)
    client = browser(reader)
    entries = AuditEntry.objects.count()
    for name in BEHIND_A_DOOR:
        path = reverse(f"portal:{name}", kwargs=parts_of(name, rows))
        if name in FOR_OWNERS:
            assert client.post(path, {}).status_code == 403, name
        answer = client.get(path)
        if name in ORDERS:
            assert answer.status_code == 405, name
        elif DOORS[name] in ("owners", "developers"):
            assert answer.status_code == 403, name
        else:
            assert answer.status_code in (200, 302), name
            text = text_of(answer)
            assert 'class="danger"' not in text and "whsec_" not in text, name
    assert AuditEntry.objects.count() == entries
    rows["key"].refresh_from_db()
    assert rows["key"].suspended_at is None and rows["key"].revoked_at is None


@pytest.mark.parametrize("role", sorted(EVERYONE))
def test_each_role_opens_and_changes_what_is_for_it(
    ada: Any, rows_of: Callable[..., Any], person: People, browser: Browser, role: str
) -> None:
    rows, member = rows_of(ada), person(ada, role)
    for name in BEHIND_A_DOOR:
        path, door = reverse(f"portal:{name}", kwargs=parts_of(name, rows)), str(DOORS[name])
        before = transaction.savepoint()
        posted = browser(member).post(path, {}).status_code  # anew: some forms sign out
        transaction.savepoint_rollback(before)
        refused = 405 if door == "members" else 403
        assert (posted == refused) is (role not in CHANGE[door]), f"POST {name}: {posted}"
        opened = browser(member).get(path).status_code
        shut = 405 if name in ORDERS else 403 if role not in SEE[door] else None
        assert opened == shut or (shut is None and opened in (200, 302)), f"GET {name}: {opened}"


def test_a_post_without_its_token_is_refused(
    ada: Any, rows_of: Callable[..., Any], owner: Any, browser: Browser
) -> None:
    rows = rows_of(ada)
    client = browser(owner, enforce_csrf_checks=True)
    for name in [*TAKES_POST, "sign_in", "sign_out", "forgotten", "invitation", "new_password"]:
        path = reverse(f"portal:{name}", kwargs=parts_of(name, rows))
        assert client.post(path, {}).status_code == 403, name
    rows["key"].refresh_from_db()
    assert rows["key"].revoked_at is None


def test_who_is_signed_out_is_led_to_the_sign_in(ada: Any, rows_of: Callable[..., Any]) -> None:
    rows, client = rows_of(ada), Client()
    for name in BEHIND_A_DOOR:
        path = reverse(f"portal:{name}", kwargs=parts_of(name, rows))
        for answer in (client.get(path), client.post(path)):
            assert answer.status_code == 302, name
            assert answer.headers["Location"].startswith(reverse("portal:sign_in")), name
    rows["key"].refresh_from_db()
    assert rows["key"].revoked_at is None


def test_staff_has_no_portal_and_members_have_no_admin(
    owner: Any, admin_client: Client, browser: Browser
) -> None:
    answer = admin_client.get(reverse("portal:overview"))
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "You belong to no customer" in text and reverse("admin:index") in text
    # The visit has not ended the session of the admin.
    assert admin_client.get(reverse("admin:index")).status_code == 200
    assert browser(owner).get(reverse("admin:index")).status_code == 302


def test_pages_are_on_the_all_in_one_host_alone(owner: Any, browser: Browser) -> None:
    client = browser(owner)
    assert client.get("/portal/", headers={"Host": "elite.rpc.localhost"}).status_code == 404
    answer = client.get("/portal/")
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "no-store" in answer.headers["Cache-Control"]


def test_the_number_of_queries_does_not_grow_with_the_rows(
    ada: Any, rows_of: Callable[..., Any], owner: Any, browser: Browser
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = browser(owner)
    names = ("overview", "keys", "usage", "limits", "fates", "webhooks", "team", "key_issue")

    def counted() -> dict[str, int]:
        found = {}
        for name in names:
            with CaptureQueriesContext(connection) as caught:
                assert client.get(reverse(f"portal:{name}")).status_code == 200
            found[name] = len(caught)
        return found

    rows_of(ada)
    few = counted()
    from access.services import keys

    tier = ada.keys.get().tier
    for number in range(12):
        keys.issue_key(ada, tier=tier, name=f"another {number}")
    more = counted()
    assert more == few and max(few.values()) <= 16
