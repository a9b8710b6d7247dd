"""Methods that take transactions: sendTransaction, simulateTransaction, requestAirdrop, fees."""

import binascii
from collections.abc import Callable
from typing import Any

from solders.account import Account
from solders.compute_budget import set_compute_unit_limit
from solders.hash import Hash
from solders.message import from_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import SanitizeError, Transaction

from chain.account_json import AccountEncoding, account_json
from chain.addresses import SYSTEM
from chain.commitment import BINARY_ENCODINGS, Commitment, TransactionEncoding
from chain.encodings import b58decode, b64decode
from chain.transaction_error_text import transaction_error_text
from chain.transaction_texts import limits_of_text
from chain.transactions import BadTransaction
from chain.units import U64_MAX
from jsonrpc.params import U64, USIZE, Config
from localnet.bank import Bank
from localnet.errors import (
    BadParams,
    NodeBehind,
    PreflightFailed,
    SignatureVerificationFailed,
)
from localnet.fees import fee_of
from localnet.identities import FAUCET
from localnet.ledger import QueueFull
from localnet.methods.table import ContextConfig, Node, bank_for, in_context, methods
from localnet.submissions import SignatureFailure, Submitted, Unsanitary, read_first
from simulator.moment import Moment
from simulator.outcome import Outcome

_TYPE = "solana_transaction::versioned::VersionedTransaction"
_MESSAGE_TYPE = "solana_message::versions::VersionedMessage"
# What a simulation says of a transaction whose signatures do not fit it.
# An account that a transaction names and that does not exist, as a node loads it.
_ABSENT = Account(0, b"", SYSTEM, False, U64_MAX)
_UNSIGNED = Outcome(err="SignatureFailure", charged=False, fee=0)
_BALANCES = ("postBalances", "postTokenBalances", "preBalances", "preTokenBalances")
_NOT_IN_PREFLIGHT = (*_BALANCES, "loadedAddresses")


class SendConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcSendTransactionConfig"
    node_sequence = True

    skip_preflight: bool = False
    preflight_commitment: Commitment | None = None
    encoding: TransactionEncoding | None = None
    max_retries: USIZE | None = None
    min_context_slot: U64 | None = None


@methods.add("sendTransaction")
def send_transaction(call: Node, data: str, config: SendConfig = SendConfig()) -> str:
    """The transaction's signature, once it is queued for the next block."""
    wire = _wire(data, config.encoding)
    submitted = _read(wire)
    checked = all(submitted.transaction.verify_with_results())
    if not config.skip_preflight:
        context = ContextConfig(
            commitment=config.preflight_commitment, min_context_slot=config.min_context_slot
        )
        bank = bank_for(call, context)
        outcome = _UNSIGNED
        if checked:
            outcome = _simulate(call, bank, submitted, bank.simulation_moment)
        if outcome.err is not None:
            # A node's preflight has neither balances nor addresses.
            result = _simulation(outcome) | dict.fromkeys(_NOT_IN_PREFLIGHT)
            raise PreflightFailed(transaction_error_text(outcome.err), result)
    else:
        bank_for(
            call,
            ContextConfig(
                commitment=Commitment.PROCESSED, min_context_slot=config.min_context_slot
            ),
        )
    # A node sends what it did not check, and the leader drops it without a word: what has a wrong
    # signature, and what other bytes follow.
    if checked and submitted.wire == wire:
        _submit(call, submitted.wire)
    return str(Signature(submitted.signature))


class SimulatedAccounts(Config, frozen=True, kw_only=True):
    node_struct = "RpcSimulateTransactionAccountsConfig"
    node_sequence = True

    encoding: AccountEncoding | None = None
    addresses: list[str]


class SimulateConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcSimulateTransactionConfig"

    sig_verify: bool = False
    replace_recent_blockhash: bool = False
    encoding: TransactionEncoding | None = None
    accounts: SimulatedAccounts | None = None
    inner_instructions: bool = False


class AirdropConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcRequestAirdropConfig"
    node_drops = frozenset({"commitment"})

    recent_blockhash: str | None = None
    commitment: Commitment | None = None


@methods.add("simulateTransaction")
def simulate_transaction(
    call: Node, data: str, config: SimulateConfig = SimulateConfig()
) -> dict[str, Any]:
    """What the transaction would do on the newest block of the commitment."""
    submitted = _read(_wire(data, config.encoding))
    bank = bank_for(call, config)
    if config.sig_verify and config.replace_recent_blockhash:
        raise BadParams("sigVerify may not be used with replaceRecentBlockhash")
    moment = bank.simulation_moment
    if config.replace_recent_blockhash:
        moment = Moment(moment.slot, moment.previous_blockhash, None)
    wanted = _wanted(config.accounts, submitted)
    if config.sig_verify and not all(submitted.transaction.verify_with_results()):
        outcome = _UNSIGNED
        result = _simulation(outcome) | dict.fromkeys(_BALANCES)
    else:
        outcome = _simulate(call, bank, submitted, moment)
        result = _simulation(outcome)
    if config.inner_instructions:
        result["innerInstructions"] = outcome.inner_instructions
    if config.replace_recent_blockhash:
        result["replacementBlockhash"] = _blockhash(bank)
    if config.accounts is not None:
        result["accounts"] = [
            None if outcome.err is not None else _account_after(bank, outcome, key, config.accounts)
            for key in wanted
        ]
    return in_context(bank, result)


@methods.add("requestAirdrop")
def request_airdrop(
    call: Node, pubkey: Pubkey, lamports: U64, config: AirdropConfig = AirdropConfig()
) -> str:
    """The signature of the faucet's transfer, a transaction like any other."""
    faucet = call.ledger.head.load(FAUCET.pubkey())
    if faucet is None or lamports > faucet.lamports // 2:
        raise BadParams("airdrop request failed: the faucet holds less than twice as much")
    send = transfer(
        TransferParams(from_pubkey=FAUCET.pubkey(), to_pubkey=pubkey, lamports=lamports)
    )
    # A limit of its own for each, so that equal requests on one blockhash stay different ones.
    units = set_compute_unit_limit(1_000 + call.ledger.next_airdrop())
    transaction = Transaction.new_signed_with_payer(
        [send, units], FAUCET.pubkey(), [FAUCET], call.ledger.head.blockhash
    )
    return str(_submit(call, bytes(transaction)))


@methods.add("getLatestBlockhash")
def get_latest_blockhash(call: Node, config: ContextConfig = ContextConfig()) -> dict[str, Any]:
    bank = bank_for(call, config)
    return in_context(bank, _blockhash(bank))


@methods.add("isBlockhashValid")
def is_blockhash_valid(
    call: Node, blockhash: Hash, config: ContextConfig = ContextConfig()
) -> dict[str, Any]:
    bank = bank_for(call, config)
    return in_context(bank, bank.accepts(blockhash))


@methods.add("getFeeForMessage")
def get_fee_for_message(
    call: Node, message: str, config: ContextConfig = ContextConfig()
) -> dict[str, Any]:
    """Null if the message's blockhash is none of late."""
    wire = _decoded(message, TransactionEncoding.BASE64, _MESSAGE_TYPE)
    try:
        read = from_bytes_versioned(wire)
    except Exception as error:  # solders raises several types that share no parent
        raise BadParams(f"failed to deserialize {_MESSAGE_TYPE}: {error}") from None
    bank = bank_for(call, config)
    try:
        fee = fee_of(read)
    except SanitizeError as error:
        raise BadParams(f"invalid transaction message: {error}") from None
    return in_context(bank, fee if bank.accepts(read.recent_blockhash) else None)


def _blockhash(bank: Bank) -> dict[str, Any]:
    return {
        "blockhash": str(bank.blockhash),
        "lastValidBlockHeight": bank.last_valid_block_height,
    }


