"""Params of the subscriptions' methods, and what they mean."""

from typing import Literal, TypeVar

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.account_json import AccountEncoding
from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from jsonrpc.errors import InvalidParams
from jsonrpc.params import U8, U64, Config
from livefeed.filter_params import Filter
from livefeed.messages import Level

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
