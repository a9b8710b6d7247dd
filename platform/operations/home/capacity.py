"""Is everything running, with enough capacity? Processes, servers, queues, disk and memory."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from operations.home.cards import Shown, zero_badge
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from operations.readings.servers import RedisReading
from staff.formatting import ago, badge, grouped, milliseconds, size_of

_FEW, _LITTLE = 5_000_000_000, 0.1
_FULL = 0.8
_MANY = 200


def processes(request: HttpRequest, now: Readings) -> Shown:
    found = now.processes
    if found is None:
        state = ("not known", "bad", "Valkey does not answer.")
        return Shown("not known", state, "Each reports its heartbeat to Valkey.")
    alive = sum(bool(each.alive) for each in found)
    state = ("all alive", "good", "")
    if troubles := _troubles(found):
        state = (troubles, "bad", REMEDY)
    return Shown(
        f"{alive} of {len(found)} kinds alive",
        state,
        "Each sends a heartbeat every second; after 4 s without one it counts as missing or hung."
        if not troubles
        else REMEDY,
        [(each.kind, _alive(each, now)) for each in found],
    )


def _troubles(found: Sequence[ProcessReading]) -> str:
    """`lander hung; beat, worker missing`"""
    kinds = {
        trouble: ", ".join(each.kind for each in found if each.trouble == trouble)
        for trouble in ("hung", "missing")
    }
    return "; ".join(f"{names} {trouble}" for trouble, names in kinds.items() if names)


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
    rows: list[tuple[Any, Any]] = [(f"PostgreSQL {database.version}", badge("up", "good", hint))]
    if redis is None:
        rows.append(("Valkey", badge("down", "bad", "limits and queues do not work")))
    else:
        up = badge("up", "good", f"answered in {milliseconds(redis.milliseconds)}")
        if not redis.takes_writes:
            up = badge("cannot write", "bad", "its disk is full or broken")
        rows.append((f"Valkey {redis.version}", up))
    rows.append(("Last sample", ago(now.sampled_at, now.at, "none yet")))
    return Shown(
        milliseconds(database.milliseconds),
        _servers_state(redis),
        "Time that PostgreSQL takes for an empty query.",
        rows,
    )


def _servers_state(redis: RedisReading | None) -> tuple[str, str, str]:
    if redis is None:
        return "Valkey is down", "bad", ""
    if not redis.takes_writes:
        return "Valkey cannot write", "bad", "Its disk is full or broken."
    return "answering", "good", ""


def space(request: HttpRequest, now: Readings) -> Shown:
    free, total, redis = now.disk.free, now.disk.total, now.redis
    state = ("enough", "good", "")
    rows: list[tuple[Any, Any]] = [("The database", size_of(now.database.size))]
    if redis is not None:
        used = size_of(redis.used)
        is_full = bool(redis.most) and redis.used > _FULL * redis.most
        if is_full:
            state = ("Valkey is nearly full", "bad", "Once full, it refuses writes.")
        hint = "It holds limits, queues and unsettled submissions."
        rows.append(("Memory of Valkey", badge(used, "bad" if is_full else "good", hint)))
        if redis.most:
            rows.append(("of at most", size_of(redis.most)))
    if free < _LITTLE * total:
        hue = "bad" if free < _FEW else "warning"
        state = ("disk nearly full", hue, "Less than a tenth is free.")
    return Shown(
        f"{size_of(free)} free",
        state,
        f"Of {size_of(total)} of the file system with the run directory.",
        rows,
    )


def queues(request: HttpRequest, now: Readings) -> Shown:
    lengths = {} if now.redis is None else now.redis.queues
    waiting = sum(lengths.values())
    rows: list[tuple[Any, Any]] = [
        (f"Tasks in {name}", grouped(length)) for name, length in lengths.items()
    ]
    rows += [
        ("Submissions accepted", grouped(now.landing.waiting)),
        ("Slots to be stored", grouped(now.chain.waiting_slots)),
        ("Batches to be swept", grouped(now.tips.unswept)),
        ("Mails and webhooks", grouped(now.alerts.waiting)),
    ]
    if now.alerts.late:
        rows.append(("Of these, late", zero_badge(now.alerts.late)))
    state = ("moving", "good", "")
    if waiting > _MANY:
        state = ("filling", "warning", "Workers are too slow or missing.")
    if now.redis is None:
        state = ("not known", "bad", "Valkey does not answer.")
    return Shown(
        f"{grouped(waiting)} waiting" if now.redis is not None else "not known",
        state,
        "Tasks that wait for a worker, and what else waits.",
        rows,
    )
