"""A transaction whose source had no status meta: no door says that it succeeded, or failed."""

import io
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from chain.encodings import b58encode
from historical.models import Block
from historical.recording.services.recording import record_blocks
from tests.conftest import Rpc
from tests.historical.made_blocks import made_block
from tests.historical.sealed_reads import HISTORICAL, NOW, seal

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_ledger")]
SLOT = 65
OK, ERR = {"err": None, "fee": 5_000}, {"err": {"InstructionError": [0, "InvalidArgument"]}}


@pytest.fixture
def stored() -> list[str]:
    """The signatures of a transaction that succeeded, of one that failed, of one without meta."""
    made = made_block(SLOT, SLOT - 1, transactions=3, seed=1)
    entries = []
    for each, changed in zip(made.transactions, (OK, ERR, None), strict=True):
        meta = None if changed is None else {**(each.meta or {}), **changed}
        entries.append(replace(each, meta=meta, loaded_keys=None))
    later = [made_block(slot, slot - 1, transactions=0, seed=1) for slot in (6_401, 12_870)]
    record_blocks([replace(made, transactions=entries), *later], now=NOW)
    return [b58encode(each.signature) for each in entries]


def as_an_older_release_wrote_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE historical_transaction SET err = NULL WHERE err = 'null'")


def listed(rpc: Rpc, status: str, signatures: list[str]) -> list[Any]:
    """Of the transactions, those that the filter leaves: number and outcome."""
    found = []
    for number, signature in enumerate(signatures):
        answer = rpc(HISTORICAL, "getTransaction", signature, {"maxSupportedTransactionVersion": 0})
        payer = answer["result"]["transaction"]["message"]["accountKeys"][0]
        config = {"filters": {"status": status, "slot": {"gte": SLOT}}}
        page = rpc(HISTORICAL, "getTransactionsForAddress", payer, config)["result"]["data"]
        found += [(number, e.get("outcome")) for e in page if e["signature"] == signature]
        every = rpc(HISTORICAL, "getSignaturesForAddress", payer)["result"]
        (own,) = [each for each in every if each["signature"] == signature]
        assert own.get("outcome") == ("unknown" if number == 2 else None)
    return found


def check(rpc: Rpc, signatures: list[str]) -> None:
    first, second, third = rpc(HISTORICAL, "getSignatureStatuses", signatures)["result"]["value"]
    assert (first["status"], second["err"], third) == ({"Ok": None}, ERR["err"], None)
    assert listed(rpc, "success", signatures) == [(0, None)]
    assert listed(rpc, "failed", signatures) == [(1, None)]
    assert listed(rpc, "unknown", signatures) == [(2, "unknown")]
    found = [rpc(HISTORICAL, "explainTransaction", each)["result"] for each in signatures]
    assert [each["outcome"] for each in found] == ["success", "failed", "unknown"]
    assert [each["instructions"][0]["ran"] for each in found] == [True, True, None]
    assert (found[2]["err"], found[2]["failure"], found[2]["transfers"]) == (None, None, [])
    assert Block.objects.get(slot=SLOT).failed_count == 1


def test_what_the_source_did_not_say_is_unknown(
    rpc: Rpc, stored: list[str], admin_client: Any
) -> None:
    check(rpc, stored)
    page = f"/admin/historical/block/{SLOT}/change/"
    said = "1 (33%); the outcome of 1 transaction is unknown"
    assert said in admin_client.get(page).content.decode()
    assert seal(6_400)
    check(rpc, stored)
    assert said in admin_client.get(page).content.decode()


def test_a_filter_names_the_outcomes_there_are(rpc: Rpc) -> None:
    config = {"filters": {"status": "ok"}}
    error = rpc(HISTORICAL, "getTransactionsForAddress", "1" * 32, config)["error"]
    assert error["code"] == -32602
    assert all(each in error["message"] for each in ("`success`", "`failed`", "`unknown`"))


def verified() -> str:
    out = io.StringIO()
    try:
        call_command("verify_range", str(SLOT), str(SLOT), "--ledger-only", stdout=out)
    except CommandError as error:
        out.write(str(error))
    return out.getvalue()


def test_a_block_of_an_older_release_is_found_and_sealing_mends_it(
    rpc: Rpc, stored: list[str]
) -> None:
    assert "another outcome" not in verified()
    as_an_older_release_wrote_it()
    assert "the index has another outcome of a transaction than its status meta" in verified()
    assert f"{stored[2]}: success, its meta says unknown" in verified()
    seal(6_400)
    assert "another outcome" not in verified()
    check(rpc, stored)
