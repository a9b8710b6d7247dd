"""getAccountInfo, getMultipleAccounts, getAccountDiff."""

from functools import partial
from typing import Literal, TypeAlias

from django.conf import settings
from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from eventloop.faces import in_thread
from gateway.calls import Call
from jsonrpc.params import U64, Config
from rewind.accounts.methods.positions import Anchor, PositionConfig, asked
from rewind.accounts.results.accounts import (
    AccountContext,
    AccountDiff,
    AccountInfo,
    DiffContext,
    DiffGap,
    DiffProof,
    DiffReason,
    MultipleAccounts,
    SeveralContext,
)
from rewind.accounts.services import accounts, diff
from rewind.accounts.services.account_formatting import Shape, account_of, shape_of
from rewind.accounts.services.accounts import Seen
from rewind.accounts.store.account_reads import Look
from rewind.errors import (
    POSITIONS,
    AccountsTooLarge,
    DataTooLong,
    NoAccounts,
    SliceOfParsed,
    SlotInArchiveGap,
    TooManyAccounts,
    TooManyPrograms,
    WritesIncomplete,
)
from rewind.explained.results import IdlData
from rewind.explained.services.accounts import idl_reader
from rewind.method_table import methods
from rewind.positions import Asked
from rewind.proof.results import Standing
from rewind.proof.services import slot_proofs


class DataSlice(Config, frozen=True, kw_only=True):
    """A part of an account's data.

    offset: its first byte
    length: how many bytes
    """

    offset: U64
    length: U64


# How accounts are written out.
EncodingName: TypeAlias = Literal["base64", "base64+zstd", "base58", "jsonParsed"]


class AccountConfig(PositionConfig, frozen=True, kw_only=True):
    """Where in the past, and how the account is written.

    encoding: `base64` by default; `jsonParsed` reads what known programs keep
    data_slice: only a part of the data
    proof: whether `context.proof` says if the cluster voted for what the archive has
    idl: whether `context.idl` says what an IDL of the account's owner reads in its data
    """

    encoding: EncodingName | None = None
    data_slice: DataSlice | None = None
    proof: bool | None = None
    idl: bool | None = None


class DiffConfig(Config, frozen=True, kw_only=True):
    """Two positions, A and B, each a slot or an anchor, and how the account is written.

    slot_a: A: the end of this slot
    transaction_index_a: A: not the end of the slot, but right after its transaction of this index
    anchor_a: A: right before or after a transaction
    slot_b: B: the end of this slot
    transaction_index_b: B: not the end of the slot, but right after its transaction of this index
    anchor_b: B: right before or after a transaction
    encoding: `base64` by default; `jsonParsed` reads what known programs keep
    data_slice: only a part of the data
    commitment: taken and without effect: all that is archived is finalized
    tolerate_gaps: answer with what is known, even if slots in between are missing
    proof: whether `context.proof` says if the cluster voted for what the archive has
    """

    slot_a: U64 | None = None
    transaction_index_a: U64 | None = None
    anchor_a: Anchor | None = None
    slot_b: U64 | None = None
    transaction_index_b: U64 | None = None
    anchor_b: Anchor | None = None
    encoding: EncodingName | None = None
    data_slice: DataSlice | None = None
    commitment: Commitment | None = None
    tolerate_gaps: bool | None = None
    proof: bool | None = None


_READS = (
    *POSITIONS,
    SlotInArchiveGap,
    WritesIncomplete,
    SliceOfParsed,
    DataTooLong,
    AccountsTooLarge,
)


@methods.add("getAccountInfo", errors=_READS)
async def get_account_info(call: Call, pubkey: Pubkey, config: AccountConfig) -> AccountInfo:
    """An account as it was at any position in the past.

    pubkey: the account
    config: the position, and how to write the account
    """
    where = asked(config.slot, config.transaction_index, config.anchor)
    how = shape(config.encoding, config.data_slice)
    read = partial(_account_info, pubkey, config, where, how)
    if not config.proof and not config.idl:
        look = await accounts.alook(pubkey, where, how)
        if look is not None:
            return read(look)
    return await in_thread(read, None)


