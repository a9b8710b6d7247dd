"""Disk, memory and machines of a load: `manage.py plan` and the page *Sizing*."""

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import redis
from django.conf import settings

from operations import sessions
from operations.readings.ratios import (
    COLD_DICTIONARIES,
    MOST_INGESTED,
    Figure,
    Ratios,
    Source,
    measured_ratios,
    measured_writes,
)
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from shared_state import clock, heartbeats

_GB, _TB, _DAY = 10**9, 10**12, 86_400


class SizingRefused(Exception):
    """The load is not one that can be planned; `field` names what is wrong of it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


# Of the database: what PostgreSQL needs to work, and its write-ahead log.
FREE_SHARE, LOG_BYTES = 0.25, 8 * _GB
# Sessions and their work, and all processes of an idle installation with Valkey.
_SESSIONS_BYTES, _PROCESSES_BYTES = 2 * _GB, 639 * 10**6
# Of the index of sealed blocks: its upper levels, and what is read often.
_READ_SHARE = 0.1
# In an unmerged segment a change takes twice as much, and what is merged stays until it is read
# back.
_ROOM_TO_MERGE = 2
_LIMITS = {
    "writes_per_second": (0, 10_000_000),
    "transactions_per_second": (0, 10_000_000),
    "days": (0.01, 36_500),
    "cold_after_days": (0, 36_500),
    "standbys": (0, 10),
    "machine_disk_tb": (0.01, 10_000),
    "machine_memory_gb": (1, 100_000),
    "machine_cores": (1, 10_000),
    "machine_price": (0, 1e9),
    "store_price": (0, 1e9),
}


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for: rates a second, days that are kept, whether sealed segments move to an
    object store and after how many days, standbys of each machine, and what one machine has. Prices
    are of a month, of a machine and of a terabyte in the object store, in one currency. Raises
    SizingRefused.
    """

    writes_per_second: float
    transactions_per_second: float
    days: float = 365.0
    cold_after_days: float | None = None
    standbys: int = 0
    machine_disk_tb: float = 8.0
    machine_memory_gb: float = 64.0
    machine_cores: float = 16.0
    machine_price: float | None = None
    store_price: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            require_within(field.name, getattr(self, field.name))
        if not self.writes_per_second and not self.transactions_per_second:
            raise SizingRefused("writes_per_second", "there are neither writes nor transactions")


def require_within(field: str, value: float | None) -> None:
    """Raises SizingRefused for a value of a load that cannot be planned."""
    lowest, highest = _LIMITS[field]
    if value is not None and not lowest <= value <= highest:  # not a number neither
        name = field.replace("_", " ")
        raise SizingRefused(field, f"{name} must be from {lowest:,} to {highest:,.0f}")


@dataclass(frozen=True, slots=True)
class Policy:
    """How this installation seals: slots behind the newest, shares of a core in per cent (0: off),
    slots of a range of the ledger (0: off), bytes of its caches in all web processes, and sessions
    of PostgreSQL that all processes open at most.
    """

    seal_after_slots: int
    archive_percent: int
    ledger_range_slots: int
    ledger_percent: int
    cache_bytes: int
    sessions: int = 0


class Part(NamedTuple):
    """A part of the disk, of memory (bytes) or of the processors (cores)."""

    title: str
    amount: float
    basis: str


