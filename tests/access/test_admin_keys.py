"""The admin's pages on API keys, as a browser's requests."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

SECRET = re.compile(rb"tmk_[0-9A-Za-z]{39}")
LIST = "/admin/access/apikey/"


@pytest.fixture
def key(issue: Callable[..., Any]) -> Any:
    """A new key with its secret."""
    return issue()


def issue_form(**changes: Any) -> dict[str, Any]:
    from access.models import Customer, Tier

    return {
        "customer": Customer.objects.get_or_create(name="Ada")[0].pk,
        "name": "indexer",
        "tier": Tier.objects.get(name="basic").pk,
        "environment": "",
        "scopes": ["historical", "rewind"],
        "networks": "203.0.113.7\n2001:db8::/32",
        "expires_at_0": "",
        "expires_at_1": "",
        "notes": "",
        **changes,
    }


def edit_form(client: Any, key_id: int, **changes: Any) -> dict[str, Any]:
    """What a browser sends that saves the key's page after these changes."""
    page = client.get(f"{LIST}{key_id}/change/")
    form = page.context["adminform"].form
    sent: dict[str, Any] = {}
    for field in form:
        for prefix, value in (("", field.value()), ("initial-", field.value())):
            name = f"{prefix}{field.name}"
            if field.name == "expires_at":
                sent[f"{name}_0"] = value.strftime("%Y-%m-%d") if value else ""
                sent[f"{name}_1"] = value.strftime("%H:%M:%S") if value else ""
            elif field.name in ("networks", "methods"):
                sent[name] = "\n".join(value)
            else:
                sent[name] = "" if value is None else value
    return {**sent, **changes}


def test_a_new_keys_secret_is_shown_once_and_works(admin_client: Any, tier: Any) -> None:
    from django.utils import timezone

    from access.models import ApiKey
    from access.services.keys import identify

    tier()
    response = admin_client.post(f"{LIST}add/", issue_form())
    assert (response.status_code, response.url) == (302, f"{LIST}issued/")
    cookie = response.cookies["tidemark_issued"]
    assert (cookie["httponly"], cookie["path"]) == (True, f"{LIST}issued/")

    page = admin_client.get(response.url)
    (secret,) = set(SECRET.findall(page.content))
    assert page.content.count(secret) == 4  # by itself, and in three first calls
    assert "no-store" in page.headers["Cache-Control"]
    key = ApiKey.objects.get()
    assert identify(secret.decode(), now=timezone.now()).key_id == key.pk
    assert key.scopes == ["historical", "rewind"]
    assert key.networks == ["203.0.113.7/32", "2001:db8::/32"]

    admin_client.cookies["tidemark_issued"] = cookie.value  # a browser that kept the cookie
    again = admin_client.get(response.url)
    assert again.status_code == 200
    assert not SECRET.search(again.content)
    assert b"shown once" in again.content


def test_a_secret_is_nowhere_in_the_tables_after_it_was_issued(
    admin_client: Any, tier: Any
) -> None:
    from django.contrib.admin.models import LogEntry
    from django.contrib.sessions.models import Session

    from shared_state.redis_client import client

    tier()
    response = admin_client.post(f"{LIST}add/", issue_form())
    parked = [client().get(name) for name in client().keys("tidemark:parked:*")]
    secret = SECRET.search(admin_client.get(response.url).content)
    assert secret is not None
    assert len(parked) == 1
    assert secret[0] not in parked[0]
    assert not client().keys("tidemark:parked:*")
    for entry in LogEntry.objects.all():
        assert secret[0].decode() not in entry.object_repr + entry.change_message
    for session in Session.objects.all():
        assert secret[0].decode() not in str(session.get_decoded())
    key_page = admin_client.get(f"{LIST}{LogEntry.objects.get().object_id}/change/")
    assert not SECRET.search(key_page.content)


def test_someone_else_cannot_see_a_new_secret_with_the_cookie(
    admin_client: Any, client: Any, django_user_model: Any, tier: Any
) -> None:
    tier()
    token = admin_client.post(f"{LIST}add/", issue_form()).cookies["tidemark_issued"].value
    client.force_login(django_user_model.objects.create_superuser("other", password="x"))
    client.cookies["tidemark_issued"] = token
    assert not SECRET.search(client.get(f"{LIST}issued/").content)


