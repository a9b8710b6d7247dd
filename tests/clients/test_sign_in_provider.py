"""Signing in by a certified OpenID Connect provider of npm, a process of its own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
import requests
from django.test import Client

from tests.forged_provider import CLIENT, SECRET, turn_on
from tests.forms import forms_of
from tests.patience import PATIENCE_SECONDS

from .conftest import NPM, beside_packages

pytestmark = pytest.mark.django_db

PORTAL, ADMIN = "/portal/sign-in/provider/", "/admin/login/provider/"
HERE = "http://localhost:8000"
PEOPLE = {
    "ada": {"email": "Ada@ada.example", "email_verified": True},
    "mallory": {"email": "ada@ada.example", "email_verified": False},
    "grace": {"email": "grace@tidemark.example", "email_verified": True, "groups": ["ops"]},
}


@pytest.fixture(scope="module")
def process(npm_packages: Path) -> Iterator[str]:
    """The issuer of a running provider."""
    given = {
        "client": CLIENT,
        "secret": SECRET,
        "people": PEOPLE,
        "redirects": [f"{HERE}{each}callback/" for each in (PORTAL, ADMIN)],
        "afterSignOut": [f"{HERE}/portal/sign-in/"],
    }
    script = beside_packages(npm_packages, NPM / "oidc-provider.mjs")
    with subprocess.Popen(
        ["node", str(script), json.dumps(given)],
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        lines = iter(running.stdout.readline, "")
        yield next(line.strip() for line in lines if line.startswith("http://"))
        running.kill()


@pytest.fixture
def issuer(process: str, settings: Any, nothing_remembered: None) -> str:
    turn_on(settings, process)
    settings.OIDC_SCOPES = "openid email groups"
    settings.OIDC_STAFF_GROUPS = {"ops": "operator"}
    return process


@pytest.fixture
def ada(db: None) -> Any:
    from access.models import Customer
    from portal.services import members

    customer = Customer.objects.create(name="Ada & Sons")
    return members.invite(customer, email="ada@ada.example", role="owner")


def redirect_of(browser: Client, path: str, name: str) -> str:
    """The address to which the provider leads back once `name` has signed in there."""
    at_provider = requests.Session()
    address = browser.get(path).headers["Location"]
    sent: dict[str, str] | None = None
    for _ in range(12):
        answer = at_provider.request(
            "GET" if sent is None else "POST",
            address,
            data=sent,
            allow_redirects=False,
            timeout=PATIENCE_SECONDS,
        )
        sent = None
        if answer.is_redirect:
            address = urljoin(address, answer.headers["Location"])
            if address.startswith(HERE):
                return address.removeprefix(HERE)
            continue
        assert answer.status_code == 200, answer.text
        form = forms_of(answer.text, address)[0]
        address, sent = form.action, dict(form.fields)
        if "login" in sent:
            sent |= {"login": name, "password": "any"}
    raise AssertionError(f"the provider does not come back, but ends at {address}")


def is_in(browser: Client, page: str) -> bool:
    return bool(browser.get(page).status_code == 200)


def test_a_member_signs_in_and_out(issuer: str, ada: Any, client: Client) -> None:
    back = redirect_of(client, f"{PORTAL}?next=/portal/keys/", "ada")
    assert client.get(back).headers["Location"] == "/portal/keys/"
    assert client.get("/portal/").context["member"] == ada
    account = ada.user.provider_accounts.get()
    assert (account.issuer, account.subject) == (issuer, "ada")
    client.post("/portal/sign-out/")
    address = client.get(f"{PORTAL}sign-out/").headers["Location"]
    with requests.Session() as browser:
        form = forms_of(browser.get(address, timeout=PATIENCE_SECONDS).text, address)[0]
        left = browser.post(
            form.action, form.fields, allow_redirects=False, timeout=PATIENCE_SECONDS
        )
    assert left.status_code in (302, 303)
    assert urlsplit(left.headers["Location"]).path == "/portal/sign-in/"


def test_staff_signs_in_with_the_role_of_its_group(issuer: str, client: Client) -> None:
    from django.contrib.auth.models import User

    from staff.roles import Role, role_of

    client.get(redirect_of(client, ADMIN, "grace"))
    assert is_in(client, "/admin/")
    user = User.objects.get(username="grace@tidemark.example")
    assert role_of(user) is Role.OPERATOR and not user.is_superuser
    ada = Client()
    ada.get(redirect_of(ada, ADMIN, "ada"))
    assert not is_in(ada, "/admin/"), "of no group"


def test_an_unverified_address_takes_nothing_over(issuer: str, ada: Any, client: Client) -> None:
    client.get(redirect_of(client, PORTAL, "mallory"))
    assert not is_in(client, "/portal/")
    assert "has not verified your e-mail address" in client.get("/portal/sign-in/").content.decode()


def test_a_code_is_good_once_and_in_one_browser(issuer: str, ada: Any, client: Client) -> None:
    back = redirect_of(client, PORTAL, "ada")
    stolen = dict(parse_qsl(urlsplit(back).query))["code"]

    def replay() -> None:
        """With a state of the thief's own."""
        thief = Client()
        own = dict(parse_qsl(urlsplit(thief.get(PORTAL).headers["Location"]).query))["state"]
        thief.get(f"{PORTAL}callback/", {"code": stolen, "state": own})
        assert not is_in(thief, "/portal/")
        page = thief.get("/portal/sign-in/").content.decode()
        assert "The provider refused: invalid_grant" in page

    replay()
    client.get(back)
    replay()
