"""The sign-in provider is checked before someone needs it: by the worker, and by doctor."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from operations.models import Alarm
from operations.readings.present import read
from operations.services import alarms
from operations.tasks import check_sign_in_provider
from shared_state import task_faults
from tests.forged_provider import ForgedProvider, forged_provider, turn_on
from tests.localnet_process import free_ports

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

Break = Callable[[ForgedProvider, Any], None]


@pytest.fixture
def provider(settings: Any) -> Iterator[ForgedProvider]:
    with forged_provider() as provider:
        turn_on(settings, provider.issuer)
        yield provider


def problem() -> str:
    check_sign_in_provider()
    found = read(timezone.now()).sign_in
    assert found is not None
    return found.problem


def _without(name: str) -> Break:
    return lambda provider, _: provider.metadata.update({name: None})


def _elsewhere(provider: ForgedProvider, settings: Any) -> None:
    (port,) = free_ports(1)
    settings.OIDC_ISSUER = f"http://127.0.0.1:{port}"


def _below(provider: ForgedProvider, settings: Any) -> None:
    settings.OIDC_ISSUER = f"{provider.issuer}/realm"


def _renamed(provider: ForgedProvider, _: Any) -> None:
    provider.metadata["issuer"] = "https://other.example"


def _unsigned(provider: ForgedProvider, _: Any) -> None:
    provider.metadata["id_token_signing_alg_values_supported"] = ["HS256", "none"]


def _keyless(provider: ForgedProvider, _: Any) -> None:
    provider.keys = []


def _lost_keys(provider: ForgedProvider, _: Any) -> None:
    provider.metadata["jwks_uri"] = f"{provider.issuer}/no-keys"


@pytest.mark.parametrize(
    ("breaks", "why"),
    [
        (_elsewhere, "It does not answer"),
        (_below, "It answers 404 at "),
        (_renamed, "The provider calls itself by another name than OIDC_ISSUER"),
        (_without("token_endpoint"), "Its discovery document has no token_endpoint"),
        (_without("jwks_uri"), "Its discovery document has no jwks_uri"),
        (_unsigned, "It signs ID tokens only in ways that are not accepted"),
        (_keyless, "Its keys cannot be read"),
        (_lost_keys, "It answers 404 at "),
    ],
)
def test_what_stops_every_sign_in_is_found_before_one(
    provider: ForgedProvider, settings: Any, breaks: Break, why: str
) -> None:
    assert problem() == ""
    breaks(provider, settings)
    assert problem().startswith(why)


def test_the_alarm_opens_after_two_checks_and_closes_once_it_works(
    provider: ForgedProvider,
) -> None:
    now = timezone.now()
    provider.keys, kept = [], provider.keys
    for after in (0, 60, 120):
        assert not Alarm.objects.filter(name="sign_in_failing", opened_at__isnull=False).exists()
        check_sign_in_provider()
        at = now + timedelta(seconds=after)
        alarms.evaluate(read(at), now=at)
    alarm = Alarm.objects.get(name="sign_in_failing")
    assert alarm.text == f"No one can sign in by {provider.issuer}. Its keys cannot be read."
    provider.keys = kept
    check_sign_in_provider()
    at = now + timedelta(seconds=180)
    alarms.evaluate(read(at), now=at)
    assert "sign_in_failing" not in {each.name for each in alarms.open_alarms()}


def test_home_shows_the_provider_only_if_there_is_one(
    provider: ForgedProvider, settings: Any, admin_client: Client
) -> None:
    provider.keys = []
    check_sign_in_provider()
    assert 'title="Its keys cannot be read">cannot be used' in _home(admin_client)
    # What was found before it was turned off is about nothing any more.
    settings.OIDC_ISSUER = ""
    check_sign_in_provider()
    assert task_faults.read() and problem() == ""
    assert "Sign-in provider" not in _home(admin_client)


def _home(browser: Client) -> str:
    return browser.get("/admin/").content.decode()
