"""Every page of an installation that nobody has used yet."""

import re
from collections.abc import Callable

import pytest

from tests.browser.conftest import PASSWORD, Watched
from tests.browser.everything import EMAIL
from tests.browser.looking import chosen, look, look_at_all, member
from tests.pages import admin_pages, portal_pages

pytestmark = pytest.mark.soak

OUTSIDE = {
    "front": "/",
    "docs-start": "/docs/",
    "docs-errors": "/docs/errors/",
    "docs-limits": "/docs/limits/",
    "docs-webhooks": "/docs/webhooks/",
    "docs-console": "/docs/console/",
    "docs-changelog": "/docs/changelog/",
    "portal-sign-in": "/portal/sign-in/",
    "portal-forgotten": "/portal/password/",
}


_OWN = {
    "rewind_slottally_changelist",
    "rewind_auditedday_changelist",
    "access_usageminute_changelist",
    "tipping_ttlclass_changelist",
    "staff_auditentry_changelist",
    "access_apikey_changelist",
}


def test_every_page_without_data(watched: Callable[[], Watched]) -> None:
    from access.models import Customer
    from portal.services import members
    from reference.paths import rpc_paths

    visitor = watched()
    slugs = dict(re.findall(r'href="(/docs/([a-z-]+)/)"', _text(visitor, "/docs/")))
    assert len(slugs) > len(list(rpc_paths()))
    outside = {**OUTSIDE, **{f"docs-{slug}": path for path, slug in slugs.items()}}
    wrong = look_at_all(visitor, outside.items(), "empty")
    wrong += look(visitor, "sign-in", "/admin/login/", "empty")
    visitor.sign_in()
    wrong += look(visitor, "two-factor", "/admin/two-factor/", "empty")
    own = [each for each in chosen(admin_pages()) if is_own(each[0])]
    wrong += look_at_all(visitor, own, "empty")
    owner = members.invite(Customer.objects.create(name="New"), email=EMAIL, role="owner")
    members.choose_password(owner.user, PASSWORD)
    customer = member(watched)
    portal = {f"portal-{name}": path for name, path in portal_pages({}).items()}
    wrong += look_at_all(customer, chosen(portal), "empty")
    assert not wrong, "\n".join(wrong)


def test_every_list_and_form_without_data(watched: Callable[[], Watched]) -> None:
    visitor = watched()
    visitor.sign_in()
    plain = [each for each in chosen(admin_pages()) if not is_own(each[0])]
    # Rows that are there from the beginning look as they do among others.
    wrong = look_at_all(
        visitor, [each for each in plain if not each[0].endswith("_change")], "empty"
    )
    assert not wrong, "\n".join(wrong)


def is_own(name: str) -> bool:
    """A page that is more than the theme's list or form of a model."""
    return name in _OWN or not name.endswith(("_changelist", "_add", "_change"))


def _text(visitor: Watched, path: str) -> str:
    return str(visitor.page.context.request.get(visitor.base + path).text())
