"""getAccountChanges."""

from typing import Literal

from django.conf import settings
from msgspec import UNSET
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from gaps.errors import EmptyRange
from gateway.calls import Call
from jsonrpc.params import U64, Config
from rewind.accounts.methods.accounts import DataSlice, shape, standing_at
from rewind.accounts.methods.positions import Anchor, anchored
from rewind.accounts.results.accounts import Context
from rewind.accounts.results.changes import AccountChanges
from rewind.accounts.services import changes
from rewind.accounts.services.account_formatting import Shape
from rewind.errors import (
    POSITIONS,
    BadCursor,
    BadLimit,
    DataTooLong,
    EncodingRequired,
    SliceOfParsed,
    TwoStarts,
)
from rewind.method_table import methods


class ChangesConfig(Config, frozen=True, kw_only=True):
    """Which writes, and what of them.

    from_slot: the lowest slot, included
    to_slot: the highest slot, included
    limit: how many a page: 100 by default, at most 1,000, or 50 with data
    include_data: whether each write carries the account's data
    encoding: how data is written; required with `includeData`
    data_slice: only a part of the data
    before: `next` of the page before
    anchor: begin at this transaction in place of the range's end
    commitment: taken and without effect: all that is archived is finalized
    proof: whether `context.proof` says if the cluster voted for what the archive has
    """

    from_slot: U64
    to_slot: U64
    limit: U64 | None = None
    include_data: bool | None = None
    encoding: Literal["base64", "base64+zstd", "base58"] | None = None
    data_slice: DataSlice | None = None
    before: str | None = None
    anchor: Anchor | None = None
    commitment: Commitment | None = None
    proof: bool | None = None


@methods.add(
    "getAccountChanges",
    expensive=True,
    errors=(
        *POSITIONS,
        EmptyRange,
        BadCursor,
        BadLimit,
        TwoStarts,
        EncodingRequired,
        SliceOfParsed,
        DataTooLong,
    ),
)
def get_account_changes(call: Call, pubkey: Pubkey, config: ChangesConfig) -> AccountChanges:
    """Every write to an account in a range of slots, newest first, one page at a time: what it was
    afterwards, and which transaction wrote it.

    pubkey: the account
    config: which writes, and what of them
    """
    asking = changes.Asking(
        from_slot=config.from_slot,
        to_slot=config.to_slot,
        limit=config.limit,
        shape=_shape(config),
        cursor=config.before,
        anchor=None if config.anchor is None else anchored(config.anchor),
    )
    seen = changes.account_changes(pubkey, asking, most_bytes=settings.ARCHIVE_ANSWER_BYTES)
    reason = UNSET if seen.reason is None else seen.reason
    context = Context(
        api_version=settings.ARCHIVE_API_VERSION,
        slot=config.to_slot,
        reason=reason,
        completeness=seen.completeness,
        proof=standing_at(config.to_slot, config.proof),
    )
    return AccountChanges(context=context, value=seen.page)


def _shape(config: ChangesConfig) -> Shape | None:
    if not config.include_data:
        return None
    if config.encoding is None:
        raise EncodingRequired
    return shape(config.encoding, config.data_slice)