def _account_info(
    pubkey: Pubkey, config: AccountConfig, where: Asked, how: Shape, look: Look | None
) -> AccountInfo:
    tolerate_gaps = config.tolerate_gaps is True
    seen = accounts.account_info(pubkey, where, how, tolerate_gaps=tolerate_gaps, look=look)
    context = AccountContext(
        api_version=settings.ARCHIVE_API_VERSION,
        slot=seen.slot,
        reason=UNSET if seen.reason is None else seen.reason,
        gap=UNSET if seen.gap is None else seen.gap,
        completeness=seen.completeness,
        proof=standing_at(seen.slot, config.proof),
        idl=_idl_data(seen) if config.idl else UNSET,
    )
    return AccountInfo(context=context, value=seen.value)


@methods.add(
    "getMultipleAccounts",
    errors=(*_READS, NoAccounts, TooManyAccounts, TooManyPrograms),
    expensive=True,
)
def get_multiple_accounts(
    call: Call, pubkeys: list[Pubkey], config: AccountConfig
) -> MultipleAccounts:
    """Several accounts at one position.

    pubkeys: up to 100 accounts
    config: the position, and how to write the accounts
    """
    seen = accounts.multiple_accounts(
        pubkeys,
        asked(config.slot, config.transaction_index, config.anchor),
        shape(config.encoding, config.data_slice),
        tolerate_gaps=config.tolerate_gaps is True,
        with_idl=config.idl is True,
        most_accounts=settings.ARCHIVE_MAX_ACCOUNTS,
        most_bytes=settings.ARCHIVE_ANSWER_BYTES,
    )
    return MultipleAccounts(
        context=SeveralContext(
            api_version=settings.ARCHIVE_API_VERSION,
            slot=seen.slot,
            reason=seen.reasons,
            gap=UNSET if seen.gap is None else seen.gap,
            completeness=seen.completeness,
            proof=standing_at(seen.slot, config.proof),
            idl=UNSET if seen.idl is None else seen.idl,
        ),
        value=seen.values,
        truncated_by_bytes=seen.truncated,
    )


@methods.add("getAccountDiff", errors=_READS, expensive=True)
def get_account_diff(call: Call, pubkey: Pubkey, config: DiffConfig) -> AccountDiff:
    """An account at two positions, in whatever order of time, and what differs from A to B.

    pubkey: the account
    config: the two positions, and how the account is written
    """
    seen = diff.account_diff(
        pubkey,
        asked(config.slot_a, config.transaction_index_a, config.anchor_a, suffix="A"),
        asked(config.slot_b, config.transaction_index_b, config.anchor_b, suffix="B"),
        shape(config.encoding, config.data_slice),
        tolerate_gaps=config.tolerate_gaps is True,
    )
    has_reason = seen.reason_a is not None or seen.reason_b is not None
    gapped = seen.gap_a is not None or seen.gap_b is not None
    proof: DiffProof | UnsetType = UNSET
    if config.proof:
        a, b = slot_proofs.standing(seen.slot_a), slot_proofs.standing(seen.slot_b)
        proof = DiffProof(a=a, b=b)
    context = DiffContext(
        api_version=settings.ARCHIVE_API_VERSION,
        reason=DiffReason(a=seen.reason_a, b=seen.reason_b) if has_reason else UNSET,
        gap=DiffGap(a=seen.gap_a, b=seen.gap_b) if gapped else UNSET,
        completeness=seen.completeness,
        proof=proof,
    )
    return AccountDiff(context=context, value=seen.value)


def _idl_data(seen: Seen) -> IdlData | None:
    if seen.state is None:
        return None
    account = account_of(seen.state)
    return idl_reader([account.owner], seen.slot)(account)


def shape(encoding: str | None, part: DataSlice | None) -> Shape:
    """Raises SliceOfParsed."""
    return shape_of(encoding, None if part is None else (part.offset, part.length))


def standing_at(slot: int, wanted: bool | None) -> Standing | UnsetType:
    """For `context.proof`: omitted unless requested."""
    return slot_proofs.standing(slot) if wanted else UNSET
