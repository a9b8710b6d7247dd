"""The admin's own middleware: there for the admin, out of the way for calls."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

pytestmark = pytest.mark.django_db

PASSWORD = "high-water-at-seven"


@pytest.fixture
def browser() -> Client:
    """As a browser is: CSRF checks are on."""
    get_user_model().objects.create_superuser("keeper", password=PASSWORD)
    return Client(enforce_csrf_checks=True)


def sign_in(browser: Client, **extra: str) -> int:
    return browser.post(
        "/admin/login/?next=/admin/", {"username": "keeper", "password": PASSWORD, **extra}
    ).status_code


def test_a_form_without_its_token_is_refused(browser: Client) -> None:
    browser.get("/admin/login/")
    assert sign_in(browser) == 403


def test_a_form_with_its_token_signs_in_and_out(browser: Client) -> None:
    browser.get("/admin/login/")
    token = browser.cookies["tidemark_csrf"].value
    assert sign_in(browser, csrfmiddlewaretoken=token) == 302
    assert browser.cookies["tidemark_session"]["httponly"]
    assert browser.get("/admin/").status_code == 200
    token = browser.cookies["tidemark_csrf"].value
    browser.post("/admin/logout/", {"csrfmiddlewaretoken": token})
    assert browser.get("/admin/").status_code == 302


def test_the_admin_cannot_be_framed_and_its_files_are_served(browser: Client) -> None:
    page = browser.get("/admin/login/")
    assert page["X-Frame-Options"] == "DENY"
    assert page["X-Content-Type-Options"] == "nosniff"
    styles = browser.get("/static/unfold/css/styles.css")
    assert styles.status_code == 200
    assert styles["Content-Type"].startswith("text/css")


@pytest.mark.parametrize(
    "address",
    [
        "/admin/priority/submission/landing/?tier=%00",
        "/admin/priority/submission/%00/change/",
        "/admin/historical/gap/?cause=x%00y",
        "/admin/ingest/rangeorder/?state__exact=%00",
    ],
)
def test_an_address_with_a_nul_is_a_bad_request(browser: Client, address: str) -> None:
    browser.force_login(get_user_model().objects.get())
    answer = browser.get(address)
    assert answer.status_code == 400 and "no page accepts" in answer.content.decode()
    assert "Content-Security-Policy" in answer.headers


def test_a_call_opens_no_session_and_asks_for_no_token(browser: Client) -> None:
    answer = browser.post(
        "/historical",
        b'{"jsonrpc":"2.0","id":1,"method":"getSlot"}',
        content_type="application/json",
    )
    assert answer.status_code == 200
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", "")
