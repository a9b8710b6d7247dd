"""Cuckoo filters: who watches many addresses names them in a few bytes each."""

from collections.abc import Callable
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature

from tests.cuckoo_filters import cuckoo_filter
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.yellowstone.conftest import Geyser, Request
from tests.yellowstone.test_limits import refused
from tests.yellowstone.test_replay import FINALIZED, first_stored, stored_up_to

OTHERS = [bytes([number, 7]) + bytes(30) for number in range(200)]


def everywhere(asked: Any, **more: Any) -> Any:
    """The filter in each place that the protocol has for it."""
    return Request(
        accounts={"a": {"cuckoo_accounts_filter": asked}},
        transactions={"t": {"cuckoo_account_include": asked}},
        transactions_status={"s": {"cuckoo_account_include": asked}},
        blocks={"b": {"cuckoo_account_include": asked, "include_accounts": True}},
        **more,
    )


@pytest.mark.parametrize("begins", ["now", "in the past"])
def test_what_is_within_the_filter_is_sent(
    geyser: Geyser, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    localnet = geyser.localnet
    payer, watched, other = wallet(localnet, 100 * SOL), Pubkey.new_unique(), Pubkey.new_unique()
    request = everywhere(
        cuckoo_filter([*OTHERS, bytes(watched)], bucket_count=256), commitment=FINALIZED
    )
    if begins == "in the past":
        request.from_slot = first_stored(geyser) + 3

    def paid() -> tuple[int, bytes]:
        signatures = [
            send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
            for to in (other, watched)
        ]
        slots = [landed(localnet, each)["slot"] for each in signatures]
        return slots[1], bytes(Signature.from_string(signatures[1]))

    if begins == "in the past":
        slot, signature = paid()
        stored_up_to(slot + 3)
    with geyser.subscribed(request) as stream:
        if begins == "now":
            stream.until(lambda each: each.HasField("block"))
            slot, signature = paid()
        found = stream.until(lambda each: each.HasField("block") and each.block.slot > slot)
    of_slot = [
        each for each in found if getattr(each, each.WhichOneof("update_oneof")).slot == slot
    ]
    by_sort = {each.WhichOneof("update_oneof"): each for each in of_slot}
    assert len(of_slot) == len(by_sort) == 4
    assert by_sort["account"].account.account.pubkey == bytes(watched)
    assert by_sort["transaction"].transaction.transaction.signature == signature
    assert by_sort["transaction_status"].transaction_status.signature == signature
    block = by_sort["block"].block
    assert [each.signature for each in block.transactions] == [signature]
    assert [each.pubkey for each in block.accounts] == [bytes(watched)]
    # Of other slots nothing but blocks, which are empty.
    rest = [each for each in found if each not in of_slot]
    assert {each.WhichOneof("update_oneof") for each in rest} == {"block"}
    assert not any(each.block.transactions or each.block.accounts for each in rest)


@pytest.mark.parametrize("place", ["accounts", "transactions", "transactions_status", "blocks"])
def test_a_damaged_filter_is_refused(geyser: Geyser, place: str) -> None:
    whole = everywhere(cuckoo_filter(OTHERS))
    request = Request()
    getattr(request, place)["x"].CopyFrom(next(iter(getattr(whole, place).values())))
    asked = getattr(request, place)["x"]
    field = "cuckoo_accounts_filter" if place == "accounts" else "cuckoo_account_include"
    getattr(asked, field).data += b"\0"
    with geyser.subscribed(request) as stream:
        error = stream.refusal()
    assert error.code().name == "INVALID_ARGUMENT"
    text = f"failed to create filter: {place}.x: {field}: 64 buckets have 512 bytes, not 513"
    assert error.details() == text


def test_filters_cost_calls_by_their_size(geyser: Geyser, limited: Callable[..., str]) -> None:
    key = limited(requests_per_second=0.01, requests_burst=6)
    large = Request(accounts={"a": {"cuckoo_accounts_filter": cuckoo_filter(OTHERS, 1, 32_768)}})
    with geyser.subscribed(Request(slots={"s": {}}), key=key) as stream:
        next(iter(stream))
        # 256 KiB and the seed are five calls, of the five that are left; once more, where Redis
        # does not answer in time and this process counts by itself.
        for _ in range(3):
            stream.send(large)
        error = stream.refusal()
    assert refused(error) == ("RESOURCE_EXHAUSTED", "rate_limited")


def test_a_key_has_so_many_bytes_of_them(geyser: Geyser) -> None:
    largest = cuckoo_filter(OTHERS, 1, 131_072)
    request = Request(
        accounts={"a": {"cuckoo_accounts_filter": largest}},
        transactions={"t": {"cuckoo_account_include": largest}},
        slots={"s": {}},
    )
    more = Request(accounts={"a": {"cuckoo_accounts_filter": cuckoo_filter(OTHERS, 1, 1_024)}})
    with geyser.subscribed(request) as first:
        next(iter(first))
        with geyser.subscribed(more) as second:
            assert refused(second.refusal()) == ("RESOURCE_EXHAUSTED", "too_many_cuckoo_filters")
        # The same stream may exchange its own: for sixteen small ones, and no more.
        first.send(small(16))
        next(iter(first))
        first.send(small(17))
        assert refused(first.refusal()) == ("RESOURCE_EXHAUSTED", "too_many_cuckoo_filters")


def small(count: int) -> Any:
    names = {str(n): {"cuckoo_accounts_filter": cuckoo_filter(OTHERS[:1], n)} for n in range(count)}
    return Request(accounts=names, slots={"s": {}})
