"""Is it following? How much of the chain is stored, and what is missing."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gaps.slot_gap import GapState
from historical.coverage.services import overview
from operations.home import figures
from operations.home.cards import Shown, link_to, zero_badge
from operations.readings.chain import NOT_FOLLOWED, ChainReading
from operations.readings.present import Readings
from rewind.replay.admin.audit import rate
from rewind.replay.services.audit_overview import audited_today
from staff.formatting import ago, badge, counted, duration, grouped, utc
from staff.states import state_badge

_IMPORTS = 3
_HUES = {"following": "good", "silent": "bad", "not connected": "bad", NOT_FOLLOWED: "quiet"}
_FOLLOWER = "follower"
# Store → the app of its gaps.
_STORES = {"archive": "rewind", "ledger": "historical"}


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
    total = found.open_gaps()
    rows: list[tuple[Any, Any]] = []
    for store, app in _STORES.items():
        slots = counted(found.gap_slots(store), "slot")
        badged = zero_badge(found.open_gaps(store), hint=slots)
        rows.append((f"Open gaps of the {store}", _linked(request, badged, app, GapState.OPEN)))
        lost = grouped(found.given_up.get(store, 0))
        lost = _linked(request, lost, app, GapState.GIVEN_UP)
        rows.append((f"Slots given up, {store}", lost))
    rows.append(("Replays that match the chain", _replays()))
    rows.append(("Open divergences", zero_badge(found.divergences)))
    return Shown(
        gap_line(request, now),
        "being filled" if total else "",
        "Slots that should be stored and are not. Open: streams fill them, and nodes those of the"
        " ledger. Given up: no source has them any more.",
        rows,
    )


def gap_line(request: HttpRequest, now: Readings) -> SafeString:
    """How many slots are in open gaps, and how many were given up, each with these gaps."""
    found = now.chain
    lost = sum(found.given_up.values())
    still = counted(found.gap_slots(), "slot") if found.open_gaps() else "0"
    parts = (
        (f"{still} open", GapState.OPEN, [store for store in _STORES if found.open_gaps(store)]),
        (
            f"{counted(lost, 'slot') if lost else '0'} given up",
            GapState.GIVEN_UP,
            [store for store in _STORES if found.given_up.get(store)],
        ),
    )
    shown = []
    for text, state, stores in parts:
        if len(stores) > 1:  # Coverage has the lists of both
            page = link_to(request, "rewind_slottally_changelist", "rewind.view_slottally")
            shown.append(_anchor(f"{page}#gaps" if page else "", text))
        else:
            shown.append(_linked(request, text, _STORES[stores[0] if stores else "archive"], state))
    return format_html("<span>{}, {}</span>", *shown)


def missing(request: HttpRequest, now: Readings) -> SafeString | str:
    """A sentence of the line; empty where nothing is missing."""
    if not now.chain.open_gaps() and not any(now.chain.given_up.values()):
        return ""
    return format_html("Missing slots: {}.", gap_line(request, now))


def _linked(request: HttpRequest, text: Any, app: str, state: GapState) -> Any:
    page = link_to(request, f"{app}_gap_changelist", f"{app}.view_gap")
    return _anchor(f"{page}?state={state}" if page else "", text)


def _anchor(address: str, text: Any) -> Any:
    return format_html('<a class="tm-link" href="{}">{}</a>', address, text) if address else text


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
