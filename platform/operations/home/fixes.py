"""What fixes an alarm: a button that does it, or a command to be copied."""

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest
from django.utils import timezone

from embedded.run_state import ProgramState, read_run_state
from gaps.area_gaps import AreaGaps
from gaps.slot_gap import IS_STATE, GapState
from historical.services.gaps import ledger_gaps
from operations.readings.present import Readings
from operations.rule_checks import waits_for_worker
from priority.admin.upstreams import ACTIONS as UPSTREAM_ACTIONS
from priority.models import Upstream
from rewind.services.gaps import archive_gaps
from staff import audit
from staff.actions import AdminAction
from staff.formatting import counted, in_units
from tipping.admin.class_actions import ACTIONS as CLASS_ACTIONS
from tipping.models import TtlClass
from tipping.services.desk import batches_to_sweep

_MANAGE = ".venv/bin/python manage.py"
# Gaps that one press retries.
_GAPS = 1_000


class Command(NamedTuple):
    """A line for a shell on the server, and what it does."""

    line: str
    effect: str = ""


class Button(NamedTuple):
    """`value` is what the form sends."""

    label: str
    value: str
    effect: str = ""


# --- commands ---


def commands(name: str, subject: str, readings: Readings) -> list[Command]:
    """What to run for the alarm; empty where a button or a page is all that helps."""
    if name == "process_missing":
        return _of_process(subject)
    if name == "clock_stopped":
        kinds = ("worker",) if waits_for_worker(readings) else ("worker", "beat")
        return list(dict.fromkeys(each for kind in kinds for each in _of_process(kind)))
    if name == "deliveries_late":
        return _of_process("worker")
    if name == "storing_stopped":
        return _of_process("ingest")
    if name == "queue_deep":
        return _of_process(_WORKERS.get(subject, "worker"))
    if name == "landing_behind":
        return [Command(f"{_MANAGE} land", "Starts one more lander, until Ctrl-C.")]
    if name == "proof_refuted" and readings.proof.refuted:
        slot = readings.proof.refuted[0][0]
        return [Command(f"{_MANAGE} locate_refuted {slot}", "Names the accounts that differ.")]
    if name == "disk_low" and subject == "database":
        return [Command(f"{_MANAGE} plan", "What takes the space, and how fast it grows.")]
    if name == "disk_low":
        run_dir = shlex.quote(str(settings.RUN_DIR))
        return [Command(f"du -xhd2 {run_dir} | sort -h | tail", "What takes the space.")]
    found = _OF_RULES.get(name)
    return [] if found is None else [found]


_WORKERS = {"ingest": "ingest", "simulations": "simulations", "accepted": "lander"}
_WORKERS |= {"follower": "ingest"}
_MEMORY = Command("free -h", "How much memory is free.")
_DOCTOR = Command(f"{_MANAGE} doctor", "Examines it, and says what is wrong.")
_OF_RULES = {
    "stream_silent": _DOCTOR,
    "stream_lost": _DOCTOR,
    "streams_lacking": _DOCTOR,
    "chain_behind": _DOCTOR,
    "database_slow": _DOCTOR,
    "redis_down": _DOCTOR,
    "database_down": _DOCTOR,
    "clock_differs": Command("timedatectl", "Whether NTP sets the clock of this machine."),
    "redis_memory_high": _DOCTOR,
    "proof_failing": _DOCTOR,
    "errors_high": _DOCTOR,
    "rules_missing": _DOCTOR,
    "sealing_behind": _DOCTOR,
    "sealing_failing": Command(f"{_MANAGE} archive_store check", "Tries the object store."),
    "archive_damaged": Command(f"{_MANAGE} archive_repair", "Lists what is damaged."),
}


def _of_process(kind: str) -> list[Command]:
    """What brings it back, under the supervisor that runs it."""
    run = read_run_state(Path(settings.RUN_DIR))
    program = None if run is None else (run.programs | run.servers).get(kind)
    if program is not None:
        return _supervised(program)
    if "INVOCATION_ID" in os.environ:  # systemd's
        unit = f"tidemark-{kind}"
        return [
            Command(f"systemctl restart {unit}"),
            Command(f"journalctl -u {unit} -n 50 --no-pager", "Its last lines."),
            _DOCTOR,
        ]
    line = _procfile().get(kind)
    return [] if line is None else [Command(line, "Runs it here, until Ctrl-C.")]


def _supervised(program: ProgramState) -> list[Command]:
    """`make run` starts an ended one by itself, and a hung one after 20 s. What restarts did not
    help needs a look at the machine.
    """
    looks = [] if not program.restarts_lately else [_DOCTOR, _MEMORY, _space()]
    if program.pid is None or program.state == "restarting":
        run = Command("make run", "It is being restarted. If that fails: Ctrl-C, then this.")
        return [*looks, run]
    again = "Ends it: `make run` starts it again within seconds, as it does itself after 20 s."
    if looks:
        again += " That has not helped so far: Ctrl-C of `make run`, then `make run`, restarts all."
    return [*looks, Command(f"kill -KILL {program.pid}", again)]


def _space() -> Command:
    run_dir = shlex.quote(str(settings.RUN_DIR))
    return Command(f"df -h {run_dir}", "How much of the disk is free.")