def test_no_key_is_issued_while_redis_is_away(
    admin_client: Any, tier: Any, settings: Any, monkeypatch: Any
) -> None:
    from access.models import ApiKey

    tier()
    form = issue_form()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    response = admin_client.post(f"{LIST}add/", form)
    assert response.status_code == 200
    assert b"nothing was issued" in response.content
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"networks": "10.0.0/8"}, "Neither a network nor an address: 10.0.0/8"),
        ({"scopes": []}, "Choose at least one"),
        ({"scopes": ["everything"]}, "everything is not one of the available choices"),
        ({"expires_at_0": "2020-01-01", "expires_at_1": "00:00"}, "The expiry is past"),
        ({"name": ""}, "This field is required"),
        ({"customer": "0"}, "not one of the available choices"),
    ],
)
def test_a_form_that_makes_no_sense_issues_nothing_and_says_why(
    admin_client: Any, tier: Any, changes: dict[str, Any], said: str
) -> None:
    from access.models import ApiKey

    tier()
    response = admin_client.post(f"{LIST}add/", issue_form(**changes))
    assert response.status_code == 200
    assert said in response.content.decode()
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("order", "before", "after"),
    [
        ("suspend", "active", "suspended"),
        ("resume", "suspended", "active"),
        ("revoke", "active", "revoked"),
    ],
)
def test_an_order_asks_and_then_changes_the_key_and_is_logged(
    admin_client: Any, key: Any, order: str, before: str, after: str
) -> None:
    from django.utils import timezone

    from access.admin.key_actions import ACTIONS
    from access.key_states import state_of
    from access.services import keys
    from staff.models import AuditEntry

    now = timezone.now()
    if before == "suspended":
        keys.suspend_key(key.key.pk, now=now)
    link = admin_client.get(f"{LIST}{key.key.pk}/{order}/").url
    asked = admin_client.get(link)
    assert asked.status_code == 200
    key.key.refresh_from_db()
    assert state_of(key.key, now=now) == before

    admin_client.post(link, {"ids": key.key.pk})
    key.key.refresh_from_db()
    assert state_of(key.key, now=timezone.now()) == after
    entry = AuditEntry.objects.get(subject_type="access.apikey", subject_id=str(key.key.pk))
    assert (entry.who, entry.verb) == ("admin", ACTIONS[order].verb)
    page = admin_client.get(f"{LIST}{key.key.pk}/change/")
    assert [(each.who, each.verb) for each in page.context["entries"]] == [("admin", entry.verb)]


def test_orders_of_the_admin_reach_the_public_door(
    admin_client: Any, client: Any, django_capture_on_commit_callbacks: Any
) -> None:
    from access import store
    from access.services import keys

    new = keys.issue_key(store.customer_by_name("Bo"), tier=store.tiers().last(), name="t")

    def status() -> int:
        body = b'{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
        headers = {"Authorization": new.secret}
        answer = client.post("/historical", body, content_type="application/json", headers=headers)
        return int(answer.status_code)

    def order(name: str) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            admin_client.post(f"{LIST}orders/{name}/", {"ids": new.key.pk})

    assert status() == 200
    for name, expected in (("suspend", 403), ("resume", 200), ("revoke", 401)):
        order(name)
        assert status() == expected


def test_rotation_shows_the_new_secret_once_and_lets_the_old_one_go_on(
    admin_client: Any, key: Any
) -> None:
    from django.utils import timezone

    from access.models import ApiKey
    from access.services.keys import identify

    link = f"{LIST}orders/rotate/"
    response = admin_client.post(link, {"ids": key.key.pk, "overlap_hours": 2})
    page = admin_client.get(response.url)
    (secret,) = set(SECRET.findall(page.content))
    now = timezone.now()
    assert identify(secret.decode(), now=now).key_id != key.key.pk
    assert identify(key.secret, now=now).key_id == key.key.pk
    left = ApiKey.objects.get(pk=key.key.pk).expires_at - now
    assert timedelta(minutes=119) < left <= timedelta(hours=2)
    assert not SECRET.search(admin_client.get(response.url).content)

    again = admin_client.get(f"{link}?ids={key.key.pk}")
    assert b"rotate its successor" in again.content


@pytest.mark.parametrize("hours", ["", "-1", "a day", "99999999999999999999"])
def test_a_rotation_without_a_sensible_overlap_changes_nothing(
    admin_client: Any, key: Any, hours: str
) -> None:
    from access.models import ApiKey

    response = admin_client.post(
        f"{LIST}orders/rotate/", {"ids": key.key.pk, "overlap_hours": hours}
    )
    assert response.status_code == 200
    assert ApiKey.objects.count() == 1


