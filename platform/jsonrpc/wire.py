"""Results to JSON bytes: structs in camelCase, keys as base58, stored JSON unchanged."""

from dataclasses import dataclass
from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every result object: snake_case in code, camelCase on the wire."""


@dataclass(frozen=True, slots=True)
class As:
    """`Annotated[Encoded, As(AccountSnapshot)]`: the type that the reference shows instead of a
    less specific one.
    """

    kind: Any


class Encoded:
    """JSON that is already bytes: inserted into the response without encoding it again."""

    __slots__ = ("chunks",)

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def __bytes__(self) -> bytes:
        return b"".join(self.chunks)


def _encode_other(value: Any) -> Any:
    if isinstance(value, Encoded):
        return msgspec.Raw(bytes(value))
    if hasattr(type(value), "from_string"):  # solders' Pubkey, Signature, Hash
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def to_camel(name: str) -> str:
    """snake_case → camelCase, as structs are renamed."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_encoder = msgspec.json.Encoder(enc_hook=_encode_other)


def encode(value: Any) -> bytes:
    """JSON bytes of a result, an error object or any part of them."""
    return _encoder.encode(value)
