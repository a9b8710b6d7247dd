"""simulateBundle: flat with one parameter, in the block engine's own form with two."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

from django.conf import settings
from msgspec import UNSET
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding
from chain.commitment import Commitment
from chain.transaction_error_text import transaction_error_text
from gateway.calls import Call
from gateway.transactions import SignatureInvalid, TransactionText, read_transaction
from jsonrpc.params import U64, Config
from priority.errors import BundleEmpty, BundleTooLarge
from priority.method_table import NODE_ERRORS, methods, upstream_node
from priority.proxy.errors import NoUpstreamNode
from priority.simulation.errors import (
    ConfigsMismatch,
    HeadMoved,
    SnapshotsTooLarge,
    TooManySnapshots,
)
from priority.simulation.results import (
    BundleContext,
    BundleTransaction,
    BundleValue,
    SimulatedBundle,
    SimulatedTransactions,
)
from priority.simulation.services.bundles import Bundle, Tried, try_at, try_now
from priority.simulation.services.snapshots import Wanted, Wishes, snapshots, writable_accounts
from rewind.accounts.methods.positions import Anchor, asked
from rewind.errors import BadPosition
from rewind.positions import Asked
from rewind.recording.store.slots import bounds
from rewind.replay.methods import SIMULATION_ERRORS
from rewind.replay.results import missing_rules
from simulator.outcome import Outcome

MOST_TRANSACTIONS = 4
_ERRORS = (
    BundleEmpty,
    BundleTooLarge,
    ConfigsMismatch,
    TooManySnapshots,
    SnapshotsTooLarge,
    SignatureInvalid,
    HeadMoved,
    *NODE_ERRORS,
    *SIMULATION_ERRORS,
)
# As many as a transaction may lock.
_MOST_SNAPSHOTS = 64


class SnapshotEncoding(Enum):
    """How an account's data is shown; base58 is too slow for this, as in the block engine."""

    BASE64 = "base64"
    BASE64_ZSTD = "base64+zstd"
    JSON_PARSED = "jsonParsed"


class Snapshots(Config, frozen=True, kw_only=True):
    """Accounts to be shown of one transaction.

    addresses: the accounts
    encoding: how their data is written: `base64` by default
    """

    addresses: list[Pubkey]
    encoding: SnapshotEncoding | None = None


class InCommitment(Config, frozen=True, kw_only=True):
    """A commitment as Rust's clients write one.

    commitment: `processed`, `confirmed` or `finalized`
    """

    commitment: Commitment


class Bank(Config, frozen=True, kw_only=True):
    """What to simulate on: one of the two.

    commitment: the newest state of this commitment
    slot: the end of this slot in the past
    """

    commitment: Commitment | InCommitment | None = None
    slot: U64 | None = None


class BundleConfig(Config, frozen=True, kw_only=True):
    """How to simulate: on the newest state, or with `slot` or `anchor` in the past.

    skip_sig_verify: do not check the signatures
    replace_recent_blockhash: let any blockhash pass
    pre_execution_accounts_configs: accounts to be shown before each transaction, one entry for
        each; null for none
    post_execution_accounts_configs: accounts to be shown after each transaction, one entry for
        each; null for none
    transaction_encoding: how the transactions are written: `base64` by default
    simulation_bank: what to run on, in a block engine's words: `tip` means the newest state
    commitment: the newest state of this commitment
    slot: the end of this slot in the past
    transaction_index: not the end of the slot, but right after its transaction of this index
    anchor: right before or after a transaction in the past
    tolerate_gaps: in the past: answer with what is known, even if the archive misses slots
    """

    skip_sig_verify: bool | None = None
    replace_recent_blockhash: bool | None = None
    pre_execution_accounts_configs: list[Snapshots | None] | None = None
    post_execution_accounts_configs: list[Snapshots | None] | None = None
    transaction_encoding: TransactionText | None = None
    simulation_bank: Literal["tip", "processed", "confirmed", "finalized"] | U64 | Bank | None = (
        None
    )
    commitment: Commitment | None = None
    slot: U64 | None = None
    transaction_index: U64 | None = None
    anchor: Anchor | None = None
    tolerate_gaps: bool | None = None


class FlatBundle(BundleConfig, frozen=True, kw_only=True):
    """The transactions, and in the flat form how to simulate them.

    encoded_transactions: one to four transactions as text, in their order
    """

    encoded_transactions: list[str]