class Need(NamedTuple):
    """How many machines one resource needs."""

    resource: str
    machines: int
    basis: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of the database's disk, of the object store, of memory and of cores, each the
    largest first; what each resource needs, and warnings. `as_rows` is what the disk would be
    without sealing.
    """

    load: Load
    changes: float
    transactions: float
    database: list[Part]
    store: list[Part]
    memory: list[Part]
    cores: list[Part]
    needs: list[Need]
    as_rows: float
    warnings: list[str]

    @property
    def database_bytes(self) -> float:
        return _sum(self.database)

    @property
    def store_bytes(self) -> float:
        return _sum(self.store)

    @property
    def machines(self) -> int:
        return max(need.machines for need in self.needs)

    @property
    def machines_with_standbys(self) -> int:
        return self.machines * (1 + self.load.standbys)


class Driver(NamedTuple):
    """What a change of the load or of the settings adds to the disk and to the store, in bytes."""

    title: str
    database: float
    store: float
    machines: int


def plan(load: Load, ratios: Ratios, policy: Policy) -> Plan:
    """What the load takes once its last day is over. The largest parts come first."""
    seconds = ratios.slot_seconds.value
    writes, moves = load.writes_per_second * seconds, load.transactions_per_second * seconds
    every = load.days * _DAY / seconds
    # The partition that is written, one that is being sealed, and the margin.
    hot = min(every, policy.seal_after_slots + 2 * PARTITION_SLOTS)
    if not policy.archive_percent:
        hot = every
    cold = 0.0
    if load.cold_after_days is not None:
        # Only what is merged moves.
        kept = max(load.cold_after_days * _DAY / seconds, hot + SEGMENT_SLOTS)
        cold = max(0.0, every - kept)
    sealed, merging = every - hot - cold, min(every - hot, SEGMENT_SLOTS)
    range_slots = policy.ledger_range_slots
    hot_blocks = min(every, 2 * range_slots) if range_slots else every

    def part(title: str, slots: float, each: float, basis: str = "") -> Part:
        return Part(title, slots * each, basis or _days(slots * seconds))

    # Of a slot.
    hot_change, hot_move = writes * ratios.hot_change.value, moves * ratios.hot_transaction.value
    sealed_change = writes * ratios.sealed_change.value
    cold_row, account = (
        writes * each.value for each in (ratios.cold_change_row, ratios.account_change)
    )
    database = [
        part("Archive: hot rows", hot, hot_change),
        part("Archive: sealed segments", sealed, sealed_change),
        part(
            "Archive: room to seal and merge",
            merging,
            sealed_change * _ROOM_TO_MERGE,
            "twice a merged segment",
        ),
        part("Archive: rows of cold blocks", cold, cold_row),
        part("Archive: index of accounts", sealed + cold, account, "of what is sealed"),
        part("Ledger: hot blocks", hot_blocks, hot_move),
        part("Ledger: sealed ranges", every - hot_blocks, moves * ratios.sealed_transaction.value),
        part("Slots and block headers", every, ratios.slot.value),
    ]
    free = f"{FREE_SHARE:.0%} of the above and {LOG_BYTES // _GB} GB"
    room = FREE_SHARE * _sum(database) + LOG_BYTES
    database.append(Part("Free space and write-ahead log", room, free))
    dictionaries = math.ceil(cold / SEGMENT_SLOTS) * COLD_DICTIONARIES if writes else 0.0
    store = [
        part("Archive: cold segments", cold, writes * ratios.cold_change.value),
        Part("Archive: dictionaries of cold segments", dictionaries, "one in each object"),
    ]
    memory = [
        part(
            "PostgreSQL: indexes of the partitions that are written",
            min(every, 2 * PARTITION_SLOTS),
            writes * ratios.hot_change_index.value,
            "two partitions",
        ),
        part(
            "PostgreSQL: indexes of hot transactions",
            hot_blocks,
            moves * ratios.hot_transaction_index.value,
            "written at random",
        ),
        part(
            "PostgreSQL: rows of sealed blocks",
            sealed + cold,
            _READ_SHARE * cold_row,
            f"{_READ_SHARE:.0%}, what is read often",
        ),
        Part(
            "PostgreSQL: sessions",
            _SESSIONS_BYTES,
            f"at most {policy.sessions}, and their sorting",
        ),
        Part("Processes and Valkey", _PROCESSES_BYTES, "idle, docs/benchmarks.md"),
        Part("Caches of web processes", policy.cache_bytes, "by their settings"),
    ]
    cores = [
        Part(
            "Ingest, follower and PostgreSQL",
            load.writes_per_second / ratios.ingested.value,
            f"{ratios.ingested.value:,.0f} writes a CPU second",
        ),
        Part("Sealing the archive", _archive_core(load, ratios, policy), "sealed, then merged"),
        Part("Sealing the ledger", _ledger_core(load, ratios, policy), "texts and indexes"),
    ]
    return Plan(
        load=load,
        changes=every * writes,
        transactions=every * moves,
        database=_largest_first(database),
        store=_largest_first(store),
        memory=_largest_first(memory),
        cores=_largest_first(cores),
        needs=[
            _need("disk", _sum(database) / _TB, load.machine_disk_tb, "TB"),
            _need("memory", _sum(memory) / _GB, load.machine_memory_gb, "GB"),
            _need("processors", _sum(cores), load.machine_cores, "cores"),
        ],
        as_rows=every * (hot_change + hot_move + ratios.slot.value),
        warnings=list(_warnings(load, ratios, policy)),
    )


def drivers(load: Load, ratios: Ratios, policy: Policy) -> list[Driver]:
    """What the cost depends on, that which changes most first."""
    base = plan(load, ratios, policy)
    writes, transactions = load.writes_per_second, load.transactions_per_second
    others: list[tuple[str, dict[str, float | None]]] = [
        ("30 more days", {"days": load.days + 30}),
        ("10 % more account writes", {"writes_per_second": 1.1 * writes}),
        ("10 % more transactions", {"transactions_per_second": 1.1 * transactions}),
    ]
    if load.cold_after_days is None:
        others.append(("an object store after 30 days", {"cold_after_days": 30.0}))
    else:
        others.append(("no object store", {"cold_after_days": None}))
    found = []
    for title, change in others:
        try:
            other = replace(load, **change)  # type: ignore[arg-type]
        except SizingRefused:
            continue  # beyond what can be planned
        then = plan(other, ratios, policy)
        database = then.database_bytes - base.database_bytes
        store = then.store_bytes - base.store_bytes
        if database or store:
            added = then.machines_with_standbys - base.machines_with_standbys
            found.append(Driver(title, database, store, added))
    return sorted(found, key=lambda each: -abs(each.database) - abs(each.store))


def _archive_core(load: Load, ratios: Ratios, policy: Policy) -> float:
    return load.writes_per_second / ratios.sealed.value if policy.archive_percent else 0.0


def _ledger_core(load: Load, ratios: Ratios, policy: Policy) -> float:
    rate = ratios.sealed_transactions.value
    return load.transactions_per_second / rate if policy.ledger_range_slots else 0.0


def _need(resource: str, amount: float, each: float, unit: str) -> Need:
    count = max(1, math.ceil(amount / each))
    return Need(resource, count, f"{amount:,.1f} {unit} at {each:,g} {unit} a machine")


def _warnings(load: Load, ratios: Ratios, policy: Policy) -> Iterable[str]:
    if load.writes_per_second > MOST_INGESTED:
        yield (
            f"One ingest process stores about {MOST_INGESTED:,.0f} writes a second: more need"
            " filters, or machines of their own for parts of the chain."
        )
    for name, needed, percent in (
        ("ARCHIVE_SEALING_PERCENT", _archive_core(load, ratios, policy), policy.archive_percent),
        ("LEDGER_SEAL_PERCENT", _ledger_core(load, ratios, policy), policy.ledger_percent),
    ):
        if needed > 1:
            yield (
                f"Sealing takes {needed:.1f} cores, and one worker seals at a time: it falls behind"
                f" even with {name}=100, and hot data grows."
            )
        elif needed > percent / 100:
            yield (
                f"Sealing takes {needed:.2f} of a core: with {name}={percent} it falls behind. Set"
                f" it to {math.ceil(min(100, 120 * needed))}."
            )
    if not policy.archive_percent and load.writes_per_second:
        yield "ARCHIVE_SEALING_PERCENT=0: the archive is not sealed, all of it stays rows."
    if not policy.ledger_range_slots and load.transactions_per_second:
        yield "LEDGER_SEAL_SLOTS=0: the ledger is not sealed, all of it stays rows."


def _sum(parts: Iterable[Part]) -> float:
    return sum(part.amount for part in parts)


def _largest_first(parts: Iterable[Part]) -> list[Part]:
    return sorted((part for part in parts if part.amount), key=lambda part: -part.amount)


def _days(seconds: float) -> str:
    days = seconds / _DAY
    if days < 1:
        return f"{days * 24:,.1f} hours"
    return f"{days:,.1f} days" if days < 10 else f"{days:,.0f} days"


# --- the plan of this installation ---


class Cost(NamedTuple):
    """A month of the plan once its last day is over, of what has a price; what is in it, and what
    each of the plan's drivers adds.
    """

    month: float
    basis: str
    drivers: list[float]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The plan, what it depends on, what that costs (None without prices), and the figures it was
    computed from: the load's, then the ratios.
    """

    plan: Plan
    drivers: list[Driver]
    cost: Cost | None
    load: list[Figure]
    ratios: Ratios


