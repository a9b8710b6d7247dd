"""Is it following? How much of the chain is stored, and what is missing."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from historical.services import overview
from operations.home import figures
from operations.home.cards import Shown, zero_badge
from operations.readings.chain import NOT_FOLLOWED, ChainReading
from operations.readings.present import Readings
from rewind.admin.audit import rate
from rewind.services.audit_overview import audited_today
from staff.formatting import ago, badge, counted, duration, grouped, utc
from staff.states import state_badge

_IMPORTS = 3
_HUES = {"following": "good", "silent": "bad", "not connected": "bad", NOT_FOLLOWED: "quiet"}
_FOLLOWER = "follower"


def chain(request: HttpRequest, now: Readings) -> Shown:
    found = now.chain
    figure, well = _behind(found)
    is_hung = any(each.kind == _FOLLOWER and each.trouble for each in now.processes or ())
    rows: list[tuple[Any, Any]] = []
    if found.stream != NOT_FOLLOWED:
        label = "connected" if found.stream == "following" else found.stream
        hue, hint = _HUES[found.stream], found.problem or found.source
        if is_hung and hue == "good":
            label, hue, hint = "not read", "bad", "The follower makes no progress."
        rows = [
            ("Stream", badge(label, hue, hint)),
            ("Last message", _heard(found)),
            ("Newest finalized slot", found.finalized_slot or "none yet"),
            ("Newest stored slot", found.newest_slot or "none yet"),
            ("Waiting to be stored", counted(found.waiting_slots, "slot")),
        ]
    hint = "The newest stored slot compared with the newest finalized slot of the stream."
    if found.stream == NOT_FOLLOWED:
        hint = "No follower has reported in the last half minute."
    return Shown(figure, well, found.problem or hint, rows)


def _behind(found: ChainReading) -> tuple[str, str]:
    """The figure, and the label while nothing is wrong."""
    if found.stream == NOT_FOLLOWED:
        return "not followed", ""
    if found.stream == "silent":
        if found.silent_seconds is None:
            return "no message yet", ""
        return f"silent for {duration(timedelta(seconds=found.silent_seconds))}", ""
    if found.stream != "following":
        return "not connected", ""
    if found.behind is None:
        return "nothing stored yet", "following"
    return f"{counted(found.behind, 'slot')} behind", "following"


def _heard(found: ChainReading) -> str:
    if found.silent_seconds is None:
        return "none yet"
    if found.silent_seconds < 2:
        return "now"
    return f"{duration(timedelta(seconds=found.silent_seconds))} ago"


def gaps(request: HttpRequest, now: Readings) -> Shown:
    found = now.chain
    total, slots = found.open_gaps(), found.gap_slots()
    rows: list[tuple[Any, Any]] = [
        (
            f"Open gaps of the {store}",
            zero_badge(found.open_gaps(store), hint=counted(found.gap_slots(store), "slot")),
        )
        for store in ("archive", "ledger")
    ]
    if given_up := sum(found.given_up.values()):
        rows.append(("Slots given up: no source has them", grouped(given_up)))
    rows.append(("Replays that match the chain", _replays()))
    rows.append(("Open divergences", zero_badge(found.divergences)))
    return Shown(
        _gap_figure(slots, total),
        "being filled" if total else "none",
        "Slots that should be stored and are not; they are fetched from streams and nodes.",
        rows,
        "?state=open" if total else "",
    )


def _gap_figure(slots: int, gaps: int) -> str:
    return "none open" if not gaps else f"{counted(slots, 'slot')} in {counted(gaps, 'gap')}"


def _replays() -> str:
    count = audited_today(timezone.now())
    return f"{rate(count)} of {grouped(count.replayed)}" if count.replayed else "none today"


def ledger(request: HttpRequest, now: Readings) -> Shown:
    found = overview.ledger_overview()
    if found is None:
        return Shown(
            "empty",
            hint="Import blocks on the server: .venv/bin/python manage.py import_blocks FILE…"
            " --genesis CHAIN",
        )
    speed = now.slots_per_second
    return Shown(
        f"{'' if found.exact else 'about '}{counted(found.blocks, 'block')}",
        "",
        "A slot is a leader's turn to produce a block; some are skipped.",
        [
            ("Slots", f"{found.first_slot} to {found.last_slot}"),
            ("Newest block", ago(found.newest_at, now.at, "unknown")),
            ("Stored", "not known yet" if speed is None else figures.per_second(speed)),
        ],
    )


def imports(request: HttpRequest, now: Readings) -> Shown:
    found = overview.last_imports(_IMPORTS)
    rows = [(each.file, state_badge(each.state, utc(each.started_at))) for each in found]
    return Shown(
        hint="Files that were imported by hand." if rows else "",
        rows=rows,
        empty="None yet: use manage.py import_blocks, import_epoch and import_snapshot.",
    )
