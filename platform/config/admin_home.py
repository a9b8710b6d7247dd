"""The admin's home: what is stored, what was called, what needs somebody, what runs."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import redis
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from access.admin import words
from access.key_states import KeyState, condition
from access.models import ApiKey
from access.redis_client import client
from access.services import usage_reports
from config.admin_landing import landing_cards
from historical.services import overview
from historical.services.bounds import newest_slot_or_none
from ingest.follower_state import published
from rewind.admin.audit import rate
from rewind.models import Gap
from rewind.services.audit_overview import audited_today

_LISTED = 5
_OUTCOMES = 8


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The index page's context; a card is None where the user may not see its list."""
    may = request.user.has_perm
    context["servers"] = [_state("PostgreSQL", _postgres), _state("Valkey", _valkey)]
    context["chain"] = _chain() if may("rewind.view_gap") else None
    context["ledger"] = _ledger() if may("historical.view_block") else None
    context["imports"] = _imports() if may("historical.view_import") else None
    context["calls"] = _calls() if may("access.view_usageminute") else None
    context["landing"] = landing_cards(request)
    context["expiring"] = _expiring() if may("access.view_apikey") else None
    context["title"] = "Home"
    return context


def _chain() -> dict[str, Any]:
    """How far what is stored is behind the chain that is followed, and what is lacking."""
    gaps = Gap.objects.filter(closed_at__isnull=True).count()
    lacking = (
        words.coloured(words.grouped(gaps), "warning") if gaps else words.coloured("0", "good")
    )
    rows: list[tuple[str, Any]] = [
        ("Open gaps of the archive", lacking),
        *_replays(),
    ]
    try:
        state = published()
    except redis.RedisError:
        state = None
    if state is None:
        hint = "No follower has told anything in the last half minute."
        return {"figure": "not followed", "hint": hint, "rows": rows}
    connected = words.coloured("connected", "good", state.source)
    if not state.connected_since:
        connected = words.coloured("not connected", "bad", state.problem)
    rows.insert(0, ("Newest finalized slot", state.finalized_slot or "none yet"))
    rows.insert(0, ("Stream", connected))
    return {
        "figure": _behind(state.finalized_slot, newest_slot_or_none()),
        "hint": state.problem or "The newest stored slot, against the newest finalized one.",
        "rows": rows,
    }


def _replays() -> list[tuple[str, Any]]:
    """How many of today's replays ended as the chain says, and which that did not are open."""
    count, divergences = audited_today(timezone.now())
    told = f"{rate(count)} of {words.grouped(count.replayed)}" if count.replayed else "none yet"
    word = words.coloured(words.grouped(divergences), "bad" if divergences else "good")
    return [("Replays as the chain says", told), ("Open divergences", word)]


def _behind(finalized: int, newest: int | None) -> str:
    if not finalized or newest is None:
        return "nothing stored yet"
    behind = max(0, finalized - newest)
    return f"{words.grouped(behind)} slot{'' if behind == 1 else 's'} behind"


def _ledger() -> dict[str, Any]:
    found = overview.ledger_overview()
    if found is None:
        return {"empty": True}
    now = timezone.now()
    return {
        "range": f"{found.first_slot} to {found.last_slot}",
        "blocks": ("" if found.exact else "about ") + words.grouped(found.blocks),
        "newest": words.moment(found.newest_at, now, "not told"),
        "newest_slot": found.last_slot,
    }


def _imports() -> list[dict[str, Any]]:
    now = timezone.now()
    hues = {"done": "good", "failed": "bad", "running": "warning"}
    return [
        {
            "entry": entry,
            "state": words.coloured(entry.state, hues[entry.state]),
            "when": words.moment(entry.started_at, now),
        }
        for entry in overview.last_imports(_LISTED)
    ]


def _calls() -> dict[str, Any]:
    now = timezone.now()
    counted = usage_reports.calls_by_status(since=now - timedelta(hours=1), now=now)
    shown = counted if len(counted) <= _OUTCOMES else counted[: _OUTCOMES - 1]
    rows = [(words.coloured(status, _hue(status)), calls) for status, calls in shown]
    if len(shown) < len(counted):
        others = counted[len(shown) :]
        told = ", ".join(status for status, _ in others)
        word = words.coloured("other", "quiet", told)
        rows.append((word, sum(calls for _, calls in others)))
    return {
        "total": words.grouped(sum(calls for _, calls in counted)),
        "rows": [(word, words.grouped(calls)) for word, calls in rows],
    }


def _hue(status: str) -> str:
    return {"ok": "good", usage_reports.OUR_FAILURE: "bad"}.get(status, "warning")


def _expiring() -> dict[str, Any]:
    now = timezone.now()
    soon = ApiKey.objects.filter(condition(KeyState.EXPIRING, now=now)).defer("digest")
    rows = list(soon.select_related("customer").order_by("expires_at")[: _LISTED + 1])
    return {
        "rows": [(key, words.key_state(key, now)) for key in rows[:_LISTED]],
        "more": len(rows) > _LISTED,
    }


def _state(name: str, look: Callable[[], str]) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        told = look()
    except (redis.RedisError, OSError) as problem:
        # The class alone: a driver's text has addresses in it.
        return {"name": name, "word": words.coloured("down", "bad"), "told": type(problem).__name__}
    milliseconds = (time.perf_counter() - started) * 1e3
    word = words.coloured("up", "good", f"answered in {milliseconds:.1f} ms")
    return {"name": name, "word": word, "told": told}


def _postgres() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        version, size = cursor.fetchone()
    return f"{version.split()[0]}, {words.size_of(size)} stored"


def _valkey() -> str:
    found: Any = client().info()
    version = found.get("valkey_version") or found.get("redis_version")
    return f"{version}, {words.size_of(int(found['used_memory']))} of memory"
