"""Any spec of a job: read, or refused with a reason; and what a job comes to, item by item."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from access.callers import Caller
from gateway.calls import Call
from gateway.hosts import ALL_IN_ONE
from jsonrpc.errors import InvalidParams
from rewind.jobs.errors import TooManySimulations
from rewind.jobs.services.requests import JobRequest, SlotSteps, read_request
from rewind.method_table import methods
from rewind.urls import urlpatterns
from tests.examples import examples

assert urlpatterns  # which brings in the methods

PAYER = Keypair.from_seed(bytes(32))
NOBODY = Caller(
    key_id=1, tier="none", rank=0, scopes=frozenset(), networks=(), quotas={}
)  # of no simulations: nothing is ever handed in
CALL = Call(NOBODY, ALL_IN_ONE, datetime(2026, 1, 31, tzinfo=UTC), "", "")

PAYMENT = base64.b64encode(
    bytes(VersionedTransaction(Message([], PAYER.pubkey()), [PAYER]))
).decode()

scalars = st.none() | st.booleans() | st.integers(-2, 2**65) | st.text(max_size=4) | st.floats(0, 9)
slots = st.integers(0, 3) | st.integers(0, 2**64 - 1)


def usually(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Once in a while something else: where all is wrong, only the first of it is told."""
    return st.integers(0, 30).flatmap(lambda chance: good if chance else scalars)


def members(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return usually(st.fixed_dictionaries({}, optional=optional))


signatures = st.binary(min_size=64, max_size=64).map(lambda raw: str(Signature(raw)))
anchors = members(
    signature=usually(signatures),
    slot=usually(slots),
    transactionIndex=usually(slots),
    position=usually(st.sampled_from(["before", "after"])),
)
positions = st.one_of(
    st.fixed_dictionaries({"slot": slots}),
    st.fixed_dictionaries({"anchor": st.fixed_dictionaries({"signature": signatures})}),
    members(
        slot=usually(slots), transactionIndex=slots, anchor=anchors, preStateSlot=usually(slots)
    ),
)
pubkeys = st.binary(min_size=32, max_size=32).map(lambda raw: str(Pubkey(raw)))
configs: st.SearchStrategy[Any] = members(
    innerInstructions=usually(st.booleans()),
    accounts=st.fixed_dictionaries(
        {"encoding": st.just("base64"), "addresses": st.lists(usually(pubkeys), max_size=3)}
    ),
    overrides=st.dictionaries(usually(pubkeys).map(str), members(lamports=slots), max_size=2),
    overrideLoads=st.dictionaries(usually(pubkeys).map(str), usually(slots), max_size=2),
    preStateSlot=slots,
)
where = members(
    positions=usually(st.lists(positions, max_size=3)),
    slotRange=members(fromSlot=slots, toSlot=slots, step=slots),
    config=configs,
    encoding=usually(st.sampled_from(["base58", "base64"])),
    clientReference=usually(st.text(min_size=1, max_size=101)),
)
what = st.one_of(
    st.fixed_dictionaries({"signatures": st.lists(signatures, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"transactions": st.lists(usually(st.just(PAYMENT)), max_size=3)}),
    members(signatures=st.lists(usually(signatures)), transactions=st.lists(st.text())),
)
specs = st.tuples(what, where).map(
    lambda both: {**both[0], **both[1]} if all(isinstance(each, dict) for each in both) else both[0]
)


@settings(max_examples=examples(400))
@given(specs | scalars)
def test_any_spec_is_read_or_refused_with_a_reason(spec: Any) -> None:
    method = methods.get("submitSimulationJob")
    assert method is not None
    with pytest.raises(InvalidParams) as refused:
        method.function(CALL, *method.params.read(json.dumps([spec]).encode()))
    assert refused.value.data["reason"]
    if isinstance(refused.value, TooManySimulations):
        assert refused.value.data["found"] > 0


requests = st.builds(
    JobRequest,
    signatures=st.lists(signatures, min_size=1, max_size=5),
    texts=st.none(),
    encoding=st.just("base64"),
    positions=st.none() | st.lists(st.fixed_dictionaries({"slot": slots}), min_size=1, max_size=5),
    range=st.builds(SlotSteps, st.integers(0, 2**62), st.integers(0, 6), st.integers(1, 9)),
    config=st.just({}),
)


@given(requests)
def test_a_request_is_every_transaction_at_every_position(request: JobRequest) -> None:
    items = [request.item(number) for number in range(request.total)]
    each = [json.dumps(item.position) for item in items[: request.positions_each]]
    assert [item.number for item in items] == list(range(request.total))
    assert sorted({item.transaction for item in items}) == list(range(len(request.signatures)))
    for item in items:
        assert item.signature == request.signatures[item.transaction]
        place = item.number - item.transaction * request.positions_each
        if request.positions is None and not request.range.count:
            assert item.position["anchor"]["signature"] == item.signature
        else:
            assert json.dumps(item.position) == each[place]
    kept = msgspec.json.decode(msgspec.json.encode(request))
    again = read_request(kept)
    assert [again.item(number) for number in range(again.total)] == items
