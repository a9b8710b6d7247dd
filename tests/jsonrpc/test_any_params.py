"""Every method of the ledger, through the public endpoint, with random params."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples

from ..clients.sources import MADE, PAYEE, PAYER, first_signatures, made_block

pytestmark = pytest.mark.django_db

BLOCK_TIME = made_block()["blockTime"]
SIGNATURE = first_signatures(made_block())[0]


@pytest.fixture
def one_block(db: None, tmp_path: Path) -> None:
    """A ledger with the made block, so that calls reach its rows."""
    from ingest.services.imports import import_file

    file = tmp_path / f"{MADE}.json"
    file.write_text(json.dumps(made_block()))
    import_file(
        file,
        slot=None,
        genesis_hash="a chain",
        now=lambda: datetime.now(UTC),
        progress=lambda place, size: None,
    )


_TOKENS = [
    f"{MADE}:0", f"{MADE}:0:partial", f"{MADE}:1", "5:5", "1:1:partial",
    "9223372036854775807:0", "9223372036854775808:99999999",
]  # fmt: skip
_WORDS = [
    "json", "jsonParsed", "base58", "base64", "base64+zstd", "full", "accounts", "signatures",
    "none", "finalized", "confirmed", "processed", "asc", "desc", "success", "failed", "",
    "1" * 32, "1" * 64, "1" * 88, SIGNATURE, str(PAYER.pubkey()), *_TOKENS,
]  # fmt: skip
_NUMBERS = [
    MADE,
    MADE - 1,
    MADE + 1,
    0,
    1,
    -1,
    256,
    1000,
    1001,
    500_000,
    500_001,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
]
_leaf = (
    st.sampled_from(_WORDS)
    | st.sampled_from(_NUMBERS)
    | st.integers(-(2**70), 2**70)
    | st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
_range = st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt", "eq"]), _leaf, max_size=3)
_filters = st.dictionaries(
    st.sampled_from(["slot", "blockTime", "signature", "status", "tokenAccounts"]),
    _range | _leaf,
    max_size=4,
)
_config = st.dictionaries(
    st.sampled_from(
        [
            "commitment", "encoding", "maxSupportedTransactionVersion", "transactionDetails",
            "rewards", "minContextSlot", "limit", "before", "until", "searchTransactionHistory",
            "sortOrder", "paginationToken", "filters", "unknown",
        ]
    ),
    _leaf | _filters,
    max_size=5,
)  # fmt: skip
# The params that a method may like, so that most calls come further than their readers.
_bound = st.sampled_from(_NUMBERS) | st.integers(0, 2**63)
_times = st.sampled_from([BLOCK_TIME, 0, -1, 2**63 - 1, 2**64])
_bounds = st.sampled_from(["gte", "gt", "lte", "lt"])
_liked_filters = st.fixed_dictionaries(
    {},
    optional={
        "slot": st.dictionaries(_bounds, _bound, max_size=2),
        "blockTime": st.dictionaries(_bounds | st.just("eq"), _times, max_size=2),
        "signature": st.dictionaries(_bounds, st.sampled_from([SIGNATURE, "1" * 64]), max_size=2),
        "status": st.sampled_from(["success", "failed"]),
        "tokenAccounts": st.sampled_from(["none", "all"]),
    },
)
_liked_config = st.fixed_dictionaries(
    {},
    optional={
        "commitment": st.sampled_from(["finalized", "confirmed", "processed"]),
        "encoding": st.sampled_from(["json", "jsonParsed", "base58", "base64", "base64+zstd"]),
        "maxSupportedTransactionVersion": st.sampled_from([0, 1, 255, 256, 2**64]),
        "transactionDetails": st.sampled_from(["full", "accounts", "signatures", "none"]),
        "rewards": st.booleans(),
        "minContextSlot": st.sampled_from([0, 0, MADE, MADE + 1]),
        "limit": st.sampled_from([1, 2, 100, 1000, 0, 1001]),
        "before": st.sampled_from([SIGNATURE, "1" * 64]),
        "until": st.sampled_from([SIGNATURE, "1" * 64]),
        "searchTransactionHistory": st.booleans(),
        "sortOrder": st.sampled_from(["asc", "desc"]),
        "paginationToken": st.sampled_from(_TOKENS),
        "filters": _liked_filters,
        "unknown": _leaf,
    },
)
_slot = st.just(MADE) | st.sampled_from(_NUMBERS) | st.integers(0, 2**64)
_signature = st.sampled_from([SIGNATURE, "1" * 64])
_address = st.sampled_from(["1" * 32, str(PAYER.pubkey()), str(PAYEE)])
_liked_or_any = _liked_config | _liked_config | _config
# method → how many params it needs, and all that it takes
_LIKED: dict[str, tuple[int, list[st.SearchStrategy[Any]]]] = {
    "getTransaction": (1, [_signature, _liked_or_any | st.sampled_from(_WORDS)]),
    "getSignatureStatuses": (1, [st.lists(_signature, max_size=260), _liked_or_any]),
    "getBlock": (1, [_slot, _liked_or_any | st.sampled_from(_WORDS)]),
    "getBlocks": (1, [_slot, _slot | _liked_or_any, _liked_or_any]),
    "getBlocksWithLimit": (2, [_slot, _slot, _liked_or_any]),
    "getSignaturesForAddress": (1, [_address, _liked_or_any]),
    "getTransactionsForAddress": (1, [_address, _liked_or_any]),
    "getSlot": (0, [_liked_or_any]),
    "getBlockTime": (1, [_slot]),
    "getFirstAvailableBlock": (0, []),
}


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, list[Any]]:
    from config import urls  # noqa: F401  (adds the methods that every path has)
    from historical.methods import methods

    method = draw(st.sampled_from(sorted(each.name for each in methods)))
    if method in _LIKED and draw(st.integers(0, 3)):
        needed, wanted = _LIKED[method]
        count = draw(st.integers(needed, len(wanted)))
        return method, [draw(each) for each in wanted[:count]]
    return method, draw(st.lists(_leaf | _config | st.lists(_leaf, max_size=3), max_size=4))


@given(call=_calls())
@settings(max_examples=examples(500))
def test_any_params_are_answered_or_refused_with_a_reason(
    client: Any, api_key: str, one_block: None, call: tuple[str, list[Any]]
) -> None:
    method, params = call
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = client.post(
        "/historical",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": api_key, "Host": "localhost"},
    )
    assert response.status_code == 200, response.content
    assert b"Traceback" not in response.content
    answer = json.loads(response.content)
    assert answer["id"] == 1 and ("result" in answer) != ("error" in answer)
    if "error" in answer:
        assert answer["error"]["code"] != -32603, answer
        assert answer["error"]["data"]["reason"]