def test_bulk_actions_suspend_resume_revoke_and_rotate(admin_client: Any, issue: Any) -> None:
    from access.models import ApiKey

    ids = [issue().key.pk for _ in range(3)]

    def choose(action: str) -> Any:
        chosen = {"action": action, "_selected_action": ids}
        return admin_client.post(LIST, chosen)

    choose("suspend_keys")
    assert ApiKey.objects.filter(suspended_at__isnull=False).count() == 3
    choose("resume_keys")
    assert ApiKey.objects.filter(suspended_at__isnull=True).count() == 3
    asked = choose("rotate_keys")
    response = admin_client.post(asked.url, {"ids": ",".join(map(str, ids)), "overlap_hours": "1"})
    assert len(set(SECRET.findall(admin_client.get(response.url).content))) == 3
    asked = choose("revoke_keys")
    assert ApiKey.objects.filter(revoked_at__isnull=False).count() == 0  # it asks first
    admin_client.post(asked.url, {"ids": ",".join(map(str, ids))})
    assert set(ApiKey.objects.filter(revoked_at__isnull=False).values_list("pk", flat=True)) == set(
        ids
    )


def test_an_order_skips_keys_that_cannot_take_it_and_says_why(
    admin_client: Any, issue: Any
) -> None:
    from django.utils import timezone

    from access.models import ApiKey
    from access.services import keys

    good, gone = issue().key.pk, issue().key.pk
    keys.revoke_key(gone, now=timezone.now())
    page = admin_client.get(f"{LIST}orders/suspend/?ids={good},{gone}")
    assert b"revoked for good" in page.content
    admin_client.post(f"{LIST}orders/suspend/", {"ids": f"{good},{gone}"})
    suspended = ApiKey.objects.filter(suspended_at__isnull=False)
    assert [key.pk for key in suspended] == [good]


@pytest.mark.parametrize("ids", ["", "x", "1;2", "99999999", "9" * 30, ",".join(["1"] * 201)])
def test_an_order_to_no_known_key_is_not_found(admin_client: Any, key: Any, ids: str) -> None:
    assert admin_client.get(f"{LIST}orders/revoke/", {"ids": ids}).status_code == 404
    assert admin_client.post(f"{LIST}orders/revoke/", {"ids": ids}).status_code == 404


def test_a_get_changes_nothing(admin_client: Any, key: Any) -> None:
    for order in ("suspend", "resume", "revoke", "rotate"):
        admin_client.get(f"{LIST}{key.key.pk}/{order}/", follow=True)
        admin_client.get(f"{LIST}orders/{order}/?ids={key.key.pk}&overlap_hours=0")
    before = (key.key.suspended_at, key.key.revoked_at, key.key.expires_at)
    key.key.refresh_from_db()
    assert (key.key.suspended_at, key.key.revoked_at, key.key.expires_at) == before


def test_orders_and_finding_ask_for_the_csrf_token(key: Any, admin_user: Any) -> None:
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin_user)
    for path, sent in (
        (f"{LIST}orders/revoke/", {"ids": key.key.pk}),
        (f"{LIST}find/", {"secret": key.secret}),
        (f"{LIST}add/", issue_form()),
        (LIST, {"action": "suspend_keys", "_selected_action": [key.key.pk]}),
        (f"{LIST}{key.key.pk}/change/", {"name": "stolen"}),
    ):
        assert browser.post(path, sent).status_code == 403, path


def test_who_may_only_look_can_do_nothing(client: Any, key: Any, django_user_model: Any) -> None:
    from django.contrib.auth.models import Permission

    from access.models import ApiKey

    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    client.force_login(viewer)
    assert client.get(LIST).status_code == 200
    page = client.get(f"{LIST}{key.key.pk}/change/")
    assert page.status_code == 200
    for word in (b"orders/", b"/revoke/", b"/rotate/", b'name="_save"'):
        assert word not in page.content
    for order in ("suspend", "resume", "revoke", "rotate"):
        assert client.get(f"{LIST}{key.key.pk}/{order}/").status_code == 403
        sent = {"ids": key.key.pk, "overlap_hours": 0}
        assert client.post(f"{LIST}orders/{order}/", sent).status_code == 403
        client.post(LIST, {"action": f"{order}_keys", "_selected_action": [key.key.pk]})
    assert client.post(f"{LIST}add/", issue_form()).status_code == 403
    assert client.post(f"{LIST}{key.key.pk}/change/", {"name": "x"}).status_code == 403
    (unchanged,) = ApiKey.objects.all()
    assert (unchanged.name, unchanged.suspended_at, unchanged.revoked_at) == ("test", None, None)


