"""The beginning of a signature or bundle id, as lists show it: `4gBaRKPT…` or `4gBaRKPT…x9Qz`."""

import re
from dataclasses import dataclass

# Shorter beginnings name too many rows.
LEAST = 6
_SIGNATURE_BYTES = 64
_LONGEST_SIGNATURE = 88
_BUNDLE_DIGITS = 64
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_BEGINNING = re.compile(
    rf"(?P<start>[0-9A-Za-z]{{{LEAST},{_LONGEST_SIGNATURE}}})(?:(?:…|\.\.\.)(?P<end>[0-9A-Za-z]*))?"
)
_HEX = re.compile("[0-9a-f]+")

Range = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a name starts, and where the middle was left out, how it ends."""

    start: str
    end: str = ""

    def matches(self, name: str) -> bool:
        return name.startswith(self.start) and name.endswith(self.end)

    @property
    def signatures(self) -> list[Range]:
        """The signatures that start so, as ranges of their bytes, both ends included."""
        return signature_ranges(self.start)

    @property
    def bundle(self) -> "Beginning | None":
        """The same of a bundle id, in lower case; None if no bundle id starts so."""
        start, end = self.start.lower(), self.end.lower()
        if len(start) > _BUNDLE_DIGITS or not _HEX.fullmatch(start + end):
            return None
        return Beginning(start, end)

    @property
    def bundle_bytes(self) -> Range:
        """The range of the bytes of bundle ids that start so."""
        return (
            bytes.fromhex(self.start.ljust(_BUNDLE_DIGITS, "0")),
            bytes.fromhex(self.start.ljust(_BUNDLE_DIGITS, "f")),
        )


def beginning_in(text: str) -> Beginning | None:
    """None if the text is too short, or neither base58 nor hex."""
    found = _BEGINNING.fullmatch(text.strip())
    if found is None:
        return None
    beginning = Beginning(found["start"], found["end"] or "")
    return beginning if beginning.signatures or beginning.bundle else None


def signature_ranges(start: str) -> list[Range]:
    """The values of 64 bytes whose base58 begins so: an interval for each length of the text,
    from the beginning filled up with `1` to that filled up with `z`. Empty if it is not base58.
    """
    if not _VALUES.keys() >= set(start):
        return []
    # Each leading `1` is a byte of zero; the bytes behind them begin with another one.
    digits = start.lstrip("1")
    size = _SIGNATURE_BYTES - (len(start) - len(digits))
    if size < 0 or (digits and size == 0):
        return []
    if not digits:
        return [(bytes(_SIGNATURE_BYTES), (256**size - 1).to_bytes(_SIGNATURE_BYTES))]
    value = 0
    for digit in digits:
        value = 58 * value + _VALUES[digit]
    found = []
    for more in range(_LONGEST_SIGNATURE + 1 - len(start)):
        first = max(value * 58**more, 256 ** (size - 1))
        last = min((value + 1) * 58**more, 256**size) - 1
        if first <= last:
            found.append((first.to_bytes(_SIGNATURE_BYTES), last.to_bytes(_SIGNATURE_BYTES)))
    return found
