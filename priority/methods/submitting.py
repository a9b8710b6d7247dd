"""sendTransaction, as our own callers send it and as clients of a block engine do."""

from typing import Annotated
from urllib.parse import parse_qs

import msgspec

from chain.commitment import Commitment
from gateway.endpoint import Call
from gateway.transactions import TransactionText, read_signed
from jsonrpc.params import U64, Config
from priority.methods.origins import bounds, origin_of, tier_of
from priority.methods.table import block_engine_transactions, landing_methods
from priority.refusals import BundleOnlyNotServed, SkipPreflightRequired
from priority.services.accepting import Wishes, accept_transaction
from priority.services.selection import chosen_upstreams

_I32 = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class SendConfig(Config, frozen=True, kw_only=True):
    """How to send. Nothing is simulated, so that a preflight's commitment and the slot that it must
    have reached are read and change nothing.
    """

    encoding: TransactionText | None = None
    skip_preflight: bool | None = None
    max_retries: _I32 | None = None
    preflight_commitment: Commitment | None = None
    min_context_slot: U64 | None = None
    only_upstreams: list[str] | str | None = None


class EncodingConfig(Config, frozen=True, kw_only=True):
    """How a transaction is written."""

    encoding: TransactionText | None = None


@landing_methods.add("sendTransaction")
def send_transaction(call: Call, transaction: str, config: SendConfig) -> str:
    """The transaction's signature: it is accepted and durable, and has yet to land."""
    if config.skip_preflight is not True:
        raise SkipPreflightRequired(config.skip_preflight)
    only = chosen_upstreams(_names(call.query, config.only_upstreams), tier=tier_of(call))
    return _send(call, transaction, config.encoding, Wishes(only, config.max_retries))


@block_engine_transactions.add("sendTransaction")
def send_to_engine(call: Call, transaction: str, config: EncodingConfig | None = None) -> str:
    """Likewise, where a block engine's clients send it: they never ask for a preflight."""
    if _parameter(call.query, "bundleOnly")[-1:] == ["true"]:
        raise BundleOnlyNotServed
    encoding = None if config is None else config.encoding
    return _send(call, transaction, encoding, Wishes())


def _send(call: Call, text: str, encoding: TransactionText | None, wishes: Wishes) -> str:
    signed = read_signed(text, encoding or TransactionText.BASE58, at="[0]")
    return accept_transaction(signed, origin_of(call), wishes=wishes, bounds=bounds(), at="[0]")


def _names(query: str, told: list[str] | str | None) -> list[str]:
    """The upstreams that the query and the config name, together."""
    names = [] if told is None else told.split(",") if isinstance(told, str) else told
    return [*names, *(name for text in _parameter(query, "only") for name in text.split(","))]


def _parameter(query: str, name: str) -> list[str]:
    # Most calls have no query, and reading one costs.
    return parse_qs(query).get(name, []) if query else []
