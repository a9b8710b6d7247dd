"""Every read of the ledger through its endpoint, to compare what it returns before and after blocks
are sealed.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from historical.sealed.services.sealing import seal_step
from tests.conftest import Rpc

HISTORICAL = "/historical"
V0 = {"maxSupportedTransactionVersion": 0}
NOW = datetime(2026, 6, 1, tzinfo=UTC)
_ABSENT = "5" * 87


def seal(range_slots: int, *, most: int = 10_000) -> list[str]:
    """Seals what is finished, in at most so many steps; what they did."""
    done = []
    while len(done) < most:
        step = seal_step(
            range_slots=range_slots, now=datetime.now(UTC), settles=timedelta(seconds=-1)
        )
        if step is None:
            break
        done.append(step)
    return done


def every_read(
    rpc: Rpc, *, slots: Iterable[int], signatures: Sequence[str], addresses: Sequence[str]
) -> dict[str, Any]:
    """Call → its whole response, of all methods that read transactions or blocks."""
    calls: list[tuple[Any, ...]] = [("getSlot",), ("getFirstAvailableBlock",)]
    for slot in slots:
        calls += [
            ("getBlock", slot, V0 | {"encoding": encoding, "transactionDetails": details})
            for encoding, details in (
                ("json", "full"),
                ("base64", "full"),
                ("jsonParsed", "full"),
                ("json", "accounts"),
                ("json", "signatures"),
                ("json", "none"),
            )
        ]
        calls += [("getBlock", slot), ("getBlock", slot, V0 | {"form": "source"})]
        calls += [("getBlockTime", slot), ("getBlocks", slot, slot + 100)]
    for signature in [*signatures, _ABSENT]:
        calls += [
            ("getTransaction", signature, V0 | {"encoding": encoding})
            for encoding in ("json", "base64", "jsonParsed")
        ]
    for start in range(0, len(signatures), 200):
        calls.append(("getSignatureStatuses", [*signatures[start : start + 200], _ABSENT]))
    for address in addresses:
        calls += _of_address(address, signatures)
    return {repr(call): _answer(rpc, call) for call in calls}


def _of_address(address: str, signatures: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    name = "getSignaturesForAddress"
    yield name, address
    yield name, address, {"limit": 3}
    for before, until in product([None, *signatures[:2]], [None, *signatures[-2:]]):
        bounds = {"before": before, "until": until}
        given = {key: value for key, value in bounds.items() if value is not None}
        yield name, address, given
        yield name, address, given | {"limit": 7}
    name = "getTransactionsForAddress"
    for order, status in product(("asc", "desc"), (None, "failed", "success")):
        filters = {} if status is None else {"filters": {"status": status}}
        yield name, address, V0 | {"sortOrder": order, "limit": 50} | filters
    yield name, address, V0 | {"transactionDetails": "full", "limit": 5}
    yield name, address, V0 | {"transactionDetails": "full", "limit": 5, "sortOrder": "asc"}


def _answer(rpc: Rpc, call: tuple[Any, ...]) -> Any:
    response = rpc(HISTORICAL, *call)
    result = response.get("result")
    if call[0] == "getTransactionsForAddress" and result and result["paginationToken"]:
        method, address, config = call
        token = {"paginationToken": result["paginationToken"]}
        return response, rpc(HISTORICAL, method, address, config | token)
    return response
