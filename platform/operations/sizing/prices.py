"""What a plan costs a month, at prices that the operator gives."""

from dataclasses import dataclass

from operations.sizing.plan import Driver, Plan, SizingRefused

_TB = 10**12
_HIGHEST = 1e9


@dataclass(frozen=True, slots=True)
class Prices:
    """A month of a machine, and of a terabyte in the object store, in one currency; None where it
    is not given. Raises SizingRefused.
    """

    machine_price: float | None = None
    store_price: float | None = None

    def __post_init__(self) -> None:
        for field in ("machine_price", "store_price"):
            value = getattr(self, field)
            if value is not None and not 0 <= value <= _HIGHEST:  # not a number neither
                name = field.replace("_", " ")
                raise SizingRefused(field, f"{name} must be from 0 to {_HIGHEST:,.0f}")

    @property
    def are_given(self) -> bool:
        return self.machine_price is not None or self.store_price is not None

    def of(self, machines: float, store_bytes: float) -> float:
        """A month of them, without what has no price."""
        return machines * (self.machine_price or 0.0) + store_bytes / _TB * (
            self.store_price or 0.0
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """A month of the plan once its last day is over, and of that the machines with their standbys
    and the object store; None where it has no price though there is some of it. `drivers` are what
    each of the plan's drivers adds.
    """

    month: float
    machines: float | None
    store: float | None
    drivers: list[float]


def cost(made: Plan, drivers: list[Driver], prices: Prices) -> Cost | None:
    """None where no price is given."""
    if not prices.are_given:
        return None
    machines, store = made.machines_with_standbys, made.store_bytes
    return Cost(
        month=prices.of(machines, store),
        machines=None if prices.machine_price is None else prices.of(machines, 0),
        store=None if prices.store_price is None and store else prices.of(0, store),
        drivers=[prices.of(each.machines, each.store) for each in drivers],
    )


def money(amount: float) -> str:
    """An amount as people read it: cents where they count."""
    return f"{amount:,.0f}" if abs(amount) >= 1_000 else f"{amount:,.2f}"


def signed(amount: float) -> str:
    """What is added; a dash for nothing."""
    if not round(amount, 2):
        return "-"
    return f"{'-' if amount < 0 else '+'}{money(abs(amount))}"


def basis(found: Cost) -> str:
    """What is in it, and what is not."""
    parts = (("machines", found.machines), ("object store", found.store))
    return ", ".join(
        f"{name} {money(part)}" if part is not None else f"{name} without a price"
        for name, part in parts
        if part is None or part
    )
