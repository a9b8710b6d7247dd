"""from_slot: what is stored, then what happens, each once."""

import json
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import grpc
import pytest
from django.core.management import call_command
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from historical.blocks.services.bounds import newest_slot_or_none
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

CLOCK = "SysvarC1ock11111111111111111111111111111111"
FINALIZED = schema.CommitmentLevel.FINALIZED
CONFIRMED = schema.CommitmentLevel.CONFIRMED
PROCESSED = schema.CommitmentLevel.PROCESSED


def stored_up_to(slot: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (newest_slot_or_none() or 0) < slot:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def first_stored(geyser: Geyser) -> int:
    found = geyser.call("SubscribeReplayInfo", schema.SubscribeReplayInfoRequest())
    return int(found.first_available)


@pytest.mark.parametrize(
    ("near", "commitment"),
    [(300, PROCESSED), (3, CONFIRMED), (3, FINALIZED)],
    ids=["near what is stored", "far behind it", "final"],
)
def test_blocks_accounts_and_statuses_are_each_there_once(
    geyser: Geyser, near: int, commitment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", near)
    first = first_stored(geyser) + 3
    stored_up_to(first + 25)
    request = Request(
        accounts={"clock": {"account": [CLOCK]}},
        slots={"all": {}},
        blocks_meta={"meta": {}},
        commitment=commitment,
        from_slot=first,
    )
    until = geyser.localnet.call("getSlot", {"commitment": "processed"}) + 20
    with geyser.subscribed(request) as stream:
        found = stream.until(
            lambda each: each.HasField("block_meta") and each.block_meta.slot == until
        )
    expected = list(range(first, until + 1))
    assert [each.block_meta.slot for each in found if each.HasField("block_meta")] == expected
    clocks = [each.account for each in found if each.HasField("account")]
    assert [each.slot for each in clocks] == expected
    for each in clocks:
        assert int.from_bytes(each.account.data[:8], "little") == each.slot
    statuses = [(each.slot.slot, each.slot.status) for each in found if each.HasField("slot")]
    assert len(statuses) == len(set(statuses))
    of_level = [slot for slot, status in statuses if status == commitment]
    assert of_level[: len(expected) - 1] == expected[: len(of_level)][: len(expected) - 1]
    assert {status for _, status in statuses} == {0, 1, 2}


def test_stored_transactions_are_as_the_stream_has_them(geyser: Geyser) -> None:
    localnet = geyser.localnet
    payer, to = wallet(localnet, 100 * SOL), Pubkey.new_unique()
    request = Request(
        transactions={"t": {"account_include": [str(to)]}},
        accounts={"a": {"account": [str(to)]}},
        transactions_status={"s": {"account_include": [str(to)]}},
        blocks={"b": {"account_include": [str(to)]}},
        commitment=FINALIZED,
    )
    with geyser.subscribed(request) as stream:
        next(iter(stream))
        signature = send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        live = stream.until(lambda each: each.HasField("block") and each.block.transactions)
    slot = live[-1].block.slot
    landed(localnet, signature, "finalized")
    stored_up_to(slot)
    request.from_slot = slot
    with geyser.subscribed(request) as stream:
        stored = stream.until(lambda each: each.HasField("block"))
    theirs = [each for each in live if _slot_of(each) == slot]
    assert len(stored) == len(theirs) == 4
    for mine, other in zip(stored, theirs, strict=True):
        for each in (mine, other):
            each.ClearField("created_at")
            # The archive does not keep it in all its forms.
            each.account.account.ClearField("write_version")
            # The ledger has no entries, and of accounts by their keys the slot's count is not read.
            each.block.ClearField("entries_count")
            each.block.ClearField("updated_account_count")
        assert mine.WhichOneof("update_oneof") == other.WhichOneof("update_oneof")
        assert mine == other


def test_an_unknown_outcome_is_neither_a_success_nor_a_failure(
    geyser: Geyser, tmp_path: Path
) -> None:
    localnet = geyser.localnet
    payer, to = wallet(localnet, 100 * SOL), Pubkey.new_unique()
    sent = [
        send(localnet, signed(localnet, [pay(payer, to, lamports)], payer), skipPreflight=True)
        for lamports in (SOL, 2 * SOL, 999 * SOL)
    ]
    slots = [landed(localnet, each, "finalized")["slot"] for each in sent]
    stored_up_to(max(slots))
    file = tmp_path / "block.json"
    config = {"encoding": "base64", "maxSupportedTransactionVersion": 0}
    block = localnet.call("getBlock", slots[0], config)
    for each in block["transactions"]:
        name = str(VersionedTransaction.from_bytes(b64decode(each["transaction"][0])).signatures[0])
        each["meta"] = None if name == sent[0] else each["meta"]
    file.write_text(json.dumps(block))
    call_command("remove_blocks", slots[0], slots[0])
    genesis = localnet.call("getGenesisHash")
    call_command("import_blocks", file, f"--slot={slots[0]}", f"--genesis={genesis}")
    ways = {"all": {}, "good": {"failed": False}, "bad": {"failed": True}}
    wanted = {name: {"account_include": [str(to)], **way} for name, way in ways.items()}
    request = Request(
        transactions=wanted,
        transactions_status={f"{name} statuses": each for name, each in wanted.items()},
        blocks_meta={"meta": {}},
        commitment=FINALIZED,
        from_slot=min(slots),
    )
    told: dict[str, list[str]] = {name: [] for name in [*wanted, *request.transactions_status]}
    with geyser.subscribed(request) as stream:
        for each in stream.until(lambda each: each.block_meta.slot == max(slots)):
            found = each.transaction.transaction.signature or each.transaction_status.signature
            for name in each.filters if found else ():
                told[name].append(str(Signature(found)))
    assert told == {
        "all": sent,
        "all statuses": sent[1:],
        "good": [sent[1]],
        "good statuses": [sent[1]],
        "bad": [sent[2]],
        "bad statuses": [sent[2]],
    }


def _slot_of(update: Any) -> int:
    kind = update.WhichOneof("update_oneof")
    slot: int = getattr(update, kind).slot
    return slot


def test_a_stream_goes_on_after_what_was_lost(geyser: Geyser) -> None:
    """The feed is another one, again and again: with from_slot nothing is lost or twice."""
    from livefeed.messages import hello_channel
    from shared_state.redis_client import client

    first = first_stored(geyser) + 2
    request = Request(blocks_meta={"m": {}}, commitment=CONFIRMED, from_slot=first)
    with (
        geyser.subscribed(request) as stream,
        geyser.subscribed(Request(blocks_meta={"m": {}})) as other,
    ):
        next(iter(other))
        found = []
        for _ in range(8):
            found += [next(iter(stream)) for _ in range(6)]
            client().publish(hello_channel(), b"")
        last = found[-1].block_meta.slot
        found += stream.until(lambda each: each.block_meta.slot >= last + 30)
        error = other.refusal()
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert error.details().startswith("interrupted")
    slots = [each.block_meta.slot for each in found]
    assert slots == list(range(first, slots[-1] + 1))
