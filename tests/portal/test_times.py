"""No page of the portal prints a time that a script cannot show in the reader's own zone."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.browser.everything import EMAIL, fill
from tests.pages import portal_pages
from tests.wording import oddities

from .conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_every_page_of_a_lived_in_portal(settings: Any) -> None:
    now = timezone.now()
    settings.SESSION_COOKIE_SECURE = False
    ids = fill(now, PASSWORD)
    browser = Client(headers={"Host": "localhost"})
    browser.post("/portal/sign-in/", {"email": EMAIL, "password": PASSWORD})
    pages = portal_pages(ids) | {
        f"hook {name}": path for name, path in portal_pages({"pk": ids["webhook"]}).items()
    }
    seen, moments, odd = 0, 0, []
    for path in sorted(set(pages.values())):
        answer = browser.get(path)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            page = answer.content.decode()
            seen, moments = seen + 1, moments + page.count("<time ")
            odd += [f"{path}: {each}" for each in oddities(page)]
            assert "tidemark/times" in page, path
    assert not odd, "\n".join(odd)
    assert seen > 20 and moments > 50
