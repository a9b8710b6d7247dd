"""Every form and button of the portal, as everybody: which rows it changes, and whose."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from tests.forms import Form, forms_of
from tests.pages import portal_pages
from tests.portal.conftest import Browser, People
from tests.rows import Rows
from tests.staff.deeds import route_of

pytestmark = pytest.mark.django_db

# A new form or button belongs in one of these: what changes rows for owners alone, what changes
# rows for developers as well, what does so for each member, and what changes none.
OF_DEVELOPERS = {
    "keys/*/",
    "keys/*/revoke/",
    "keys/*/rotate/",
    "keys/*/suspend/",
    "keys/issue/",
}
OF_OWNERS = {
    "replays/*/delete/",
    "rules/*/",
    "rules/*/delete/",
    "rules/*/deliveries/*/",
    "rules/*/disable/",
    "rules/*/replay/",
    "rules/*/test/",
    "rules/add/",
    "team/",
    "team/*/remove/",
    "team/*/role/",
    "webhooks/*/",
    "webhooks/*/delete/",
    "webhooks/*/deliveries/*/",
    "webhooks/*/disable/",
    "webhooks/*/secret/",
    "webhooks/*/test/",
    "webhooks/add/",
    "webhooks/address/members/",
    "webhooks/mails/",
}
OF_MEMBERS = {"account/sign-out/"}
OF_NOTHING = {"account/", "account/second-step/", "password/", "sign-out/", "webhooks/address/"}
TYPED = {
    "mails": "on",
    "name": "another",
    "url": "https://example.com/hook",
    "email": "new@ada.example",
}


def forms_in(browser: Client, pages: list[str]) -> dict[str, tuple[Form, dict[str, Any]]]:
    """Each form by its route and button, with what is sent."""
    found = {}
    for page in pages:
        answer = browser.get(page)
        if answer.status_code != 200 or not answer["Content-Type"].startswith("text/html"):
            continue
        for form in forms_of(answer.content.decode(), page):
            for way in form.ways:
                name = " ".join([route_of(form.action), *(f"{k}={v}" for k, v in way if k)])
                data: dict[str, list[str]] = {}
                for field, value in (*form.fields, *way):
                    typed = TYPED.get(field, "")
                    data.setdefault(field, []).append(typed if field == "name" else value or typed)
                data.pop("csrfmiddlewaretoken", None)
                found.setdefault(name, (form, data))
    return found


def pages_of(rows: dict[str, Any]) -> list[str]:
    """The portal's pages on these rows."""
    ids = {
        "signature": rows["signature"],
        "bundle_id": rows["bundle_id"],
        "replay_pk": rows["replay"].pk,
    }
    found = [*portal_pages({**ids, "pk": rows["key"].pk}).values()]
    add = "/portal/rules/add/?trigger=submission"
    return [
        *found,
        add,
        f"/portal/rules/{rows['rule'].pk}/",
        f"/portal/webhooks/{rows['webhook'].pk}/",
    ]


def owned(customer: Any) -> list[Any]:
    """The rows of a customer."""
    from django.contrib.auth.models import User

    from access.models import ApiKey, Customer
    from alerts.models import Delivery, Rule, Webhook
    from portal.models import Member
    from rewind.replay.models import Replay

    return [
        [*Customer.objects.filter(pk=customer.pk).values()],
        [*ApiKey.objects.filter(customer=customer).order_by("pk").values()],
        [*Webhook.objects.filter(customer=customer).order_by("pk").values()],
        [*Rule.objects.filter(customer=customer).order_by("pk").values()],
        [*Delivery.objects.filter(webhook__customer=customer).order_by("pk").values()],
        [*Member.objects.filter(customer=customer).order_by("pk").values()],
        [
            *User.objects.filter(member__customer=customer)
            .order_by("pk")
            .values("pk", "is_active", "email")
        ],
        [*Replay.objects.filter(customer=customer).order_by("pk").values()],
    ]


@pytest.mark.soak
def test_each_form_changes_rows_for_whom_it_is(
    ada: Any,
    eve: Any,
    rows_of: Callable[..., Any],
    person: People,
    browser: Browser,
    owner: Any,
    developer: Any,
    reader: Any,
) -> None:
    from django.contrib.auth.models import User

    pages = pages_of(rows_of(ada))
    forms = forms_in(browser(owner), pages)
    for each in (developer, reader):
        forms_in(browser(each), pages)  # looking at the second step begins it
    root = User.objects.create_superuser("root", password="x")
    members = {"owner": owner, "developer": developer, "reader": reader}
    people = {**members, "a stranger": person(eve, "owner"), "staff": None}
    held, wrong = Rows(), []
    changing: dict[str, set[str]] = {who: set() for who in members}
    for name, (form, data) in forms.items():
        for who, member in {**people, "nobody": None}.items():
            before = transaction.savepoint()
            theirs = owned(ada)
            client = Client(raise_request_exception=False)
            if who != "nobody":  # anew each time: some forms sign out
                client.force_login(root if member is None else member.user)
            answer = client.post(form.action, data)
            changed, is_same = held.changed(), owned(ada) == theirs
            transaction.savepoint_rollback(before)
            if answer.status_code >= 500:
                wrong.append(f"{name} as {who}: {answer.status_code}")
            if who in changing:
                changing[who] |= {name} if changed else set()
            elif not is_same or (changed and who != "a stranger"):
                wrong.append(f"{name} as {who}: {answer.status_code}, {changed}")
    assert not wrong, "\n".join(wrong)
    assert changing["reader"] == OF_MEMBERS
    assert changing["developer"] == OF_MEMBERS | OF_DEVELOPERS
    assert changing["owner"] == OF_MEMBERS | OF_DEVELOPERS | OF_OWNERS
    assert forms.keys() == OF_MEMBERS | OF_DEVELOPERS | OF_OWNERS | OF_NOTHING


def test_no_id_of_another_customer_is_taken_in_a_form(
    ada: Any, eve: Any, rows_of: Callable[..., Any], person: People, browser: Browser
) -> None:
    adas, eves = rows_of(ada), rows_of(eve)
    client = browser(person(eve, "owner"))
    client.raise_request_exception = False
    ids = {str(eves[name].pk): str(adas[name].pk) for name in ("key", "webhook", "colleague")}
    ids |= {str(eves[name]): str(adas[name]) for name in ("signature", "bundle_id")}
    ids |= {str(eves["replay"].pk): str(adas["replay"].pk)}
    before, tried = owned(ada), 0
    for name, (form, data) in forms_in(client, pages_of(eves)).items():
        for field, values in data.items():
            if not any(value in ids for value in values):
                continue
            tried += 1
            point = transaction.savepoint()
            sent = {**data, field: [ids.get(value, value) for value in values]}
            answer = client.post(form.action, sent)
            same = owned(ada) == before
            transaction.savepoint_rollback(point)
            assert answer.status_code < 500 and same, f"{name}, {field}"
    assert tried
