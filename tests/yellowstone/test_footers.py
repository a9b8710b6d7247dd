"""Yellowstone gRPC for customers: what Alpenglow adds to a stream, footers of blocks and changes of
a block's parent, which are followed but not stored.
"""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from tests.ingest.following import caught_up, follower, worker
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.upstream.hostile import relay
from tests.yellowstone.conftest import Geyser, Request, serving_geyser
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.usefixtures("transactional_db", "empty_redis")
LEVELS = tuple(schema.CommitmentLevel.values())
FIRST = 10


def footer_of(slot: int) -> Any:
    votes = {"signature": bytes(96), "block_id": b"b" * 32, "signer_bitmap": b"\1\4\0\17"}
    return schema.SubscribeUpdateBlockFooter(
        slot=slot,
        bank_hash=b"h" * 32,
        block_producer_time_nanos=slot * 1_000,
        block_user_agent=b"agave",
        block_final_cert={"slot": slot - 1, "final_aggregate": votes, "notar_aggregate": votes},
        skip_reward_cert={"slot": slot - 8, "aggregate": votes},
        notar_reward_cert={"slot": slot - 8, "aggregate": votes},
    )


def change_of(slot: int) -> Any:
    return schema.SubscribeUpdateEntryUpdateParent(
        slot=slot, cleared_bank_id=slot + 7, parent_slot=slot - 1, parent_block_id=b"p" * 32
    )


def of_alpenglow(_number: int, message: bytes) -> Iterator[bytes]:
    """localnet's stream with a footer in each slot, and in each tenth a change of its parent."""
    update = schema.SubscribeUpdate.FromString(message)
    slot = update.block_meta.slot
    if slot >= FIRST:
        if not slot % 10:
            yield schema.SubscribeUpdate(
                filters=["e"], entry_update_parent=change_of(slot)
            ).SerializeToString()
        yield schema.SubscribeUpdate(
            filters=["f"], block_footer=footer_of(slot)
        ).SerializeToString()
    yield message


@pytest.fixture
def geyser(localnet: Localnet, api_key: str, settings: Any) -> Iterator[Geyser]:
    settings.FOLLOW_ENTRIES = True
    with (
        worker(),
        relay(localnet.geyser_url, of_alpenglow) as (url, asked),
        follower(url, localnet.url),
        serving_geyser() as port,
    ):
        caught_up(localnet)
        served = Geyser(port, localnet, api_key)
        wait(served.is_fed, "hearing of the chain")
        yield served
    request = schema.SubscribeRequest.FromString(asked[0])
    assert [each.include_certificates for each in request.block_footer.values()] == [True]
    assert [each.include_update_parent for each in request.entry.values()] == [True]


def check(found: list[Any]) -> None:
    """Each slot's footer is there twice, with and without certificates, before its block."""
    slots = [each.block_meta.slot for each in found if each.HasField("block_meta")]
    for slot in slots[1:]:
        if slot < FIRST:
            continue
        of_slot = [each for each in found if getattr(each, kind_of(each)).slot == slot]
        bare, whole, meta = (each for each in of_slot if not kind_of(each).startswith("entry"))
        assert sorted(bare.filters) == ["bare", "plain"] and list(whole.filters) == ["certificates"]
        assert meta.HasField("block_meta") and bare.created_at.seconds
        wanted = footer_of(slot)
        assert whole.block_footer == wanted
        for name in ("block_final_cert", "skip_reward_cert", "notar_reward_cert"):
            wanted.ClearField(name)
        assert bare.block_footer == wanted
        kinds = [kind for kind in map(kind_of, of_slot) if kind.startswith("entry")]
        change = ["entry_update_parent"] * (not slot % 10)
        assert kinds == [*change, *["entry"] * (len(kinds) - len(change))] and "entry" in kinds
        for each in of_slot[: len(change)]:
            assert list(each.filters) == ["changes"]
            assert each.entry_update_parent == change_of(slot)


def kind_of(update: Any) -> str:
    return str(update.WhichOneof("update_oneof"))


def test_footers_and_changes_of_parents_come_as_they_are_asked_for(geyser: Geyser) -> None:
    first = 0
    for commitment in LEVELS:
        request = Request(
            block_footer={
                "plain": {},
                "bare": {"include_certificates": False},
                "certificates": {"include_certificates": True},
            },
            entry={"entries": {}, "changes": {"include_update_parent": True}},
            blocks_meta={"meta": {}},
            commitment=commitment,
        )
        with geyser.subscribed(request) as stream:
            found = stream.until(
                lambda each: each.block_meta.slot > FIRST and not each.block_meta.slot % 10
            )
        check(found)
        first = found[-1].block_meta.slot - 3
    # They are kept as long as the feed keeps slots, and not stored.
    request.from_slot = first
    with geyser.subscribed(request) as stream:
        check(stream.until(lambda each: each.block_meta.slot > first + 5))
    footers = Request(block_footer={"f": {}}, from_slot=0)
    with geyser.subscribed(footers) as stream:
        refusal = stream.refusal()
    assert refusal.code() is grpc.StatusCode.OUT_OF_RANGE
    assert refusal.details().startswith("from_slot_not_kept")


def test_they_are_refused_where_they_are_not_followed(geyser: Geyser, settings: Any) -> None:
    settings.FOLLOW_ENTRIES = False
    with geyser.subscribed(Request(block_footer={"f": {}})) as stream:
        refusal = stream.refusal()
    assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "block_footer: footers are not followed here" in refusal.details()
