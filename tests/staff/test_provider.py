"""Signing in to the admin by OpenID Connect: who becomes staff, and with which role."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from staff.models import AuditEntry, ProviderAccount
from staff.roles import Role, role_of
from tests.forged_provider import CLIENT, ForgedProvider, forged_provider, turn_on

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
BEGIN, CALLBACK = f"{LOGIN}provider/", f"{LOGIN}provider/callback/"
EMAIL = "grace@tidemark.example"
GROUPS = {"ops": "operator", "root": "administrator"}


@pytest.fixture(autouse=True)
def _nothing_remembered(nothing_remembered: None) -> None:
    """Limits of other tests do not count here."""


@pytest.fixture
def provider(settings: Any) -> Iterator[ForgedProvider]:
    with forged_provider() as provider:
        turn_on(settings, provider.issuer)
        provider.claims = {"email": EMAIL}
        yield provider


@pytest.fixture
def grouped(provider: ForgedProvider, settings: Any) -> ForgedProvider:
    """Groups decide who is staff."""
    settings.OIDC_STAFF_GROUPS = GROUPS
    return provider


def is_in(browser: Client) -> bool:
    return bool(browser.get("/admin/").status_code == 200)


def why(browser: Client) -> str:
    return str(browser.get(LOGIN).content.decode())


def test_it_is_off_without_its_settings(client: Client) -> None:
    for path in (BEGIN, CALLBACK, f"{BEGIN}sign-out/"):
        assert client.get(path).status_code == 404
    assert BEGIN not in client.get(LOGIN).content.decode()


def test_staff_with_the_verified_address_signs_in(
    provider: ForgedProvider, person: Callable[..., Any], client: Client
) -> None:
    user = person("viewer", name="grace", email="Grace@Tidemark.example")
    page = client.get("/admin/rewind/gap/", follow=True).content.decode()
    assert f'href="{BEGIN}?next=%2Fadmin%2Frewind%2Fgap%2F"' in page and "Acme" in page
    answer = provider.sign_in(client, f"{BEGIN}?next=/admin/rewind/gap/")
    assert answer.headers["Location"] == "/admin/rewind/gap/" and is_in(client)
    assert ProviderAccount.objects.get().user == user
    assert role_of(User.objects.get(pk=user.pk)) is Role.VIEWER
    entry = AuditEntry.objects.filter(verb="signed in").latest("pk")
    assert entry.text == f"By the provider {provider.issuer}." and entry.user_id == user.pk


@pytest.mark.parametrize("asked", ["https://evil.example/", "//evil.example/", "/portal/"])
def test_it_leads_on_within_the_admin(
    provider: ForgedProvider, person: Callable[..., Any], client: Client, asked: str
) -> None:
    person("viewer", email=EMAIL)
    assert provider.sign_in(client, f"{BEGIN}?next={asked}").headers["Location"] == "/admin/"


def test_nobody_becomes_staff_without_a_group(
    provider: ForgedProvider, client: Client, settings: Any
) -> None:
    provider.sign_in(client, BEGIN, groups=["ops"])
    assert "No user of the admin has your e-mail address" in why(client)
    settings.OIDC_STAFF_GROUPS = GROUPS
    for number, groups in enumerate(([], ["others"], None, "opsroot", [{"ops": 1}], 7)):
        client = Client(REMOTE_ADDR=f"198.51.100.{number}")
        provider.sign_in(client, BEGIN, groups=groups)
        assert not is_in(client)
    assert not User.objects.exists() and not ProviderAccount.objects.exists()


@pytest.mark.parametrize(
    ("groups", "role"), [(["others", "ops"], "operator"), ("root", "administrator")]
)
def test_a_group_makes_staff_with_its_role_and_never_a_superuser(
    grouped: ForgedProvider, client: Client, groups: Any, role: str
) -> None:
    grouped.sign_in(client, BEGIN, groups=groups)
    assert is_in(client)
    user = User.objects.get()
    assert (user.username, user.email) == (EMAIL, EMAIL)
    assert user.is_staff and not user.is_superuser and not user.has_usable_password()
    assert role_of(user) is Role(role)
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", "text")
    assert verbs[0] == ("added", f"by the provider, as {role}")


def test_the_role_follows_the_group_at_each_sign_in(
    grouped: ForgedProvider, person: Callable[..., Any], client: Client
) -> None:
    person("administrator", name="root")
    grouped.sign_in(client, BEGIN, groups=["root"])
    grouped.sign_in(client, BEGIN, groups=["ops"])
    assert role_of(User.objects.get(username=EMAIL)) is Role.OPERATOR
    changed = AuditEntry.objects.get(verb="changed")
    assert changed.changes == {"role": ["administrator", "operator"]}
    grouped.sign_in(Client(), BEGIN, groups=["others"])
    assert role_of(User.objects.get(username=EMAIL)) is Role.OPERATOR


def test_the_last_administrator_stays_one(
    grouped: ForgedProvider, person: Callable[..., Any], client: Client
) -> None:
    user = person("administrator", name="grace", email=EMAIL)
    grouped.sign_in(client, BEGIN, groups=["ops"])
    assert not is_in(client) and "is the last administrator" in why(client)
    assert role_of(User.objects.get(pk=user.pk)) is Role.ADMINISTRATOR
    assert not ProviderAccount.objects.exists()


def test_an_unverified_or_ambiguous_address_takes_no_account_over(
    grouped: ForgedProvider, person: Callable[..., Any], client: Client
) -> None:
    person("administrator", name="grace", email=EMAIL)
    grouped.sign_in(client, BEGIN, groups=["root"], email_verified=False)
    assert not is_in(client) and "has not verified" in why(client)
    person("viewer", name="double", email=EMAIL.upper())
    grouped.sign_in(client, BEGIN, email_verified=True)
    assert not is_in(client) and "Another account has this e-mail address" in why(client)
    User.objects.all().delete()
    User.objects.create_user(EMAIL, email=EMAIL)  # a customer's portal user
    grouped.sign_in(client, BEGIN)
    assert not is_in(client) and not User.objects.get().is_staff
    User.objects.all().delete()
    person("viewer", name=EMAIL, email="another@tidemark.example")
    grouped.sign_in(client, BEGIN)
    assert not is_in(client) and not ProviderAccount.objects.exists()


def test_deactivated_staff_does_not_come_back_by_a_group(
    grouped: ForgedProvider, client: Client
) -> None:
    grouped.sign_in(client, BEGIN, groups=["ops"])
    User.objects.update(is_active=False)
    later = Client()
    grouped.sign_in(later, BEGIN)
    assert not is_in(client) and not is_in(later) and User.objects.count() == 1


def test_the_second_factor_comes_after_the_provider(
    provider: ForgedProvider,
    person: Callable[..., Any],
    client: Client,
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
) -> None:
    user = person("viewer", email=EMAIL)
    with_device(user)
    assert provider.sign_in(client, BEGIN).headers["Location"] == f"{LOGIN}code/"
    assert not is_in(client)
    client.post(f"{LOGIN}code/", {"code": code_of(user)})
    assert is_in(client)
    text = AuditEntry.objects.filter(verb="signed in").latest("pk").text
    assert text == f"By the provider {provider.issuer}. With a second factor: app."


def test_a_mandatory_second_factor_is_set_up_first_and_turned_off_with_a_code(
    grouped: ForgedProvider, client: Client, settings: Any, code_of: Callable[..., str]
) -> None:
    from staff import second_factor

    settings.STAFF_TWO_FACTOR = True
    grouped.sign_in(client, BEGIN, groups=["ops"])
    page = "/admin/two-factor/"
    assert client.get("/admin/").headers["Location"] == page
    client.get(page)
    user = User.objects.get()
    client.post(page, {"order": "confirm", "code": code_of(user)})
    assert is_in(client)
    settings.STAFF_TWO_FACTOR = False
    assert 'name="password"' not in client.get(page).content.decode()
    client.post(page, {"order": "turn_off", "code": "000000"})
    assert second_factor.has_device(user)
    client.post(page, {"order": "turn_off", "code": code_of(user)})
    assert not second_factor.has_device(user)


def test_sign_out_offers_to_sign_out_at_the_provider(
    grouped: ForgedProvider, client: Client, signed_in: Callable[..., Any]
) -> None:
    assert signed_in("viewer").post("/admin/logout/").status_code == 200
    grouped.sign_in(client, BEGIN, groups=["ops"])
    assert client.get("/admin/logout/").status_code == 405 and is_in(client)
    answer = client.post("/admin/logout/", follow=True)
    assert not is_in(client) and f'href="{BEGIN}sign-out/"' in answer.content.decode()
    leads = client.get(f"{BEGIN}sign-out/").headers["Location"]
    assert leads.startswith(f"{grouped.issuer}/end?client_id={CLIENT}&")


def test_the_roles_of_the_setting_are_those_of_staff() -> None:
    from config.environment.oidc import ROLES

    assert list(ROLES) == [role.value for role in Role]
