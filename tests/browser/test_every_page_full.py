"""Every page with a row of everything on it."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import PASSWORD, Watched
from tests.browser.everything import fill
from tests.browser.looking import chosen, look_at_all, member
from tests.pages import admin_pages, portal_pages

pytestmark = pytest.mark.soak


# A minute of a core; what every page asks and answers with rows is in
# tests/config/test_page_queries.py, which make test runs.
def test_every_page_with_data(watched: Callable[[], Watched]) -> None:
    from django.utils import timezone

    ids = fill(timezone.now(), PASSWORD)
    visitor = watched()
    visitor.sign_in()
    # A form for a new row is the same as it was without any.
    admin = [each for each in chosen(admin_pages()) if not each[0].endswith("_add")]
    wrong = look_at_all(visitor, admin, "full")
    customer = member(watched)
    pages = {f"portal-{name}": path for name, path in portal_pages(ids).items()}
    for kind in ("webhook", "rule"):
        own = {f"portal-{name}": path for name, path in portal_pages({"pk": ids[kind]}).items()}
        pages |= {name: path for name, path in own.items() if f"/{kind}s/" in path}
    wrong += look_at_all(customer, chosen(pages), "full")
    assert not wrong, "\n".join(wrong)
