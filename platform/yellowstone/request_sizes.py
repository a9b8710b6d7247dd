"""How much a SubscribeRequest asks for, counted before it is parsed.

Parsing costs by field, not by byte: four megabytes of small filters take most of a second, in one
piece. Counting stops above what a request may have.
"""

from typing import Any, NamedTuple

from chain.leb128 import leb128
from upstream.protobuf import geyser_pb2 as schema

# Fields of a request with all of its filters: parsing and compiling them, and stating what they
# want, take the loop some milliseconds each. 10,000 addresses and some others; a filter has three
# itself.
MOST_FIELDS = 10_100
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Table = dict[int, "Table"]
"""Of a message: the tags of its fields that are messages, with theirs."""


class NotARequest(ValueError):
    """The bytes are not a message."""


class Size(NamedTuple):
    filters: int
    fields: int


def size_of(data: bytes, most_filters: int) -> Size:
    """The filters of a SubscribeRequest, and its fields with those of its messages; counting ends
    with the first above these filters or MOST_FIELDS. Raises NotARequest for what is no message, as
    far as it looks.
    """
    size = _walked(data, {}, most_filters)
    if size.filters > most_filters or size.fields > MOST_FIELDS:
        return size
    return _walked(data, _REQUEST, most_filters)


def _walked(data: bytes, table: Table, most_filters: int) -> Size:
    """The size, without what is in messages that the table does not have."""
    filters = fields = at = 0
    end = len(data)
    outer: list[tuple[Table, int]] = []
    try:
        while filters <= most_filters and fields <= MOST_FIELDS:
            if at >= end:
                if at > end:
                    raise NotARequest
                if not outer:
                    break
                table, end = outer.pop()
                continue
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = _varint(data, at - 1)
            fields += 1
            kind = tag & 7
            if kind == _BYTES:
                length = data[at]
                at += 1
                if length >= 0x80:
                    length, at = _varint(data, at - 1)
                filters += not outer and tag in _FILTERS
                inner = table.get(tag)
                if inner is None:
                    at += length
                    continue
                outer.append((table, end))
                if at + length > end:
                    raise NotARequest
                table, end = inner, at + length
            elif kind == _VARINT:
                at = _varint(data, at)[1]
            elif kind in (_FIXED64, _FIXED32):
                at += 8 if kind == _FIXED64 else 4
            else:  # groups, which no library writes any more
                raise NotARequest
    except IndexError:
        raise NotARequest from None
    return Size(filters, fields)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    number, width = leb128(data, at)
    if not width:
        raise NotARequest
    return number, at + width


def _table(message: Any) -> Table:
    return {
        field.number << 3 | _BYTES: _table(field.message_type)
        for field in message.fields
        if field.message_type is not None
    }


_REQUEST = _table(schema.SubscribeRequest.DESCRIPTOR)
# Fields that are maps: each of their entries is a filter.
_FILTERS = frozenset(
    field.number << 3 | _BYTES
    for field in schema.SubscribeRequest.DESCRIPTOR.fields
    if field.message_type is not None and field.message_type.GetOptions().map_entry
)
