"""Does everything run, and is there room? Processes, servers, queues, disk and memory."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from operations.home import figures
from operations.home.cards import Card, list_of, number_word
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from operations.readings.servers import RedisReading
from staff.formatting import ago, badge, duration, grouped, milliseconds, size_of

_FEW, _LITTLE = 5_000_000_000, 0.1
_FULL = 0.8
_MANY = 200


def processes(request: HttpRequest, now: Readings) -> Card:
    found = now.processes
    if found is None:
        state = ("not known", "bad", "Valkey does not answer.")
        return Card(
            "processes", "Processes", "not known", state, "Each reports its heartbeat to Valkey."
        )
    alive = sum(bool(each.alive) for each in found)
    state = ("all alive", "good", "")
    if told := _troubles(found):
        state = (told, "bad", REMEDY)
    return Card(
        "processes",
        "Processes",
        f"{alive} of {len(found)} kinds alive",
        state,
        "Each sends a heartbeat every second. Without one for 4 s it is missing or hung."
        if not told
        else REMEDY,
        [(each.kind, _alive(each, now)) for each in found],
    )


def _troubles(found: Sequence[ProcessReading]) -> str:
    """`lander hung; beat, worker missing`"""
    kinds = {
        word: ", ".join(each.kind for each in found if each.trouble == word)
        for word in ("hung", "missing")
    }
    return "; ".join(f"{names} {word}" for word, names in kinds.items() if names)


def _alive(each: ProcessReading, now: Readings) -> Any:
    duty = f"It {(DUTIES | SERVER_DUTIES)[each.kind]}."
    if each.alive and not each.trouble:
        return badge("alive" if each.alive == 1 else f"{each.alive} alive", "good", duty)
    heard = "never heard"
    if each.heard_at is not None:
        heard = f"heard {duration(now.at - each.heard_at)} ago"
    if not each.trouble:
        return badge("starting", "warning", duty)
    count = f"{each.silent} of {each.alive + each.silent} " if each.alive else ""
    return badge(f"{count}{each.trouble}", "bad", f"{heard}. {duty} {REMEDY}")


def servers(request: HttpRequest, now: Readings) -> Card:
    database, redis = now.database, now.redis
    told = f"answered in {milliseconds(database.milliseconds)}"
    rows: list[tuple[Any, Any]] = [(f"PostgreSQL {database.version}", badge("up", "good", told))]
    if redis is None:
        rows.append(("Valkey", badge("down", "bad", "limits and queues stand still")))
    else:
        told = f"answered in {milliseconds(redis.milliseconds)}"
        up = badge("up", "good", told)
        if not redis.takes_writes:
            up = badge("cannot write", "bad", "its disk is full or fails")
        rows.append((f"Valkey {redis.version}", up))
    rows.append(("Last sample", ago(now.sampled_at, now.at, "none yet")))
    return Card(
        "servers",
        "Servers",
        milliseconds(database.milliseconds),
        _servers_state(redis),
        "How long PostgreSQL takes for a query that does nothing.",
        rows,
        "/readyz",
        "Readiness",
        figures.DATABASE_TIME,
    )


def _servers_state(redis: RedisReading | None) -> tuple[str, str, str]:
    if redis is None:
        return "Valkey is down", "bad", ""
    if not redis.takes_writes:
        return "Valkey cannot write", "bad", "Its disk is full or fails."
    return "answering", "good", ""


def space(request: HttpRequest, now: Readings) -> Card:
    free, total, redis = now.disk.free, now.disk.total, now.redis
    state = ("room", "good", "")
    rows: list[tuple[Any, Any]] = [("The database", size_of(now.database.size))]
    if redis is not None:
        used = size_of(redis.used)
        is_full = bool(redis.most) and redis.used > _FULL * redis.most
        if is_full:
            state = ("Valkey fills", "bad", "Full, it refuses to take more.")
        hint = "It holds what waits: limits, queues, submissions in flight."
        rows.append(("Memory of Valkey", badge(used, "bad" if is_full else "good", hint)))
        if redis.most:
            rows.append(("of at most", size_of(redis.most)))
    if free < _LITTLE * total:
        hue = "bad" if free < _FEW else "warning"
        state = ("the disk fills", hue, "Less than a tenth is free.")
    return Card(
        "space",
        "Disk and memory",
        f"{size_of(free)} free",
        state,
        f"Of {size_of(total)} of the file system with the run directory.",
        rows,
        drawn=figures.DISK,
    )


def queues(request: HttpRequest, now: Readings) -> Card:
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
        rows.append(("of these late", number_word(now.alerts.late)))
    state = ("moving", "good", "")
    if waiting > _MANY:
        state = ("filling", "warning", "The workers are too slow, or missing.")
    if now.redis is None:
        state = ("not known", "bad", "Valkey does not answer.")
    return Card(
        "queues",
        "Queues",
        f"{grouped(waiting)} waiting" if now.redis is not None else "not known",
        state,
        "Tasks that wait for a worker; below, what else waits.",
        rows,
        list_of(request, "alerts", "delivery"),
        "Deliveries",
        figures.QUEUED,
    )
