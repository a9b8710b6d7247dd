"""The credentials of the first run: kept, checked, and made again where they are unknown."""

import json
from pathlib import Path

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.utils import timezone

from access.errors import KeyRevoked
from access.models import ApiKey
from access.services import keys
from config.running.first_run import BadCredentialsFile, ensure_credentials
from portal.models import Member

pytestmark = pytest.mark.django_db

BASE_URL = "http://127.0.0.1:8000"


def key_id(secret: str) -> int:
    found = keys.identify(secret, now=timezone.now()).key_id
    assert found is not None
    return found


def test_every_key_opens_its_own_tier_and_the_admin_can_sign_in(tmp_path: Path) -> None:
    made = ensure_credentials(tmp_path, BASE_URL)
    for tier, secret in made.api_keys.items():
        assert keys.identify(secret, now=timezone.now()).tier == tier
    user = authenticate(username=made.admin.username, password=made.admin.password)
    assert user is not None and user.is_staff


def test_the_portal_login_is_an_owner_of_the_demo_keys(tmp_path: Path) -> None:
    made = ensure_credentials(tmp_path, BASE_URL)
    assert made.portal.url == "http://127.0.0.1:8000/portal/"
    user = authenticate(username=made.portal.email, password=made.portal.password)
    assert user is not None and not user.is_staff
    member = Member.objects.get(user=user)
    assert member.is_owner and member.customer.keys.count() == 4


def test_the_file_of_a_run_before_there_was_a_portal_goes_on(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path, BASE_URL)
    get_user_model().objects.filter(username=first.portal.email).delete()
    path = tmp_path / "credentials.json"
    known = json.loads(path.read_text())
    del known["portal"]
    path.write_text(json.dumps(known))
    second = ensure_credentials(tmp_path, BASE_URL)
    assert second.api_keys == first.api_keys and second.admin == first.admin
    assert authenticate(username=second.portal.email, password=second.portal.password) is not None
    third = ensure_credentials(tmp_path, BASE_URL)
    assert third.portal == second.portal


def test_somebody_elses_user_of_the_demo_address_is_left_alone(tmp_path: Path) -> None:
    user = get_user_model().objects.create_user("demo@localhost", password="their own")
    made = ensure_credentials(tmp_path, BASE_URL)
    assert made.portal.password == ""
    user.refresh_from_db()
    assert user.check_password("their own") and not Member.objects.exists()


def test_a_second_run_keeps_them_and_follows_the_address(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path, BASE_URL)
    second = ensure_credentials(tmp_path, "http://127.0.0.1:9000")
    assert second.api_keys == first.api_keys
    assert second.admin.password == first.admin.password
    assert second.portal.password == first.portal.password
    assert second.admin.url == "http://127.0.0.1:9000/admin/"
    assert ApiKey.objects.count() == 4


def test_a_lost_file_means_new_keys_and_a_new_password(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path, BASE_URL)
    (tmp_path / "credentials.json").unlink()
    second = ensure_credentials(tmp_path, BASE_URL)
    assert not set(first.api_keys.values()) & set(second.api_keys.values())
    for secret in first.api_keys.values():
        with pytest.raises(KeyRevoked):
            keys.identify(secret, now=timezone.now())
    for tier, secret in second.api_keys.items():
        assert keys.identify(secret, now=timezone.now()).tier == tier
    assert authenticate(username="admin", password=first.admin.password) is None
    assert authenticate(username="admin", password=second.admin.password) is not None


def test_a_demo_key_that_was_revoked_is_not_replaced(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path, BASE_URL)
    keys.revoke_key(key_id(first.api_keys["epic"]), now=timezone.now())
    assert ensure_credentials(tmp_path, BASE_URL).api_keys == first.api_keys
    assert ApiKey.objects.filter(revoked_at__isnull=True).count() == 3


def test_a_password_that_was_changed_in_the_admin_stays_changed(tmp_path: Path) -> None:
    ensure_credentials(tmp_path, BASE_URL)
    user = get_user_model().objects.get(username="admin")
    user.set_password("chosen-by-the-keeper")
    user.save()
    ensure_credentials(tmp_path, BASE_URL)
    assert authenticate(username="admin", password="chosen-by-the-keeper") is not None


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"admin": 1}', '{"portal": 1}', '"text"', '{"api_keys": []}']
)
def test_a_file_that_is_not_ours_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "credentials.json"
    path.write_text(text)
    with pytest.raises(BadCredentialsFile, match=r"credentials\.json"):
        ensure_credentials(tmp_path, BASE_URL)
    assert path.read_text() == text


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    ensure_credentials(tmp_path, BASE_URL)
    path = tmp_path / "credentials.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(json.loads(path.read_text())) == {"base_url", "admin", "portal", "api_keys"}
    assert [file.name for file in tmp_path.iterdir()] == ["credentials.json"]
