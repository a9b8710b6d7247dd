"""The same question by every way that a call comes: one answer, error and set of headers."""

import gzip
import http.client
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58encode
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from tests.examples import examples
from tests.historical.made_blocks import ACCOUNTS, made_block
from tests.historical.sealed_reads import NOW, seal
from tests.patience import PATIENCE_SECONDS
from tests.web_server import service_worker
from tests.webserver.serving import serving

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("empty_redis", "empty_ledger"),
]
# What differs from call to call.
_OWN = {"x-request-id", "x-queue-milliseconds", "date", "x-ratelimit-remaining", "content-length"}
Asked = Callable[[int, str, str, bytes], tuple[int, dict[str, str], bytes]]


@pytest.fixture(scope="module")
def values() -> dict[str, list[Any]]:
    """Of each kind those that exist, then those that do not."""
    blocks = [made_block(slot, slot - 2, transactions=6, seed=3) for slot in range(10, 70, 2)]
    signatures = [b58encode(each.signature) for block in blocks for each in block.transactions]
    return {
        "signature": [*signatures[::9], str(Signature.default()), "x", 7],
        "address": [*map(b58encode, ACCOUNTS[:4]), str(Pubkey.default()), "no", None],
        "slot": [9, 10, 11, 30, 40, 41, 42, 68, 69, 500, 502, -1, 2**63, 2**64, 1.5, "10", None],
    }


@pytest.fixture
def port(api_key: str, settings: Any) -> Iterator[int]:
    blocks = [made_block(slot, slot - 2, transactions=6, seed=3) for slot in range(10, 70, 2)]
    record_blocks([*blocks, made_block(500, 68, transactions=3, seed=3)], now=NOW)
    seal(64)
    remove_blocks(40, 40)
    with serving(service_worker()) as port:
        yield port


def post(
    port: int, path: str, body: bytes, *, chunked: bool = False, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given.setdefault("Content-Type", "application/json")
    content: Any = iter([body[:7], body[7:]]) if chunked else body
    connection.request("POST", path, content, given, encode_chunked=chunked)
    response = connection.getresponse()
    found = response.read()
    connection.close()
    shown = {name.lower(): value for name, value in response.getheaders()}
    return response.status, {k: v for k, v in shown.items() if k not in _OWN}, found


def once(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    return post(port, path, body, Authorization=key)


def by_query(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    return post(port, f"{path}?api_key={key}", body)


def in_chunks(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    return post(port, path, body, chunked=True, Authorization=key, Transfer_Encoding="chunked")


def unpacked(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    status, headers, found = post(port, path, body, Authorization=key, Accept_Encoding="gzip")
    if headers.pop("content-encoding", "") == "gzip":
        found = gzip.decompress(found)
    return status, headers, found


def spelt(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """The members in another order, and written otherwise."""
    call = json.loads(body)
    method = "".join(f"\\u{ord(each):04x}" for each in call["method"])
    text = (
        f'{{ "params" :{json.dumps(call["params"])},"id":1,\n"method": "{method}","jsonrpc":"2.0"}}'
    )
    return post(port, path, text.encode(), Authorization=key)


def batch(port: int, path: str, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    status, headers, found = post(port, path, b"[" + body + b"]", Authorization=key)
    return status, headers, found[1:-1]


WAYS: list[Asked] = [by_query, in_chunks, unpacked, spelt, batch]


def question(chance: random.Random, values: dict[str, list[Any]]) -> tuple[str, str, list[Any]]:
    """A path, a method and params; often wrong."""

    def some(kind: str) -> Any:
        found = values[kind]
        return chance.choice(found if chance.random() < 0.3 else found[: max(3, len(found) - 4)])

    def config(**members: Callable[[], Any]) -> list[Any]:
        chosen = {name: make() for name, make in members.items() if chance.random() < 0.4}
        if chance.random() < 0.05:
            chosen["unknown"] = 1
        return chance.choice([[chosen], [chosen], [chosen], [], [None]])

    pick = chance.choice
    commitments = ["finalized", "confirmed", "processed", "root"]
    context = {
        "commitment": lambda: pick(commitments),
        "minContextSlot": lambda: pick([0, 500, 501, -1]),
    }
    form = {
        "encoding": lambda: pick(["json", "base64", "jsonParsed", "base58", "xml"]),
        "maxSupportedTransactionVersion": lambda: pick([0, 1, None, 255, 256, "0"]),
    }
    gaps = {"gaps": lambda: pick(["report", "error", "x"])}
    path = "/historical"
    match chance.randrange(12):
        case 0:
            asked = "getTransaction", [some("signature"), *config(**form, **context)]
        case 1:
            more = {
                "transactionDetails": lambda: pick(
                    ["full", "accounts", "signatures", "none", "all"]
                ),
                "rewards": lambda: pick([True, False, 0]),
            }
            asked = "getBlock", [some("slot"), *config(**form, **more, **context)]
        case 2:
            asked = "getBlocks", [some("slot"), some("slot"), *config(**context, **gaps)]
        case 3:
            asked = "getBlocksWithLimit", [some("slot"), some("slot"), *config(**gaps)]
        case 4:
            limit = {"limit": lambda: pick([1, 3, 1000, 0, 1001])}
            ends = {name: lambda: some("signature") for name in ("before", "until")}
            asked = (
                "getSignaturesForAddress",
                [some("address"), *config(**limit, **ends, **gaps, **context)],
            )
        case 5:
            limit = {
                "limit": lambda: pick([1, 3, 1000, 0]),
                "sortOrder": lambda: pick(["asc", "d"]),
            }
            filters = {"filters": lambda: {"slot": {"gte": some("slot")}}}
            asked = (
                "getTransactionsForAddress",
                [some("address"), *config(**limit, **filters, **gaps)],
            )
        case 6:
            asked = "getSignatureStatuses", [[some("signature") for _ in range(3)], *config()]
        case 7:
            asked = "getBlockTime", [some("slot")]
        case 8:
            asked = pick(["getSlot", "getFirstAvailableBlock", "getLedgerCoverage"]), config()
        case 9:
            asked = "explainTransaction", [some("signature"), *config()]
        case 10:
            path = "/rewind"
            at = {"slot": lambda: some("slot"), "anchor": lambda: {"signature": some("signature")}}
            asked = "getAccountInfo", [some("address"), *config(**at, **form)]
        case _:
            path = pick(["/rewind", "/historical"])
            asked = pick(["getRewindCoverage", "getSlot", "noSuchMethod", ""]), config()
    name, params = asked
    while params and chance.random() < 0.05:
        params.pop()
    return path, name, params


@pytest.mark.parametrize("seed", range(examples(3)))
def test_every_way_gives_the_same(
    port: int, api_key: str, values: dict[str, list[Any]], seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        path, method, params = question(chance, values)
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body = json.dumps(call).encode()
        wanted = once(port, path, api_key, body)
        for way in WAYS:
            status, headers, answer = way(port, path, api_key, body)
            if way is batch:  # its calls share one response
                headers |= {k: v for k, v in wanted[1].items() if k == "x-ledger-gaps"}
            assert (status, headers, answer) == wanted, (way.__name__, call)
