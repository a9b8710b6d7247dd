"""Pages of an address, however filtered, sealed and cut, against a plain list."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction

from chain.encodings import b58encode
from chain.transactions import decode_wire
from historical.coverage.services import holes
from historical.recording.services.recording import record_blocks
from historical.transactions.services import address_pages
from tests.conftest import Rpc

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, seal

SLOTS = [0, 1, 2, 5, 30, 63, 64, 66, 90, 127, 128, 130, 131, 200, 255, 256, 300]


def entries(record: Any) -> list[dict[str, Any]]:
    found = []
    for index, each in enumerate(record.transactions):
        keys = set(decode_wire(each.wire).account_keys)
        meta = each.meta or {}
        loaded = {key for some in meta.get("loadedAddresses", {}).values() for key in some}
        found.append(
            {
                "slot": record.slot,
                "index": index,
                "signature": b58encode(each.signature),
                "err": meta.get("err"),
                "status": "unknown"
                if each.meta is None
                else "success"
                if meta.get("err") is None
                else "failed",
                "time": record.block_time,
                "keys": {b58encode(key) for key in keys} | loaded,
            }
        )
    return found


def shown(entry: dict[str, Any], index: int) -> tuple[Any, ...]:
    names = ("slot", "signature", "err", "blockTime")
    return (index, *(entry[name] for name in names), entry.get("outcome"))


def wanted_of(each: dict[str, Any]) -> tuple[Any, ...]:
    outcome = "unknown" if each["status"] == "unknown" else None
    return (*(each[name] for name in ("index", "slot", "signature", "err", "time")), outcome)


def holds(wanted: dict[str, Any], value: Any) -> bool:
    if value is None:
        return not wanted
    tests = {
        "gte": value.__ge__,
        "gt": value.__gt__,
        "lte": value.__le__,
        "lt": value.__lt__,
        "eq": value.__eq__,
    }
    return all(tests[name](bound) for name, bound in wanted.items())


def bounds(chance: random.Random, values: list[Any], names: str) -> dict[str, Any]:
    chosen = chance.sample(names.split(), chance.choice([1, 1, 2]))
    return {name: chance.choice(values) for name in chosen}


Ask = Callable[..., tuple[dict[str, Any], str | None]]


@pytest.fixture
def ask(posted: Callable[..., Any]) -> Ask:
    """Answer and X-Ledger-Gaps of a call."""

    def call(method: str, *params: Any) -> tuple[dict[str, Any], str | None]:
        response = posted(method, *params)
        return json.loads(response.content), response.headers.get("X-Ledger-Gaps")

    return call


@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize("seed", range(4))
def test_pages_are_those_of_a_plain_list(rpc: Rpc, ask: Ask, seed: int, monkeypatch: Any) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(address_pages, "_MAX_SCANNED", chance.choice([1, 3, 20_000]))
    monkeypatch.setattr(address_pages, "_SCAN_BATCH", chance.choice([1, 2, 500]))
    monkeypatch.setattr(holes, "_MOST_KEPT", chance.choice([1, 1_000]))
    slots = sorted(chance.sample(SLOTS, chance.randint(3, len(SLOTS))))
    chain = []
    for slot, parent in zip(slots, [0, *slots], strict=False):
        made = made_block(slot, parent, transactions=chance.randrange(12), seed=seed)
        time = chance.choice([made.block_time, 1_700_000_000 + chance.randrange(20), None])
        chain.append(replace(made, block_time=time))
    with transaction.atomic():
        order = list(chain)
        chance.shuffle(order)
        there: list[Any] = []
        while order:
            some = [order.pop() for _ in range(min(len(order), chance.randint(1, 6)))]
            record_blocks(some, now=NOW)
            there += some
            if chance.random() < 0.5:
                seal(128, most=chance.choice([2, 500]))
            check(rpc, ask, chance, sorted(there, key=lambda record: record.slot))
            check_blocks(rpc, chance, sorted(record.slot for record in there))
        transaction.set_rollback(True)


def check_blocks(rpc: Rpc, chance: random.Random, slots: list[int]) -> None:
    for _ in range(6):
        first, last = (
            chance.choice([0, 1, 5, 64, 130, 500]),
            chance.choice([0, 5, 64, 300, 500_000, 700_000, 2**63, 2**64 - 1]),
        )
        answer = rpc(HISTORICAL, "getBlocks", first, last)
        ended = min(last, slots[-1])
        assert answer["result"] == [s for s in slots if first <= s <= ended], (first, last, slots)
        limit = chance.choice([0, 1, 3, 500_000])
        answer = rpc(HISTORICAL, "getBlocksWithLimit", first, limit)
        assert answer["result"] == [s for s in slots if first <= s][:limit]


def slots_of(filters: dict[str, Any], ledger: list[Any]) -> list[int]:
    """The slots in which a missing block could match."""
    slots, times = filters.get("slot", {}), filters.get("blockTime", {})
    low = max(slots.get("gte", 0), slots.get("gt", -1) + 1)
    high = min(slots.get("lte", 10**9), slots.get("lt", 10**9) - 1)
    earliest = [times[name] + (name == "gt") for name in ("gte", "gt", "eq") if name in times]
    latest = [times[name] - (name == "lt") for name in ("lte", "lt", "eq") if name in times]
    timed = sorted((r.block_time, r.slot) for r in ledger if r.block_time is not None)
    before = [slot for time, slot in timed if earliest and time < max(earliest)]
    after = [slot for time, slot in timed if latest and time > min(latest)]
    return [max(low, before[-1] + 1 if before else 0), min(high, after[0] - 1 if after else high)]


def check_gaps(
    ask: Ask, ledger: list[Any], span: list[int], named: str | None, method: str, *params: Any
) -> None:
    """The header names the holes of the range, and who wants an error gets it."""
    missing = [
        (max(low.slot + 1, span[0]), min(high.parent_slot, span[1]))
        for low, high in pairwise(ledger)
    ]
    wanted = [f"{first}-{last}" for first, last in missing if first <= last]
    assert named == (", ".join(wanted) or None), (method, params, span)
    answer, header = ask(method, *params[:-1], params[-1] | {"gaps": "error"})
    if wanted:
        runs = [f"{each['fromSlot']}-{each['toSlot']}" for each in answer["error"]["data"]["gaps"]]
        assert (answer["error"]["data"]["reason"], runs) == ("range_has_gaps", wanted)
    else:
        assert "result" in answer
    assert header is None


def check(rpc: Rpc, ask: Ask, chance: random.Random, ledger: list[Any]) -> None:
    every = [each for record in ledger for each in entries(record)]
    signatures = [each["signature"] for each in every]
    for _ in range(6):
        address = b58encode(chance.choice(ACCOUNTS[:5]))
        own = [each for each in every if address in each["keys"]]
        filters: dict[str, Any] = {}
        if chance.random() < 0.5:
            filters["slot"] = bounds(
                chance, [0, 1, 64, 127, 128, 255, 300, 2**64 - 1], "gte gt lte lt"
            )
        if chance.random() < 0.4:
            times = [1_700_000_000 + n for n in (-1, 0, 3, 10, 64, 127, 300)] + [0, -(2**63)]
            filters["blockTime"] = bounds(chance, times, "gte gt lte lt eq")
        if chance.random() < 0.3:
            filters["signature"] = bounds(chance, ["3", "4", "5", *signatures[:3]], "gte gt lte lt")
        if chance.random() < 0.4:
            filters["status"] = chance.choice(["success", "failed", "unknown"])
        right = [
            each
            for each in own
            if holds(filters.get("slot", {}), each["slot"])
            and holds(filters.get("blockTime", {}), each["time"])
            and holds(filters.get("signature", {}), each["signature"])
            and filters.get("status", each["status"]) == each["status"]
        ]
        sort = chance.choice(["asc", "desc"])
        if sort == "desc":
            right.reverse()
        config: dict[str, Any] = {
            "filters": filters,
            "sortOrder": sort,
            "limit": chance.choice([1, 2, 7]),
        }
        found, token, rounds = [], None, 0
        while rounds < 300:
            rounds += 1
            more = {} if token is None else {"paginationToken": token}
            answer, gaps = ask("getTransactionsForAddress", address, config | more)
            assert "result" in answer, (answer, config, token)
            found += answer["result"]["data"]
            ends = [token, answer["result"]["paginationToken"]]
            if sort == "desc":
                ends.reverse()
            span = slots_of(filters, ledger)
            for number, end in enumerate(ends):
                if end is not None:
                    span[number] = (max, min)[number](span[number], int(end.split(":")[0]))
            check_gaps(ask, ledger, span, gaps, "getTransactionsForAddress", address, config | more)
            token = answer["result"]["paginationToken"]
            if token is None:
                break
        assert [shown(e, e["transactionIndex"]) for e in found] == [wanted_of(e) for e in right], (
            config,
            address,
        )
        if not every:
            continue
        config = {"limit": chance.choice([1, 3, 1000])}
        places = {each["signature"]: (each["slot"], each["index"]) for each in every}
        for name in ("before", "until"):
            if chance.random() < 0.5:
                config[name] = chance.choice(signatures)
        answer, gaps = ask("getSignaturesForAddress", address, config)
        low = places[config["until"]] if "until" in config else (-1, 0)
        high = places[config["before"]] if "before" in config else (10**9, 0)
        wanted = [e for e in reversed(own) if low < (e["slot"], e["index"]) < high]
        assert [shown(e, e["transactionIndex"]) for e in answer["result"]] == [
            wanted_of(e) for e in wanted
        ][: config["limit"]], config
        full = len(answer["result"]) == config["limit"]
        span = [answer["result"][-1]["slot"] if full else low[0], high[0]]
        check_gaps(ask, ledger, span, gaps, "getSignaturesForAddress", address, config)
    some = chance.sample(every, min(len(every), 20))
    statuses = rpc(HISTORICAL, "getSignatureStatuses", [each["signature"] for each in some])
    for each, status in zip(some, statuses["result"]["value"], strict=True):
        if each["status"] == "unknown":
            assert status is None
        else:
            assert (status["slot"], status["err"]) == (each["slot"], each["err"])
