"""The history of an account: its writes, the difference of two of them, a transaction's replay."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey

from chain.shown_text import escaped_lines
from gaps.admin import in_words
from historical.transactions.services.recorded_transactions import recorded_at
from rewind.accounts.services import account_history as services
from rewind.accounts.services.account_history import Entry
from rewind.accounts.store.account_history import WholeWrite
from rewind.explained.admin.accounts import changed_members, read_row, state_of
from rewind.positions import CARRIED, END_OF_SLOT, START_OF_SLOT, Position
from rewind.replay.admin.divergences import differences_of
from rewind.replay.admin.replay_pages import run_page
from rewind.replay.services.replay import replay
from staff.formatting import badge, in_full, lamports, link
from staff.own_pages import OwnPage
from staff.pages import StaffAdmin
from staff.parsing import pubkey_in, slot_in

_WRITES = 25
_GAPS = 10
_LINES = 64
_HUES = {"verified": "good", "diverged": "bad", "unverified": "warning"}
_OUTSIDE = {CARRIED: "carried over", START_OF_SLOT: "start of slot", END_OF_SLOT: "end of slot"}


def history_link(pubkey: object) -> SafeString:
    """The pubkey in full, as a link to the account's history."""
    return link(in_full(pubkey), "rewind_account_history", address=pubkey)


def _history(admin: StaffAdmin, request: HttpRequest) -> HttpResponse:
    asked = {name: request.GET.get(name, "").strip() for name in ("address", "from", "to")}
    pubkey, errors = pubkey_in(asked["address"]), []
    if asked["address"] and pubkey is None:
        errors.append("Not an account address: 32 bytes in base58 are expected.")
    first, last = slot_in(asked["from"]), slot_in(asked["to"])
    errors += [
        f"Not a slot: {asked[name]}"
        for name, slot in (("from", first), ("to", last))
        if asked[name] and slot is None
    ]
    if first is not None and last is not None and first > last:
        errors.append("The first slot is above the last one.")
    text = request.GET.get("before", "")
    before = _position_in(text)
    if text and before is None:
        errors.append("Not a position of a page: begin again at the newest writes.")
    context: dict[str, Any] = {
        "title": "Account history",
        "asked": asked,
        "errors": errors,
        "pubkey": pubkey,
    }
    if pubkey is not None and not errors:
        found = services.account_history(
            pubkey, first=first, last=last, before=before, limit=_WRITES
        )
        context |= {"history": found, "is_newest": before is None, "most_gaps": _GAPS}
        if found is not None:
            if before is None and found.entries and found.entries[0].write.lamports:
                row = services.row_at(pubkey, found.entries[0].write.place)
                context["state"] = row and state_of(pubkey, row)
            context["rows"] = [_row(pubkey, entry) for entry in found.entries]
            context["before"] = "" if found.before is None else _text_of(found.before)
            context["more_gaps"] = len(found.gaps) > _GAPS or found.has_more_gaps
    return admin.page(request, "admin/rewind/account/history.html", context)


def _row(pubkey: Pubkey, entry: Entry) -> dict[str, Any]:
    slot, order = entry.write.place
    query = {"address": pubkey, "b": _text_of(entry.write.place)}
    older = entry.older and _text_of(entry.older.place)
    return {
        "entry": entry,
        "place": _place_in_slot(order),
        "what": _what(entry),
        "diff": older and link("Diff", "rewind_account_diff", a=older, **query),
        "replay": entry.signature
        and link("Replay", "rewind_account_replay", slot=slot, index=order),
    }


def _what(entry: Entry) -> SafeString | str:
    """What the write changed."""
    if entry.write.is_base:
        return badge("baseline", "quiet", "A state that was found here, not a write")
    if not entry.write.lamports:
        return badge("closed", "warning")
    if entry.older is None:
        return badge("first record", "quiet", "The archive has no earlier row of the account")
    return ", ".join(entry.changed) or "nothing"


