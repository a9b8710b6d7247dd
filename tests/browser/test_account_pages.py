"""An account whose data an IDL reads, in a real browser: its state, and what a write changed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from solders.pubkey import Pubkey

from tests.browser.conftest import Watched
from tests.browser.looking import look_at_all
from tests.rewind.conftest import committed  # noqa: F401  (a fixture)
from tests.rewind.little_chain import LittleChain
from tests.rewind.simulating import stored
from tests.rewind.test_idl_accounts import HISTORY, SHOP, shop, shop_idl
from tests.rewind.test_idls import FAILS, put

pytestmark = pytest.mark.soak


@pytest.fixture
def chain(committed: None, service: str, tmp_path: Path) -> Iterator[LittleChain]:  # noqa: F811
    """An account of a program with an IDL, written twice."""
    from rewind.explained.services.idls import upload_idl

    made = LittleChain(tmp_path)
    for slot in (1, 2, 3):
        made.block(made.payment(Pubkey(bytes([70 + slot]) * 32), 10**9))
    put(made, 1, SHOP, FAILS, shop(5))
    put(made, 3, SHOP, FAILS, shop(77_001))
    stored(made.records)
    upload_idl(shop_idl(), program=FAILS, from_slot=0, by="ada", now=timezone.now())
    yield made
    made.close()


def test_an_accounts_state_and_what_changed_are_shown(
    watched: Callable[[], Watched], chain: LittleChain
) -> None:
    visitor = watched()
    visitor.sign_in()
    visitor.open(f"{HISTORY}?address={SHOP}")
    said = visitor.page.inner_text("#main")
    assert "State in slot 3" in said and "77001" in said and "shop 1.2, uploaded" in said
    visitor.page.click("a:text-is('Diff')")
    visitor.page.wait_for_selector("text=Decoded data")
    diff = visitor.page.url.removeprefix(visitor.base)
    pages = [("history", f"{HISTORY}?address={SHOP}"), ("diff", diff)]
    assert look_at_all(visitor, pages, "account") == []
