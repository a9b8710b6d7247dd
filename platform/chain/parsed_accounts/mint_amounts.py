"""Amounts of a mint as shown: with its interest or multiplier, if it has one."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from chain.parsed.amounts import ui_amount
from chain.parsed.cursor import Cursor
from chain.parsed_accounts.raw import Shown, finite
from chain.parsed_accounts.token_extensions import INTEREST_BEARING, SCALED_UI_AMOUNT, first_body
from chain.units import I64_MAX

_DECIMALS = 44
# As the Token-2022 program has them.
_SECONDS_PER_YEAR = 60.0 * 60 * 24 * 365.24
_ONE_IN_BPS = 10_000.0

# A raw amount and ten to the power of the decimals → the amount shown.
_Scale = Callable[[float, float], float]


def amounts_of_mint(data: bytes, now: Callable[[], int | None]) -> Shown:
    """How amounts of the mint with this data are shown; `now` returns the cluster's time, and is
    called only if the mint's extensions need it.
    """
    decimals = data[_DECIMALS]
    for kind, scale_at in ((INTEREST_BEARING, _interest), (SCALED_UI_AMOUNT, _multiplier)):
        body = first_body(data, kind)
        if body is not None:
            time = now()
            scale = None if time is None else scale_at(Cursor(body, 32), time)
            return partial(_scaled, decimals=decimals, scale=scale)
    return partial(ui_amount, decimals=decimals)


def _interest(cursor: Cursor, now: int) -> _Scale | None:
    start, rate_before = cursor.i64(), cursor.i16()
    updated, rate = cursor.i64(), cursor.i16()
    before, since = updated - start, now - updated
    if any(not -I64_MAX - 1 <= span <= I64_MAX for span in (before, since)):
        return None
    growth = _growth(rate_before, before) * _growth(rate, since)
    return lambda amount, ten: amount * (growth / ten)


def _growth(rate: int, seconds: int) -> float:
    try:
        return math.exp(float(rate * seconds) / _SECONDS_PER_YEAR / _ONE_IN_BPS)
    except OverflowError:
        return math.inf


def _multiplier(cursor: Cursor, now: int) -> _Scale:
    earlier, effective_at, later = cursor.f64(), cursor.i64(), cursor.f64()
    multiplier = later if now >= effective_at else earlier

    def scale(amount: float, ten: float) -> float:
        scaled = amount * multiplier
        # Fractions of the smallest unit are not shown; what is left of a negative one is -0.
        whole = float(math.trunc(scaled)) if math.isfinite(scaled) else scaled
        return math.copysign(whole, scaled) / ten

    return scale


def _scaled(amount: int, *, decimals: int, scale: _Scale | None) -> dict[str, Any]:
    """The node's form of an amount; without digits if it cannot compute them."""
    shown, text = None, ""
    if scale is not None:
        text = f"{scale(float(amount), _power_of_ten(decimals)):.{decimals}f}"
        shown = finite(float(text))
        text = text.replace("nan", "NaN")  # as the node spells it
        if decimals:
            text = text.rstrip("0").rstrip(".")
    return {"amount": str(amount), "decimals": decimals, "uiAmount": shown, "uiAmountString": text}


def _power_of_ten(exponent: int) -> float:
    # By squaring, like the node: pow() may differ in the last digits.
    power, square = 1.0, 10.0
    while exponent:
        if exponent & 1:
            power *= square
        exponent >>= 1
        if exponent:
            square *= square
    return power