def sizing(asked: Mapping[str, Any], *, no_store: bool = False) -> Sizing:
    """The plan of a load, by names of Load: what is left out is as this installation has it.
    `no_store` leaves its object store out. Raises SizingRefused.
    """
    for name, value in asked.items():
        require_within(name, value)
    ratios, policy = measured_ratios(), current_policy()
    writes = _given("Account writes a second", asked.get("writes_per_second"))
    writes = writes or measured_writes(ratios.slot_seconds.value)
    if writes is None:
        raise SizingRefused(
            "writes_per_second",
            "give the account writes a second: too few slots are archived to measure them",
        )
    transactions = _given("Transactions a second", asked.get("transactions_per_second"))
    if transactions is None:
        share = ratios.transactions_a_write
        basis = f"{share.value:.3g} for each account write, {share.basis}"
        rate = writes.value * share.value
        transactions = Figure("Transactions a second", rate, "", share.source, basis)
    cold = None if no_store else _cold(asked.get("cold_after_days"), ratios)
    load = Load(
        **{
            **asked,
            "writes_per_second": writes.value,
            "transactions_per_second": transactions.value,
            "cold_after_days": None if cold is None else cold.value,
        }
    )
    days = _given("Days kept", load.days, "days")
    made, depends = plan(load, ratios, policy), drivers(load, ratios, policy)
    figures = [each for each in (writes, transactions, days, cold) if each is not None]
    return Sizing(made, depends, _cost(made, depends), figures, ratios)