@methods.add("simulateBundle", errors=_ERRORS, expensive=True)
def simulate_bundle(
    call: Call, bundle: FlatBundle, config: BundleConfig | None = None
) -> SimulatedBundle | SimulatedTransactions:
    """What up to four transactions would do one after the other, on the newest state or at a
    position in the past. Nothing is sent, and none of them has to tip. The first failure is the
    last that runs.

    bundle: the transactions, and how to simulate them
    config: the same options in a second object, as clients of a block engine write them
    returns: with one param the bundle as one; with two each transaction by itself
    """
    if config is None:
        return _flat(bundle)
    return _nested(bundle.encoded_transactions, _united(config, bundle))


def _united(config: BundleConfig, bundle: FlatBundle) -> BundleConfig:
    """The second object's options, completed by the first's: a position that is ignored would be
    answered with another state.
    """
    given = {name: getattr(config, name) for name in BundleConfig.__struct_fields__}
    return BundleConfig(
        **{name: getattr(bundle, name) if value is None else value for name, value in given.items()}
    )


def _flat(bundle: FlatBundle) -> SimulatedBundle:
    read = _read(bundle.encoded_transactions, bundle, at="[0]")
    tried, version = _tried(read, bundle, Commitment.PROCESSED)
    requested = bundle.pre_execution_accounts_configs, bundle.post_execution_accounts_configs
    written = writable_accounts(read.transactions, tried) if None in requested else []
    wishes = [written if configs is None else _wishes(configs) for configs in requested]
    pre, post = snapshots(tried, *wishes, is_flat=True, most_bytes=settings.ARCHIVE_ANSWER_BYTES)
    outcomes = tried.outcomes
    returned = [outcome.return_data for outcome in outcomes if outcome.return_data is not None]
    return SimulatedBundle(
        context=_context(tried, version),
        err=outcomes[-1].err,
        logs=[line for outcome in outcomes for line in outcome.logs],
        pre_execution_accounts=[account for accounts in pre for account in accounts],
        post_execution_accounts=[account for accounts in post for account in accounts],
        units_consumed=sum(outcome.units_consumed for outcome in outcomes),
        return_data={**returned[-1], "data": returned[-1]["data"][0]} if returned else None,
    )


def _nested(texts: Sequence[str], config: BundleConfig) -> SimulatedTransactions:
    read = _read(texts, config, at="[1]")
    tried, version = _tried(read, config, Commitment.CONFIRMED)
    nothing = [None] * len(texts)
    pre, post = snapshots(
        tried,
        _wishes(config.pre_execution_accounts_configs or nothing),
        _wishes(config.post_execution_accounts_configs or nothing),
        is_flat=False,
        most_bytes=settings.ARCHIVE_ANSWER_BYTES,
    )
    replacement = None
    if read.any_blockhash and tried.last_valid_block_height is not None:
        replacement = {
            "blockhash": str(tried.blockhash),
            "lastValidBlockHeight": tried.last_valid_block_height,
        }
    return SimulatedTransactions(
        context=_context(tried, version),
        value=BundleValue(
            summary=_summary(read, tried),
            transaction_results=[
                _transaction(outcome, before, after, replacement)
                for outcome, before, after in zip(tried.outcomes, pre, post, strict=True)
            ],
        ),
    )


def _read(texts: Sequence[str], config: BundleConfig, *, at: str) -> Bundle:
    """The bundle, if all of it can be read and its signatures are good."""
    if not texts:
        raise BundleEmpty(MOST_TRANSACTIONS)
    if len(texts) > MOST_TRANSACTIONS:
        raise BundleTooLarge(len(texts), MOST_TRANSACTIONS)
    shown: set[Pubkey] = set()
    for name, configs in (
        ("preExecutionAccountsConfigs", config.pre_execution_accounts_configs),
        ("postExecutionAccountsConfigs", config.post_execution_accounts_configs),
    ):
        if configs is not None and len(configs) != len(texts):
            raise ConfigsMismatch(f"{at}.{name}", len(configs), len(texts))
        for place, each in enumerate(configs or ()):
            if each is None:
                continue
            if len(each.addresses) > _MOST_SNAPSHOTS:
                where = f"{at}.{name}[{place}].addresses"
                raise TooManySnapshots(where, len(each.addresses), _MOST_SNAPSHOTS)
            shown.update(each.addresses)
    encoding = config.transaction_encoding or TransactionText.BASE64
    transactions = []
    for place, text in enumerate(texts):
        where = f"[0].encodedTransactions[{place}]"
        transaction = read_transaction(text, encoding, at=where)
        # Those that were signed: a replaced blockhash is no part of that.
        if not config.skip_sig_verify:
            for key, is_good in zip(
                transaction.message.account_keys, transaction.verify_with_results(), strict=False
            ):
                if not is_good:
                    raise SignatureInvalid(where, bytes(key))
        transactions.append(transaction)
    return Bundle(
        transactions=transactions,
        any_blockhash=bool(config.replace_recent_blockhash),
        shown=frozenset(shown),
    )


