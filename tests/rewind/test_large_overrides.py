"""Programs of a caller's own, deployed by overrides over real sockets: bodies above MAX_BODY."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.conf import settings
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.encodings import b64encode
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import call, code_of, stored, upgradeable
from tests.simulator.elf import CALL, EXIT, RETURN_0, elf, op
from tests.web_server import service_worker
from tests.webserver.client import Client, Reply, chunked, post
from tests.webserver.serving import serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("committed")]

MINE, OTHER, TARGET = (Pubkey(bytes([number]) * 32) for number in (90, 91, 77))
MEGABYTE = 1_048_576


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL))
    stored(made.records)
    yield made
    made.close()


@pytest.fixture
def port(tier: Callable[..., Any]) -> Iterator[int]:
    tier("anonymous", 0, requests_per_second=None)
    with serving(service_worker()) as found:
        yield found


@pytest.fixture
def key(issue: Callable[..., Any]) -> str:
    secret: str = issue(requests_per_second=None).secret
    return secret


def program(size: int) -> bytes:
    """One that logs, and is so large for code that never runs: additions of many numbers."""
    numbers = random.Random(size)
    rest = b"".join(
        op(0x07, numbers.randrange(10), 0, 0, numbers.randrange(1 << 31)) for _ in range(size // 8)
    )
    return elf(RETURN_0 + CALL + EXIT + rest + EXIT, {1: b"sol_log_64_"})


def body_of(sent: VersionedTransaction, overrides: dict[str, Any], **more: Any) -> bytes:
    text = b64encode(bytes(sent))
    params = [text, {"slot": 1, "overrides": overrides}]
    call = {"jsonrpc": "2.0", "id": 1, "method": "simulateHistoricalTransaction", "params": params}
    return json.dumps({**call, **more}).encode()


def asked(port: int, body: bytes, *headers: str, path: str = "/rewind") -> Reply:
    with Client(port) as client:
        return client.send(post(path, body, "Content-Type: application/json", *headers)).reply()


def deployed(elf: bytes) -> dict[str, Any]:
    return {"owner": str(addresses.LOADER_2), "data": [b64encode(elf), "base64"]}


def works(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply.body[:300]
    value: dict[str, Any] = reply.json["result"]["value"]
    assert value["err"] is None
    assert value["logs"][0] == f"Program {MINE} invoke [1]"
    assert value["logs"][1].startswith("Program log: 0x")
    assert value["unitsConsumed"] > 100
    return value


def test_a_program_of_a_megabyte_is_deployed_and_runs(
    chain: LittleChain, port: int, key: str
) -> None:
    code = program(MEGABYTE)
    assert len(code) > MEGABYTE
    sent = chain.signed([call(MINE)], chain.payers[0])
    value = works(asked(port, body_of(sent, {str(MINE): deployed(code)}), f"Authorization: {key}"))
    assert value["rewindOverriddenAccounts"] == [str(MINE)]
    # The next one finds nothing of it.
    found = asked(port, body_of(sent, {}), f"Authorization: {key}").json["result"]["value"]
    assert found["err"] == "ProgramAccountNotFound"


def test_a_program_of_two_megabytes_comes_packed_with_zstd(
    chain: LittleChain, port: int, key: str
) -> None:
    """By the upgradeable loader: the program, and the account of its code."""
    accounts = upgradeable(MINE, program(2 * MEGABYTE), slot=0)
    overrides = {
        str(at): {
            "lamports": account.lamports,
            "owner": str(account.owner),
            "data": [b64encode(zstandard.compress(account.data)), "base64+zstd"],
        }
        for at, account in accounts.items()
    }
    assert len(accounts[code_of(MINE)].data) > 2 * MEGABYTE
    sent = chain.signed([call(MINE)], chain.payers[0])
    works(asked(port, body_of(sent, overrides), path=f"/rewind?api_key={key}"))


def test_a_body_of_twelve_megabytes_is_taken_and_none_above(
    chain: LittleChain, port: int, key: str
) -> None:
    sent = chain.signed([call(MINE, OTHER)], chain.payers[0])
    bulk = {"owner": str(MINE), "data": b64encode(random.Random(1).randbytes(8 * MEGABYTE))}
    overrides = {str(MINE): deployed(program(1_000)), str(OTHER): bulk}
    body = body_of(sent, overrides)
    full = body + b" " * (settings.MAX_LARGE_BODY - len(body))
    works(asked(port, full, f"Authorization: {key}"))
    error = asked(port, full + b" ", f"Authorization: {key}").json["error"]
    assert error["data"]["reason"] == "body_too_large"


def test_without_the_scope_a_large_body_is_not_read(
    chain: LittleChain, port: int, key: str, issue: Callable[..., Any]
) -> None:
    sent = chain.signed([call(MINE)], chain.payers[0])
    body = body_of(sent, {str(MINE): deployed(program(MEGABYTE))})
    rights = [
        {"scopes": ["rewind"]},
        {"scopes": ["simulate"]},
        {"methods": ["getAccountInfo"]},
        {"networks": ["10.0.0.0/8"]},
    ]
    headers = [
        f"Authorization: {issue(requests_per_second=None, **each).secret}" for each in rights
    ]
    for header in (*headers, "Authorization: tmk_invented", "X-Nothing: 1"):
        reply = asked(port, body, header)
        assert reply.status == 413
        assert reply.json["error"]["data"] == {
            "reason": "body_too_large",
            "maximum": settings.MAX_BODY,
            "found": len(body),
            "largerMaximum": settings.MAX_LARGE_BODY,
            "largerScope": "simulate",
        }
    works(asked(port, body, f"Authorization: {key}"))


def test_no_other_call_has_a_large_body(chain: LittleChain, port: int, key: str) -> None:
    header = f"Authorization: {key}"
    sent = chain.signed([call(MINE)], chain.payers[0])
    padded = body_of(sent, {}, method="getRewindCoverage", params=["x" * MEGABYTE])
    batch = b"[" + body_of(sent, {str(MINE): deployed(program(MEGABYTE))}) + b"]"
    for body in (padded, batch):
        reply = asked(port, body, header)
        assert (reply.status, reply.json["error"]["data"]["reason"]) == (413, "body_too_large")
    for path in ("/", "/historical", "/priority", "/bundle"):
        assert asked(port, padded, header, path=path).status == 413
    with Client(port) as client:
        assert client.send(chunked("/rewind", padded)).reply().status == 413
