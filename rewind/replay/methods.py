"""simulateHistoricalTransaction."""

import binascii
from typing import Literal, TypeVar

from django.conf import settings
from msgspec import UNSET
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.account_json import AccountEncoding
from chain.accounts import MOST_ACCOUNT_BYTES
from chain.encodings import b58decode, b64decode, unzstd
from gateway.calls import Call
from gateway.transactions import (
    TransactionText,
    TransactionTooLarge,
    TransactionUndecodable,
    UnsupportedVersion,
    read_transaction,
)
from jsonrpc.params import U64, Config
from rewind.accounts.methods.positions import PositionConfig, asked
from rewind.errors import (
    POSITIONS,
    AccountsTooLarge,
    BadOverride,
    EngineFailed,
    FilteredAccountStale,
    OverrideWithoutEffect,
    PreStateTooNew,
    SimulationTimedOut,
    SlotInArchiveGap,
    StateNotRecorded,
    TooManyAccounts,
    WritesIncomplete,
)
from rewind.method_table import methods
from rewind.positions import Asked
from rewind.proof.services import slot_proofs
from rewind.replay.errors import Base58NotSupported, TooManyAddresses
from rewind.replay.results import missing_rules
from rewind.replay.results.simulation import Simulation, SimulationContext
from rewind.replay.services.overrides import Override, check_effects
from rewind.replay.services.simulation import Asking, Shown, simulate_historical

# Reading base58 takes time that grows with the square of its length.
_LONGEST_BASE58 = 1_700
# Of all overrides of a call together: packed, they may come in a small body.
_MOST_OVERRIDE_BYTES = 33_554_432
_Member = TypeVar("_Member")


class AccountsConfig(Config, frozen=True, kw_only=True):
    """Accounts to be shown as the transaction left them, or as they were there if it does not load
    them.

    addresses: the accounts, at most as many as the transaction has
    encoding: how their data is written: `base64` by default; `base58` and `binary` are refused
    """

    addresses: list[Pubkey]
    encoding: AccountEncoding | None = None


