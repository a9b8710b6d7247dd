"""Results to JSON bytes: structs in camelCase, keys as base58, stored JSON as it is."""

from dataclasses import dataclass
from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every result object: snake_case in code, camelCase on the wire."""


@dataclass(frozen=True, slots=True)
class As:
    """`Annotated[Encoded, As(AccountSnapshot)]`: what the reference shows in place of a type that
    says less than is known.
    """

    kind: Any


class Encoded:
    """JSON that is already bytes: spliced into the answer without another encoding."""

    __slots__ = ("chunks",)

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def __bytes__(self) -> bytes:
        return b"".join(self.chunks)


def _own_nouns(value: Any) -> Any:
    if isinstance(value, Encoded):
        return msgspec.Raw(bytes(value))
    if hasattr(type(value), "from_string"):  # solders' Pubkey, Signature, Hash
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def to_camel(name: str) -> str:
    """snake_case → camelCase, as structs are renamed."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_encoder = msgspec.json.Encoder(enc_hook=_own_nouns)


def encode(value: Any) -> bytes:
    """JSON bytes of a result, an error object or any part of them."""
    return _encoder.encode(value)