def test_who_may_change_keys_but_not_issue_them_cannot_rotate(
    client: Any, key: Any, django_user_model: Any
) -> None:
    from django.contrib.auth.models import Permission

    from access.models import ApiKey

    user = django_user_model.objects.create_user("half", password="x", is_staff=True)
    user.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_apikey", "change_apikey"])
    )
    client.force_login(user)
    sent = {"ids": key.key.pk, "overlap_hours": 0}
    assert client.post(f"{LIST}orders/rotate/", sent).status_code == 403
    assert client.post(f"{LIST}orders/suspend/", sent).status_code == 302
    assert ApiKey.objects.get().suspended_at is not None


def test_visitors_are_sent_to_sign_in(client: Any, key: Any) -> None:
    paths = (LIST, f"{LIST}issued/", f"{LIST}find/", f"{LIST}orders/revoke/?ids={key.key.pk}")
    for path in paths:
        assert client.get(path).url.startswith("/admin/login/")


def test_keys_cannot_be_deleted(admin_client: Any, key: Any) -> None:
    from access.models import ApiKey

    path = f"{LIST}{key.key.pk}/delete/"
    assert admin_client.post(path, {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [key.key.pk], "post": "yes"}
    admin_client.post(LIST, chosen)
    assert ApiKey.objects.count() == 1


def test_a_keys_rights_can_be_changed(admin_client: Any, key: Any, tier: Any) -> None:
    elite = tier("elite", 30)
    form = edit_form(
        admin_client,
        key.key.pk,
        name="renamed",
        tier=elite.pk,
        scopes=["bundle"],
        networks="10.1.2.3/8",
        methods="getSlot, getBlock getSlot",
        calls_per_month="5000",
        expires_at_0="2999-01-01",
        expires_at_1="00:00",
    )
    response = admin_client.post(f"{LIST}{key.key.pk}/change/", form)
    assert response.status_code == 302, response.context["errors"]
    key.key.refresh_from_db()
    changed = key.key
    assert (changed.name, changed.tier, changed.scopes) == ("renamed", elite, ["bundle"])
    assert (changed.networks, changed.expires_at.year) == (["10.0.0.0/8"], 2999)
    assert (changed.methods, changed.calls_per_month) == (["getBlock", "getSlot"], 5_000)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("methods", "getSlot\nget slot!", "&#x27;get&#x27; is not a method of this service"),
        ("methods", "getSlto", "not a method of this service: did you mean getSlot"),
        ("methods", "tipinfos", "not a method of this service: did you mean tipinfo"),
        ("methods", "\n".join(f"m{number}" for number in range(201)), "above the maximum of 200"),
        ("calls_per_month", "0", "greater than or equal to 1"),
        ("calls_per_month", "-3", "greater than or equal to"),
        ("calls_per_month", "9" * 30, "less than or equal to"),
    ],
)
def test_what_makes_no_sense_is_said_and_changes_nothing(
    admin_client: Any, key: Any, field: str, value: str, words: str
) -> None:
    form = edit_form(admin_client, key.key.pk, **{field: value})
    response = admin_client.post(f"{LIST}{key.key.pk}/change/", form)
    assert response.status_code == 200
    assert words in response.content.decode()
    key.key.refresh_from_db()
    assert (key.key.methods, key.key.calls_per_month) == ([], None)


def test_a_page_opened_before_a_rotation_does_not_lengthen_the_old_keys_life(
    admin_client: Any, key: Any
) -> None:
    form = edit_form(admin_client, key.key.pk, name="renamed")
    admin_client.post(f"{LIST}orders/rotate/", {"ids": key.key.pk, "overlap_hours": 1})
    admin_client.post(f"{LIST}{key.key.pk}/change/", form)
    key.key.refresh_from_db()
    assert key.key.name == "renamed"
    assert key.key.expires_at is not None


def test_a_revoked_key_cannot_be_changed(admin_client: Any, key: Any) -> None:
    form = edit_form(admin_client, key.key.pk, name="renamed")
    admin_client.post(f"{LIST}orders/revoke/", {"ids": key.key.pk})
    admin_client.post(f"{LIST}{key.key.pk}/change/", form)
    page = admin_client.get(f"{LIST}{key.key.pk}/change/")
    assert b'name="name"' not in page.content
    key.key.refresh_from_db()
    assert key.key.name == "test"


@pytest.mark.parametrize("cut", [slice(0, 8), slice(0, 12), slice(0, 43)])
def test_a_key_is_found_by_its_prefix(admin_client: Any, key: Any, issue: Any, cut: slice) -> None:
    other = issue()
    text = key.secret[cut]
    page = admin_client.get(LIST, {"q": text}, follow=True).content.decode()
    assert key.key.last_four in page
    assert f"{other.key.shown_prefix}…{other.key.last_four}" not in page


