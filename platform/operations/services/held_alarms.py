"""Alarms while the database takes no writes: kept in Redis, or in this process while that takes
none either, and stored once the database can. Their events are mailed and posted at once.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.utils import timezone

from alerts.models import Event
from alerts.services import unstored
from alerts.worker_threads import WorkerThreads
from operations import store
from operations.models import Alarm
from operations.readings.present import Readings
from operations.rules.rule import Finding
from operations.rules.servers import database_sentence
from operations.rules.table import BY_NAME
from operations.services import alarms
from shared_state.outages import Outage
from shared_state.redis_client import NAMESPACE, client

DATABASE_DOWN = "database_down"
_KEY = f"{NAMESPACE}alarms:held"
_CLAIMED = f"{NAMESPACE}alarms:held:claimed"
# Of several machines one evaluates: the next one after so long, when the first stopped.
_CLAIM_SECONDS = 40
# As long as an address has between two mails; a webhook is tried each time.
_MAIL_SECONDS = 60.0
_MOST = 200


class _Notice(msgspec.Struct):
    """An event, and the recipients that were sent it."""

    kind: str
    about: str
    text: str
    data: dict[str, Any]
    at: datetime
    sent: list[str] = []


class _Held(msgspec.Struct):
    """An alarm; `pk` is None for one that is not stored yet."""

    pk: int | None
    name: str
    subject: str
    severity: str
    text: str
    began_at: datetime
    opened_at: datetime | None
    well_since: datetime | None
    closed_at: datetime | None
    notices: list[_Notice]

    @property
    def once(self) -> str:
        return f"{self.name}:{self.subject}:{self.began_at.timestamp():.3f}"


_decode = msgspec.json.Decoder(list[_Held]).decode
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _Own:
    """What this process has of it. `memory`: the alarms, while Redis takes no writes. `lock` is the
    open run directory: of the processes of a machine one evaluates.
    """

    memory: bytes | None = None
    lock: int | None = None
    busy: set[str] = field(default_factory=set)
    mailed: dict[str, float] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)


_own = _Own()
_threads = WorkerThreads(8)


def evaluate(readings: Readings | None, outage: Outage, *, now: datetime) -> None:
    """The rules against readings that were taken while the database takes no writes; without any,
    the rule of the database alone. One process does it.
    """
    if not _is_alone():
        return
    with _own.guard:
        held = _load()
        storage = _Holder(held)
        unclosed = _unclosed(storage)
        if readings is None:
            found = [Finding("", database_sentence(outage.text))]
            rule = BY_NAME[DATABASE_DOWN]
            own = {key: each for key, each in unclosed.items() if key[0] == DATABASE_DOWN}
            alarms.follow_rule(rule, found, own, storage, now)
        else:
            alarms.follow(readings, unclosed, storage, now)
        _save(storage.held())
    _send()


def open_alarms() -> list[Alarm]:
    """Those that are not stored yet."""
    return [each for each, held in _alarms(_load()) if held.pk is None and _is_open(each)]


def has_own() -> bool:
    """Whether this process alone has some."""
    return _own.memory is not None


def store_all(*, now: datetime) -> None:
    """Stores what is held, with its events, at the end of the transaction. Safe to repeat."""
    with _own.guard:
        held = _load()
    if not held:
        return
    for alarm, each in _alarms(held):
        _store(alarm, each, now)
    transaction.on_commit(forget)


# --- what is held ---


def _load() -> list[_Held]:
    found: Any = _own.memory
    if found is None:
        try:
            found = client().get(_KEY)
        except redis.RedisError:
            return []
    with contextlib.suppress(msgspec.MsgspecError):
        return _decode(found) if found else []
    return []


def _save(held: list[_Held]) -> None:
    text = _encode(held[-_MOST:])
    try:
        client().set(_KEY, text)
        _own.memory = None
    except redis.RedisError:
        _own.memory = text


def forget() -> None:
    """It is stored."""
    _own.memory = None
    _own.mailed.clear()
    with contextlib.suppress(redis.RedisError):
        client().delete(_KEY, _CLAIMED)
    if _own.lock is not None:
        os.close(_own.lock)
        _own.lock = None


def _is_alone() -> bool:
    """Of this machine by a lock on the run directory, which needs no room; of several machines by
    Redis, while it takes writes.
    """
    if not _has_lock():
        return False
    mine = f"{os.uname().nodename}|{os.getpid()}"
    try:
        if client().set(_CLAIMED, mine, nx=True, ex=_CLAIM_SECONDS):
            return True
        if client().get(_CLAIMED) != mine.encode():
            return False
        client().expire(_CLAIMED, _CLAIM_SECONDS)
    except redis.RedisError:
        return True
    return True


def _has_lock() -> bool:
    if _own.lock is not None:
        return True
    folder = os.open(settings.RUN_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(folder)
        return False
    _own.lock = folder
    return True


class _Holder:
    """Storage of alarms outside the database."""

    def __init__(self, held: list[_Held]) -> None:
        self.alarms: list[Alarm] = []
        self._notices: dict[int, list[_Notice]] = {}
        for alarm, each in _alarms(held):
            self.alarms.append(alarm)
            self._notices[id(alarm)] = each.notices

    def save(self, alarm: Alarm) -> None:
        if not any(each is alarm for each in self.alarms):
            self.alarms.append(alarm)

    def remove(self, alarm: Alarm) -> None:
        self.alarms = [each for each in self.alarms if each is not alarm]

    def publish(
        self, kind: str, alarm: Alarm, *, about: str, text: str, data: dict[str, Any], now: datetime
    ) -> None:
        notice = _Notice(kind, about, text, data, now)
        self._notices.setdefault(id(alarm), []).append(notice)

    def held(self) -> list[_Held]:
        return [_held_of(each, self._notices.get(id(each), [])) for each in self.alarms]


def _alarms(held: list[_Held]) -> Iterator[tuple[Alarm, _Held]]:
    for each in held:
        values = {name: getattr(each, name) for name in _FIELDS}
        yield Alarm(pk=each.pk, **values), each


_FIELDS = (
    "name",
    "subject",
    "severity",
    "text",
    "began_at",
    "opened_at",
    "well_since",
    "closed_at",
)


def _held_of(alarm: Alarm, notices: list[_Notice]) -> _Held:
    values = {name: getattr(alarm, name) for name in _FIELDS}
    return _Held(pk=alarm.pk, notices=notices, **values | {"severity": str(alarm.severity)})


def _is_open(alarm: Alarm) -> bool:
    return alarm.opened_at is not None and alarm.closed_at is None


def _unclosed(storage: _Holder) -> dict[tuple[str, str], Alarm]:
    """The stored ones too, where they can be read."""
    known = {each.pk for each in storage.alarms}
    try:
        found = [each for each in store.unclosed() if each.pk not in known]
    except (DatabaseError, InterfaceError):
        connection.close()
        found = []
    own = [each for each in storage.alarms if each.closed_at is None]
    return {(each.name, each.subject): each for each in (*found, *own)}


# --- stored later ---


def _store(alarm: Alarm, held: _Held, now: datetime) -> None:
    stored = _stored(alarm, held)
    for notice in held.notices:
        values = {
            "kind": notice.kind,
            "about": notice.about[:200],
            "text": notice.text,
            "data": {"alarmId": stored.pk, **notice.data},
            "at": notice.at,
        }
        once = alarms.once_of(notice.kind, stored)
        unstored.store_sent(once, values, notice.sent, now=now)


def _stored(alarm: Alarm, held: _Held) -> Alarm:
    """Its row. One that is there already is of a time before, or of an interrupted attempt."""
    row = store.alarm_of(
        held.name, held.subject, began_at=held.began_at, or_unclosed=held.closed_at is None
    )
    if row is None:
        alarm.pk = None
        alarm.save(force_insert=True)
        return alarm
    if row.closed_at is None:
        for name in ("text", "opened_at", "well_since", "closed_at"):
            setattr(row, name, getattr(held, name) or getattr(row, name))
        row.save()
    return row


# --- sent at once ---


def _send() -> None:
    """In threads: a receiver may take its ten seconds."""
    notices = [
        (each.once, number, notice)
        for each in _load()
        for number, notice in enumerate(each.notices)
    ]
    waiting: dict[str, list[tuple[str, int, _Notice]]] = {}
    wanted = {kind: unstored.recipients(kind) for kind in {each.kind for _, _, each in notices}}
    for found in sorted(notices, key=lambda each: each[2].at):
        for recipient in wanted[found[2].kind]:
            if recipient not in found[2].sent:
                waiting.setdefault(recipient, []).append(found)
    for recipient, theirs in waiting.items():
        if _may_send(recipient):
            _own.busy.add(recipient)
            _threads.start(partial(_send_to, recipient, theirs))


def _may_send(recipient: str) -> bool:
    if recipient in _own.busy or not _threads.free:
        return False
    mailed_at = _own.mailed.get(recipient)
    return mailed_at is None or time.monotonic() - mailed_at >= _MAIL_SECONDS


def _send_to(recipient: str, waiting: list[tuple[str, int, _Notice]]) -> None:
    try:
        events = [_event(notice, f"{notice.kind}:{name}") for name, _, notice in waiting]
        count = unstored.send(recipient, events, now=timezone.now())
        if count and unstored.is_mail(recipient):
            _own.mailed[recipient] = time.monotonic()
        if count:
            _note(recipient, {(name, number) for name, number, _ in waiting[:count]})
    finally:
        _own.busy.discard(recipient)


def _event(notice: _Notice, once: str) -> Event:
    return Event(
        kind=notice.kind,
        about=notice.about,
        text=notice.text,
        data=notice.data,
        at=notice.at,
        once=once,
    )


def _note(recipient: str, sent: set[tuple[str, int]]) -> None:
    with _own.guard:
        held = _load()
        for each in held:
            for number, notice in enumerate(each.notices):
                if (each.once, number) in sent:
                    notice.sent.append(recipient)
        if held:
            _save(held)
