"""Params of the subscriptions' methods, and what they mean."""

from typing import Annotated, Literal, TypeVar

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.account_json import AccountEncoding
from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from chain.memcmp import memcmp_bytes
from jsonrpc.errors import InvalidParams
from jsonrpc.params import U8, U64, Config
from livefeed.filters import AccountFilter
from livefeed.messages import Level

_MOST_FILTERS = 4

K = TypeVar("K", Pubkey, Signature)


class FromConfig(Config, frozen=True, kw_only=True):
    """Where a subscription with a memory begins: at a slot, or behind a transaction."""

    from_slot: U64 | None = None
    from_signature: str | None = None


class CommitmentConfig(FromConfig, frozen=True, kw_only=True):
    commitment: Commitment | None = None

    @property
    def level(self) -> Level:
        return level_of(self.commitment)


class SignatureConfig(CommitmentConfig, frozen=True, kw_only=True):
    enable_received_notification: bool | None = None


class DataSlice(Config, frozen=True, kw_only=True):
    offset: U64
    length: U64


class AccountConfig(CommitmentConfig, frozen=True, kw_only=True):
    encoding: AccountEncoding | None = None
    data_slice: DataSlice | None = None
    min_context_slot: U64 | None = None

    @property
    def part(self) -> tuple[int, int] | None:
        given = self.data_slice
        return None if given is None else (given.offset, given.length)


class Memcmp(Config, frozen=True, kw_only=True):
    """Bytes that must stand at an offset: base58 or base64 text, or a list of numbers."""

    offset: U64
    bytes: str | list[Annotated[int, msgspec.Meta(ge=0, le=255)]]
    encoding: Literal["base58", "base64", "bytes"] | None = None


class Filter(Config, frozen=True, kw_only=True):
    """One of its fields, as the node has it."""

    memcmp: Memcmp | None = None
    data_size: U64 | None = None


class ProgramConfig(AccountConfig, frozen=True, kw_only=True):
    filters: list[Filter | Literal["tokenAccountState"]] | None = None
    with_context: bool | None = None


class Mentions(Config, frozen=True, kw_only=True):
    mentions: list[str]


class BlockMentions(Config, frozen=True, kw_only=True):
    mentions_account_or_program: str


class BlockConfig(CommitmentConfig, frozen=True, kw_only=True):
    encoding: TransactionEncoding | None = None
    transaction_details: TransactionDetails | None = None
    show_rewards: bool | None = None
    max_supported_transaction_version: U8 | None = None


def level_of(commitment: Commitment | None) -> Level:
    """Its number; without one it is finalized."""
    return Level[(commitment or Commitment.FINALIZED).name]


def pubkey_of(text: str, name: str = "pubkey") -> Pubkey:
    """Raises InvalidParams in the standard node's words."""
    return _read(Pubkey, text, name)


def signature_of(text: str) -> Signature:
    """Raises InvalidParams in the standard node's words."""
    return _read(Signature, text, "signature")


def _read(kind: type[K], text: str, name: str) -> K:
    try:
        return kind.from_string(text)
    except ValueError:
        raise InvalidParams(f"Invalid Request: Invalid {name} provided") from None


def filters_of(config: ProgramConfig) -> tuple[AccountFilter, ...]:
    """Raises InvalidParams."""
    given = config.filters or []
    if len(given) > _MOST_FILTERS:
        raise InvalidParams(f"Too many filters provided; max {_MOST_FILTERS}")
    return tuple(map(_filter, given))


def _filter(given: Filter | str) -> AccountFilter:
    if isinstance(given, str):
        return AccountFilter()
    if (given.memcmp is None) == (given.data_size is None):
        raise InvalidParams("Invalid params: expected one of `dataSize`, `memcmp` in a filter")
    if given.memcmp is None:
        return AccountFilter(size=given.data_size)
    try:
        part = memcmp_bytes(given.memcmp.bytes, given.memcmp.encoding)
    except ValueError as error:
        raise InvalidParams(str(error)) from None
    return AccountFilter(offset=given.memcmp.offset, part=part)
