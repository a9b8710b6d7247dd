"""Is it following? How much of the chain is stored, and what is missing."""

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
from staff.formatting import ago, badge, counted, grouped, utc
from staff.states import state_badge

_NEARLY = 16
_IMPORTS = 3
_HUES = {"following": "good", "silent": "bad", "not connected": "bad", NOT_FOLLOWED: "quiet"}


def chain(request: HttpRequest, now: Readings) -> Shown:
    found = now.chain
    figure, state = _behind(found)
    rows: list[tuple[Any, Any]] = []
    if found.stream != NOT_FOLLOWED:
        label = "connected" if found.stream == "following" else found.stream
        rows = [
            ("Stream", badge(label, _HUES[found.stream], found.problem or found.source)),
            ("Last message", _heard(found)),
            ("Newest finalized slot", found.finalized_slot or "none yet"),
            ("Newest stored slot", found.newest_slot or "none yet"),
            ("Waiting to be stored", counted(found.waiting_slots, "slot")),
        ]
    hint = "The newest stored slot compared with the newest finalized slot of the stream."
    if found.stream == NOT_FOLLOWED:
        hint = "No follower has reported in the last half minute."
    return Shown(figure, state, found.problem or hint, rows)


def _behind(found: ChainReading) -> tuple[str, tuple[str, str, str]]:
    if found.stream == NOT_FOLLOWED:
        return "not followed", (NOT_FOLLOWED, "warning", "Nothing new is stored.")
    if found.stream == "silent":
        since = "no message yet"
        if found.silent_seconds is not None:
            since = f"silent for {found.silent_seconds} s"
        return since, ("silent", "bad", "The stream is connected and sends nothing.")
    if found.stream != "following":
        return "not connected", ("not connected", "bad", found.problem)
    if found.behind is None:
        return "nothing stored yet", ("following", "warning", "")
    text = f"{counted(found.behind, 'slot')} behind"
    if found.behind > _NEARLY:
        return text, ("catching up", "warning", "")
    return text, ("following", "good", "")


def _heard(found: ChainReading) -> str:
    if found.silent_seconds is None:
        return "none yet"
    return "now" if found.silent_seconds < 2 else f"{found.silent_seconds} s ago"


def gaps(request: HttpRequest, now: Readings) -> Shown:
    found = now.chain
    total, slots = found.open_gaps(), found.gap_slots()
    old = sum(each.old for each in found.gaps)
    rows: list[tuple[Any, Any]] = [
        (
            f"Open gaps of the {store}",
            zero_badge(found.open_gaps(store), hint=f"{found.gap_slots(store):,} slots"),
        )
        for store in ("archive", "ledger")
    ]
    if given_up := sum(found.given_up.values()):
        rows.append(("Slots given up: no source has them", grouped(given_up)))
    rows.append(("Replays that match the chain", _replays()))
    rows.append(("Open divergences", zero_badge(found.divergences, bad="bad")))
    state = ("none", "good", "")
    if total:
        state = ("open", "warning", f"{old} of them for more than two minutes")
    if found.divergences:
        state = ("divergences", "warning", "The result of a replay differs from the chain's.")
    return Shown(
        _gap_figure(slots, total),
        state,
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
        f"{'' if found.exact else 'about '}{grouped(found.blocks)} blocks",
        None,
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