def _cold(days: float | None, ratios: Ratios) -> Figure | None:
    title = "In the object store after"
    if days is None and settings.ARCHIVE_STORE:
        days = settings.ARCHIVE_STORE_AFTER_SLOTS * ratios.slot_seconds.value / _DAY
        return Figure(title, days, "days", Source.SETTING, "ARCHIVE_STORE_AFTER_SLOTS")
    return _given(title, days, "days")


def _given(title: str, value: float | None, unit: str = "") -> Figure | None:
    return None if value is None else Figure(title, value, unit, Source.GIVEN, "")


def current_policy() -> Policy:
    """How this installation seals, by its settings."""
    caches = settings.LEDGER_CACHE_BYTES
    if settings.OLD_FAITHFUL_URL:
        caches += settings.OLD_FAITHFUL_CACHE_BYTES
    if settings.ARCHIVE_STORE:
        caches += settings.ARCHIVE_STORE_CACHE_BYTES
    alive = {"web": 1}  # while it is not known how many are
    with contextlib.suppress(redis.RedisError):
        kinds = heartbeats.kinds(now=clock.seconds())
        alive |= {name: kind.alive for name, kind in kinds.items() if kind.alive}
    return Policy(
        seal_after_slots=settings.ARCHIVE_SEAL_AFTER_SLOTS,
        archive_percent=settings.ARCHIVE_SEALING_PERCENT,
        ledger_range_slots=settings.LEDGER_SEAL_SLOTS,
        ledger_percent=settings.LEDGER_SEAL_PERCENT,
        cache_bytes=caches * alive["web"],
        sessions=sessions.of_processes(alive),
    )


def _cost(made: Plan, found: Iterable[Driver]) -> Cost | None:
    """None where no price is given."""
    machine, store = made.load.machine_price, made.load.store_price
    if machine is None and store is None:
        return None

    def month(machines: int, stored: float) -> float:
        return machines * (machine or 0.0) + stored / _TB * (store or 0.0)

    machines = made.machines_with_standbys
    parts = [("machines", machine, month(machines, 0))]
    if made.store_bytes:
        parts.append(("object store", store, month(0, made.store_bytes)))
    basis = ", ".join(
        f"{name} without a price" if price is None else f"{name} {money(amount)}"
        for name, price, amount in parts
        if price is None or amount
    )
    added = [month(each.machines, each.store) for each in found]
    return Cost(month(machines, made.store_bytes), basis, added)


def money(amount: float) -> str:
    """An amount as people read it: cents where they count."""
    return f"{amount:,.0f}" if abs(amount) >= 1_000 else f"{amount:,.2f}"


def signed_money(amount: float) -> str:
    """What is added; a dash for nothing."""
    if not round(amount, 2):
        return "-"
    return f"{'-' if amount < 0 else '+'}{money(abs(amount))}"