def _tried(read: Bundle, config: BundleConfig, newest: Commitment) -> tuple[Tried, str]:
    """The bundle's outcomes, and the version to name; `newest` is the commitment of the newest
    state where the caller names none.
    """
    position, commitment = _place(config)
    seconds: int = settings.SIMULATION_TIMEOUT_SECONDS
    if position is None and settings.UPSTREAM_RPC_URL:
        tried = try_now(
            read,
            node=upstream_node(),
            commitment=commitment or newest,
            timeout_seconds=seconds,
        )
        return tried, tried.api_version or settings.LEDGER_API_VERSION
    if position is None:
        archived = bounds()
        if archived is None:
            raise NoUpstreamNode
        position = Asked(slot=archived[1])
    tolerate_gaps = bool(config.tolerate_gaps)
    tried = try_at(read, position, tolerate_gaps=tolerate_gaps, timeout_seconds=seconds)
    return tried, settings.ARCHIVE_API_VERSION


def _place(config: BundleConfig) -> tuple[Asked | None, Commitment | None]:
    """The past position that is asked for, or the newest state's commitment."""
    slot, commitment = config.slot, config.commitment
    match config.simulation_bank:
        case "tip":
            commitment = Commitment.PROCESSED
        case str(word):
            commitment = Commitment(word)
        case int(number):
            slot = _only(slot, number, config)
        case Bank(slot=int(number)):
            slot = _only(slot, number, config)
        case Bank(commitment=InCommitment(commitment=named)):
            commitment = named
        case Bank(commitment=Commitment() as named):
            commitment = named
    if slot is None and config.transaction_index is None and config.anchor is None:
        return None, commitment
    return asked(slot, config.transaction_index, config.anchor), commitment


def _only(slot: int | None, bank_slot: int, config: BundleConfig) -> int:
    if slot not in (None, bank_slot) or config.anchor is not None:
        raise BadPosition(
            "expected one position, found `simulationBank` and another", found=bank_slot
        )
    return bank_slot


def _wishes(configs: Sequence[Snapshots | None]) -> Wishes:
    return [
        None
        if each is None
        else Wanted(
            each.addresses,
            AccountEncoding.BASE64
            if each.encoding is None
            else AccountEncoding(each.encoding.value),
        )
        for each in configs
    ]


def _context(tried: Tried, version: str) -> BundleContext:
    whole = tried.completeness
    return BundleContext(
        api_version=version,
        slot=tried.slot,
        completeness=UNSET if whole is None else whole,
        missing_rules=missing_rules.entries(tried.missing),
    )


def _summary(read: Bundle, tried: Tried) -> Any:
    err = tried.outcomes[-1].err
    if err is None:
        return "succeeded"
    signature = str(read.transactions[len(tried.outcomes) - 1].signatures[0])
    failure = {"TransactionFailure": [signature, transaction_error_text(err)]}
    # Rust's clients and jito-ts read the one name, other TypeScript clients the other.
    return {"failed": {"error": failure, "tx_signature": signature, "txSignature": signature}}


def _transaction(
    outcome: Outcome, pre: Any, post: Any, replacement: dict[str, Any] | None
) -> BundleTransaction:
    return BundleTransaction(
        err=outcome.err,
        logs=outcome.logs,
        pre_execution_accounts=pre,
        post_execution_accounts=post,
        units_consumed=outcome.units_consumed,
        return_data=outcome.return_data,
        loaded_accounts_data_size=outcome.loaded_accounts_data_size,
        replacement_blockhash=replacement,
        fee=outcome.fee if outcome.charged else None,
        pre_balances=outcome.pre_balances,
        post_balances=outcome.post_balances,
        pre_token_balances=outcome.pre_token_balances,
        post_token_balances=outcome.post_token_balances,
        loaded_addresses={
            "readonly": [str(key) for key in outcome.loaded_readonly],
            "writable": [str(key) for key in outcome.loaded_writable],
        },
    )
