"""Signing in to the portal by OpenID Connect: who gets in, and which lies do not."""

import time
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from portal.services import members
from staff.models import AuditEntry, ProviderAccount
from tests.forged_provider import CLIENT, ForgedProvider, forged_provider, turn_on
from tests.portal.conftest import PASSWORD, Browser
from tests.portal.test_sign_in import HOME, SIGN_IN, code_of, is_in, with_app

pytestmark = pytest.mark.django_db

BEGIN, CALLBACK = f"{SIGN_IN}provider/", f"{SIGN_IN}provider/callback/"


@pytest.fixture
def provider(settings: Any) -> Iterator[ForgedProvider]:
    with forged_provider() as provider:
        turn_on(settings, provider.issuer)
        yield provider


@pytest.fixture
def invited(ada: Any) -> Any:
    """One whom Ada's team invited, without a password."""
    return members.invite(ada, email="new@ada.example", role="developer")


def why(client: Client) -> str:
    """What the sign-in page says after a refusal."""
    page = client.get(SIGN_IN).content.decode()
    return unescape(
        page.partition('<p class="note error"')[2].partition(">")[2].partition("</p>")[0]
    )


def test_it_is_off_without_its_settings(client: Client) -> None:
    for path in (BEGIN, CALLBACK, f"{BEGIN}sign-out/"):
        assert client.get(path).status_code == 404
    assert BEGIN not in client.get(SIGN_IN).content.decode()


