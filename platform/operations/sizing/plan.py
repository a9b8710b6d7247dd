"""Disk, memory, cores and machines for a load: arithmetic on ratios, without the database."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from operations.sizing.figures import COLD_DICTIONARIES, MOST_INGESTED, Ratios
from rewind.store.partition_cache import SEGMENT_SLOTS
from rewind.store.partitions import PARTITION_SLOTS

_GB, _TB = 10**9, 10**12
_DAY = 86_400
# Of the database: what PostgreSQL needs to work, and its write-ahead log.
FREE_SHARE, LOG_BYTES = 0.25, 8 * _GB
# Sessions and their work, and all processes of an idle installation with Valkey.
_SESSIONS_BYTES, _PROCESSES_BYTES = 2 * _GB, 639 * 10**6
# Of the index of sealed blocks: its upper levels, and what is read often.
_READ_SHARE = 0.1
# In an unmerged segment a change takes twice as much, and what is merged stays until it is read
# back.
_ROOM_TO_MERGE = 2


class SizingRefused(Exception):
    """The load is not one that can be planned; `field` names what is wrong of it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for: rates a second, days that are kept, whether sealed segments move to an
    object store and after how many days, standbys of each machine, and what one machine has.
    Raises SizingRefused.
    """

    writes_per_second: float
    transactions_per_second: float
    days: float
    cold_after_days: float | None = None
    standbys: int = 0
    machine_disk_tb: float = 8.0
    machine_memory_gb: float = 64.0
    machine_cores: float = 16.0

    def __post_init__(self) -> None:
        for field, lowest, highest in (
            ("writes_per_second", 0, 10_000_000),
            ("transactions_per_second", 0, 10_000_000),
            ("days", 0.01, 36_500),
            ("cold_after_days", 0, 36_500),
            ("standbys", 0, 10),
            ("machine_disk_tb", 0.01, 10_000),
            ("machine_memory_gb", 1, 100_000),
            ("machine_cores", 1, 10_000),
        ):
            value = getattr(self, field)
            if value is None:
                continue
            if not lowest <= value <= highest:  # not a number neither
                name = field.replace("_", " ")
                raise SizingRefused(field, f"{name} must be from {lowest:,} to {highest:,}")
        if not self.writes_per_second and not self.transactions_per_second:
            raise SizingRefused("writes_per_second", "there are neither writes nor transactions")


@dataclass(frozen=True, slots=True)
class Policy:
    """How this installation seals: slots behind the newest, shares of a core in per cent (0: off),
    slots of a range of the ledger (0: off), and bytes of its caches in all web processes.
    """

    seal_after_slots: int
    archive_percent: int
    ledger_range_slots: int
    ledger_percent: int
    cache_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the disk, of memory (bytes) or of the processors (cores)."""

    title: str
    amount: float
    basis: str


@dataclass(frozen=True, slots=True)
class Need:
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


@dataclass(frozen=True, slots=True)
class Driver:
    """What a change of the load or of the settings adds to the disk and to the store, in bytes."""

    title: str
    database: float
    store: float
    machines: int


@dataclass(frozen=True, slots=True)
class _Slots:
    """How many slots lie where, of the archive, and of the ledger."""

    all: float
    hot: float
    sealed: float
    cold: float
    merging: float
    ledger_hot: float
    ledger_sealed: float


