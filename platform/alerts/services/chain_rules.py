"""Events of the chain: written accounts, and transactions that mention an address."""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from alerts import rule_store
from alerts.conditions import (
    AccountCondition,
    MentionCondition,
    ProgramCondition,
    Trigger,
    read_condition,
)
from alerts.errors import ConditionInvalid
from alerts.models import Rule
from alerts.services.retention import KEPT_OF_RULES
from alerts.services.rule_events import RuleEvent, publish
from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from livefeed.filters import AccountFilter, allowed
from staff.formatting import counted

log = logging.getLogger(__name__)

TRIGGERS = (Trigger.ACCOUNT, Trigger.PROGRAM, Trigger.MENTION)
# A cluster's clock may be behind ours: a rule is about blocks whose time is so much older, too.
_SLACK = timedelta(seconds=30)
# The log says which slots were reported; those that it might have forgotten are not reported again.
_OLDEST = KEPT_OF_RULES - timedelta(days=1)


def publish_slots(records: Sequence[SlotRecord], *, now: datetime) -> int:
    """Publishes the events of stored slots, oldest slot first: call it in the transaction that
    stores them. A slot that is stored again adds none. Returns how many it wrote, at most.
    """
    rules = _Rules(rule_store.enabled_rules(*TRIGGERS))
    if not rules:
        return 0
    found = []
    for record in sorted(records, key=lambda record: record.slot):
        time = record.block_time
        at = now if time is None else datetime.fromtimestamp(time, UTC)
        if at < now - _OLDEST:
            continue
        for rule, rule_event in (*rules.writes(record), *rules.mentions(record)):
            if at >= rule.enabled_at - _SLACK:
                found.append((rule, rule_event))
    publish(found, now=now)
    return len(found)


@dataclass(slots=True)
class _Rules:
    """Rules by what they are about."""

    rules: Sequence[Rule]
    _accounts: dict[bytes, list[Rule]] = field(default_factory=lambda: defaultdict(list))
    _programs: dict[bytes, list[tuple[tuple[AccountFilter, ...], Rule]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _mentions: dict[bytes, list[tuple[str, Rule]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        for rule in self.rules:
            try:
                condition = read_condition(rule.trigger, rule.condition)
            except ConditionInvalid as fault:  # of another version: no reason to refuse a slot
                log.error("rule %d is skipped: %s", rule.pk, fault)
                continue
            match condition:
                case AccountCondition(address=address):
                    self._accounts[_key(address)].append(rule)
                case ProgramCondition(program=program):
                    filters = condition.account_filters()
                    self._programs[_key(program)].append((filters, rule))
                case MentionCondition(address=address, outcome=outcome):
                    self._mentions[_key(address)].append((outcome, rule))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def writes(self, record: SlotRecord) -> Iterator[tuple[Rule, RuleEvent]]:
        """Of each account that a rule is about, the last write of the slot."""
        if not (self._accounts or self._programs) or record.account_writes is None:
            return
        last: dict[bytes, AccountWrite] = {}
        for write in record.account_writes:
            if self._programs or write.pubkey in self._accounts:
                earlier = last.get(write.pubkey)
                if earlier is None or earlier.write_version < write.write_version:
                    last[write.pubkey] = write
        for pubkey in sorted(last):
            write = last[pubkey]
            for rule in self._accounts.get(pubkey, ()):
                yield rule, account_written(write, record.slot, record.block_time)
            for filters, rule in self._programs.get(write.owner, ()):
                if allowed(filters, write.data):
                    yield rule, program_account_written(write, record.slot, record.block_time)

    def mentions(self, record: SlotRecord) -> Iterator[tuple[Rule, RuleEvent]]:
        if not self._mentions:
            return
        for index, executed in enumerate(record.transactions):
            for key in self._mentions.keys() & set(executed.account_keys):
                rule_event = address_mentioned(
                    str(Pubkey(key)),
                    executed.signature,
                    record.slot,
                    index,
                    record.block_time,
                    executed.meta,
                )
                for outcome, rule in self._mentions[key]:
                    if outcome in ("any", rule_event.data["outcome"]):
                        yield rule, rule_event


def account_written(write: AccountWrite, slot: int, block_time: int | None) -> RuleEvent:
    address = str(Pubkey(write.pubkey))
    return RuleEvent(
        "account.written",
        about=f"account {address}",
        text=f"Slot {slot} wrote {address}: it has {counted(write.lamports, 'lamport')}.",
        data=_write_data(write, slot, block_time),
        subject=f"account {address}",
        once=f"{slot} {address}",
    )


def program_account_written(write: AccountWrite, slot: int, block_time: int | None) -> RuleEvent:
    address, program = str(Pubkey(write.pubkey)), str(Pubkey(write.owner))
    return RuleEvent(
        "program_account.written",
        about=f"account {address}",
        text=f"Slot {slot} wrote {address}, an account of the program {program}.",
        data={**_write_data(write, slot, block_time), "program": program},
        subject=f"account {address}",
        once=f"{slot} {address}",
    )


def address_mentioned(
    address: str,
    signature: bytes,
    slot: int,
    index: int,
    block_time: int | None,
    meta: dict[str, Any] | None,
) -> RuleEvent:
    """Without its status meta, a transaction's outcome is unknown."""
    name, err = str(Signature(signature)), meta and meta.get("err")
    outcome = "unknown" if meta is None else "landed" if err is None else "failed"
    end = "Its outcome is unknown." if meta is None else f"It {outcome}."
    return RuleEvent(
        "address.mentioned",
        about=f"address {address}",
        text=f"Transaction {name} of slot {slot} mentions {address}. {end}",
        data={
            "address": address,
            "signature": name,
            "slot": slot,
            "transactionIndex": index,
            "blockTime": block_time,
            "outcome": outcome,
            "err": err,
        },
        subject=f"address {address}",
        once=f"{slot} {index} {address}",
    )


def _write_data(write: AccountWrite, slot: int, block_time: int | None) -> dict[str, Any]:
    return {
        "address": str(Pubkey(write.pubkey)),
        "slot": slot,
        "blockTime": block_time,
        "signature": None if write.signature is None else str(Signature(write.signature)),
        "lamports": write.lamports,
        "owner": str(Pubkey(write.owner)),
        "dataSize": len(write.data),
    }


def _key(address: str) -> bytes:
    return bytes(Pubkey.from_string(address))
