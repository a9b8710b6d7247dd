"""Account data by an IDL of its owner: `context.idl` of getAccountInfo and getMultipleAccounts, and
the account's pages.
"""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from solders.pubkey import Pubkey

from chain.idl.on_chain import idl_accounts
from rewind.explained.services.idls import MOST_PROGRAMS
from tests.chain.test_idl import anchor_account
from tests.conftest import Rpc
from tests.rewind.little_chain import LittleChain
from tests.rewind.simulating import stored
from tests.rewind.test_idls import FAILS, WORKS, chain, idl, put, uploaded

__all__ = ["chain"]  # a fixture

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("empty_ledger", "nothing_remembered"),
]

SHOP, KEEPER = Pubkey(bytes([20]) * 32), Pubkey(bytes([21]) * 32)
TAG = bytes([1, 2, 3, 4, 5, 6, 7, 8])
HISTORY = "/admin/rewind/archivedslot/accounts/"


def shop_idl(kind: str = "Shop", member: str = "<b>owner</b>") -> bytes:
    fields = [{"name": member, "type": "pubkey"}, {"name": "stock", "type": "u64"}]
    return idl(
        "go",
        accounts=[{"name": kind, "discriminator": [*TAG]}],
        types=[{"name": kind, "type": {"kind": "struct", "fields": fields}}],
        metadata={"name": "shop", "version": "1.2"},
    )


def shop(stock: int) -> bytes:
    return TAG + bytes(KEEPER) + stock.to_bytes(8, "little")


def context(rpc: Rpc, slot: int, key: Pubkey = SHOP, **config: Any) -> dict[str, Any]:
    answer = rpc("/rewind", "getAccountInfo", str(key), {"slot": slot, **config})
    found: dict[str, Any] = answer["result"]["context"]
    return found


def test_an_idl_reads_an_account_as_it_was_in_the_slot(
    chain: LittleChain, rpc: Rpc, admin_client: Client
) -> None:
    put(chain, 1, SHOP, FAILS, shop(5))
    put(chain, 1, idl_accounts(FAILS)["anchor"], FAILS, anchor_account(shop_idl("Stall")))
    put(chain, 3, SHOP, FAILS, shop(2**60))
    stored(chain.records)
    assert uploaded(admin_client, shop_idl(member="owner"), from_slot="3").status_code == 200
    used = {"programId": str(FAILS), "name": "shop", "version": "1.2"}
    assert context(rpc, 2, idl=True)["idl"] == {
        "type": "Stall",
        "info": {"<b>owner</b>": str(KEEPER), "stock": "5"},
        "idl": {**used, "source": "anchor", "fromSlot": None},
    }
    assert context(rpc, 3, idl=True)["idl"] == {
        "type": "Shop",
        "info": {"owner": str(KEEPER), "stock": str(2**60)},
        "idl": {**used, "source": "uploaded", "fromSlot": 3},
    }
    assert "idl" not in context(rpc, 3) and "idl" not in context(rpc, 3, idl=False)
    parsed = rpc("/rewind", "getAccountInfo", str(SHOP), {"slot": 3, "encoding": "jsonParsed"})
    assert parsed["result"]["value"]["data"][1] == "base64", "as the standard node answers"


def test_without_an_idl_or_an_account_it_is_null(chain: LittleChain, rpc: Rpc) -> None:
    put(chain, 1, SHOP, FAILS, shop(5))
    put(chain, 1, KEEPER, FAILS, b"another type")
    stored(chain.records)
    assert context(rpc, 1, idl=True)["idl"] is None
    assert context(rpc, 1, WORKS, idl=True)["idl"] is None
    assert context(rpc, 1, Pubkey(bytes([22]) * 32), idl=True)["idl"] is None


def test_data_that_the_idl_cannot_read_has_a_type_alone(
    chain: LittleChain, rpc: Rpc, admin_client: Client
) -> None:
    put(chain, 1, SHOP, FAILS, shop(5)[:20])
    put(chain, 1, KEEPER, FAILS, b"another type")
    stored(chain.records)
    uploaded(admin_client, shop_idl())
    found = context(rpc, 1, idl=True)["idl"]
    assert (found["type"], found["info"]) == ("Shop", None)
    assert context(rpc, 1, KEEPER, idl=True)["idl"] is None
    page = admin_client.get(HISTORY, {"address": str(SHOP)}).content.decode()
    assert "Shop, which the IDL cannot read" in page


