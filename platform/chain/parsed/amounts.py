"""Token amounts as the node shows them."""

from decimal import Decimal, localcontext
from typing import Any

from chain.parsed.cursor import Cursor
from chain.units import U64_MAX

# More than any float has.
_EXACT_DIGITS = 1_100


def ui_amount(amount: int, decimals: int) -> dict[str, Any]:
    """A raw token amount with its decimal forms; uiAmount is null if 10**decimals is no u64."""
    scale = 10**decimals
    return {
        "amount": str(amount),
        "decimals": decimals,
        "uiAmount": float(amount) / float(scale) if scale <= U64_MAX else None,
        "uiAmountString": _trimmed(amount, decimals),
    }


def checked_amount(cursor: Cursor) -> dict[str, Any]:
    """An amount and the decimals its sender expects, as the `…Checked` instructions have them."""
    amount = cursor.u64()
    return ui_amount(amount, cursor.u8())


def float_text(number: float) -> str:
    """A float the way Rust prints it: shortest digits, never an exponent, no `.0`."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    with localcontext(prec=_EXACT_DIGITS):
        shortest, exact = Decimal(repr(number)), Decimal(number)
        unit = Decimal(1).scaleb(int(shortest.as_tuple().exponent))
        # Of two texts that are equally near Python takes the even one, Rust the farther from 0.
        if 2 * (abs(exact) - abs(shortest)) == unit:
            shortest += unit.copy_sign(exact)
    return format(shortest, "f").removesuffix(".0")


def _trimmed(amount: int, decimals: int) -> str:
    digits = str(amount)
    if decimals == 0:
        return digits
    digits = digits.rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")
