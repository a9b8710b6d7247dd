"""Is everything running, with enough capacity? Processes, servers, queues, disk and memory."""

from typing import Any

from django.http import HttpRequest

from operations.home.cards import Shown, zero_badge
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from staff.formatting import ago, badge, counted, grouped, milliseconds, size_of

_FULL = 0.8
# Celery's queue → the process that empties it.
_WORKERS = {"default": "worker", "ingest": "ingest", "simulations": "simulations"}


def processes(request: HttpRequest, now: Readings) -> Shown:
    found = now.processes
    if found is None:
        return Shown("not known", "", "Each reports its heartbeat to Valkey.")
    alive = sum(bool(each.alive and not each.trouble) for each in found)
    return Shown(
        f"{alive} of {counted(len(found), 'kind')} alive",
        "all alive",
        "Each sends a heartbeat every second; after 4 s without one it counts as missing or hung.",
        [(each.kind, _alive(each, now)) for each in found],
    )


def _alive(each: ProcessReading, now: Readings) -> Any:
    duty = f"It {(DUTIES | SERVER_DUTIES)[each.kind]}."
    if each.alive and not each.trouble:
        return badge("alive" if each.alive == 1 else f"{each.alive} alive", "good", duty)
    if not each.trouble:
        return badge("starting", "warning", duty)
    count = f"{each.silent} of {each.alive + each.silent} " if each.alive else ""
    return badge(f"{count}{each.trouble}", "bad", f"{each.heard(now.at)}. {duty} {REMEDY}")


def servers(request: HttpRequest, now: Readings) -> Shown:
    database, redis = now.database, now.redis
    hint = f"answered in {milliseconds(database.milliseconds)}"
    state = badge("up", "good", hint)
    if database.problem:
        state = badge("cannot write", "bad", database.problem)
    rows: list[tuple[Any, Any]] = [(f"PostgreSQL {database.version}", state)]
    if redis is None:
        rows.append(("Valkey", badge("down", "bad", "limits and queues do not work")))
    else:
        up = badge("up", "good", f"answered in {milliseconds(redis.milliseconds)}")
        if not redis.takes_writes:
            up = badge("cannot write", "bad", "its disk is full or broken")
        rows.append((f"Valkey {redis.version}", up))
    if now.sign_in is not None and now.sign_in.problem:
        rows.append(("Sign-in provider", badge("cannot be used", "bad", now.sign_in.problem)))
    rows.append(("Last sample", ago(now.sampled_at, now.at, "none yet")))
    return Shown(
        milliseconds(database.milliseconds),
        "answering",
        "Time that PostgreSQL takes for an empty query.",
        rows,
    )


def space(request: HttpRequest, now: Readings) -> Shown:
    free, total, redis = now.disk.free, now.disk.total, now.redis
    rows: list[tuple[Any, Any]] = [("The database", size_of(now.database.size))]
    if now.database.disk is not None:
        rows.append(("Free for it", size_of(now.database.disk.free)))
    if redis is not None:
        used = size_of(redis.used)
        is_full = bool(redis.most) and redis.used > _FULL * redis.most
        hint = "It holds limits, queues and unsettled submissions."
        rows.append(("Memory of Valkey", badge(used, "warning" if is_full else "good", hint)))
        if redis.most:
            rows.append(("of at most", size_of(redis.most)))
    return Shown(
        f"{size_of(free)} free",
        "enough",
        f"Of {size_of(total)} of the file system with the run directory.",
        rows,
    )


def queues(request: HttpRequest, now: Readings) -> Shown:
    """Each with what waits in it: red where the process that empties it makes no progress."""
    lengths = {} if now.redis is None else now.redis.queues
    stopped = {each.kind: each.trouble for each in now.processes or () if each.trouble}
    queues: list[tuple[str, int | None, str]] = [
        (f"Tasks in {name}", length, _WORKERS[name]) for name, length in lengths.items()
    ]
    queues += [
        ("Submissions accepted", now.landing.waiting, "lander"),
        ("Slots to be stored", now.chain.waiting_slots, "ingest"),
        ("Batches to be swept", now.tips.unswept, "worker"),
        ("Mails and webhooks", now.alerts.waiting, "worker"),
    ]
    rows: list[tuple[Any, Any]] = [
        (name, _waiting(length, kind, stopped.get(kind, ""))) for name, length, kind in queues
    ]
    if now.alerts.late:
        rows.append(("Of these, late", zero_badge(now.alerts.late)))
    waiting = sum(lengths.values())
    return Shown(
        f"{grouped(waiting)} waiting" if now.redis is not None else "not known",
        "moving",
        "Tasks that wait for a worker, and what else waits.",
        rows,
    )


def _waiting(length: int | None, kind: str, trouble: str) -> Any:
    if trouble:
        return badge(f"{grouped(length)}, stopped", "bad", f"The process {kind} is {trouble}.")
    return grouped(length)
