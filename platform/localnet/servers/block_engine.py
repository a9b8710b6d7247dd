"""The block engine: bundles over JSON-RPC, as Jito's takes them, and single transactions."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from solders.signature import Signature

from chain.commitment import Commitment
from chain.encodings import b58decode, b64decode
from chain.transaction_texts import limits_of_text
from chain.transactions import BadTransaction
from jsonrpc import dispatch
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.params import Config
from localnet.auction import MOST_TRANSACTIONS, Auction
from localnet.errors import BadParams, NodeBehind
from localnet.identities import TIP_ACCOUNTS
from localnet.ledger import Ledger, QueueFull
from localnet.servers.http_port import Refusal, listening, require_method
from localnet.submissions import (
    Bundle,
    BundleState,
    SignatureFailure,
    Submitted,
    read_transaction,
)
from webserver.requests import Request
from webserver.responses import Response

MOST_IDS = 5

_MAX_BATCH = 100
_MAX_BODY = 262_144

bundles = MethodTable()
transactions = MethodTable()


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where bundles go, whether a transaction must land as a bundle alone, and the
    headers of the answer.
    """

    auction: Auction
    bundle_only: bool
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return self.auction.ledger


class EncodingConfig(Config, frozen=True, kw_only=True):
    encoding: str | None = None


_BASE58 = EncodingConfig()


def serve(auction: Auction, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken.
    """
    # Jito's engine has every method of bundles at an address of its own too.
    tables = {f"/api/v1/{each}": bundles for each in ("bundles", *(m.name for m in bundles))}
    tables["/api/v1/transactions"] = transactions

    def answer(request: Request) -> Response:
        methods = tables.get(request.path)
        if methods is None:
            raise Refusal(404, "404: Not Found")
        require_method(request, "POST")
        return _post(request, auction, methods)

    return listening(answer, host, port, max_body=_MAX_BODY)


@bundles.add("sendBundle")
def send_bundle(call: Call, wanted: list[str], config: EncodingConfig = _BASE58) -> str:
    """The bundle's id: it is in the auction, which is no promise that it lands."""
    # Before they are read: each takes a signature's check.
    if len(wanted) > MOST_TRANSACTIONS:
        raise BadParams(f"bundle exceeds {MOST_TRANSACTIONS} transactions: {len(wanted)}")
    submitted = [
        _read(text, config, f"transaction #{number}") for number, text in enumerate(wanted)
    ]
    return call.auction.submit(submitted)


@bundles.add("getBundleStatuses")
def get_bundle_statuses(call: Call, bundle_ids: list[str]) -> dict[str, Any]:
    """Where each bundle landed; null for one that has not, or is not known."""
    return _in_context(call, [_status(call, each) for each in _ids(bundle_ids)])


@bundles.add("getInflightBundleStatuses")
def get_inflight_bundle_statuses(call: Call, bundle_ids: list[str]) -> dict[str, Any]:
    """How far each bundle has come; Invalid for one that is not known."""
    found = []
    for bundle_id in _ids(bundle_ids):
        bundle = call.ledger.bundle_status(bundle_id)
        found.append(
            {
                "bundle_id": bundle_id,
                "status": "Invalid" if bundle is None else bundle.state.value,
                "landed_slot": None if bundle is None else bundle.slot,
            }
        )
    return _in_context(call, found)


@bundles.add("getTipAccounts")
def get_tip_accounts(call: Call) -> list[str]:
    """The accounts on which a tip counts."""
    return [str(each) for each in TIP_ACCOUNTS]


@transactions.add("sendTransaction")
def send_transaction(call: Call, text: str, config: EncodingConfig = _BASE58) -> str:
    """The transaction's signature; it goes to the leader unsimulated, and with bundleOnly lands as
    a bundle or not at all. The id as a bundle stands in the header x-bundle-id.
    """
    submitted = _read(text, config, "transaction")
    if call.bundle_only:
        call.auction.submit([submitted])
    else:
        try:
            call.ledger.submit(submitted.wire)
        except QueueFull:
            raise NodeBehind from None
    call.headers["x-bundle-id"] = Bundle([submitted]).bundle_id
    return str(Signature(submitted.signature))


def _read(text: str, config: EncodingConfig, what: str) -> Submitted:
    """A signed transaction; BadParams where it is none."""
    encoding = config.encoding or "base58"
    if encoding not in ("base58", "base64"):
        raise BadParams(f"unsupported encoding: {encoding}. Supported encodings: base58, base64")
    limits = limits_of_text(text, is_base58=encoding == "base58")
    if len(text) > limits.longest_text:
        raise BadParams(f"{what} could not be decoded: more than {limits.most_bytes} bytes")
    try:
        return read_transaction(b58decode(text) if encoding == "base58" else b64decode(text))
    except SignatureFailure:
        raise BadParams(f"{what} has an invalid signature") from None
    except (BadTransaction, ValueError) as error:
        raise BadParams(f"{what} could not be decoded: {error}") from None


def _ids(bundle_ids: list[str]) -> list[str]:
    if len(bundle_ids) > MOST_IDS:
        raise BadParams(f"too many bundle ids: {len(bundle_ids)}, at most {MOST_IDS}")
    return bundle_ids


def _status(call: Call, bundle_id: str) -> dict[str, Any] | None:
    bundle = call.ledger.bundle_status(bundle_id)
    if bundle is None or bundle.state is not BundleState.LANDED:
        return None
    seen = call.ledger.seen(bundle.transactions[0].signature)
    return {
        "bundle_id": bundle_id,
        "transactions": [str(Signature(each.signature)) for each in bundle.transactions],
        "slot": bundle.slot,
        "confirmation_status": (seen.commitment if seen else Commitment.PROCESSED).value,
        "err": {"Ok": None},
    }


def _in_context(call: Call, value: Any) -> dict[str, Any]:
    return {"context": {"slot": call.ledger.latest(Commitment.PROCESSED).slot}, "value": value}


def _post(request: Request, auction: Auction, methods: MethodTable) -> Response:
    query = parse_qs(request.query.removeprefix("?"))
    call = Call(auction, bundle_only=query.get("bundleOnly", [""])[0] == "true")
    try:
        requests = dispatch.read(request.body, max_batch=_MAX_BATCH)
        chunks = dispatch.answer(requests, methods, call, _unobserved)
    except RpcError as error:
        chunks = [dispatch.failure(error)]
    return Response(
        200, [("Content-Type", "application/json"), *call.headers.items()], list(chunks)
    )


def _unobserved(method: str, error: RpcError | None) -> None:
    """Calls are not counted here."""
