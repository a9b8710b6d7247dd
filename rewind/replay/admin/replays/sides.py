"""A transaction as the chain recorded it beside its replay: rows of both, and what differs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from chain.encodings import b64decode
from chain.explained.instructions import Call, flat, sol, with_separators
from chain.explained.transactions import Explanation, explain
from chain.shown_text import escaped, escaped_lines
from chain.transaction_json import all_keys
from rewind.replay.services.replays.results import Json, ReplayedTransaction
from staff.formatting import badge, grouped, shortened

_NOT_RUN = "not run"
_NONE_RECORDED = "not recorded"
_LONGEST_DATA = 64


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of both sides."""

    title: str
    then: object
    now: object
    differs: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log or a call: of both sides (empty mark), of the chain's alone (-), or of the
    replay's alone (+).
    """

    mark: str
    text: str

    @property
    def side(self) -> str:
        return {"-": "only on chain", "+": "only in the replay"}.get(self.mark, "")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its entry as getTransaction returns it, and what it comes to. None where it
    is not recorded, or did not run.
    """

    entry: Json
    found: Explanation | None

    @property
    def meta(self) -> Json:
        return self.entry["meta"] or {}


def sides_of(each: ReplayedTransaction) -> tuple[Side, Side]:
    """The chain's, and the replay's."""
    then, now = (
        {"transaction": each.transaction, "meta": meta} for meta in (each.recorded, each.replayed)
    )
    return tuple(  # type: ignore[return-value]
        Side(entry, None if entry["meta"] is None else explain(entry)) for entry in (then, now)
    )


def rows_of(each: ReplayedTransaction, then: Side, now: Side) -> list[Row]:
    """Status, error, fee, units and return data."""
    differs = set(each.differs)
    absent = (
        _NONE_RECORDED if then.found is None else "",
        _NOT_RUN if now.found is None else "",
    )

    def row(title: str, field: str, show: Any) -> Row:
        shown = [why or show(side) for why, side in zip(absent, (then, now), strict=True)]
        return Row(title, shown[0], shown[1], field in differs)

    return [
        row("Status", "err", lambda side: _status(side, each.charged or side is then)),
        row("Error", "err", lambda side: escaped(side.found.sentence) or "none"),
        row("Failed first", "err", _failed),
        row("Fee", "fee", lambda side: _lamports(side.meta.get("fee"))),
        row("Compute units", "computeUnitsConsumed", _units),
        row("Return data", "returnData", lambda side: _returned(side.meta)),
    ]


def balance_rows(each: ReplayedTransaction, then: Side, now: Side) -> list[dict[str, Any]]:
    """Balances in SOL of each account, before and after, of both sides."""
    sides = [
        {} if side.found is None else {one.pubkey: one for one in side.found.balances}
        for side in (then, now)
    ]
    changed = set(each.touches)
    rows = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (side.get(key) for side in sides)
        figures = [
            "-" if one is None else sol(amount)
            for one in (a, b)
            for amount in ((0, 0) if one is None else (one.before, one.after))
        ]
        rows.append(
            {
                "pubkey": shortened(key),
                "is_changed": key in changed,
                "figures": figures,
                "differs": [
                    a is not None and b is not None and a.before != b.before,
                    a is not None and b is not None and a.after != b.after,
                ],
            }
        )
    return rows


def token_rows(then: Side, now: Side) -> list[dict[str, Any]]:
    """The same of tokens, in the mints' decimals."""
    sides = [
        {} if side.found is None else {(one.pubkey, one.mint): one for one in side.found.tokens}
        for side in (then, now)
    ]
    rows = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (side.get(key) for side in sides)
        figures = [
            escaped(with_separators(text))
            for one in (a, b)
            for text in (("-", "-") if one is None else (one.before, one.after))
        ]
        both = a is not None and b is not None
        rows.append(
            {
                "pubkey": shortened(key[0]),
                "mint": shortened(key[1]),
                "figures": figures,
                "differs": [
                    both and figures[0] != figures[2],
                    both and figures[1] != figures[3],
                ],
            }
        )
    return rows


def log_lines(then: Side, now: Side) -> list[Line]:
    return list(
        _merged(*(escaped_lines(side.meta.get("logMessages") or []) for side in (then, now)))
    )


def call_lines(then: Side, now: Side) -> list[Line]:
    """Every call: its number, program and kind."""
    return list(
        _merged(*(escaped_lines(_called(each) for each in _calls(side)) for side in (then, now)))
    )


def _calls(side: Side) -> Iterator[Call]:
    return iter(()) if side.found is None else flat(side.found.calls)


def _called(each: Call) -> str:
    name = each.program or f"Program {each.program_id}"
    kind = f": {each.decoded.kind}" if each.decoded.kind else ""
    return f"{'  ' * (each.depth - 1)}{each.number} {name}{kind}"


def _merged(then: Sequence[str], now: Sequence[str]) -> Iterator[Line]:
    matcher = SequenceMatcher(a=then, b=now, autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            yield from (Line("", text) for text in then[a0:a1])
        else:
            yield from (Line("-", text) for text in then[a0:a1])
            yield from (Line("+", text) for text in now[b0:b1])


def _status(side: Side, charged: bool) -> object:
    if side.meta.get("err") is None:
        return badge("succeeded", "good")
    if not charged:
        return badge("no block would take it", "bad")
    return badge("failed", "bad")


def _failed(side: Side) -> str:
    call = None if side.found is None else side.found.failed
    if call is None:
        is_good = side.meta.get("err") is None
        return "none" if is_good else "no instruction: the transaction as a whole"
    inner = f", its inner call {call.inner}" if call.inner else ""
    kind = f": {call.kind}" if call.kind else ""
    return f"Instruction {call.number}{inner}, {call.program}{kind}"


def _lamports(amount: int | None) -> str:
    return _NONE_RECORDED if amount is None else f"{amount:,} lamports ({sol(amount)} SOL)"


def _units(side: Side) -> str:
    found = side.found
    if found is None or found.units_used is None:
        return _NONE_RECORDED
    asked = "" if found.units_asked is None else f" of {grouped(found.units_asked)} asked for"
    return f"{grouped(found.units_used)} used{asked}"


def _returned(meta: Json) -> str:
    data = meta.get("returnData")
    if not data:
        return "none"
    raw = b64decode(data["data"][0])
    shown = raw[:_LONGEST_DATA].hex()
    more = f"… ({len(raw)} bytes)" if len(raw) > _LONGEST_DATA else ""
    return f"0x{shown}{more} by {data['programId']}"


def keys_of(each: ReplayedTransaction) -> list[str]:
    """The accounts that it loads."""
    return all_keys({"transaction": each.transaction, "meta": each.replayed or each.recorded})
