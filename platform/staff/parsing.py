"""Text from forms and addresses → slot, id, pubkey or signature."""

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.units import I64_MAX


def slot_in(text: str) -> int | None:
    """The slot, which may have commas; None if it is not one."""
    digits = text.strip().replace(",", "")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) <= I64_MAX:
        return int(digits)
    return None


def id_in(text: str | None) -> int | None:
    """The id of a row; None if it is not one."""
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 18:
        return None
    return int(text)


def pubkey_in(text: str) -> Pubkey | None:
    try:
        return Pubkey.from_string(text.strip())
    except ValueError:
        return None


def signature_in(text: str) -> Signature | None:
    try:
        return Signature.from_string(text.strip())
    except ValueError:
        return None
