"""Endpoints of a running service and of the localnet behind it: reads and transactions."""

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.encodings import b64decode
from tests.clients.planned import Moment, Planned
from tests.clients.service import Service
from tests.localnet.test_block_engine import BASE64, result, texts
from tests.localnet.test_tpu import peer_of
from tests.localnet.wallets import CONFIRMED, encoded
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS

_BATCH = 100
# A validator takes bodies of 50 KiB.
_LARGEST_BODY = 40_000

Question = tuple[Any, ...]
T = TypeVar("T")


def localnet_of(service: Service) -> Localnet:
    """The localnet that the service runs."""

    def port(name: str) -> int:
        return int(service.environment[f"LOCALNET_{name}_PORT"])

    return Localnet(
        service.run_dir, port("RPC"), port("GEYSER"), port("TPU"), port("BLOCK_ENGINE"), settings={}
    )


def until(condition: Callable[[], T], what: str) -> T:
    """The condition's result as soon as it is true; waits for an endpoint that is not open yet."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            found = condition()
        except ConnectionError:
            found = None
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionError):
                raise
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.02)


def fetched(service: Service, path: str, key: str | None = None) -> Any:
    """The JSON of one of the service's GETs; `key` "" is none."""
    headers = {"Authorization": service.key if key is None else key}
    request = urllib.request.Request(service.base_url + path, headers=headers if key != "" else {})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


def of_localnet(localnet: Localnet, questions: Sequence[Question]) -> list[Any]:
    """The results of `(method, *params)` each, in order."""
    return [_result(answer) for answer in answers_of_node(localnet, questions)]


def of_service(service: Service, path: str, questions: Sequence[Question]) -> list[Any]:
    """The same from one of the service's paths, as fast as the key's quota lets us."""
    return [_result(answer) for answer in answers_of_service(service, path, questions)]


def answers_of_service(
    service: Service, path: str, questions: Sequence[Question], *, batch: int = _BATCH
) -> Iterator[dict[str, Any]]:
    """The whole answers, so many of them by one request."""
    for body in _bodies(questions, batch):
        request = urllib.request.Request(
            service.base_url + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": service.key},
        )
        yield from _answers(request)


def answers_of_node(
    node: Localnet, questions: Sequence[Question], *, batch: int = _BATCH
) -> Iterator[dict[str, Any]]:
    """The same from a node."""
    for body in _bodies(questions, batch):
        yield from node.post(body)


def _bodies(questions: Sequence[Question], batch: int) -> Iterator[list[dict[str, Any]]]:
    body: list[dict[str, Any]] = []
    size = 0
    for method, *params in questions:
        length = len(json.dumps(params))
        if len(body) == batch or (body and size + length > _LARGEST_BODY):
            yield body
            body, size = [], 0
        body.append({"jsonrpc": "2.0", "id": len(body), "method": method, "params": params})
        size += length
    if body:
        yield body


def _answers(request: urllib.request.Request) -> list[dict[str, Any]]:
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                found: list[dict[str, Any]] = json.load(response)
                return found
        except urllib.error.HTTPError as error:
            assert error.code == 429, error.read()
            time.sleep(float(error.headers["Retry-After"]))


def _result(answer: dict[str, Any]) -> Any:
    assert "error" not in answer, answer["error"]
    return answer["result"]


def moment_of(localnet: Localnet, nonces: Sequence[Pubkey]) -> Moment:
    """What transactions written now stand on."""
    latest = localnet.call("getLatestBlockhash", CONFIRMED)
    accounts = localnet.call("getMultipleAccounts", list(map(str, nonces)), CONFIRMED | BASE64)
    values = {
        # Version, state, authority, and then the value.
        nonce: Hash(b64decode(account["data"][0])[40:72])
        for nonce, account in zip(nonces, accounts["value"], strict=True)
        if account is not None
    }
    blockhash = Hash.from_string(latest["value"]["blockhash"])
    return Moment(latest["context"]["slot"], blockhash, values)


def sending(planned: Sequence[Planned]) -> list[Question]:
    """The questions that send these; who asks checks nothing before the leader does."""
    config = {"encoding": "base64", "skipPreflight": True}
    return [("sendTransaction", encoded(each.transaction), config) for each in planned]


def send_by_tpu(localnet: Localnet, planned: Sequence[Planned]) -> None:
    """One stream for each, on one connection."""

    async def send() -> None:
        async with peer_of(localnet.tpu_port, identity=Keypair()) as peer:
            for each in planned:
                peer.send(bytes(each.transaction))
            # Not before they are acknowledged may the connection end.
            await peer.ping()

    asyncio.run(send())


def send_bundle(localnet: Localnet, planned: Sequence[Planned]) -> str:
    """The bundle's id."""
    sent = texts(*(each.transaction for each in planned))
    bundle_id: str = result(localnet, "sendBundle", sent, BASE64)
    return bundle_id


def decided(localnet: Localnet, bundle_id: str) -> str:
    """What became of the bundle."""

    def word() -> str | None:
        (status,) = result(localnet, "getInflightBundleStatuses", [bundle_id])["value"]
        return None if status["status"] == "Pending" else str(status["status"])

    found = until(word, f"bundle {bundle_id} decided")
    assert found is not None
    return found


def statuses(localnet: Localnet, signatures: Sequence[str]) -> list[dict[str, Any] | None]:
    """What the node knows of each, long ago or of late."""
    config = {"searchTransactionHistory": True}
    pages = [
        ("getSignatureStatuses", list(signatures[start : start + 256]), config)
        for start in range(0, len(signatures), 256)
    ]
    return [status for page in of_localnet(localnet, pages) for status in page["value"]]


def landed(localnet: Localnet, signatures: Sequence[str], level: str = "confirmed") -> None:
    """Waits until all of them are confirmed, or processed."""

    def have_landed() -> bool:
        found = statuses(localnet, signatures)
        passed = {"processed", "confirmed", "finalized"} - ({"processed"} - {level})
        return all(each and each["confirmationStatus"] in passed for each in found)

    until(have_landed, f"all transactions {level}")