def test_the_page_shows_members_and_what_a_write_changed(
    chain: LittleChain, admin_client: Client
) -> None:
    put(chain, 1, SHOP, FAILS, shop(5))
    put(chain, 3, SHOP, FAILS, shop(77_001))
    stored(chain.records)
    uploaded(admin_client, shop_idl())
    page = admin_client.get(HISTORY, {"address": str(SHOP)}).content.decode()
    assert "State in slot 3" in page and "77001" in page and "IDL shop 1.2, uploaded" in page
    assert "&lt;b&gt;owner&lt;/b&gt;" in page and "<b>owner" not in page and str(KEEPER) in page
    earlier = admin_client.get(HISTORY, {"address": str(SHOP), "to": "2"}).content.decode()
    assert "State in slot 1" in earlier and "77001" not in earlier
    link = page.partition("/accounts/diff/?")[2].partition('"')[0].replace("&amp;", "&")
    diff = admin_client.get(f"{HISTORY}diff/?{link}").content.decode()
    members = diff.partition("Decoded data")[2].partition("</section>")[0]
    assert "stock" in members and ">5<" in members and ">77001<" in members
    assert "owner" not in members, "members that are equal are left out"


def test_the_page_reads_what_this_service_knows(chain: LittleChain, admin_client: Client) -> None:
    payer = chain.payers[0].pubkey()
    nonce = (
        (1).to_bytes(4, "little") * 2 + bytes(KEEPER) + bytes(32) + (5_000).to_bytes(8, "little")
    )
    put(chain, 2, SHOP, Pubkey.default(), nonce)
    stored(chain.records)
    page = admin_client.get(HISTORY, {"address": str(SHOP)}).content.decode()
    assert "80 bytes: initialized" in page and "System program" in page
    assert "feeCalculator.lamportsPerSignature" in page and "5000" in page
    wallet = admin_client.get(HISTORY, {"address": str(payer)}).content.decode()
    state = wallet.partition("State in slot")[2].partition("</section>")[0]
    assert "0 bytes<" in state and "System program" in state and "IDL" not in state


def together(rpc: Rpc, slot: int, *keys: Pubkey, **config: Any) -> dict[str, Any]:
    return rpc("/rewind", "getMultipleAccounts", [*map(str, keys)], {"slot": slot, **config})


def test_several_accounts_are_read_by_one_lookup_of_idls(
    chain: LittleChain, rpc: Rpc, admin_client: Client
) -> None:
    shops = [Pubkey(bytes([30 + number]) * 32) for number in range(9)]
    for number, key in enumerate(shops):
        put(chain, 1, key, FAILS, shop(number))
    put(chain, 1, KEEPER, FAILS, b"another type")
    stored(chain.records)
    uploaded(admin_client, shop_idl())
    asked = [*shops, KEEPER, WORKS, Pubkey(bytes([22]) * 32), shops[0]]
    with CaptureQueriesContext(connection) as of_one:
        alone = [together(rpc, 1, key, idl=True) for key in shops[:1]]
    with CaptureQueriesContext(connection) as of_all:
        found = together(rpc, 1, *asked, idl=True)["result"]["context"]["idl"]
    assert found[9:] == [None, None, None, found[0]]
    assert found[:9] == [context(rpc, 1, key, idl=True)["idl"] for key in shops]
    assert [each["info"]["stock"] for each in found[:9]] == [*map(str, range(9))]
    assert found[:1] == alone[0]["result"]["context"]["idl"]
    assert len(of_all) <= len(of_one) + 2
    for config in ({}, {"idl": False}):
        assert "idl" not in together(rpc, 1, *asked, **config)["result"]["context"]


def length(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))


def test_what_idls_read_counts_as_part_of_the_response(
    chain: LittleChain, rpc: Rpc, admin_client: Client, settings: Any
) -> None:
    for key in (SHOP, KEEPER):
        put(chain, 1, key, FAILS, shop(5))
    stored(chain.records)
    uploaded(admin_client, shop_idl())
    whole = together(rpc, 1, SHOP, KEEPER, idl=True)["result"]
    (value, _), (said, _) = whole["value"], whole["context"]["idl"]
    around = 512 + 2 * 32
    # Room for both accounts, and for what the IDL reads in one.
    settings.ARCHIVE_ANSWER_BYTES = around + 2 * length(value) + length(said) + 10
    part = together(rpc, 1, SHOP, KEEPER, idl=True)["result"]
    assert (part["value"], part["context"]["idl"]) == ([value, None], [said, None])
    assert part["truncatedByBytes"]
    assert not together(rpc, 1, SHOP, KEEPER)["result"]["truncatedByBytes"]


def test_accounts_of_too_many_programs_are_refused_with_idl(chain: LittleChain, rpc: Rpc) -> None:
    keys = [Pubkey(bytes([100 + number]) * 32) for number in range(MOST_PROGRAMS + 1)]
    for key in keys:
        put(chain, 1, key, key, b"data")
    stored(chain.records)
    error = together(rpc, 1, *keys, idl=True)["error"]
    assert error["data"] == {"reason": "too_many_programs", "found": 33, "maximum": 32}
    assert together(rpc, 1, *keys[1:], idl=True)["result"]["context"]["idl"] == [None] * 32
    assert len(together(rpc, 1, *keys)["result"]["value"]) == 33
