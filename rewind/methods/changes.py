"""getAccountChanges."""

from typing import Literal

from django.conf import settings
from msgspec import UNSET
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from gateway.endpoint import Call
from jsonrpc.params import U64, Config
from rewind.errors import EncodingRequired
from rewind.methods.accounts import DataSlice, shape
from rewind.methods.positions import Anchor, anchored
from rewind.methods.table import methods
from rewind.results.accounts import Context
from rewind.results.changes import AccountChanges
from rewind.services import changes
from rewind.services.shapes import Shape


class ChangesConfig(Config, frozen=True, kw_only=True):
    from_slot: U64
    to_slot: U64
    limit: U64 | None = None
    include_data: bool | None = None
    encoding: Literal["base64", "base64+zstd", "base58"] | None = None
    data_slice: DataSlice | None = None
    before: str | None = None
    anchor: Anchor | None = None
    commitment: Commitment | None = None


@methods.add("getAccountChanges")
def get_account_changes(call: Call, pubkey: Pubkey, config: ChangesConfig) -> AccountChanges:
    """Every write to the account in the range, newest first, one page at a time; `context.reason`
    says where writes were not archived.
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
    context = Context(api_version=settings.ARCHIVE_API_VERSION, slot=config.to_slot, reason=reason)
    return AccountChanges(context=context, value=seen.page)


def _shape(config: ChangesConfig) -> Shape | None:
    if not config.include_data:
        return None
    if config.encoding is None:
        raise EncodingRequired
    return shape(config.encoding, config.data_slice)
