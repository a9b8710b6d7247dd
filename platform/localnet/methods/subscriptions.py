"""The WebSocket's methods: subscriptions and their ends."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.account_json import AccountEncoding, DataTooLong, account_json
from chain.addresses import VOTE
from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from chain.record_json import UnsupportedVersion, block_text
from chain.transactions import decode_wire
from chain.units import U64_MAX
from jsonrpc.params import U8, U64, Config
from localnet.bank import Bank, Ran
from localnet.errors import BadParams
from localnet.methods.accounts import DataSlice, Filter, filter_test
from localnet.methods.table import require_readable
from localnet.notifications import Listener, Subscription, subscriptions
from localnet.votes import shown_votes
from upstream.geyser.messages import is_simple_vote

_LEVELS = (Commitment.PROCESSED, Commitment.CONFIRMED, Commitment.FINALIZED)
_GONE = Account(0, b"", Pubkey.default(), False, U64_MAX)


class CommitmentConfig(Config, frozen=True, kw_only=True):
    commitment: Commitment | None = None


class SignatureConfig(CommitmentConfig, frozen=True, kw_only=True):
    enable_received_notification: bool | None = None


class AccountConfig(CommitmentConfig, frozen=True, kw_only=True):
    encoding: AccountEncoding | None = None
    data_slice: DataSlice | None = None

    @property
    def part(self) -> tuple[int, int] | None:
        given = self.data_slice
        return None if given is None else (given.offset, given.length)


class ProgramConfig(AccountConfig, frozen=True, kw_only=True):
    filters: list[Filter | Literal["tokenAccountState"]] | None = None


class Mentions(Config, frozen=True, kw_only=True):
    mentions: list[Pubkey]


class BlockMentions(Config, frozen=True, kw_only=True):
    mentions_account_or_program: Pubkey


class BlockConfig(CommitmentConfig, frozen=True, kw_only=True):
    encoding: TransactionEncoding | None = None
    transaction_details: TransactionDetails | None = None
    show_rewards: bool | None = None
    max_supported_transaction_version: U8 | None = None


@subscriptions.add("signatureSubscribe")
def signature_subscribe(
    call: Listener, signature: Signature, config: SignatureConfig = SignatureConfig()
) -> int:
    """Notifies once, when the transaction has the commitment, and ends."""
    wanted = config.commitment or Commitment.FINALIZED
    key = bytes(signature)

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        status = bank.statuses.get(key) if commitment is wanted else None
        return [] if status is None else [_at(bank.slot, {"err": status.err})]

    def received(found: Signature) -> list[Any]:
        slot = call.node.ledger.head.slot
        return [_at(slot, "receivedSignature")] if found == signature else []

    seen = call.node.ledger.seen(key)
    number = _open(
        call,
        Subscription(
            "signatureNotification",
            on_reached=reached,
            on_received=received if config.enable_received_notification else None,
            once=True,
        ),
    )
    if seen is not None and _LEVELS.index(seen.commitment) >= _LEVELS.index(wanted):
        call.notify_soon(number, [_at(seen.status.slot, {"err": seen.status.err})])
    return number


@subscriptions.add("slotSubscribe")
def slot_subscribe(call: Listener) -> int:
    def opened(bank: Bank) -> list[Any]:
        root = call.node.ledger.root.slot
        return [{"parent": bank.parent_slot, "root": root, "slot": bank.slot}]

    return _open(call, Subscription("slotNotification", on_opened=opened))


@subscriptions.add("slotsUpdatesSubscribe")
def slots_updates_subscribe(call: Listener) -> int:
    def opened(bank: Bank) -> list[Any]:
        created = _update(bank, "createdBank", parent=bank.parent_slot)
        return [_update(bank, "firstShredReceived"), created]

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        if commitment is Commitment.PROCESSED:
            failed = sum(status.err is not None for status in bank.statuses.values())
            stats = {
                "maxTransactionsPerEntry": bank.longest_entry,
                "numFailedTransactions": failed,
                # A validator calls all of them so, failed ones too.
                "numSuccessfulTransactions": len(bank.ran),
                "numTransactionEntries": bank.entries.entry_count - 1,
            }
            return [_update(bank, "completed"), _update(bank, "frozen", stats=stats)]
        kind = "optimisticConfirmation" if commitment is Commitment.CONFIRMED else "root"
        return [_update(bank, kind)]

    return _open(
        call, Subscription("slotsUpdatesNotification", on_opened=opened, on_reached=reached)
    )


@subscriptions.add("rootSubscribe")
def root_subscribe(call: Listener) -> int:
    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        return [bank.slot] if commitment is Commitment.FINALIZED else []

    return _open(call, Subscription("rootNotification", on_reached=reached))


@subscriptions.add("voteSubscribe")
def vote_subscribe(call: Listener) -> int:
    """Each validator's vote for a block, as the next one has it; none unless they vote."""

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        return shown_votes(bank) if commitment is Commitment.PROCESSED else []

    return _open(call, Subscription("voteNotification", on_reached=reached))


@subscriptions.add("accountSubscribe")
def account_subscribe(
    call: Listener, pubkey: Pubkey, config: AccountConfig = AccountConfig()
) -> int:
    wanted = config.commitment or Commitment.FINALIZED
    encoding = config.encoding or AccountEncoding.BINARY
    key = bytes(pubkey)

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        if commitment is not wanted or key not in bank.written_keys:
            return []
        return [_at(bank.slot, _account(bank, pubkey, encoding, config.part))]

    return _open(call, Subscription("accountNotification", on_reached=reached))


