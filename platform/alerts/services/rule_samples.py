"""Examples of what rules publish, for tests of a rule."""

from datetime import datetime
from typing import assert_never

from solders.pubkey import Pubkey
from solders.signature import Signature

from access.models import ApiKey
from alerts.conditions import (
    AccountCondition,
    LandingShareCondition,
    MentionCondition,
    ProgramCondition,
    SubmissionCondition,
    TipSpendCondition,
    read_condition,
)
from alerts.models import Rule
from alerts.services import chain_rules, submission_rules
from alerts.services.rule_events import RuleEvent
from chain.accounts import AccountWrite

_SIGNATURE = bytes(64)
_ADDRESS = str(Pubkey.default())
_SLOT = 1


def example(rule: Rule, *, now: datetime) -> RuleEvent:
    """An event as the rule would publish it, with made-up values."""
    time = int(now.timestamp())
    match read_condition(rule.trigger, rule.condition):
        case SubmissionCondition() as condition:
            return submission_rules.fate_event(_fate(condition.states[0]), ApiKey(name="example"))
        case LandingShareCondition() as condition:
            settled = 100 * condition.least_submissions
            landed = (condition.below_percent - 1) * condition.least_submissions
            return submission_rules.share_event(condition, landed, settled, now=now, is_low=True)
        case TipSpendCondition() as condition:
            return submission_rules.tips_event(condition, condition.above_lamports + 1, since=now)
        case AccountCondition(address=address):
            return chain_rules.account_written(_write(address, _ADDRESS), _SLOT, time)
        case ProgramCondition(program=program):
            return chain_rules.program_account_written(_write(_ADDRESS, program), _SLOT, time)
        case MentionCondition(address=address):
            return chain_rules.address_mentioned(address, _SIGNATURE, _SLOT, 0, time, {})
        case condition:
            assert_never(condition)


def _fate(state: str) -> submission_rules.Fate:
    is_in_block = state in ("landed", "failed")
    return submission_rules.Fate(
        key_id=0,
        signature=str(Signature(_SIGNATURE)),
        state=state,
        slot=_SLOT if is_in_block else None,
        transaction_index=0 if is_in_block else None,
        err={"InstructionError": [0, "InvalidArgument"]} if state == "failed" else None,
        reason="" if is_in_block else "blockhash_expired",
        bundle_id="",
    )


def _write(address: str, owner: str) -> AccountWrite:
    return AccountWrite(
        pubkey=bytes(Pubkey.from_string(address)),
        lamports=1_000_000,
        owner=bytes(Pubkey.from_string(owner)),
        data=b"",
        executable=False,
        rent_epoch=0,
        write_version=1,
        signature=_SIGNATURE,
    )