def test_a_key_is_found_by_its_whole_secret_without_an_address_that_tells_it(
    admin_client: Any, key: Any
) -> None:
    found = admin_client.post(f"{LIST}find/", {"secret": f" {key.secret} "})
    assert found.url == f"{LIST}{key.key.pk}/change/"
    typo = admin_client.post(f"{LIST}find/", {"secret": key.secret[:-1] + "?"}, follow=True)
    assert b"checksum is wrong" in typo.content
    from access import key_text

    never = admin_client.post(f"{LIST}find/", {"secret": key_text.new_key().secret}, follow=True)
    assert b"no key with this secret" in never.content


def test_the_states_filter_and_the_states_word_agree(admin_client: Any, issue: Any) -> None:
    from django.utils import timezone

    from access.key_states import KeyState, state_of
    from access.models import ApiKey
    from access.services import keys

    now = timezone.now()
    for days in (None, -1, 1, 6.9, 8):
        expiry = None if days is None else now + timedelta(days=days)
        for orders in ((), ("suspend",), ("revoke",), ("suspend", "revoke")):
            new = issue(expires_at=expiry)
            if "suspend" in orders:
                keys.suspend_key(new.key.pk, now=now)
            if "revoke" in orders:
                keys.revoke_key(new.key.pk, now=now)
    every = list(ApiKey.objects.all())
    seen = set()
    for state in KeyState:
        page = admin_client.get(LIST, {"state": str(state)})
        listed = {key.pk for key in page.context["cl"].result_list}
        assert listed == {key.pk for key in every if state_of(key, now=now) is state}
        assert listed
        seen |= listed
    assert len(seen) == len(every)


def test_the_list_asks_the_database_as_often_for_many_keys_as_for_few(
    admin_client: Any, issue: Any, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        issue()
    with django_assert_max_num_queries(12) as few:
        admin_client.get(LIST)
    assert not any("digest" in query["sql"] for query in few.captured_queries)


def test_a_keys_page_shows_its_usage_in_few_queries(
    admin_client: Any, key: Any, django_assert_max_num_queries: Any
) -> None:
    from django.utils import timezone

    from access.usage_sums import add_usage

    now = timezone.now().replace(second=0, microsecond=0)
    add_usage(
        [
            (key.key.pk, "getBlock", status, now - timedelta(minutes=minute), 1000, 2_000_000)
            for minute in range(90)
            for status in ("ok", "rate_limited")
        ]
    )
    with django_assert_max_num_queries(21):
        page = admin_client.get(f"{LIST}{key.key.pk}/change/")
    text = page.content.decode()
    assert "90,000" in text
    assert "rate_limited" in text
    assert page.context["usage"]["report"].counts[:2] == (90_000, 90_000)
    assert '<td class="tm-number">2.00</td>' in text


def test_a_keys_history_tells_each_moment_in_utc_and_its_headings_once(
    admin_client: Any, key: Any
) -> None:
    admin_client.post(f"{LIST}orders/suspend/", {"ids": key.key.pk})
    text = admin_client.get(f"{LIST}{key.key.pk}/history/").content.decode()
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC", text)
    assert "suspended" in text
    assert "a.m." not in text
    assert "data-label" not in text


def test_a_rotation_stands_in_the_audit_log_of_both_keys(admin_client: Any, key: Any) -> None:
    from staff.models import AuditEntry

    admin_client.post(f"{LIST}orders/rotate/", {"ids": key.key.pk, "overlap_hours": 1})
    new = key.key.rotated_to
    # A user may have the number of a key.
    entries = AuditEntry.objects.exclude(verb="signed in")
    told = {entry.subject_id: (entry.verb, entry.text) for entry in entries}
    verb, text = told[str(key.key.pk)]
    assert (verb, str(new) in text) == ("rotated", True)
    verb, text = told[str(new.pk)]
    assert (verb, str(key.key) in text) == ("added", True)
    secret = SECRET.search(admin_client.get(f"{LIST}issued/").content)
    assert secret is not None
    assert secret[0].decode() not in str(told)


def test_a_name_stands_in_the_title_as_it_was_written(admin_client: Any, key: Any) -> None:
    key.key.name = "k1"
    key.key.save()
    key.key.customer.name = "ada"
    key.key.customer.save()
    for path in (f"{LIST}{key.key.pk}/change/", f"{LIST}{key.key.pk}/history/"):
        crumbs = re.findall(
            r'class="tm-crumb"[^>]*>([^<]*)<', admin_client.get(path).content.decode()
        )
        assert crumbs[crumbs.index("API keys") + 1] == str(key.key)
    page = admin_client.get(f"/admin/access/customer/{key.key.customer_id}/change/")
    assert '<span class="tm-crumb">ada</span>' in page.content.decode()
