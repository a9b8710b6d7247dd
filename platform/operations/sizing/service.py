"""The plan of a load for this installation: `manage.py plan` and the page *Sizing*."""

from dataclasses import asdict, dataclass
from typing import Any

import redis
from django.conf import settings

from operations.sizing import measured
from operations.sizing.figures import Figure, Ratios, Source
from operations.sizing.plan import Driver, Load, Plan, Policy, SizingRefused, drivers, plan
from operations.sizing.prices import Cost, Prices, cost
from shared_state import clock, heartbeats


@dataclass(frozen=True, slots=True)
class Asked:
    """A load as it is asked for: None is what this installation has. `cold_after_days` of None is
    its setting, and `no_store` leaves the object store out. Prices are of a month, in any currency.
    """

    writes_per_second: float | None = None
    transactions_per_second: float | None = None
    days: float = 365.0
    cold_after_days: float | None = None
    no_store: bool = False
    standbys: int = 0
    machine_disk_tb: float = 8.0
    machine_memory_gb: float = 64.0
    machine_cores: float = 16.0
    machine_price: float | None = None
    store_price: float | None = None


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

    @property
    def measured(self) -> int:
        """How many of the ratios were measured."""
        return sum(figure.source is Source.MEASURED for figure in self.ratios)


def sizing(asked: Asked) -> Sizing:
    """Raises SizingRefused."""
    prices = Prices(asked.machine_price, asked.store_price)
    ratios, policy = measured.ratios(), current_policy()
    figures = _load(asked, ratios)
    writes, transactions, days, cold = figures
    load = Load(
        writes_per_second=writes.value,
        transactions_per_second=transactions.value,
        days=days.value,
        cold_after_days=None if cold is None else cold.value,
        standbys=asked.standbys,
        machine_disk_tb=asked.machine_disk_tb,
        machine_memory_gb=asked.machine_memory_gb,
        machine_cores=asked.machine_cores,
    )
    made, depends = plan(load, ratios, policy), drivers(load, ratios, policy)
    return Sizing(
        plan=made,
        drivers=depends,
        cost=cost(made, depends, prices),
        load=[each for each in figures if each is not None],
        ratios=ratios,
    )


def current_policy() -> Policy:
    """How this installation seals, by its settings."""
    caches = settings.LEDGER_CACHE_BYTES
    if settings.OLD_FAITHFUL_URL:
        caches += settings.OLD_FAITHFUL_CACHE_BYTES
    if settings.ARCHIVE_STORE:
        caches += settings.ARCHIVE_STORE_CACHE_BYTES
    return Policy(
        seal_after_slots=settings.ARCHIVE_SEAL_AFTER_SLOTS,
        archive_percent=settings.ARCHIVE_SEALING_PERCENT,
        ledger_range_slots=settings.LEDGER_SEAL_SLOTS,
        ledger_percent=settings.LEDGER_SEAL_PERCENT,
        cache_bytes=caches * _web_processes(),
    )


def _web_processes() -> int:
    """Those that are alive; one while that is not known."""
    try:
        return max(1, heartbeats.kinds(now=clock.seconds())["web"].alive)
    except (redis.RedisError, KeyError):
        return 1


def _load(asked: Asked, ratios: Ratios) -> tuple[Figure, Figure, Figure, Figure | None]:
    writes = _given("Account writes a second", asked.writes_per_second)
    if writes is None:
        writes = measured.writes_per_second(ratios.slot_seconds.value)
    if writes is None:
        raise SizingRefused(
            "writes_per_second",
            "give the account writes a second: too few slots are archived to measure them",
        )
    transactions = _given("Transactions a second", asked.transactions_per_second)
    if transactions is None:
        share = ratios.transactions_a_write
        transactions = Figure(
            "Transactions a second",
            writes.value * share.value,
            "",
            share.source,
            f"{share.value:.3g} for each account write, {share.basis}",
        )
    days = Figure("Days kept", asked.days, "days", Source.GIVEN, "")
    return writes, transactions, days, _cold(asked, ratios)


def _cold(asked: Asked, ratios: Ratios) -> Figure | None:
    if asked.no_store:
        return None
    title = "In the object store after"
    if asked.cold_after_days is None and settings.ARCHIVE_STORE:
        days = settings.ARCHIVE_STORE_AFTER_SLOTS * ratios.slot_seconds.value / 86_400
        return Figure(title, days, "days", Source.SETTING, "ARCHIVE_STORE_AFTER_SLOTS")
    return _given(title, asked.cold_after_days, "days")


def _given(title: str, value: float | None, unit: str = "") -> Figure | None:
    return None if value is None else Figure(title, value, unit, Source.GIVEN, "")


def as_json(found: Sizing) -> dict[str, Any]:
    """The plan as one JSON object: bytes, cores, costs a month, and each figure with its source."""
    made, costs = found.plan, found.cost
    added = [None] * len(found.drivers) if costs is None else costs.drivers
    return {
        "machines": made.machines,
        "machinesWithStandbys": made.machines_with_standbys,
        "databaseBytes": round(made.database_bytes),
        "objectStoreBytes": round(made.store_bytes),
        "asRowsBytes": round(made.as_rows),
        "memoryBytes": round(sum(part.amount for part in made.memory)),
        "cores": round(sum(part.amount for part in made.cores), 3),
        "changes": round(made.changes),
        "transactions": round(made.transactions),
        "database": [_part(part) for part in made.database],
        "objectStore": [_part(part) for part in made.store],
        "memory": [_part(part) for part in made.memory],
        "processors": [
            {"title": part.title, "cores": round(part.amount, 3), "basis": part.basis}
            for part in made.cores
        ],
        "needs": [asdict(need) for need in made.needs],
        "drivers": [
            {
                "title": each.title,
                "databaseBytes": round(each.database),
                "objectStoreBytes": round(each.store),
                "machines": each.machines,
                "costAMonth": None if more is None else round(more, 2),
            }
            for each, more in zip(found.drivers, added, strict=True)
        ],
        "costAMonth": None if costs is None else round(costs.month, 2),
        "figures": [
            asdict(figure) | {"source": figure.source.value}
            for figure in (*found.load, *found.ratios)
        ],
        "warnings": made.warnings,
    }


def _part(part: Any) -> dict[str, Any]:
    return {"title": part.title, "bytes": round(part.amount), "basis": part.basis}
