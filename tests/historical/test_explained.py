"""explainTransaction on real blocks: calls nested, transfers, balances and fees that agree."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from solders.pubkey import Pubkey

from chain.explained.instructions import calls_of, flat
from rewind.explained.services.idls import upload_idl
from tests.conftest import Rpc

MARCH_2024, APRIL_2025 = 254170887, 332254855
UNKNOWN = "5" * 87
PUMP_AMM = "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
JUPITER = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"
# What the programs' interfaces are, as far as these tests need it.
IDLS = {
    PUMP_AMM: {
        "instructions": [
            {
                "name": name,
                "discriminator": [*bytes.fromhex(discriminator)],
                "accounts": [{"name": each} for each in ("pool", "user", "global_config")],
                "args": [{"name": first, "type": "u64"}, {"name": second, "type": "u64"}],
            }
            for name, discriminator, first, second in (
                ("sell", "33e685a4017f83ad", "base_amount_in", "min_quote_amount_out"),
                ("buy", "66063d1201daebea", "base_amount_out", "max_quote_amount_in"),
            )
        ],
        "events": [
            {
                "name": "SellEvent",
                "fields": [
                    {"name": "timestamp", "type": "i64"},
                    {"name": "base_amount_in", "type": "u64"},
                ],
            }
        ],
    },
    JUPITER: {
        "instructions": [],
        "errors": [{"code": 6001, "name": "SlippageToleranceExceeded", "msg": "Too much slippage"}],
    },
}


def signatures(rpc: Rpc, slot: int) -> list[str]:
    config = {"transactionDetails": "signatures", "maxSupportedTransactionVersion": 0}
    found: list[str] = rpc("/historical", "getBlock", slot, config)["result"]["signatures"]
    return found


def explained(rpc: Rpc, signature: str) -> dict[str, Any]:
    answer = rpc("/historical", "explainTransaction", signature)
    assert "error" not in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def every_call(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in calls:
        yield each
        yield from every_call(each["inner"])


@pytest.mark.parametrize("slot", [MARCH_2024, APRIL_2025])
def test_an_explanation_agrees_with_the_record(rpc: Rpc, real_ledger: Path, slot: int) -> None:
    """Every fifth transaction of two blocks of mainnet, against getTransaction."""
    nested = moved = priority = 0
    for signature in signatures(rpc, slot)[::5]:
        found = explained(rpc, signature)
        entry = rpc(
            "/historical", "getTransaction", signature, {"maxSupportedTransactionVersion": 0}
        )["result"]
        meta, message = entry["meta"], entry["transaction"]["message"]
        assert (found["signature"], found["slot"]) == (signature, slot)
        assert (found["err"], found["version"]) == (meta["err"], entry["version"])
        assert (found["failure"] is None) == (meta["err"] is None)
        calls = [*every_call(found["instructions"])]
        inner = {each["index"]: each["instructions"] for each in meta["innerInstructions"]}
        recorded = []
        for index, each in enumerate(message["instructions"]):
            recorded += [(1, each["data"]), *(
                (one["stackHeight"] or 2, one["data"]) for one in inner.get(index, ())
            )]  # fmt: skip
        assert [(each["depth"], each["data"]) for each in calls] == recorded
        for each in calls:
            assert all(one["depth"] == each["depth"] + 1 for one in each["inner"])
        nested += any(each["depth"] > 2 for each in calls)
        assert [each["pubkey"] for each in found["accounts"]] == [
            *message["accountKeys"],
            *(meta.get("loadedAddresses") or {}).get("writable", []),
            *(meta.get("loadedAddresses") or {}).get("readonly", []),
        ]
        fees = found["fees"]
        assert fees["base"] + fees["priority"] == fees["total"] == meta["fee"]
        assert fees["base"] % 5_000 == 0
        priority += fees["priority"] > 0
        assert sum(each["change"] for each in found["balances"]) == -fees["total"]
        if meta["err"] is None:
            moved += _tokens_agree(found)
    # A fifth of April's block is votes and plain failures.
    assert nested >= 5 and moved >= 10 and priority >= 30


def _tokens_agree(found: dict[str, Any]) -> int:
    """Tokens of accounts that transfers of plain tokens name changed by just that much."""
    programs = {each["number"]: each["programId"] for each in every_call(found["instructions"])}
    changes: dict[str, Decimal] = {}
    for each in found["transfers"]:
        # Mints of Token-2022 may take a fee of what arrives.
        if programs[each["instruction"]] != TOKEN:
            continue
        amount = Decimal(each["amount"])
        if each["source"]:
            changes[each["source"]] = changes.get(each["source"], Decimal(0)) - amount
        if each["destination"]:
            changes[each["destination"]] = changes.get(each["destination"], Decimal(0)) + amount
    wrapped = {each["pubkey"] for each in found["tokenBalances"] if each["mint"].startswith("So11")}
    checked = 0
    for each in found["tokenBalances"]:
        if each["pubkey"] in changes and each["pubkey"] not in wrapped:
            assert Decimal(each["change"]).scaleb(each["decimals"]) == changes[each["pubkey"]], each
            checked += 1
    return checked


def test_amounts_of_tokens_have_separators_on_the_page_alone(
    rpc: Rpc, real_ledger: Path, admin_client: Client
) -> None:
    every = (explained(rpc, signature) for signature in signatures(rpc, MARCH_2024))
    found = next(
        found
        for found in every
        if any(each["mint"] and float(each["uiAmount"] or 0) > 1e6 for each in found["transfers"])
    )
    assert "," not in "".join(
        text
        for each in (*found["transfers"], *found["tokenBalances"])
        for name in ("amount", "uiAmount", "before", "after", "change")
        if (text := each.get(name))
    )
    page = admin_client.get(f"/admin/rewind/replay/run/?signatures={found['signature']}")
    shown = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())
    wanted = [each["uiAmount"] for each in found["transfers"] if each["mint"]]
    wanted += [
        each[name].lstrip("-")
        for each in found["tokenBalances"]
        for name in ("before", "after", "change")
    ]
    long = {each for each in wanted if Decimal(each) >= 1_000}
    assert len(long) >= 2
    for each in long:
        assert f"{Decimal(each):,f}" in shown and each not in shown, each


def test_without_stack_heights_calls_nest_by_their_log(rpc: Rpc, real_ledger: Path) -> None:
    """As nodes recorded blocks before they had any: the log gives the same tree."""
    deep = cut = 0
    for signature in signatures(rpc, MARCH_2024):
        config = {"maxSupportedTransactionVersion": 0}
        entry = rpc("/historical", "getTransaction", signature, config)["result"]
        whole = calls_of(entry)
        for group in entry["meta"]["innerInstructions"]:
            for each in group["instructions"]:
                del each["stackHeight"]
        if "Log truncated" in entry["meta"]["logMessages"]:
            cut += 1
            continue
        assert calls_of(entry) == whole, signature
        deep += any(each.depth > 2 for each in flat(whole))
    assert deep >= 80 and cut <= 20


def test_what_comes_behind_a_failure_did_not_run_and_moved_nothing(
    rpc: Rpc, real_ledger: Path
) -> None:
    behind = 0
    for signature in signatures(rpc, APRIL_2025):
        found = explained(rpc, signature)
        failed = (found["failure"] or {}).get("instruction")
        if failed is None:
            continue
        (marked,) = [each for each in every_call(found["instructions"]) if each["failed"]]
        assert marked["number"] == failed and marked["ran"]
        assert marked["programId"] == found["failure"]["programId"]
        last = int(failed.partition(".")[0])
        assert [each["ran"] for each in found["instructions"]] == [
            number <= last for number in range(1, len(found["instructions"]) + 1)
        ]
        moved = [each["instruction"] for each in found["transfers"]]
        assert failed not in moved
        assert all(int(each.partition(".")[0]) <= last for each in moved)
        behind += last < len(found["instructions"])
    assert behind >= 20


def test_tips_of_block_engines_are_named(rpc: Rpc, real_ledger: Path) -> None:
    found = [explained(rpc, signature) for signature in signatures(rpc, APRIL_2025)[1_300:]]
    tips = [(tip, each) for each in found for tip in each["tips"]]
    assert tips
    for tip, each in tips:
        assert tip["receiver"] == "jito" and tip["lamports"] > 0
        names = {one["pubkey"]: one["name"] for one in each["accounts"]}
        assert names[tip["address"]] == "Jito tip account"


def test_idls_name_instructions_events_accounts_and_errors(rpc: Rpc, real_ledger: Path) -> None:
    every = signatures(rpc, APRIL_2025)
    before = [explained(rpc, each) for each in every]
    for program, idl in IDLS.items():
        upload_idl(
            json.dumps(idl).encode(),
            program=Pubkey.from_string(program),
            from_slot=APRIL_2025,
            by="ada",
            now=datetime.now(UTC),
        )
    sold = read = slipped = 0
    for unread in before:
        programs = {each["programId"] for each in every_call(unread["instructions"])}
        if not programs & IDLS.keys():
            continue
        found = explained(rpc, unread["signature"])
        assert {each["programId"] for each in found["idls"]} == programs & IDLS.keys()
        assert all(each["source"] == "uploaded" for each in found["idls"])
        for each, was in zip(
            every_call(found["instructions"]), every_call(unread["instructions"]), strict=True
        ):
            if each["programId"] != PUMP_AMM:
                assert {**each, "inner": []} == {**was, "inner": []}
                continue
            if each["type"] is None:
                continue  # another event
            assert was["type"] is None and each["decodedBy"] == "idl"
            read += 1
            if each["type"] == "sell":
                assert [one["name"] for one in each["accounts"][:4]] == [
                    "pool",
                    "user",
                    "global_config",
                    None,
                ]
                event = each["inner"][-1]
                assert event["event"] and event["type"] == "SellEvent"
                assert event["info"]["base_amount_in"] == each["info"]["base_amount_in"]
                sold += 1
        failure = found["failure"]
        if failure and failure["programId"] == JUPITER:
            assert failure["error"] == {
                "code": 6001,
                "name": "SlippageToleranceExceeded",
                "message": failure["error"]["message"],
                "account": None,
            }
            assert failure["error"]["message"] in failure["sentence"]
            slipped += 1
    assert sold >= 20 and read >= 100 and slipped >= 10
    # Of slots below the first one it says nothing.
    assert not any(explained(rpc, each)["idls"] for each in signatures(rpc, MARCH_2024)[:40])


def test_an_error_that_the_program_logged_needs_no_idl(rpc: Rpc, real_ledger: Path) -> None:
    errors = [
        (found["failure"]["error"]["code"], found["failure"]["error"]["name"])
        for signature in signatures(rpc, MARCH_2024)
        if (found := explained(rpc, signature))["failure"] and found["failure"]["error"]
    ]
    assert (6001, "SlippageToleranceExceeded") in errors and len(set(errors)) >= 4


def test_sentences_say_what_the_failed_program_logged(rpc: Rpc, real_ledger: Path) -> None:
    every = (explained(rpc, each) for each in signatures(rpc, MARCH_2024)[:60])
    said = {found["failure"]["sentence"] for found in every if found["failure"]}
    raydium = "Raydium AMM v4 returned its own error 30 (0x1e): it logged “{}”."
    assert raydium.format("exceeds desired slippage limit") in said
    assert "The associated token account exists already: createIdempotent accepts that." in said


def test_an_error_that_a_caller_made_of_another_is_not_the_called_programs(
    rpc: Rpc, real_ledger: Path
) -> None:
    """An exchange of 2020 had a number of its own for what the token program returned."""
    found = explained(rpc, signatures(rpc, 55065000)[290])
    assert found["err"] == {"InstructionError": [1, {"Custom": 34}]}
    assert found["failure"]["sentence"] == (
        "The token account has too few tokens for this. The program that called it returned"
        " another error: Custom program error: 0x22."
    )
    assert found["failure"]["instruction"] == "2.1"


def test_an_unknown_signature_is_null(rpc: Rpc, real_ledger: Path) -> None:
    assert rpc("/historical", "explainTransaction", UNKNOWN)["result"] is None


@pytest.mark.parametrize(
    ("params", "code", "reason"),
    [
        (["abc"], -32602, "invalid_params"),
        ([UNKNOWN, {"commitment": "processed"}], -32602, "commitment_unsupported"),
        ([UNKNOWN, {"minContextSlot": 2**60}], -32016, "min_context_slot_not_reached"),
    ],
)
def test_refusals_are_those_of_get_transaction(
    rpc: Rpc, real_ledger: Path, params: list[Any], code: int, reason: str
) -> None:
    error = rpc("/historical", "explainTransaction", *params)["error"]
    assert error == rpc("/historical", "getTransaction", *params)["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason)
