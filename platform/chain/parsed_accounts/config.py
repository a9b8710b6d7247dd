"""The accounts of the Config program: validator infos."""

import json
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import RawAccount, entries, finite
from chain.units import U64_MAX

_VALIDATOR_INFO = "Va1idator1nfo111111111111111111111111111111"
_I64_MIN = -(2**63)
# The node's parser goes no deeper; and its program gives an info less than a kilobyte.
_DEEPEST = 127
_LONGEST_INFO = 65_536
_MOST_TENS = 308
_TENS = [float(f"1e{exponent}") for exponent in range(_MOST_TENS + 1)]


def parse_config_account(raw: RawAccount) -> dict[str, Any]:
    """A validator's info, known by its first key; the node no longer parses the stake config."""
    cursor = Cursor(raw.data)
    keys = [
        {"pubkey": cursor.pubkey(), "signer": cursor.flag()}
        for _ in entries(cursor, 33, count=cursor.short_length())
    ]
    if not keys or keys[0]["pubkey"] != _VALIDATOR_INFO:
        raise UnreadableError
    return {
        "info": {"configData": _json(cursor.bincode_text()), "keys": keys},
        "type": "validatorInfo",
    }


def _json(text: str) -> Any:
    if len(text) > _LONGEST_INFO:
        raise UnreadableError
    try:
        found = json.loads(
            text, parse_int=_integer, parse_float=_float, parse_constant=_no_constant
        )
        return _sorted(found, 0)
    except (ValueError, RecursionError):
        raise UnreadableError from None


def _sorted(value: Any, depth: int) -> Any:
    """The value with its keys in order; ValueError for what is JSON to Python only."""
    if depth >= _DEEPEST and isinstance(value, dict | list):
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {_text(key): _sorted(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(each, depth + 1) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    # Half a surrogate pair is an escape without a text.
    text.encode()
    return text


def _integer(digits: str) -> int | float:
    if len(digits) <= 20 and digits != "-0":
        number = int(digits)
        if _I64_MIN <= number <= U64_MAX:
            return number
    return _float(digits)


def _float(digits: str) -> float:
    """The number as serde_json computes it, which may differ in the last digit from the nearest:
    from the digits that a u64 can hold and a power of ten.
    """
    sign = -1.0 if digits[0] == "-" else 1.0
    mantissa, _, exponent_text = digits.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    significand, read = _significand(0, whole)
    exponent = len(whole) - read
    significand, read = _significand(significand, fraction)
    return sign * _scaled(significand, exponent - read + _exponent(exponent_text))


def _exponent(text: str) -> int:
    # More digits would be out of range as well, and are more than int() reads.
    number = int(text.lstrip("+-").lstrip("0")[:10] or "0")
    return -number if text.startswith("-") else number


def _significand(start: int, digits: str) -> tuple[int, int]:
    """The number with digits appended for as long as a u64 holds it, and how many these were."""
    number = start
    for read, digit in enumerate(digits):
        longer = number * 10 + int(digit)
        if longer > U64_MAX:
            return number, read
        number = longer
    return number, len(digits)


def _scaled(significand: int, exponent: int) -> float:
    number = float(significand)
    while exponent < -_MOST_TENS and number:
        number /= _TENS[_MOST_TENS]
        exponent += _MOST_TENS
    if not number:
        return number
    if exponent > _MOST_TENS:
        raise ValueError("out of range")
    number = number * _TENS[exponent] if exponent >= 0 else number / _TENS[-exponent]
    if finite(number) is None:
        raise ValueError("out of range")
    return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