def _procfile() -> dict[str, str]:
    """The command of each process."""
    lines = (Path(settings.ROOT) / "Procfile").read_text().splitlines()
    parts = (line.partition(": ") for line in lines if ": " in line)
    return {name: f".venv/bin/{command}" for name, _, command in parts if not name.startswith("#")}


# --- buttons ---


@dataclass(frozen=True, slots=True)
class _Fix:
    """What a button does, for users with the permission: `run` returns what to say."""

    label: str
    permission: str
    run: Callable[[HttpRequest, str], str]
    effect: str = ""


def _done_by(action: AdminAction, row: Callable[[str], Any]) -> Callable[[HttpRequest, str], str]:
    """An action of an admin page, on the row of the alarm's subject."""

    def run(request: HttpRequest, subject: str) -> str:
        found = row(subject)
        if found is None:
            raise Http404
        if why_not := action.why_not(request, found):
            return f"{found}: {why_not}."
        result = action.run(request, found)
        if not result:
            return f"{found}: {action.in_vain}."
        audit.record(request, action.verb, found, text=result if action.logs else "")
        if callable(action.said):
            return str(action.said(found, result))
        return f"{action.said}: {found}." if action.said else f"{found}: {action.verb}."

    return run


def _retry(gaps: AreaGaps[Any], store: str) -> Callable[[HttpRequest, str], str]:
    def run(request: HttpRequest, _: str) -> str:
        wanted = gaps.model.objects.filter(IS_STATE[GapState.OPEN])
        chosen = list(wanted.order_by("from_slot").values_list("pk", flat=True)[:_GAPS])
        by = request.user.get_username()
        count = gaps.retry_now(chosen, by=by, now=timezone.now())
        if count:
            about = f"{counted(count, 'gap')} of the {store}"
            audit.record(request, "ordered a try", text=f"{about}, from home")
        return f"{counted(count, 'gap is', 'gaps are')} due: the worker retries within seconds."

    return run


def _upstream(name: str) -> Upstream | None:
    return Upstream.objects.filter(name=name).first()


def _class(name: str) -> TtlClass | None:
    return next((each for each in TtlClass.objects.all() if _class_name(each) == name), None)


def _class_name(row: TtlClass) -> str:
    return in_units(row.ttl_seconds)


_UPSTREAM = {each.name: each for each in UPSTREAM_ACTIONS}
_CLASS = {each.name: each for each in CLASS_ACTIONS}
_MAY_UPSTREAM, _MAY_CLASS = "priority.change_upstream", "tipping.change_tipbatch"
_FIXES = {
    "reset-breaker": _Fix(
        *("Reset the circuit breaker", _MAY_UPSTREAM),
        *(_done_by(_UPSTREAM["reset_breaker"], _upstream), "It is tried again at once."),
    ),
    "enable": _Fix("Enable", _MAY_UPSTREAM, _done_by(_UPSTREAM["enable"], _upstream)),
    "prepare": _Fix(
        *("Prepare a batch", _MAY_CLASS, _done_by(_CLASS["prepare"], _class)),
        "Makes the addresses of one more batch.",
    ),
    "rotate": _Fix(
        *("Rotate now", _MAY_CLASS, _done_by(_CLASS["rotate"], _class)),
        "Closes the open batch, and opens the oldest prepared one.",
    ),
    "sweep": _Fix("Sweep now", _MAY_CLASS, _done_by(_CLASS["sweep"], _class)),
    "retry-archive": _Fix("Retry now", "rewind.change_gap", _retry(archive_gaps, "archive")),
    "retry-ledger": _Fix("Retry now", "historical.change_gap", _retry(ledger_gaps, "ledger")),
}


def buttons(request: HttpRequest, name: str, subject: str, readings: Readings) -> list[Button]:
    """Those that the user may press."""
    return [
        Button(f"{found.label}{behind}", f"{which}:{whom}", found.effect)
        for which, whom, behind in _wanted(name, subject, readings)
        if request.user.has_perm((found := _FIXES[which]).permission)
    ]


def _wanted(name: str, subject: str, now: Readings) -> Iterable[tuple[str, str, str]]:
    """(found, on what, what follows its label)."""
    if name == "upstream_broken":
        yield "reset-breaker", subject, ""
    elif name == "no_upstream":
        for each in now.landing.upstreams:
            if not each.is_enabled and each.id is not None:
                yield "enable", each.name, f" {each.name}"
            elif each.broken_until is not None and each.broken_until > now.at:
                yield "reset-breaker", each.name, f" of {each.name}"
    elif name in ("class_unavailable", "class_running_dry"):
        yield "prepare", subject, ""
        if name == "class_unavailable":
            yield "rotate", subject, ""
    elif name == "sweep_stuck":
        for row in TtlClass.objects.order_by("ttl_seconds"):
            if batches_to_sweep(row, now=now.at):
                yield "sweep", _class_name(row), f" ({_class_name(row)})"
    elif name == "gaps_open" and subject in ("archive", "ledger"):
        yield f"retry-{subject}", "", ""


@transaction.atomic
def fix(request: HttpRequest, value: str) -> str:
    """Does what a button stands for; what to say about it. Raises Http404 for an unknown one, and
    PermissionDenied.
    """
    which, _, whom = value.partition(":")
    found = _FIXES.get(which)
    if found is None:
        raise Http404
    if not request.user.has_perm(found.permission):
        raise PermissionDenied
    return found.run(request, whom)
