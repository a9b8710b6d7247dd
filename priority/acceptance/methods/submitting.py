"""sendTransaction, as our own callers send it and as clients of a block engine do."""

from functools import partial
from typing import Annotated
from urllib.parse import parse_qs

import msgspec
from solders.signature import Signature

from chain.commitment import Commitment
from eventloop.faces import in_thread
from gateway.calls import Call
from gateway.transactions import (
    SignatureInvalid,
    SignatureMissing,
    TransactionText,
    TransactionTooLarge,
    TransactionUndecodable,
    UnsupportedVersion,
    read_signed,
)
from jsonrpc.params import U64, Config
from priority.acceptance.errors import (
    BlockhashExpired,
    BundleOnlyNotServed,
    LandingBehind,
    NonceUnusable,
    NoUpstreamChosen,
    QueueFull,
    QueueUnavailable,
    SkipPreflightRequired,
    TipAddressesUnread,
    TipAddressExpired,
    TipAddressUnknown,
    TipBehindLookupTable,
    TipMissing,
    TipTooSmall,
    UnknownUpstream,
    UpstreamsUnread,
)
from priority.acceptance.methods.origins import named_in, origin_of, require_prompt, tier_of
from priority.acceptance.services.accepting import Bounds, Wishes, accept_transaction
from priority.acceptance.services.selection import chosen_upstreams
from priority.method_table import block_engine_transactions, landing_methods

_I32 = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class SendConfig(Config, frozen=True, kw_only=True):
    """How to send.

    encoding: how the transaction is written: `base58` by default
    skip_preflight: must be true: nothing is simulated before it is sent
    max_retries: how often to send it again; 0 sends it once. By default until it lands or
        never can
    preflight_commitment: taken and without effect
    min_context_slot: taken and without effect
    only_upstreams: send to only these upstreams: names, or one text with commas. `bundle` means
        all block engines
    """

    encoding: TransactionText | None = None
    skip_preflight: bool | None = None
    max_retries: _I32 | None = None
    preflight_commitment: Commitment | None = None
    min_context_slot: U64 | None = None
    only_upstreams: list[str] | str | None = None


class EncodingConfig(Config, frozen=True, kw_only=True):
    """How a transaction is written.

    encoding: `base58` or `base64`
    """

    encoding: TransactionText | None = None


# What a transaction's text may be refused for, and what may keep it from being accepted.
READING = (
    TransactionUndecodable,
    TransactionTooLarge,
    UnsupportedVersion,
    SignatureMissing,
    SignatureInvalid,
)
ACCEPTING = (
    TipMissing,
    TipTooSmall,
    TipAddressUnknown,
    TipAddressExpired,
    TipBehindLookupTable,
    BlockhashExpired,
    NonceUnusable,
    LandingBehind,
    QueueUnavailable,
    QueueFull,
    TipAddressesUnread,
    UpstreamsUnread,
)


@landing_methods.add(
    "sendTransaction",
    result=Signature,
    errors=(SkipPreflightRequired, UnknownUpstream, NoUpstreamChosen, *READING, *ACCEPTING),
)
async def send_transaction(call: Call, transaction: str, config: SendConfig) -> str:
    """Lands a signed transaction that tips: it is written down, and sent to the next leaders, to
    nodes and to block engines at once, again and again, until it is in a block or never can be. The
    answer means accepted, not landed: ask getTransactionFate. The same transaction again answers
    the same, and is not sent twice. The header `X-Queue-Milliseconds` is how long the oldest
    accepted transaction has waited to be sent.

    transaction: the signed transaction as text; a transfer of at least 1,000,000 lamports to a tip
        address must be among its own instructions
    config: how to send; `skipPreflight` must be in it
    returns: the transaction's signature
    """
    bounds = require_prompt(call)
    if config.skip_preflight is not True:
        raise SkipPreflightRequired(config.skip_preflight)
    names = _names(call.query, config.only_upstreams)
    only = await in_thread(partial(chosen_upstreams, names, tier=tier_of(call))) if names else []
    return await _send(call, transaction, config.encoding, Wishes(only, config.max_retries), bounds)


@block_engine_transactions.add(
    "sendTransaction",
    result=Signature,
    errors=(BundleOnlyNotServed, *READING, *ACCEPTING),
)
async def send_to_engine(call: Call, transaction: str, config: EncodingConfig | None = None) -> str:
    """The same where clients of a block engine send transactions: they never ask for a preflight.

    transaction: the signed transaction as text, with its tip
    config: how it is written: base58 by default
    returns: the transaction's signature
    """
    bounds = require_prompt(call)
    if _parameter(call.query, "bundleOnly")[-1:] == ["true"]:
        raise BundleOnlyNotServed
    encoding = None if config is None else config.encoding
    return await _send(call, transaction, encoding, Wishes(), bounds)


async def _send(
    call: Call, text: str, encoding: TransactionText | None, wishes: Wishes, bounds: Bounds
) -> str:
    signed = read_signed(text, encoding or TransactionText.BASE58, at="[0]")
    receipt = await accept_transaction(
        signed, origin_of(call), wishes=wishes, bounds=bounds, at="[0]"
    )
    return named_in(call, receipt)


def _names(query: str, chosen: list[str] | str | None) -> list[str]:
    """The upstreams that the query and the config name, together."""
    names = [] if chosen is None else chosen.split(",") if isinstance(chosen, str) else chosen
    return [*names, *(name for text in _parameter(query, "only") for name in text.split(","))]


def _parameter(query: str, name: str) -> list[str]:
    # Most calls have no query, and reading one costs.
    return parse_qs(query).get(name, []) if query else []
