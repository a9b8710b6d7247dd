"""What a rule waits for: its trigger, and the condition that goes with it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
from solders.pubkey import Pubkey

from alerts.errors import ConditionInvalid
from jsonrpc.errors import InvalidParams
from jsonrpc.wire import to_camel
from livefeed.filter_params import MOST_FILTERS, Filter, read_filters
from livefeed.filters import AccountFilter
from staff.formatting import counted

_MOST_KEYS = 50
# More lamports than there are.
_MOST_LAMPORTS = 10**18
_NAME = r"^[1-9A-HJ-NP-Za-km-z]{32,44}$"


class Trigger(StrEnum):
    """What makes a rule publish an event."""

    SUBMISSION = "submission"
    LANDING_SHARE = "landing_share"
    TIP_SPEND = "tip_spend"
    ACCOUNT = "account"
    PROGRAM = "program"
    MENTION = "mention"


TITLES = {
    Trigger.SUBMISSION: "The final fate of a submitted transaction",
    Trigger.LANDING_SHARE: "The share of landed transactions falls below a threshold",
    Trigger.TIP_SPEND: "Spending on tips exceeds a threshold",
    Trigger.ACCOUNT: "A write to an account",
    Trigger.PROGRAM: "A write to an account of a program",
    Trigger.MENTION: "A transaction that mentions an address",
}

Fate = Literal["landed", "failed", "expired", "refused"]
FATES: tuple[Fate, ...] = ("landed", "failed", "expired", "refused")
MINUTES = (15, 60, 360)
PERIODS = ("hour", "day", "month")
Address = Annotated[str, msgspec.Meta(pattern=_NAME)]
Keys = Annotated[list[int], msgspec.Meta(max_length=_MOST_KEYS)]


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the conditions."""


class OfKeys(Condition, frozen=True, kw_only=True):
    """What concerns submissions: of the customer's API keys with these numbers, or of all."""

    keys: Keys = []

    def concerns(self, key_id: int) -> bool:
        return not self.keys or key_id in self.keys


class SubmissionCondition(OfKeys, frozen=True, kw_only=True):
    """The final fates that the rule is about."""

    states: Annotated[list[Fate], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: list(FATES)
    )


class LandingShareCondition(OfKeys, frozen=True, kw_only=True):
    """Of the transactions that were submitted in the last `minutes` and are settled, at least
    `least_submissions`, fewer than `below_percent` landed.
    """

    below_percent: Annotated[int, msgspec.Meta(ge=1, le=100)]
    minutes: Literal[15, 60, 360] = 60
    least_submissions: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 20


class TipSpendCondition(OfKeys, frozen=True, kw_only=True):
    """The tips of landed transactions that were submitted in a period (UTC) exceed the lamports."""

    above_lamports: Annotated[int, msgspec.Meta(ge=1, le=_MOST_LAMPORTS)]
    period: Literal["hour", "day", "month"] = "day"


class AccountCondition(Condition, frozen=True, kw_only=True):
    """An account, by its address."""

    address: Address


class ProgramCondition(Condition, frozen=True, kw_only=True):
    """Accounts that a program owns and that pass all filters, as in `programSubscribe`."""

    program: Address
    filters: Annotated[
        list[Filter | Literal["tokenAccountState"]], msgspec.Meta(max_length=MOST_FILTERS)
    ] = []

    def account_filters(self) -> tuple[AccountFilter, ...]:
        return read_filters(self.filters)


class MentionCondition(Condition, frozen=True, kw_only=True):
    """Transactions that mention the address, of an outcome."""

    address: Address
    outcome: Literal["any", "landed", "failed"] = "any"


AnyCondition: TypeAlias = (
    SubmissionCondition
    | LandingShareCondition
    | TipSpendCondition
    | AccountCondition
    | ProgramCondition
    | MentionCondition
)
CONDITIONS: Mapping[str, type[AnyCondition]] = {
    Trigger.SUBMISSION: SubmissionCondition,
    Trigger.LANDING_SHARE: LandingShareCondition,
    Trigger.TIP_SPEND: TipSpendCondition,
    Trigger.ACCOUNT: AccountCondition,
    Trigger.PROGRAM: ProgramCondition,
    Trigger.MENTION: MentionCondition,
}


def read_condition(trigger: str, given: Mapping[str, Any]) -> AnyCondition:
    """The condition of a rule with this trigger. Raises ConditionInvalid, which names members as
    they are on the wire.
    """
    kind = CONDITIONS[trigger]
    for name in given:
        if name not in kind.__struct_fields__:
            raise ConditionInvalid(f"`{to_camel(name)}` does not go with the trigger {trigger}")
    for field in msgspec.structs.fields(kind):
        if field.required and given.get(field.name) is None:
            raise ConditionInvalid(f"`{to_camel(field.name)}` is required by the trigger {trigger}")
    present = {name: value for name, value in given.items() if value is not None}
    for name in ("address", "program"):
        if name in present and not _is_address(present[name]):
            raise ConditionInvalid(f"`{name}` is not a Solana address: {str(present[name])[:60]!r}")
    try:
        condition: AnyCondition = msgspec.convert(present, kind)
        if isinstance(condition, ProgramCondition):
            condition.account_filters()
    except msgspec.ValidationError as error:
        raise ConditionInvalid(_in_camel(str(error))) from None
    except InvalidParams as error:
        raise ConditionInvalid(str(error.message)) from None
    return condition


def _is_address(text: object) -> bool:
    try:
        Pubkey.from_string(str(text))
    except ValueError:
        return False
    return True


def _in_camel(text: str) -> str:
    return " ".join(to_camel(word) if "`$." in word else word for word in text.split())


def stored(condition: Condition) -> dict[str, Any]:
    """The condition as rows have it: members in snake_case, filters as callers write them."""
    found: dict[str, Any] = msgspec.to_builtins(condition)
    return found


def described(condition: AnyCondition) -> str:
    """The condition in a few words."""
    match condition:
        case SubmissionCondition():
            return f"{', '.join(condition.states)}{_of_keys(condition)}"
        case LandingShareCondition():
            span = _MINUTES[condition.minutes]
            return (
                f"fewer than {condition.below_percent} % land, of {condition.least_submissions:,}"
                f" or more within {span}{_of_keys(condition)}"
            )
        case TipSpendCondition():
            return (
                f"above {counted(condition.above_lamports, 'lamport')} a {condition.period}"
                f"{_of_keys(condition)}"
            )
        case AccountCondition():
            return condition.address
        case ProgramCondition():
            count = len(condition.filters)
            more = "" if not count else f", {count} filter{'s' if count > 1 else ''}"
            return f"{condition.program}{more}"
        case MentionCondition():
            which = "" if condition.outcome == "any" else f", {condition.outcome} only"
            return f"{condition.address}{which}"
        case _:
            assert_never(condition)


_MINUTES = {15: "15 minutes", 60: "an hour", 360: "6 hours"}


def _of_keys(condition: OfKeys) -> str:
    count = len(condition.keys)
    return "" if not count else f", of {count} key{'s' if count > 1 else ''}"