def _diff(admin: StaffAdmin, request: HttpRequest) -> HttpResponse:
    pubkey = pubkey_in(request.GET.get("address", ""))
    a, b = (_position_in(request.GET.get(side, "")) for side in ("a", "b"))
    rows = None
    if pubkey is not None and a is not None and b is not None:
        rows = services.rows_to_compare(pubkey, a, b)
    if pubkey is None or rows is None:
        return _back(request, "These two writes are not in the archive: choose them from the list.")
    members = changed_members(read_row(pubkey, rows[0]), read_row(pubkey, rows[1]))
    lines, more = services.changed_lines(rows[0].data, rows[1].data, limit=_LINES)
    context = {
        "title": "Difference of two writes",
        "account": history_link(pubkey),
        "sides": [f"Slot {row.slot}, {_place_in_slot(row.position)}" for row in rows],
        "fields": _fields(*rows),
        "members": members,
        "lines": [(each.offset, each.a.hex(" "), each.b.hex(" ")) for each in lines],
        "more": more,
    }
    return admin.page(request, "admin/rewind/account/diff.html", context)


def _fields(a: WholeWrite, b: WholeWrite) -> list[dict[str, Any]]:
    shown: tuple[tuple[str, Callable[[WholeWrite], Any]], ...] = (
        ("Lamports", lambda row: lamports(row.lamports)),
        ("Owner", lambda row: in_full(row.owner)),
        ("Data", lambda row: f"{len(row.data):,} bytes"),
        ("Executable", lambda row: "yes" if row.executable else "no"),
        ("Rent epoch", lambda row: str(row.rent_epoch)),
    )
    found = [
        {"name": name, "a": show(a), "b": show(b), "differs": show(a) != show(b)}
        for name, show in shown
    ]
    found[2]["differs"] = a.data != b.data
    found[0]["delta"] = lamports(b.lamports - a.lamports, signed=True)
    return found


def _replay(admin: StaffAdmin, request: HttpRequest) -> HttpResponse:
    slot, index = (slot_in(request.GET.get(name, "")) for name in ("slot", "index"))
    recorded = None
    if slot is not None and index is not None and index < END_OF_SLOT:
        recorded = recorded_at(slot, index)
    if recorded is None:
        return _back(request, "This transaction is not in the ledger: choose one from the list.")
    done = replay(recorded)
    verdict, outcome = done.verdict, done.outcome
    context = {
        "title": "Replay of a transaction",
        "signature": in_full(recorded.signature),
        "place": f"Slot {recorded.slot}, transaction {recorded.index}",
        "verdict": badge(verdict.status, _HUES[verdict.status]),
        "reason": in_words(verdict.reason or ""),
        "differences": differences_of(map(asdict, verdict.differences)),
        "outcome": outcome,
        "change": run_page(str(recorded.signature))
        if request.user.has_perm("rewind.view_replay")
        else "",
        "logs": "\n".join(escaped_lines(outcome.logs)) if outcome else "",
        "accounts": [history_link(key) for key in recorded.transaction.message.account_keys],
    }
    return admin.page(request, "admin/rewind/account/replay.html", context)


def _back(request: HttpRequest, error: str) -> HttpResponse:
    messages.error(request, error)
    return HttpResponseRedirect(reverse("admin:rewind_account_history"))


def _place_in_slot(order: int) -> str:
    return _OUTSIDE.get(order, f"transaction {order}")


def _text_of(place: Position) -> str:
    return f"{place.slot}.{place.order}"


def _position_in(text: str) -> Position | None:
    """A position as a link names it: slot and place in the slot."""
    slot, _, order = text.partition(".")
    found = slot_in(slot), slot_in(order.removeprefix("-"))
    if found[0] is None or found[1] is None or found[1] > END_OF_SLOT:
        return None
    place = Position(found[0], -found[1] if order.startswith("-") else found[1])
    return place if place.order >= CARRIED else None


_SEES_CHANGES = "rewind.view_accountchange"
PAGES = (
    OwnPage("accounts/", "rewind_account_history", _history, _SEES_CHANGES),
    OwnPage("accounts/diff/", "rewind_account_diff", _diff, _SEES_CHANGES),
    OwnPage("accounts/replay/", "rewind_account_replay", _replay, _SEES_CHANGES),
)
