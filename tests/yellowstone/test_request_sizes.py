"""The size of a SubscribeRequest is counted as protobuf would, before it is parsed."""

from typing import Any

import grpc
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from tests.examples import examples
from tests.yellowstone.bare_client import BareCall
from tests.yellowstone.conftest import Geyser, Request
from tests.yellowstone.test_any_filters import cuckoos, requests
from upstream.protobuf import geyser_pb2 as schema
from yellowstone.request_sizes import MOST_FIELDS, NotARequest, size_of

_MANY = 1_000
_MAPS = (
    "accounts",
    "slots",
    "transactions",
    "blocks",
    "transactions_status",
    "blocks_meta",
    "entry",
)

rest = st.builds(
    schema.SubscribeRequest,
    accounts_data_slice=st.lists(
        st.builds(dict, offset=st.integers(0, 2**64 - 1), length=st.integers(0, 300)), max_size=3
    ),
    entry=st.dictionaries(st.text(max_size=200), st.just({}), max_size=3),
    slots=st.dictionaries(st.text(max_size=3), st.just({"interslot_updates": True}), max_size=3),
    accounts=st.dictionaries(
        st.text(max_size=3), st.builds(dict, cuckoo_accounts_filter=cuckoos), max_size=2
    ),
    ping=st.one_of(st.none(), st.builds(dict, id=st.integers(-(2**31), 2**31 - 1))),
    from_slot=st.one_of(st.none(), st.integers(0, 2**64 - 1)),
)


def filters_of(request: Any) -> int:
    return sum(len(getattr(request, name)) for name in _MAPS)


def fields_of(message: Any) -> int:
    """The fields that the message is written with, and those of its messages; of a filter only
    those in it, not its entry, name and value.
    """
    found = 0
    for field, value in message.ListFields():
        if field.message_type is None:
            found += len(value) if field.is_repeated else 1
        elif field.message_type.GetOptions().map_entry:
            found += sum(fields_of(each) for each in value.values())
        else:
            for each in value if field.is_repeated else [value]:
                found += 1 + fields_of(each)
    return found


@settings(max_examples=examples(300))
@given(requests, rest)
def test_the_size_is_what_protobuf_wrote(first: Any, second: Any) -> None:
    for request in (first, second):
        size = size_of(request.SerializeToString(), _MANY)
        assert size.filters == filters_of(request)
        assert size.fields == fields_of(request) + 3 * size.filters


@settings(max_examples=examples(300))
@given(requests, rest, st.data())
def test_any_bytes_are_a_size_or_not_a_request(first: Any, second: Any, data: Any) -> None:
    """And never smaller than what protobuf reads of them."""
    whole = bytearray(first.SerializeToString() + second.SerializeToString())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole)))
        whole[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=12))
    try:
        size = size_of(bytes(whole), _MANY)
    except NotARequest:
        return
    try:
        request = schema.SubscribeRequest.FromString(bytes(whole))
    except DecodeError:
        return
    assert size.filters >= filters_of(request)
    assert size.fields >= fields_of(request) + filters_of(request)


def test_counting_ends_with_the_first_filter_and_the_first_field_too_many() -> None:
    slots = slots_of(9).SerializeToString()
    assert size_of(slots + b"\xff", 8).filters == 9
    with pytest.raises(NotARequest):
        size_of(slots + b"\xff", 9)
    addresses = accounts_of(["x"] * (MOST_FIELDS + 50)).SerializeToString()
    assert size_of(addresses, 8).fields == MOST_FIELDS + 1


def test_filters_are_counted_before_the_request_is_parsed(geyser: Geyser) -> None:
    # What stands behind the filters is no message.
    with BareCall(geyser.port, geyser.key) as call:
        call.send(None, packed=slots_of(1_500).SerializeToString() + b"\xff")
        assert not call.frames()
        assert call.trailers["grpc-status"] == "8"
        assert call.trailers["grpc-message"].startswith("subscription_limit_reached")


def test_a_request_names_ten_thousand_addresses_and_not_many_more(geyser: Geyser) -> None:
    keys = [str(Pubkey(n.to_bytes(32, "big"))) for n in range(11_000)]
    most = accounts_of(keys[:10_000])
    most.MergeFrom(slots_of(1))
    with geyser.subscribed(most) as stream:
        next(iter(stream))
        stream.send(accounts_of(keys))
        error = stream.refusal()
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details().startswith("too_many_addresses")


def slots_of(count: int) -> Any:
    slots: Any = {str(number): {} for number in range(count)}
    return Request(slots=slots)


def accounts_of(keys: list[str]) -> Any:
    accounts: Any = {"a": {"account": keys}}
    return Request(accounts=accounts)