# A misspelled member would be an answer without what was asked: unknown ones are refused.
class OverrideConfig(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of an account to use instead; omitted members stay as they were. An
    account as getAccountInfo returns it may be passed as it is.

    lamports: its balance
    owner: the program that it belongs to
    data: its data in base64, or a pair of text and encoding: `base64`, `base58` or `base64+zstd`
    executable: whether it is a program; it has no effect without an owner that runs code
    rent_epoch: taken and without effect
    space: taken and without effect
    rewind_slot: taken and without effect
    """

    lamports: U64 | None = None
    owner: Pubkey | None = None
    data: str | tuple[str, Literal["base64", "base58", "base64+zstd"]] | None = None
    executable: bool | None = None
    rent_epoch: U64 | None = None
    space: U64 | None = None
    rewind_slot: U64 | None = None


class SimulationConfig(PositionConfig, frozen=True, kw_only=True):
    """Where in the past, on which accounts, and what is to be shown. Neither signatures nor the
    blockhash are checked on past state.

    pre_state_slot: run on accounts as they were at this earlier slot
    encoding: how the transaction is written; `base64` by default
    inner_instructions: whether to return the calls of programs
    accounts: accounts to be shown as the transaction left them, as simulateTransaction shows them
    overrides: accounts that are to be otherwise, by their pubkeys
    override_loads: accounts that are to be taken from another slot, by their pubkeys
    sig_verify: taken and without effect
    replace_recent_blockhash: taken and without effect
    proof: whether `context.proof` says if the cluster voted for what the archive has
    """

    pre_state_slot: U64 | None = None
    encoding: TransactionText | None = None
    inner_instructions: bool | None = None
    accounts: AccountsConfig | None = None
    overrides: dict[str, OverrideConfig] | None = None
    override_loads: dict[str, U64] | None = None
    sig_verify: bool | None = None
    replace_recent_blockhash: bool | None = None
    proof: bool | None = None


# Those of what is asked for, and those of running it, too.
ASKING_ERRORS = (
    *POSITIONS,
    PreStateTooNew,
    TransactionUndecodable,
    TransactionTooLarge,
    UnsupportedVersion,
    BadOverride,
    OverrideWithoutEffect,
    TooManyAccounts,
    TooManyAddresses,
    Base58NotSupported,
)
SIMULATION_ERRORS = (
    *ASKING_ERRORS,
    AccountsTooLarge,
    SlotInArchiveGap,
    WritesIncomplete,
    StateNotRecorded,
    FilteredAccountStale,
    EngineFailed,
    SimulationTimedOut,
)


@methods.add(
    "simulateHistoricalTransaction", errors=SIMULATION_ERRORS, expensive=True, takes_large=True
)
def simulate_historical_transaction(
    call: Call, transaction: str, config: SimulationConfig
) -> Simulation:
    """What a transaction would have done at a position in the past, on other state if you like, and
    whether the ledger proves the answer. A transaction of the ledger is run again by its own text.

    transaction: the transaction as text
    config: the position, the accounts, and what to show
    """
    return simulation_of(asking_of(transaction, config), proof=config.proof)


def simulation_of(asking: Asking, *, proof: bool | None) -> Simulation:
    """The answer, with what it is based on; where `proof`, whether the cluster voted for the
    accounts that it ran on.
    """
    done = simulate_historical(asking, timeout_seconds=settings.SIMULATION_TIMEOUT_SECONDS)
    context = SimulationContext(
        api_version=settings.ARCHIVE_API_VERSION,
        slot=done.value.rewind_slot,
        gap=UNSET if done.gap is None else done.gap,
        completeness=done.completeness,
        proof=slot_proofs.standing(done.value.rewind_load_slot) if proof else UNSET,
        missing_rules=missing_rules.entries(done.missing_rules),
    )
    return Simulation(context=context, value=done.value)


def asking_of(text: str, config: SimulationConfig) -> Asking:
    """What is asked for by a transaction's text and a config; raises InvalidParams."""
    transaction = read_transaction(text, config.encoding or TransactionText.BASE64, at="[0]")
    position = asked(config.slot, config.transaction_index, config.anchor)
    return asking(transaction, position, config)


def asking(
    transaction: VersionedTransaction,
    position: Asked,
    config: SimulationConfig,
    *,
    is_shared: bool = False,
) -> Asking:
    """The same with the transaction and the position read already. A config that `is_shared` by
    several transactions may alter accounts that this one does not read.
    """
    overrides = {
        _pubkey(key, "overrides"): _override(key, override)
        for key, override in _few(config.overrides).items()
    }
    size = sum(len(each.data) for each in overrides.values() if each.data is not None)
    if size > _MOST_OVERRIDE_BYTES:
        raise BadOverride(
            f"the overrides have {size} bytes of data; at most {_MOST_OVERRIDE_BYTES} are taken",
            at="[1].overrides",
            found=size,
            maximum=_MOST_OVERRIDE_BYTES,
        )
    loads = {
        _pubkey(key, "overrideLoads"): slot for key, slot in _few(config.override_loads).items()
    }
    check_effects(overrides, loads)
    return Asking(
        transaction=transaction,
        asked=position,
        pre_state_slot=config.pre_state_slot,
        inner_instructions=config.inner_instructions is True,
        shown=_shown(config.accounts, transaction, is_shared=is_shared),
        tolerate_gaps=config.tolerate_gaps is True,
        overrides=overrides,
        override_loads=loads,
        is_shared=is_shared,
    )


def _shown(
    config: AccountsConfig | None, transaction: VersionedTransaction, *, is_shared: bool
) -> Shown | None:
    if config is None:
        return None
    encoding = config.encoding or AccountEncoding.BASE64
    if encoding in (AccountEncoding.BINARY, AccountEncoding.BASE58):
        raise Base58NotSupported
    # Transactions that share the list may have fewer accounts than it.
    most = settings.ARCHIVE_MAX_ACCOUNTS if is_shared else _account_count(transaction)
    if len(config.addresses) > most:
        raise TooManyAddresses(len(config.addresses), most)
    return Shown(tuple(config.addresses), encoding)


def _account_count(transaction: VersionedTransaction) -> int:
    message = transaction.message
    lookups = message.address_table_lookups if isinstance(message, MessageV0) else ()
    return len(message.account_keys) + sum(
        len(each.writable_indexes) + len(each.readonly_indexes) for each in lookups
    )


def _few(members: dict[str, _Member] | None) -> dict[str, _Member]:
    members = members or {}
    if len(members) > settings.ARCHIVE_MAX_ACCOUNTS:
        raise TooManyAccounts(len(members), settings.ARCHIVE_MAX_ACCOUNTS)
    return members


def _pubkey(text: str, member: str) -> Pubkey:
    try:
        return Pubkey.from_string(text)
    except ValueError:
        text = text[:64]
        raise BadOverride(f"`{text}` is not a pubkey", at=f"[1].{member}.{text}") from None


def _override(key: str, config: OverrideConfig) -> Override:
    return Override(
        lamports=config.lamports,
        owner=config.owner,
        data=None if config.data is None else _data(config.data, f"[1].overrides.{key}.data"),
        executable=config.executable,
    )


def _data(given: str | tuple[str, str], at: str) -> bytes:
    text, encoding = (given, "base64") if isinstance(given, str) else given
    if encoding == "base58" and len(text) > _LONGEST_BASE58:
        raise BadOverride("too long for base58", at=at, found=len(text), maximum=_LONGEST_BASE58)
    try:
        if encoding == "base58":
            return b58decode(text)
        data = b64decode(text)
        if encoding == "base64+zstd":
            data = unzstd(data, most=MOST_ACCOUNT_BYTES)
    except (ValueError, binascii.Error) as fault:
        raise BadOverride(f"invalid {encoding} encoding: {fault}", at=at) from None
    if len(data) > MOST_ACCOUNT_BYTES:
        raise BadOverride(
            f"an account has at most {MOST_ACCOUNT_BYTES} bytes of data",
            at=at,
            found=len(data),
            maximum=MOST_ACCOUNT_BYTES,
        )
    return data