def test_who_was_invited_signs_in_without_a_password(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    assert f"{BEGIN}?next=" in client.get("/portal/keys/", follow=True).content.decode()
    asked = provider.begin(client, f"{BEGIN}?next=/portal/keys/")
    assert asked["redirect_uri"] == f"http://localhost:8000{CALLBACK}"
    assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
    assert asked["code_challenge_method"] == "S256" and asked["scope"] == "openid email"
    assert len(asked["state"]) >= 20 and len(asked["nonce"]) >= 20
    assert provider.come_back(client).headers["Location"] == "/portal/keys/"
    assert is_in(client) and not members.is_invited(type(invited.user).objects.get())
    account = ProviderAccount.objects.get()
    assert (account.user, account.subject, account.issuer) == (
        invited.user,
        "subject-1",
        provider.issuer,
    )
    entries = AuditEntry.objects.filter(who="new@ada.example").order_by("pk")
    assert [entry.verb for entry in entries] == ["bound to the provider", "signed in"]
    assert entries[1].text == f"By the provider {provider.issuer}."


def test_the_subject_signs_in_and_no_longer_the_address(
    provider: ForgedProvider, invited: Any, owner: Any, client: Client
) -> None:
    provider.sign_in(client, BEGIN)
    later = Client()
    provider.sign_in(later, BEGIN, email="married@ada.example")
    assert later.get(HOME).context["member"] == invited, "the same person with another address"
    heir = Client()
    provider.sign_in(heir, BEGIN, sub="subject-2", email="new@ada.example")
    assert not is_in(heir)
    assert "ask for yours to be unbound" in why(heir)
    # Nor does the subject get the account of the address that it has now.
    provider.sign_in(later := Client(), BEGIN, sub="subject-1", email=owner.user.username)
    assert later.get(HOME).context["member"] == invited


def test_a_member_with_a_password_is_matched_in_any_case(
    provider: ForgedProvider, owner: Any, client: Client
) -> None:
    provider.sign_in(client, BEGIN, email="OWNER@Ada.example")
    assert client.get(HOME).context["member"] == owner
    other = Client()
    other.post(SIGN_IN, {"email": owner.user.username, "password": PASSWORD})
    assert is_in(other), "the password still works"
    assert AuditEntry.objects.filter(verb="signed in").latest("pk").text == "By password."


def test_the_second_factor_comes_after_the_provider(
    provider: ForgedProvider, owner: Any, client: Client
) -> None:
    device = with_app(owner)
    answer = provider.sign_in(client, f"{BEGIN}?next=/portal/team/", email=owner.user.username)
    assert answer.headers["Location"] == "/portal/sign-in/code/" and not is_in(client)
    answer = client.post("/portal/sign-in/code/", {"code": code_of(device)})
    assert answer.headers["Location"] == "/portal/team/" and is_in(client)
    text = AuditEntry.objects.filter(verb="signed in").latest("pk").text
    assert text == f"By the provider {provider.issuer}. With a second factor: app."


def test_who_has_no_password_changes_the_second_factor_with_a_code(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    from staff import second_factor

    provider.sign_in(client, BEGIN)
    page = client.get("/portal/account/").content.decode()
    assert "you sign in with your provider" in page and 'name="again"' not in page
    client.get("/portal/account/second-step/")
    device = second_factor.new_device(invited.user)
    codes = client.post("/portal/account/second-step/", {"code": code_of(device)}).context["codes"]
    client.post("/portal/account/turn-off/", {"code": "000000"})
    assert second_factor.has_device(invited.user)
    client.post("/portal/account/turn-off/", {"code": codes[0]})
    assert not second_factor.has_device(invited.user)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"email_verified": False}, "has not verified your e-mail address"),
        ({"email_verified": "true"}, "has not verified your e-mail address"),
        ({"email_verified": None}, "has not verified your e-mail address"),
        ({"email": None}, "named no email"),
        ({"email": ["new@ada.example"]}, "named no email"),
        ({"sub": None}, "ID token is not valid"),
        ({"sub": ""}, "named no sub"),
        ({"nonce": "another"}, "ID token is not valid"),
        ({"nonce": None}, "ID token is not valid"),
        ({"aud": "another-client"}, "ID token is not valid"),
        ({"aud": "another-client", "azp": CLIENT}, "ID token is not valid"),
        ({"aud": [CLIENT, "another-client"], "azp": "another-client"}, "ID token is not valid"),
        ({"iss": "https://another.example"}, "ID token is not valid"),
        ({"exp": int(time.time()) - 60}, "ID token is not valid"),
        ({"exp": None}, "ID token is not valid"),
        ({"email": "unknown@ada.example"}, "belongs to no team here"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_token_that_lies_signs_nobody_in(
    provider: ForgedProvider, invited: Any, client: Client, claims: dict[str, Any], words: str
) -> None:
    provider.sign_in(client, BEGIN, **claims)
    assert provider.tokens_given == 1 and not is_in(client)
    assert words in why(client)
    assert not ProviderAccount.objects.exists()
    entry = AuditEntry.objects.get()
    assert entry.verb == "failed to sign in" and entry.text.startswith(f"At {CALLBACK}. ")


@pytest.mark.parametrize("signed", ["not at all", "by a stranger", "by the client's secret"])
def test_a_token_that_the_provider_did_not_sign_signs_nobody_in(
    provider: ForgedProvider, invited: Any, client: Client, signed: str
) -> None:
    provider.signed = signed
    provider.sign_in(client, BEGIN)
    assert provider.tokens_given == 1 and not is_in(client)
    assert "The provider's ID token is not valid" in why(client)


def test_a_redirect_that_was_not_asked_for_or_comes_again_signs_nobody_in(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    provider.begin(client, BEGIN)
    for state in ("", "another"):
        provider.come_back(client, state=state)
        assert not is_in(client) and "was not begun here" in why(client)
    victim = Client()
    provider.come_back(victim)  # an attacker's redirect, in a browser that asked for none
    assert not is_in(victim) and provider.tokens_given == 0
    assert client.get(CALLBACK).status_code == 302 and not is_in(client)
    provider.come_back(client)
    assert is_in(client) and provider.tokens_given == 1
    client.post("/portal/sign-out/")
    provider.come_back(client)
    assert not is_in(client) and provider.tokens_given == 1


def test_a_verifier_of_another_sign_in_gets_no_token(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    first = provider.begin(client, BEGIN)
    provider.begin(other := Client(), BEGIN)
    provider.come_back(client, state=first["state"])
    assert not is_in(client) and not is_in(other)
    assert "The provider refused: invalid_grant" in why(client)


def test_userinfo_adds_claims_of_the_same_person_alone(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    found = {"sub": "subject-1", "email": "new@ada.example", "email_verified": True}
    provider.userinfo = {**found, "sub": "subject-2"}
    provider.sign_in(client, BEGIN, email=None, email_verified=None)
    assert not is_in(client) and "different people" in why(client)
    provider.userinfo = {**found, "email": "another@ada.example"}
    provider.sign_in(client, BEGIN, email="new@ada.example", email_verified=None)
    assert not is_in(client), "verified is another address"
    provider.userinfo = found
    provider.sign_in(client, BEGIN, email=None)
    assert is_in(client)


def test_another_issuers_discovery_and_an_absent_provider_are_refused(
    provider: ForgedProvider, invited: Any, client: Client, settings: Any
) -> None:
    provider.metadata = {"issuer": "https://another.example"}
    assert client.get(BEGIN).headers["Location"] == SIGN_IN
    assert "another name than OIDC_ISSUER" in why(client)
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    assert client.get(BEGIN).headers["Location"] == SIGN_IN
    assert "does not answer" in why(client)


def test_an_error_of_the_provider_is_shown(
    provider: ForgedProvider, invited: Any, client: Client
) -> None:
    client.get(CALLBACK, {"error": "access_denied", "state": "x"})
    assert "was not begun here" in why(client) and not AuditEntry.objects.exists()
    asked = provider.begin(client, BEGIN)
    denied = {"error": "access_denied", "error_description": "<b>no</b>", "state": asked["state"]}
    client.get(CALLBACK, denied)
    assert "did not let you in" in why(client)
    client.get(CALLBACK, denied)
    assert "was not begun here" in why(client) and AuditEntry.objects.count() == 1
    asked = provider.begin(client, BEGIN)
    client.get(CALLBACK, {"error": "<b>server</b>", "state": asked["state"]})
    assert "<b>server" not in client.get(SIGN_IN).content.decode()


def test_staff_and_who_was_deactivated_do_not_come_in_here(
    provider: ForgedProvider, owner: Any, client: Client
) -> None:
    from django.contrib.auth.models import User
    from django.utils import timezone

    User.objects.create_superuser("boss@ada.example", "boss@ada.example", PASSWORD)
    provider.sign_in(client, BEGIN, email="boss@ada.example")
    assert not is_in(client)
    provider.sign_in(client, BEGIN, email=owner.user.username)
    assert is_in(client)
    members.set_active(owner, active=False, now=timezone.now())
    provider.sign_in(later := Client(), BEGIN)
    assert not is_in(client) and not is_in(later)


def test_unbinding_ends_sessions_and_lets_another_account_in(
    provider: ForgedProvider,
    invited: Any,
    client: Client,
    admin_client: Client,
) -> None:
    provider.sign_in(client, BEGIN)
    page = f"/admin/portal/member/{invited.pk}/order/unbind_provider/"
    assert "signs in as this user" in admin_client.get(page).content.decode()
    admin_client.post(page)
    assert not is_in(client) and not ProviderAccount.objects.exists()
    assert AuditEntry.objects.filter(verb="unbound from the provider").count() == 1
    time.sleep(0.01)  # sessions that begin at the same moment are over, too
    provider.sign_in(client, BEGIN, sub="subject-2")
    assert is_in(client)


def test_sign_out_offers_to_sign_out_at_the_provider(
    provider: ForgedProvider, invited: Any, owner: Any, client: Client, browser: Browser
) -> None:
    assert browser(owner).post("/portal/sign-out/").headers["Location"] == SIGN_IN
    provider.sign_in(client, BEGIN)
    answer = client.post("/portal/sign-out/", follow=True)
    assert not is_in(client) and f'href="{BEGIN}sign-out/"' in answer.content.decode()
    leads = client.get(f"{BEGIN}sign-out/").headers["Location"]
    assert leads == (
        f"{provider.issuer}/end?client_id={CLIENT}"
        "&post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A8000%2Fportal%2Fsign-in%2F"
    )
    provider.metadata = {"end_session_endpoint": None}
    assert client.get(f"{BEGIN}sign-out/").headers["Location"] == SIGN_IN


def test_it_cannot_be_begun_at_leisure(provider: ForgedProvider) -> None:
    client = Client(REMOTE_ADDR="198.51.100.7")
    assert [client.get(BEGIN).status_code for _ in range(11)] == [302] * 10 + [429]