def _wire(data: str, encoding: TransactionEncoding | None) -> bytes:
    encoding = encoding or TransactionEncoding.BASE58
    if encoding not in BINARY_ENCODINGS:
        raise BadParams(
            f"unsupported encoding: {encoding.value}. Supported encodings: base58, base64"
        )
    return _decoded(data, encoding, _TYPE)


def _decoded(data: str, encoding: TransactionEncoding, what: str) -> bytes:
    is_base58 = encoding is not TransactionEncoding.BASE64
    name = "base58" if is_base58 else "base64"
    limits = limits_of_text(data, is_base58=is_base58)
    if len(data) > limits.longest_text:
        raise BadParams(limits.text_too_long(what, data))
    read: Callable[[str], bytes] = b58decode if is_base58 else b64decode
    try:
        found = read(data)
    except (ValueError, binascii.Error) as error:
        raise BadParams(f"invalid {name} encoding: {error}") from None
    if len(found) > limits.most_bytes:
        raise BadParams(limits.too_large(what, len(found)))
    return found


def _read(wire: bytes) -> Submitted:
    try:
        return read_first(wire)
    except Unsanitary as error:
        raise BadParams(f"invalid transaction: {error}") from None
    except BadTransaction as error:
        raise BadParams(f"failed to deserialize {_TYPE}: {error}") from None


def _submit(call: Node, wire: bytes) -> Signature:
    try:
        return call.ledger.submit(wire)
    except QueueFull:
        raise NodeBehind from None
    except SignatureFailure:
        raise SignatureVerificationFailed from None


def _simulate(call: Node, bank: Bank, submitted: Submitted, moment: Moment) -> Outcome:
    if moment.blockhashes is not None:
        seen = call.ledger.seen(submitted.signature)
        if seen is not None and seen.status.slot <= bank.slot:
            return Outcome(err="AlreadyProcessed", charged=False, fee=0)
    return call.ledger.simulate(bank, submitted.transaction, moment)


def _simulation(outcome: Outcome) -> dict[str, Any]:
    return {
        "accounts": None,
        "err": outcome.err,
        "fee": outcome.fee if outcome.charged else None,
        "innerInstructions": None,
        "loadedAccountsDataSize": outcome.loaded_accounts_data_size,
        "loadedAddresses": {
            "readonly": outcome.loaded_readonly,
            "writable": outcome.loaded_writable,
        },
        "logs": outcome.logs,
        "postBalances": outcome.post_balances,
        "postTokenBalances": outcome.post_token_balances,
        "preBalances": outcome.pre_balances,
        "preTokenBalances": outcome.pre_token_balances,
        "replacementBlockhash": None,
        "returnData": outcome.return_data,
        "unitsConsumed": outcome.units_consumed,
    }


def _wanted(accounts: SimulatedAccounts | None, submitted: Submitted) -> list[Pubkey]:
    if accounts is None:
        return []
    if accounts.encoding in (AccountEncoding.BINARY, AccountEncoding.BASE58):
        raise BadParams("base58 encoding not supported")
    most = len(submitted.transaction.message.account_keys)
    if len(accounts.addresses) > most:
        raise BadParams(f"Too many accounts provided; max {most}")
    try:
        return [Pubkey.from_string(address) for address in accounts.addresses]
    except ValueError:
        raise BadParams("Invalid param: Invalid") from None


def _account_after(
    bank: Bank, outcome: Outcome, key: Pubkey, wanted: SimulatedAccounts
) -> dict[str, Any] | None:
    account = outcome.writes.get(key) or bank.load(key)
    if account is None and key not in outcome.keys:
        return None

    def load(other: Pubkey) -> Account | None:
        return outcome.writes.get(other) or bank.load(other)

    encoding = wanted.encoding or AccountEncoding.BASE64
    return account_json(account or _ABSENT, encoding, load=load, pubkey=key)
