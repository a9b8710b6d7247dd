"""from_slot with accounts by owner and all accounts: what localnet says that each slot left."""

from typing import Any

import grpc
import pytest

from tests.yellowstone.conftest import Geyser, Request
from tests.yellowstone.test_replay import first_stored, stored_up_to
from upstream.protobuf import geyser_pb2 as schema

SYSVARS = "Sysvar1111111111111111111111111111111111111"
FINALIZED = schema.CommitmentLevel.FINALIZED


def expected(geyser: Geyser, slot: int, owner: str | None) -> dict[str, tuple[int, str]]:
    """The last write of each account in the slot."""
    writes = geyser.localnet.call("getAccountWrites", slot)
    last = {
        each["pubkey"]: each for each in sorted(writes, key=lambda each: int(each["writeVersion"]))
    }
    return {
        pubkey: (each["lamports"], each["data"][0])
        for pubkey, each in last.items()
        if owner in (None, each["owner"])
    }


@pytest.mark.parametrize("owner", [SYSVARS, None], ids=["by owner", "all accounts"])
def test_accounts_are_replayed_as_each_slot_left_them(
    geyser: Geyser, owner: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subscriptions import stored_first
    from yellowstone import past

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    monkeypatch.setattr(past, "_MOST_WRITES", 15)
    first = first_stored(geyser) + 3
    stored_up_to(first + 25)
    until = geyser.localnet.call("getSlot", {"commitment": "finalized"}) + 8
    request = Request(
        accounts={"a": {"owner": [] if owner is None else [owner]}},
        blocks_meta={"m": {}},
        commitment=FINALIZED,
        from_slot=first,
    )
    with geyser.subscribed(request) as stream:
        found = stream.until(
            lambda each: each.HasField("block_meta") and each.block_meta.slot > until
        )
    slots = [each.block_meta.slot for each in found if each.HasField("block_meta")]
    assert slots == list(range(first, slots[-1] + 1))
    by_slot: dict[int, dict[str, Any]] = {}
    for each in found:
        if each.HasField("account") and each.account.slot <= until:
            account = each.account.account
            key = _text(account.pubkey)
            assert key not in by_slot.setdefault(each.account.slot, {})
            by_slot[each.account.slot][key] = account.lamports, _base64(account.data)
    for slot in range(first, until + 1):
        assert by_slot.get(slot, {}) == expected(geyser, slot, owner), slot


def test_slots_without_a_list_of_their_accounts_end_the_stream(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewind.models import SlotOwners
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    monkeypatch.setattr(stored_first, "_MISSING_SECONDS", 1.0)
    first = first_stored(geyser) + 1
    stored_up_to(first + 15)
    SlotOwners.objects.filter(slot__range=(first + 2, first + 5)).delete()
    request = Request(accounts={"a": {"owner": [SYSVARS]}}, commitment=FINALIZED, from_slot=first)
    with geyser.subscribed(request) as stream:
        error = stream.refusal()
    assert error.code() is grpc.StatusCode.DATA_LOSS
    assert f"from_slot {first + 6}" in error.details()


def test_all_slots_that_the_archive_lacks_end_the_stream_once(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the ledger has their blocks, and more of them than are read at once."""
    from rewind.models import ArchivedSlot
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    monkeypatch.setattr(stored_first, "_MISSING_SECONDS", 1.0)
    first = first_stored(geyser) + 1
    stored_up_to(first + 25)
    ArchivedSlot.objects.filter(slot__range=(first + 2, first + 20)).delete()
    request = Request(
        accounts={"a": {"owner": [SYSVARS]}},
        transactions={"t": {}},
        blocks_meta={"m": {}},
        commitment=FINALIZED,
        from_slot=first,
    )
    with geyser.subscribed(request) as stream:
        found = stream.until(lambda each: each.block_meta.slot == first + 1)
        error = stream.refusal()
    assert found and error.code() is grpc.StatusCode.DATA_LOSS
    assert f"slots {first + 2} to {first + 20} are not stored" in error.details()
    assert f"with from_slot {first + 21} to go on" in error.details()


def _text(pubkey: bytes) -> str:
    from solders.pubkey import Pubkey

    return str(Pubkey(pubkey))


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()
