"""The context of a replay's page: templates/replays/result.html."""

from typing import Any

from django.utils import timezone

from chain.explained.instructions import sol
from rewind.explained.admin.explained import shown_failure
from rewind.explained.admin.shortfalls import shortfall_text
from rewind.replay.admin.replays import samples, sides, words
from rewind.replay.models import Replay
from rewind.replay.services.replays.keeping import request_of, result_of
from rewind.replay.services.replays.requests import AccountEdit, ReplayRequest
from rewind.replay.services.replays.results import ReplayedTransaction, ReplayResult
from staff.formatting import ago, badge, grouped, moment, size_of

_LONGEST_SHOWN = 96


def result_context(replay: Replay, *, base: str) -> dict[str, Any]:
    """`base` is the service's address as the reader sees it, for the code samples. Of a replay that
    this version cannot read, `is_unreadable`.
    """
    request, result = request_of(replay), result_of(replay)
    if request is None or result is None:
        return {"replay": replay, "is_unreadable": True}
    many = len(result.transactions) > 1
    return {
        "replay": replay,
        "made": moment(replay.made_at, seconds=True),
        "made_ago": ago(replay.made_at, timezone.now()),
        "place": _place(request, result),
        "apart": _apart(result) if many and request.slot is None else "",
        "edits": [_edit(each) for each in request.accounts],
        "program": _program(request),
        "causes": words.causes(result.completeness),
        "missing_rules": [words.missing_rule(each) for each in result.missing_rules],
        "is_whole": result.completeness.get("status") == "whole",
        "transactions": [
            _transaction(each, number, many) for number, each in enumerate(result.transactions, 1)
        ],
        "samples": samples.samples_of([each.wire for each in result.transactions], base=base),
        "wires": [each.wire for each in result.transactions],
    }


def _transaction(each: ReplayedTransaction, number: int, many: bool) -> dict[str, Any]:
    then, now = sides.sides_of(each)
    has_failed = now.found is not None and bool(now.found.technical)
    marks: list[str] = []
    if many and each.touches:
        marks.append(badge("loads a changed account", "warning"))
    if each.replayed is None:
        marks.append(badge("not run: one before it failed", "bad"))
    elif each.differs:
        marks.append(badge("differs", "warning", words.field_names(each.differs)))
    else:
        marks.append(badge("as recorded", "good") if each.recorded is not None else "")
    return {
        "number": number,
        "signature": each.signature,
        "place": f"slot {each.slot}, transaction {each.index}",
        "marks": [mark for mark in marks if mark],
        "rows": sides.rows_of(each, then, now),
        "failed": shown_failure(now.found.failed) if has_failed and now.found else None,
        "shortfall": "" if now.found is None else shortfall_text(now.found.short, tip_address=None),
        "balances": sides.balance_rows(each, then, now),
        "tokens": sides.token_rows(then, now),
        "calls": sides.call_lines(then, now),
        "logs": sides.log_lines(then, now),
        "proof": words.proof(each.proof),
    }


def _place(request: ReplayRequest, result: ReplayResult) -> str:
    first = result.transactions[0]
    if request.slot is None:
        return f"its own: slot {first.slot}, before transaction {first.index}"
    if request.index is None:
        return f"the end of slot {request.slot}"
    return f"slot {request.slot}, after transaction {request.index}"


def _apart(result: ReplayResult) -> str:
    """That they did not stand one right after the other; empty where they did."""
    places = [(each.slot, each.index) for each in result.transactions]
    wanted = [(places[0][0], places[0][1] + number) for number in range(len(places))]
    if places == wanted:
        return ""
    return (
        "On chain these transactions did not stand one right after the other: here each runs on"
        " what the one before it left, from the place of the first."
    )


def _edit(edit: AccountEdit) -> dict[str, Any]:
    lines = []
    if edit.lamports == 0:
        lines.append("not there (0 lamports)")
    elif edit.lamports is not None:
        lines.append(f"balance {grouped(edit.lamports)} lamports ({sol(edit.lamports)} SOL)")
    if edit.owner is not None:
        lines.append(f"owner {edit.owner}")
    if edit.data is not None:
        size = len(edit.data) * 3 // 4 - edit.data.count("=")
        where = "all of its data" if edit.offset is None else f"data from byte {edit.offset} on"
        text = edit.data if len(edit.data) <= _LONGEST_SHOWN else f"{edit.data[:_LONGEST_SHOWN]}…"
        lines.append(f"{where}: {grouped(size)} bytes{f', {text}' if text else ''}")
    return {"pubkey": edit.pubkey, "lines": lines}


def _program(request: ReplayRequest) -> dict[str, str] | None:
    own = request.program
    if own is None:
        return None
    kind = "of the operator's shelf" if own.shelf_id is not None else "uploaded"
    text = f"{own.name}, {kind}, {size_of(own.size)}, SHA-256 {own.digest}"
    return {"pubkey": own.program, "text": text}
