"""Filters of a program's accounts as callers write them."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from chain.memcmp import memcmp_bytes
from jsonrpc.errors import InvalidParams
from jsonrpc.params import U64, Config
from livefeed.filters import AccountFilter

MOST_FILTERS = 4


class Memcmp(Config, frozen=True, kw_only=True):
    """Bytes that must stand at an offset: base58 or base64 text, or a list of numbers."""

    offset: U64
    bytes: str | list[Annotated[int, msgspec.Meta(ge=0, le=255)]]
    encoding: Literal["base58", "base64", "bytes"] | None = None


class Filter(Config, frozen=True, kw_only=True):
    """One of its fields, as the node has it."""

    memcmp: Memcmp | None = None
    data_size: U64 | None = None


def read_filters(given: Sequence[Filter | str]) -> tuple[AccountFilter, ...]:
    """Raises InvalidParams."""
    if len(given) > MOST_FILTERS:
        raise InvalidParams(f"Too many filters provided; max {MOST_FILTERS}")
    return tuple(map(_filter, given))


def _filter(given: Filter | str) -> AccountFilter:
    if isinstance(given, str):
        return AccountFilter()
    if (given.memcmp is None) == (given.data_size is None):
        raise InvalidParams("Invalid params: expected one of `dataSize`, `memcmp` in a filter")
    if given.memcmp is None:
        return AccountFilter(size=given.data_size)
    try:
        part = memcmp_bytes(given.memcmp.bytes, given.memcmp.encoding)
    except ValueError as error:
        raise InvalidParams(str(error)) from None
    return AccountFilter(offset=given.memcmp.offset, part=part)
