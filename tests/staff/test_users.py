"""The page of the people who work here."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.staff.conftest import PASSWORD

LIST = "/admin/auth/user/"


def form_of(user: Any, **changes: Any) -> dict[str, Any]:
    from staff.roles import role_of

    sent = {
        "username": user.username,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "role": role_of(user) or "",
        **({"is_active": "on"} if user.is_active else {}),
        **changes,
    }
    return {name: value for name, value in sent.items() if value is not None}


def test_a_role_is_one_choice_and_takes_every_other_right_away(
    signed_in: Callable[..., Any], person: Callable[..., Any]
) -> None:
    from django.contrib.auth.models import Permission, User

    browser, user = signed_in("administrator"), person("viewer")
    user.user_permissions.set(Permission.objects.filter(codename="add_apikey"))
    page = browser.get(f"{LIST}{user.pk}/change/").content.decode()
    assert "runs the service" in page
    assert "user_permissions" not in page
    answer = browser.post(f"{LIST}{user.pk}/change/", form_of(user, role="operator"))
    assert answer.status_code == 302
    user = User.objects.get(pk=user.pk)
    assert [group.name for group in user.groups.all()] == ["operator"]
    assert user.has_perm("rewind.change_gap")
    assert not user.has_perm("access.add_apikey")
    assert browser.get("/admin/auth/group/").status_code == 404


def test_nobody_changes_their_own_role_or_lets_themselves_out(
    signed_in: Callable[..., Any],
) -> None:
    from django.contrib.auth.models import User

    from staff.roles import Role, role_of

    browser = signed_in("administrator")
    own = browser.user
    browser.post(f"{LIST}{own.pk}/change/", form_of(own, role="viewer", is_active=None))
    again = User.objects.get(pk=own.pk)
    assert (role_of(again), again.is_active) == (Role.ADMINISTRATOR, True)
    assert browser.post(f"{LIST}{own.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("how", ["role", "deactivate", "delete"])
def test_the_last_administrator_stays(person: Callable[..., Any], how: str) -> None:
    # Who may change people without being an administrator: no role of ours, but a right by hand.
    from django.contrib.auth.models import Permission, User
    from django.test import Client

    from staff.roles import administrators

    last, clerk = person("administrator", "last"), person("viewer", "clerk")
    clerk.user_permissions.set(
        Permission.objects.filter(codename__in=("change_user", "delete_user"))
    )
    browser = Client()
    browser.force_login(clerk)
    if how == "delete":
        answer = browser.post(f"{LIST}{last.pk}/delete/", {"post": "yes"}, follow=True)
    else:
        changes = {"role": "viewer"} if how == "role" else {"is_active": None}
        answer = browser.post(f"{LIST}{last.pk}/change/", form_of(last, **changes), follow=True)
    assert "last administrator" in answer.content.decode()
    assert list(administrators()) == [User.objects.get(username="last")]


def test_deactivating_signs_out_everywhere_and_for_good(
    signed_in: Callable[..., Any], person: Callable[..., Any]
) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    admin, user = signed_in("administrator"), person("viewer")
    browser = Client()
    browser.force_login(user)
    assert browser.get("/admin/").status_code == 200
    admin.post(f"{LIST}{user.pk}/change/", form_of(user, is_active=None))
    assert browser.get("/admin/").status_code == 302
    user = User.objects.get(pk=user.pk)
    admin.post(f"{LIST}{user.pk}/change/", form_of(user, is_active="on"))
    assert browser.get("/admin/").status_code == 302  # the old session does not come back
    browser.force_login(user)
    assert browser.get("/admin/").status_code == 200


def test_an_invitation_sets_a_password_once(
    signed_in: Callable[..., Any], mailoutbox: list[Any]
) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    admin = signed_in("administrator")
    answer = admin.post(
        f"{LIST}add/",
        {"username": "grace", "first_name": "Grace", "email": "g@example.org", "role": "operator"},
    )
    found = re.search(r"http://[^/]+(/admin/password/[^<]+)<", answer.content.decode())
    assert found, answer.content.decode()
    path = found[1]
    assert "no-store" in answer["Cache-Control"]
    assert path in mailoutbox[0].body
    assert mailoutbox[0].to == ["g@example.org"]
    user = User.objects.get(username="grace")
    assert not user.has_usable_password()

    guest = Client()
    page = guest.get(path, follow=True)
    choose = page.request["PATH_INFO"]
    assert path not in choose  # the token does not stay in the address
    weak = guest.post(choose, {"new_password1": "grace", "new_password2": "grace"})
    assert weak.status_code == 200
    chosen = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert guest.post(choose, chosen)["Location"] == "/admin/login/"
    assert "_auth_user_id" not in guest.session  # it signs nobody in
    assert User.objects.get(username="grace").check_password(PASSWORD)
    again = Client().get(path, follow=True)
    assert "This link is invalid" in again.content.decode()


def test_a_new_invitation_voids_the_one_before(signed_in: Callable[..., Any]) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    admin = signed_in("administrator")
    link = re.compile(r"http://[^/]+(/admin/password/[^<]+)<")
    first = admin.post(f"{LIST}add/", {"username": "grace", "role": "viewer"}).content.decode()
    user = User.objects.get(username="grace")
    second = admin.post(f"{LIST}{user.pk}/order/new_link/").content.decode()
    old, new = (link.search(page) for page in (first, second))
    assert old and new
    assert "This link is invalid" in Client().get(old[1], follow=True).content.decode()
    assert "You will sign in as" in Client().get(new[1], follow=True).content.decode()
    user.is_active = False
    user.save()
    assert "This link is invalid" in Client().get(new[1], follow=True).content.decode()


def test_orders_to_somebodys_way_in(
    signed_in: Callable[..., Any], person: Callable[..., Any], with_device: Callable[..., Any]
) -> None:
    from django.test import Client

    from staff import second_factor
    from staff.models import AuditEntry

    admin, user = signed_in("administrator"), person("viewer")
    browser = Client()
    browser.force_login(user)
    path = f"{LIST}{user.pk}/order/"
    assert "No second factor" in admin.get(f"{path}reset_second_factor/").content.decode()
    with_device(user)
    assert admin.post(f"{path}reset_second_factor/").status_code == 302
    assert not second_factor.has_device(user)
    assert browser.get("/admin/").status_code == 302, "every session ends"
    browser.force_login(user)
    assert browser.get("/admin/").status_code == 200
    assert admin.post(f"{path}sign_out/").status_code == 302
    assert browser.get("/admin/").status_code == 302
    verbs = AuditEntry.objects.exclude(verb="signed in").values_list("verb", flat=True)
    assert list(verbs[:2]) == ["signed out everywhere", "reset the second factor"]
    own = f"{LIST}{admin.user.pk}/order/reset_second_factor/"
    with_device(admin.user)
    admin.force_login(admin.user)
    assert admin.post(own).status_code == 302  # to the code
    assert second_factor.has_device(admin.user)
    operator = signed_in("operator")
    assert operator.post(f"{path}sign_out/").status_code == 403
    assert operator.get(f"{LIST}{user.pk}/change/").status_code == 200


def test_customers_people_are_no_staff(signed_in: Callable[..., Any]) -> None:
    from django.contrib.auth.models import User

    from access.models import Customer
    from portal.models import Member

    admin = signed_in("administrator")
    user = User.objects.create_user("ada@example.org", password=PASSWORD)
    Member.objects.create(user=user, customer=Customer.objects.create(name="Ada's"), role="owner")
    assert "ada@example.org" not in admin.get(LIST).content.decode()
    shown = admin.get(LIST, {"whose": "customers"}).content.decode()
    assert "ada@example.org" in shown
    assert "administrator" not in re.findall(r"field-username.*?</th>", shown, re.S)
    page = admin.get(f"{LIST}{user.pk}/change/").content.decode()
    assert "Ada&#x27;s" in page
    sent = {"username": user.username, "role": "administrator", "is_active": "on"}
    assert admin.post(f"{LIST}{user.pk}/change/", sent).status_code == 403
    assert admin.post(f"{LIST}{user.pk}/order/new_link/").status_code == 404
    assert not User.objects.get(pk=user.pk).is_staff


def test_somebody_without_a_role_is_told_so(signed_in: Callable[..., Any]) -> None:
    browser = signed_in(None)
    for path in ("/admin/", "/admin/access/apikey/"):
        answer = browser.get(path)
        assert answer.status_code == 403
        assert "have no role yet" in answer.content.decode()
    assert browser.get("/admin/password_change/").status_code == 200


def test_the_list_takes_as_many_queries_for_fifty_as_for_two(
    signed_in: Callable[..., Any], django_assert_max_num_queries: Any
) -> None:
    from django.contrib.auth.models import Group, User

    admin = signed_in("administrator")
    people = User.objects.bulk_create(User(username=f"p{i}", is_staff=True) for i in range(60))
    viewers = Group.objects.get(name="viewer")
    for user in people:
        user.groups.add(viewers)
    with django_assert_max_num_queries(14):
        assert admin.get(LIST).status_code == 200


def test_a_hash_of_a_password_is_not_looked_for(signed_in: Callable[..., Any]) -> None:
    viewer = signed_in("viewer")
    answer = viewer.get(LIST, {"password__startswith": "md5"})
    assert answer.status_code in (302, 400)
    assert "md5" not in answer.content.decode()


def test_the_server_lets_somebody_in_who_has_no_way_left(
    person: Callable[..., Any], with_device: Callable[..., Any]
) -> None:
    import io

    from django.contrib.auth.models import User
    from django.core.management import CommandError, call_command
    from django.test import Client

    from staff import second_factor
    from staff.models import AuditEntry
    from staff.roles import Role, role_of

    user = person("administrator")
    with_device(user)
    browser = Client()
    browser.force_login(user)
    out = io.StringIO()
    call_command("recover_staff_access", user.username, reset_second_factor=True, stdout=out)
    assert not second_factor.has_device(user)
    assert browser.get("/admin/").status_code == 302
    link = out.getvalue().splitlines()[-1].partition("//")[2].partition("/")[2]
    assert "You will sign in as" in browser.get(f"/{link}", follow=True).content.decode()
    assert AuditEntry.objects.filter(who="command line", subject_id=str(user.pk)).count() == 2
    with pytest.raises(CommandError, match="No user is called 'night'"):
        call_command("recover_staff_access", "night")
    call_command("recover_staff_access", "night", administrator=True, stdout=out)
    assert role_of(User.objects.get(username="night")) is Role.ADMINISTRATOR
    User.objects.create_user("ada@example.org")
    with pytest.raises(CommandError, match="portal user"):
        call_command("recover_staff_access", "ada@example.org", administrator=True)
    assert not User.objects.get(username="ada@example.org").is_staff


@pytest.mark.django_db(transaction=True)
def test_two_administrators_who_demote_each_other_at_once(person: Callable[..., Any]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    from staff.errors import ActionRefused
    from staff.roles import Role, administrators, give_role

    ada, grace = person("administrator", "ada"), person("administrator", "grace")

    def demote(pair: tuple[Any, Any]) -> bool:
        try:
            give_role(pair[0], Role.VIEWER, by=pair[1])
        except ActionRefused:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(demote, [(ada, grace), (grace, ada)]))
    assert sorted(done) == [False, True]
    assert administrators().count() == 1