@subscriptions.add("programSubscribe")
def program_subscribe(
    call: Listener, program: Pubkey, config: ProgramConfig = ProgramConfig()
) -> int:
    wanted = config.commitment or Commitment.FINALIZED
    encoding = config.encoding or AccountEncoding.BINARY
    tests = [filter_test(each) for each in config.filters or ()]

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        if commitment is not wanted:
            return []
        found = []
        for key in map(Pubkey, bank.written_keys):
            account = bank.load(key)
            if account is None or account.owner != program:
                continue
            if all(test(account) for test in tests):
                value = {"account": _account(bank, key, encoding, config.part), "pubkey": str(key)}
                found.append(_at(bank.slot, value))
        return found

    return _open(call, Subscription("programNotification", on_reached=reached))


@subscriptions.add("logsSubscribe")
def logs_subscribe(
    call: Listener,
    wanted_logs: Literal["all", "allWithVotes"] | Mentions,
    config: CommitmentConfig = CommitmentConfig(),
) -> int:
    wanted = config.commitment or Commitment.FINALIZED
    mention: bytes | None = None
    if isinstance(wanted_logs, Mentions):
        if len(wanted_logs.mentions) != 1:
            raise BadParams("Invalid Request: Only 1 address supported")
        mention = bytes(wanted_logs.mentions[0])

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        if commitment is not wanted:
            return []
        return [
            _at(bank.slot, _logs(ran))
            for ran in bank.ran
            if _mentions(ran, mention)
            and _was_executed(ran)
            and not (wanted_logs == "all" and _is_vote(ran))
        ]

    return _open(call, Subscription("logsNotification", on_reached=reached))


@subscriptions.add("blockSubscribe")
def block_subscribe(
    call: Listener,
    wanted_blocks: Literal["all"] | BlockMentions,
    config: BlockConfig = BlockConfig(),
) -> int:
    """Whole blocks, with those of their transactions that mention the address."""
    require_readable(config.encoding, config.max_supported_transaction_version)
    if config.commitment is Commitment.PROCESSED:
        raise BadParams("Method does not support commitment below `confirmed`")
    wanted = config.commitment or Commitment.FINALIZED
    mention: bytes | None = None
    if isinstance(wanted_blocks, BlockMentions):
        mention = bytes(wanted_blocks.mentions_account_or_program)

    def reached(bank: Bank, commitment: Commitment) -> list[Any]:
        if commitment is not wanted:
            return []
        transactions = [ran.record for ran in bank.ran if _mentions(ran, mention)]
        record = replace(bank.record(), transactions=transactions)
        if mention is not None and not record.transactions:
            return []
        block = block_text(
            record,
            encoding=config.encoding or TransactionEncoding.BASE64,
            details=config.transaction_details or TransactionDetails.FULL,
            rewards=config.show_rewards is not False,
            max_version=config.max_supported_transaction_version,
        )
        return [_at(bank.slot, {"block": msgspec.Raw(block), "err": None, "slot": bank.slot})]

    def reached_or_error(bank: Bank, commitment: Commitment) -> list[Any]:
        try:
            return reached(bank, commitment)
        except UnsupportedVersion as error:
            wrong = {"UnsupportedTransactionVersion": error.version}
            return [_at(bank.slot, {"block": None, "err": wrong, "slot": bank.slot})]

    return _open(call, Subscription("blockNotification", on_reached=reached_or_error))


def _ending(kind: str) -> Callable[[Listener, int], bool]:
    method = f"{kind}Notification"

    def unsubscribe(call: Listener, number: U64) -> bool:
        subscription = call.open.get(number)
        if subscription is None or subscription.method != method:
            raise BadParams("Invalid subscription id.")
        del call.open[number]
        return True

    return unsubscribe


for _kind in (
    "signature",
    "slot",
    "slotsUpdates",
    "root",
    "account",
    "program",
    "logs",
    "block",
    "vote",
):
    subscriptions.add(f"{_kind}Unsubscribe")(_ending(_kind))


def _open(call: Listener, subscription: Subscription) -> int:
    if call.full():
        raise BadParams("Too many subscriptions on this connection")
    return call.subscribe(subscription)


def _at(slot: int, value: Any) -> dict[str, Any]:
    return {"context": {"slot": slot}, "value": value}


def _update(bank: Bank, kind: str, **more: Any) -> dict[str, Any]:
    return {"slot": bank.slot, "timestamp": time.time_ns() // 1_000_000, "type": kind, **more}


def _account(
    bank: Bank, key: Pubkey, encoding: AccountEncoding, part: tuple[int, int] | None
) -> dict[str, Any]:
    account = bank.load(key) or _GONE
    try:
        return account_json(account, encoding, load=bank.load, pubkey=key, part=part)
    except DataTooLong:
        shown = account_json(account, AccountEncoding.BASE64, load=bank.load, part=part)
        return {**shown, "data": "error: data too large for bs58 encoding"}


def _logs(ran: Ran) -> dict[str, Any]:
    meta = ran.record.meta or {}
    return {
        "err": meta.get("err"),
        "logs": meta["logMessages"],
        "signature": str(Signature(ran.signature)),
    }


def _was_executed(ran: Ran) -> bool:
    """Whether it did more than pay its fee."""
    return (ran.record.meta or {}).get("logMessages") is not None


def _is_vote(ran: Ran) -> bool:
    return bytes(VOTE) in ran.found_by.addresses and is_simple_vote(decode_wire(ran.record.wire))


def _mentions(ran: Ran, address: bytes | None) -> bool:
    return address is None or address in ran.found_by.addresses