def plan(load: Load, ratios: Ratios, policy: Policy) -> Plan:
    """What the load takes once its last day is over. The largest parts come first."""
    slots = _slots(load, ratios, policy)
    seconds = ratios.slot_seconds.value
    writes = load.writes_per_second * seconds
    moves = load.transactions_per_second * seconds
    database = _database(slots, writes, moves, ratios)
    database.append(
        Part(
            "Free space and write-ahead log",
            FREE_SHARE * _sum(database) + LOG_BYTES,
            f"{FREE_SHARE:.0%} of the above and {LOG_BYTES // _GB} GB",
        )
    )
    store = [
        Part(
            "Archive: cold segments",
            slots.cold * writes * ratios.cold_change.value,
            _days(slots.cold * seconds),
        ),
        Part(
            "Archive: dictionaries of cold segments",
            math.ceil(slots.cold / SEGMENT_SLOTS) * COLD_DICTIONARIES if writes else 0,
            "one in each object",
        ),
    ]
    memory = _memory(slots, writes, moves, ratios, policy)
    cores = _cores(load, ratios, policy)
    as_rows = slots.all * (
        writes * ratios.hot_change.value + moves * ratios.hot_transaction.value + ratios.slot.value
    )
    return Plan(
        load=load,
        changes=slots.all * writes,
        transactions=slots.all * moves,
        database=_largest_first(database),
        store=_largest_first(store),
        memory=_largest_first(memory),
        cores=_largest_first(cores),
        needs=_needs(load, _sum(database), _sum(memory), _sum(cores)),
        as_rows=as_rows,
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


def _slots(load: Load, ratios: Ratios, policy: Policy) -> _Slots:
    every = load.days * _DAY / ratios.slot_seconds.value
    # The partition that is written, one that is being sealed, and the margin.
    hot = min(every, policy.seal_after_slots + 2 * PARTITION_SLOTS)
    if not policy.archive_percent:
        hot = every
    cold = 0.0
    if load.cold_after_days is not None:
        after = load.cold_after_days * _DAY / ratios.slot_seconds.value
        # Only what is merged moves.
        cold = max(0.0, every - max(after, hot + SEGMENT_SLOTS))
    ledger_hot = min(every, 2 * policy.ledger_range_slots) if policy.ledger_range_slots else every
    return _Slots(
        all=every,
        hot=hot,
        sealed=every - hot - cold,
        cold=cold,
        merging=min(every - hot, SEGMENT_SLOTS),
        ledger_hot=ledger_hot,
        ledger_sealed=every - ledger_hot,
    )


def _database(slots: _Slots, writes: float, moves: float, ratios: Ratios) -> list[Part]:
    seconds = ratios.slot_seconds.value
    sealed = ratios.sealed_change.value
    return [
        Part(
            "Archive: hot rows",
            slots.hot * writes * ratios.hot_change.value,
            _days(slots.hot * seconds),
        ),
        Part(
            "Archive: sealed segments",
            slots.sealed * writes * sealed,
            _days(slots.sealed * seconds),
        ),
        Part(
            "Archive: room to seal and merge",
            slots.merging * writes * sealed * _ROOM_TO_MERGE,
            "twice a merged segment",
        ),
        Part(
            "Archive: rows of cold blocks",
            slots.cold * writes * ratios.cold_change_row.value,
            _days(slots.cold * seconds),
        ),
        Part(
            "Archive: index of accounts",
            (slots.sealed + slots.cold) * writes * ratios.account_change.value,
            "of what is sealed",
        ),
        Part(
            "Ledger: hot blocks",
            slots.ledger_hot * moves * ratios.hot_transaction.value,
            _days(slots.ledger_hot * seconds),
        ),
        Part(
            "Ledger: sealed ranges",
            slots.ledger_sealed * moves * ratios.sealed_transaction.value,
            _days(slots.ledger_sealed * seconds),
        ),
        Part("Slots and block headers", slots.all * ratios.slot.value, _days(slots.all * seconds)),
    ]


def _memory(
    slots: _Slots, writes: float, moves: float, ratios: Ratios, policy: Policy
) -> list[Part]:
    written = min(slots.all, 2 * PARTITION_SLOTS)
    rows = (slots.sealed + slots.cold) * writes * ratios.cold_change_row.value
    return [
        Part(
            "PostgreSQL: indexes of the partitions that are written",
            written * writes * ratios.hot_change_index.value,
            "two partitions",
        ),
        Part(
            "PostgreSQL: indexes of hot transactions",
            slots.ledger_hot * moves * ratios.hot_transaction_index.value,
            "written at random",
        ),
        Part(
            "PostgreSQL: rows of sealed blocks",
            _READ_SHARE * rows,
            f"{_READ_SHARE:.0%}, what is read often",
        ),
        Part("PostgreSQL: sessions", _SESSIONS_BYTES, "and their sorting"),
        Part("Processes and Valkey", _PROCESSES_BYTES, "idle, docs/benchmarks.md"),
        Part("Caches of web processes", policy.cache_bytes, "by their settings"),
    ]


def _cores(load: Load, ratios: Ratios, policy: Policy) -> list[Part]:
    return [
        Part(
            "Ingest, follower and PostgreSQL",
            load.writes_per_second / ratios.ingested.value,
            f"{ratios.ingested.value:,.0f} writes a CPU second",
        ),
        Part("Sealing the archive", _archive_core(load, ratios, policy), "sealed, then merged"),
        Part("Sealing the ledger", _ledger_core(load, ratios, policy), "texts and indexes"),
    ]


def _archive_core(load: Load, ratios: Ratios, policy: Policy) -> float:
    return load.writes_per_second / ratios.sealed.value if policy.archive_percent else 0.0


def _ledger_core(load: Load, ratios: Ratios, policy: Policy) -> float:
    rate = ratios.sealed_transactions.value
    return load.transactions_per_second / rate if policy.ledger_range_slots else 0.0


def _needs(load: Load, disk: float, memory: float, cores: float) -> list[Need]:
    def need(resource: str, amount: float, each: float, unit: str) -> Need:
        count = max(1, math.ceil(amount / each))
        return Need(resource, count, f"{amount:,.1f} {unit} at {each:,g} {unit} a machine")

    return [
        need("disk", disk / _TB, load.machine_disk_tb, "TB"),
        need("memory", memory / _GB, load.machine_memory_gb, "GB"),
        need("processors", cores, load.machine_cores, "cores"),
    ]


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
