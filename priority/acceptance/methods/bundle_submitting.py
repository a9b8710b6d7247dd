"""sendBundle, in all forms that block engines' clients use."""

from collections.abc import Callable, Sequence

from django.conf import settings
from solders.signature import Signature

from gateway.calls import Call
from gateway.transactions import (
    Signed,
    TransactionText,
    TransactionTooLarge,
    TransactionUndecodable,
    UnsupportedVersion,
    read_signed,
)
from priority.acceptance.errors import (
    BlockhashNotFound,
    BundleDuplicates,
    BundleNonceTwice,
    BundleSimulationFailed,
    BundlesOff,
)
from priority.acceptance.methods.origins import named_in, origin_of, require_prompt, tier_of
from priority.acceptance.methods.submitting import ACCEPTING, READING, EncodingConfig
from priority.acceptance.services import accepting
from priority.acceptance.services.selection import require_block_engine
from priority.errors import BundleEmpty, BundleTooLarge
from priority.method_table import block_engine_methods, bundle_methods, upstream_node
from priority.proxy.errors import NoUpstreamNode
from priority.simulation.methods import MOST_TRANSACTIONS
from priority.simulation.services.precheck import require_success

# A bundle waits for its simulation no longer than this, and is then accepted without.
_PRECHECK_SECONDS = 2


_ERRORS = (
    BundlesOff,
    BundleEmpty,
    BundleTooLarge,
    BundleDuplicates,
    BundleNonceTwice,
    BundleSimulationFailed,
    BlockhashNotFound,
    *READING,
    *ACCEPTING,
)


@bundle_methods.add(
    "sendBundle", result=Signature | list[Signature], errors=_ERRORS, asks_node=True
)
def send_bundle(
    call: Call, transactions: list[str], config: EncodingConfig | None = None
) -> str | list[str]:
    """Lands up to four transactions one after the other in one block, or none of them. One of them
    must tip. They are simulated first, then written down, and sent to block engines until they land
    or never can. The answer means accepted, not landed: ask getBundleFate. The bundle's id is in
    the header `X-Bundle-Id`.

    transactions: one to four signed transactions as text, in their order
    config: how they are written; without it base64 and base58 are both read
    returns: the signature of the one transaction, or those of all in order
    """
    _, signed = _accept(call, transactions, config)
    signatures = [accepting.signature_of(each) for each in signed]
    return signatures[0] if len(signatures) == 1 else signatures


@block_engine_methods.add("sendBundle", errors=_ERRORS, asks_node=True)
def send_bundle_to_engine(
    call: Call, transactions: list[str], config: EncodingConfig | None = None
) -> str:
    """The same where clients of a block engine send bundles.

    transactions: one to four signed transactions as text, in their order
    config: how they are written; without it base64 and base58 are both read
    returns: the bundle's id
    """
    bundle_id, _ = _accept(call, transactions, config)
    return bundle_id


def _accept(
    call: Call, texts: Sequence[str], config: EncodingConfig | None
) -> tuple[str, list[Signed]]:
    bounds = require_prompt(call)
    require_block_engine(tier_of(call))
    if not texts:
        raise BundleEmpty(MOST_TRANSACTIONS)
    if len(texts) > MOST_TRANSACTIONS:
        raise BundleTooLarge(len(texts), MOST_TRANSACTIONS)
    encoding = None if config is None else config.encoding
    at = [f"[0][{place}]" for place in range(len(texts))]
    signed = [_read(text, encoding, where) for text, where in zip(texts, at, strict=True)]
    receipt = accepting.accept_bundle(
        signed, origin_of(call), bounds=bounds, at=at, precheck=_precheck(signed)
    )
    bundle_id = named_in(call, receipt)
    call.headers["X-Bundle-Id"] = bundle_id
    return bundle_id, signed


def _read(text: str, encoding: TransactionText | None, at: str) -> Signed:
    """Where no encoding is named either is read: ours is base64, a block engine's base58."""
    if encoding is not None:
        return read_signed(text, encoding, at=at)
    try:
        return read_signed(text, TransactionText.BASE64, at=at)
    except (TransactionUndecodable, TransactionTooLarge, UnsupportedVersion) as refused:
        try:
            return read_signed(text, TransactionText.BASE58, at=at)
        except (TransactionUndecodable, TransactionTooLarge):
            raise refused from None


def _precheck(signed: Sequence[Signed]) -> Callable[[], None] | None:
    if not settings.BUNDLE_SIMULATION:
        return None

    def run() -> None:
        try:
            node = upstream_node()
        except NoUpstreamNode:
            return
        seconds = min(_PRECHECK_SECONDS, settings.SIMULATION_TIMEOUT_SECONDS)
        require_success([each.data for each in signed], node=node, timeout_seconds=seconds)

    return run
