"""Shared code of the commands that create an order over slots: they run it and show progress."""

import sys
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from chain.slot_ranges import SlotRange
from ingest.errors import ActionRefused
from ingest.findings import FINDINGS, SETTLED
from ingest.models import RangeOrder
from ingest.services import orders
from staff import audit

# Afterwards the worker takes the order over, such as one of a command that was killed.
_OURS = timedelta(hours=1)
_SHOWN = 50


def add_range(parser: CommandParser) -> None:
    parser.add_argument("first", type=int, metavar="FIRST")
    parser.add_argument("last", type=int, metavar="LAST")
    areas = parser.add_mutually_exclusive_group()
    areas.add_argument("--ledger-only", action="store_true", help="leave the archive out")
    areas.add_argument("--archive-only", action="store_true", help="leave the ledger out")


def run_order(command: BaseCommand, kind: str, source: str, options: dict[str, Any]) -> None:
    """Creates the order and runs it to its end. Raises CommandError if it fails or has findings
    that need action.
    """
    try:
        with transaction.atomic():
            order = orders.ask(
                kind,
                SlotRange(options["first"], options["last"]),
                archive=not options["ledger_only"],
                ledger=not options["archive_only"],
                source=source,
                asked_by="command line",
                now=timezone.now(),
                due_at=timezone.now() + _OURS,
            )
            audit.record(None, "ordered", order)
    except ActionRefused as refused:
        raise CommandError(str(refused)) from None
    try:
        orders.run_to_the_end(order, now=timezone.now, progress=_bar)
    except KeyboardInterrupt:
        orders.cancel([order.pk], now=timezone.now())
        command.stderr.write(f"\nstopped before slot {order.next_slot}; completed steps stay")
        raise SystemExit(130) from None
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    _report(command, order)


def _report(command: BaseCommand, order: RangeOrder) -> None:
    for each in order.found.all()[:_SHOWN]:
        finding = FINDINGS[each.what]
        detail = f" ({each.detail})" if each.detail else ""
        command.stdout.write(
            f"{each.area} slot {each.slot}: {finding.text}{detail}. {finding.advice}."
        )
    if order.findings > _SHOWN:
        command.stdout.write(f"... and {order.findings - _SHOWN:,} more, see the admin")
    verified = (
        f"; the signatures of {order.transactions:,} transactions were verified"
        if order.kind == RangeOrder.Kind.VERIFY and order.ledger
        else ""
    )
    command.stdout.write(
        f"{order.sound:,} slots are correct, {order.stored:,} were stored,"
        f" {order.changed:,} were replaced, {order.findings:,} findings{verified}"
    )
    if order.state == RangeOrder.State.FAILED:
        raise CommandError(f"stopped before slot {order.next_slot}: {order.failure}")
    left = order.findings - order.found.filter(what__in=SETTLED).count()
    if left:
        findings_are = "finding is" if left == 1 else "findings are"
        raise CommandError(f"{left:,} {findings_are} unresolved")


def _bar(order: RangeOrder) -> None:
    if sys.stderr.isatty():
        slots = order.last_slot - order.first_slot + 1
        done = min(slots, order.next_slot - order.first_slot)
        sys.stderr.write(f"\r{done:,} of {slots:,} slots, {order.findings:,} findings")
        sys.stderr.flush()
