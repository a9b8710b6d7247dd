"""The WebSocket's methods: subscriptions and their ends."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

from django.conf import settings

from chain.account_json import AccountEncoding
from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from chain.node_version import BASE58_REFUSED, node_version, refuses_base58
from jsonrpc.errors import InvalidParams
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64
from livefeed.filter_params import read_filters
from livefeed.messages import Level
from subscriptions.configs import (
    AccountConfig,
    BlockConfig,
    BlockMentions,
    CommitmentConfig,
    FromConfig,
    Mentions,
    ProgramConfig,
    SignatureConfig,
    pubkey_of,
    signature_of,
)
from subscriptions.kinds import (
    AccountSubscription,
    BlockSubscription,
    LogsSubscription,
    ProgramSubscription,
    Subscription,
    VoteSubscription,
)
from subscriptions.past import memory_of
from subscriptions.signature_kind import SignatureSubscription
from subscriptions.slot_kinds import (
    RootSubscription,
    SlotSubscription,
    SlotsUpdatesSubscription,
)

methods = MethodTable()


class Caller(Protocol):
    """The connection that calls."""

    def unsubscribe(self, number: int) -> bool:
        """Whether there was such a subscription."""


@methods.add("accountSubscribe")
def account_subscribe(
    call: Caller, pubkey: str, config: AccountConfig = AccountConfig()
) -> Subscription:
    return AccountSubscription(
        level=config.level,
        memory=memory_of(config),
        pubkey=pubkey_of(pubkey),
        encoding=config.encoding or AccountEncoding.BINARY,
        part=config.part,
    )


@methods.add("programSubscribe")
def program_subscribe(
    call: Caller, program: str, config: ProgramConfig = ProgramConfig()
) -> Subscription:
    return ProgramSubscription(
        level=config.level,
        memory=memory_of(config),
        program=pubkey_of(program),
        filters=read_filters(config.filters or []),
        encoding=config.encoding or AccountEncoding.BINARY,
        part=config.part,
    )


@methods.add("logsSubscribe")
def logs_subscribe(
    call: Caller,
    wanted: Literal["all", "allWithVotes"] | Mentions,
    config: CommitmentConfig = CommitmentConfig(),
) -> Subscription:
    mention = None
    if isinstance(wanted, Mentions):
        if len(wanted.mentions) != 1:
            raise InvalidParams("Invalid Request: Only 1 address supported")
        mention = bytes(pubkey_of(wanted.mentions[0], "mentions"))
    return LogsSubscription(
        level=config.level,
        memory=memory_of(config),
        mention=mention,
        votes=wanted == "allWithVotes",
    )


@methods.add("signatureSubscribe")
def signature_subscribe(
    call: Caller, signature: str, config: SignatureConfig = SignatureConfig()
) -> Subscription:
    return SignatureSubscription(
        level=config.level,
        signature=bytes(signature_of(signature)),
        received=bool(config.enable_received_notification),
        looks_back=memory_of(config) is not None,
    )


@methods.add("blockSubscribe")
def block_subscribe(
    call: Caller,
    wanted: Literal["all"] | BlockMentions,
    config: BlockConfig = BlockConfig(),
) -> Subscription:
    max_version = config.max_supported_transaction_version
    if refuses_base58(node_version(settings.LEDGER_API_VERSION), config.encoding, max_version):
        raise InvalidParams(BASE58_REFUSED)
    if config.commitment is Commitment.PROCESSED:
        raise InvalidParams("Method does not support commitment below `confirmed`")
    mention = None
    if isinstance(wanted, BlockMentions):
        named = wanted.mentions_account_or_program
        mention = bytes(pubkey_of(named, "mentions_account_or_program"))
    return BlockSubscription(
        level=config.level,
        memory=memory_of(config),
        mention=mention,
        encoding=config.encoding or TransactionEncoding.BASE64,
        details=config.transaction_details or TransactionDetails.FULL,
        rewards=bool(config.show_rewards),
        max_version=max_version,
    )


@methods.add("slotSubscribe")
def slot_subscribe(call: Caller, config: FromConfig = FromConfig()) -> Subscription:
    return SlotSubscription(memory=memory_of(config))


@methods.add("rootSubscribe")
def root_subscribe(call: Caller, config: FromConfig = FromConfig()) -> Subscription:
    return RootSubscription(level=Level.FINALIZED, memory=memory_of(config))


@methods.add("slotsUpdatesSubscribe")
def slots_updates_subscribe(call: Caller, config: FromConfig = FromConfig()) -> Subscription:
    return SlotsUpdatesSubscription(memory=memory_of(config))


@methods.add("voteSubscribe")
def vote_subscribe(call: Caller, config: FromConfig = FromConfig()) -> Subscription:
    return VoteSubscription(memory=memory_of(config))


def _ending(_name: str) -> Callable[[Caller, Any], bool]:
    def unsubscribe(call: Caller, number: U64) -> bool:
        return call.unsubscribe(number)

    return unsubscribe


for _kind in (
    "account",
    "program",
    "logs",
    "signature",
    "block",
    "slot",
    "root",
    "slotsUpdates",
    "vote",
):
    methods.add(f"{_kind}Unsubscribe")(_ending(_kind))
