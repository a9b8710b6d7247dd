"""A recorded validator that is restarted while it is followed: what came of slots that were not
final is stored once they are, unless it makes other blocks of them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chain.blocks import Granularity
from chain.encodings import b58decode
from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest.services import filling
from rewind.models import AccountChange, ArchivedSlot
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to
from tests.patience import wait
from tests.recorded_node import Message, RecordedNode, Recording, Twist, load, serving
from upstream.geyser.slot_buffers import RECENT_BLOCKHASHES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

FIRST = {"4.1.2": 200, "4.4.0": 606}
# From the first slot on: where the node ends, and how far it is when it can be reached again.
_ENDS, _IS_BACK, _LAST = 50, 52, 110
_OTHERS = 4
# Each version, end and memory once; the others: `make soak`.
REPRESENTATIVE = {("4.1.2", False, 150), ("4.1.2", True, 0), ("4.4.0", True, 150)}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def other_blocks(recording: Recording, first: int) -> Twist:
    """The first process made other blocks from that slot on: without their last transactions, with
    other hashes. The second one counts its writes anew.
    """

    def makes(process: int, message: Message) -> Iterator[Message]:
        update = message.update
        if process:
            if message.kind == "account":
                update.account.account.write_version -= 1_000
            yield message._replace(body=update.SerializeToString())
        elif message.slot < first or (changed := _another(recording, first, update)) is None:
            yield message
        else:
            yield message._replace(body=changed.SerializeToString())

    return makes


def _another(recording: Recording, first: int, update: Any) -> Any:
    """A message of another block of the slot; None if it has none."""
    kind = update.WhichOneof("update_oneof")
    slot = getattr(update, kind).slot
    count = len(recording.blocks[slot]["transactions"])
    dropped = recording.of_slot(slot, "transaction")
    lost = {each.transaction.signature for each in dropped if each.transaction.index == count - 1}
    if kind == "transaction" and update.transaction.transaction.signature in lost:
        return None
    if kind == "account":
        account = update.account.account
        if account.txn_signature in lost:
            return None
        if account.pubkey == RECENT_BLOCKHASHES:
            data = bytearray(account.data)
            data[8:40] = b58decode(_hash_of(recording, slot))
            account.data = bytes(data)
    if kind == "block_meta":
        meta = update.block_meta
        meta.executed_transaction_count = count - 1
        meta.blockhash = _hash_of(recording, slot)
        if meta.parent_slot >= first:
            meta.parent_blockhash = _hash_of(recording, meta.parent_slot)
    return update


def _hash_of(recording: Recording, slot: int) -> str:
    """Of the other block: one that another slot has."""
    return str(recording.blocks[slot - 100]["blockhash"])


@pytest.mark.parametrize(
    ("version", "is_another", "kept"),
    [
        pytest.param(
            *each,
            id=f"{each[0]}-{'other' if each[1] else 'same'}-{'' if each[2] else 'no '}replay",
            marks=() if each in REPRESENTATIVE else pytest.mark.soak,
        )
        for each in product(FIRST, (False, True), (150, 0))
    ],
)
def test_slots_that_were_not_final_are_stored_once_they_are(
    fixtures: Path, settings: Any, version: str, is_another: bool, kept: int
) -> None:
    first = FIRST[version]
    recording = load(fixtures / f"agave-{version}", first, first + _LAST)
    ends, back = first + _ENDS, first + _IS_BACK
    again = ends - _OTHERS if is_another else ends
    makes = other_blocks(recording, again if is_another else 1 << 62)
    node = RecordedNode(recording, kept=kept, makes=makes)
    with serving(node), worker():
        settings.UPSTREAM_GEYSER_URL, settings.UPSTREAM_RPC_URL = node.geyser_url, node.url
        settings.FILL_RPC_URLS = [node.url]
        node.play(recording.place(first + 2, 0.5))
        with follower(node.geyser_url, node.url) as following:
            wait(lambda: node.subscribed, "the stream is joined")
            heard = following.sender.state
            node.play(recording.place(first + 3, 0.5))
            wait(lambda: heard.head_slot >= first + 3, "the head is known")
            node.play(recording.place(ends, 0.5))
            archived_to(node.newest["finalized"])
            wait(lambda: heard.head_slot >= ends, "the newest slot has begun")
            final = node.newest["finalized"]
            assert final < again - 20
            begins = next(n for n, each in enumerate(recording.messages) if each.slot == again)
            with node.away(begins):
                node.play(recording.place(back, 0.5))
            wait(node.joined, "the stream is joined again")
            node.play(slot_seconds=0.02)
            newest = node.newest["finalized"]
            archived_to(newest)
            wait(lambda: not following.follower._joined.wanted(), "no slot is asked for again")
            holds = following.sender.holds
            wait(lambda: not any(map(holds, recording.blocks)), "what came is stored")
            wait(filled, "the ledger is filled")
        stored = dict(Block.objects.filter(slot__gt=final).values_list("slot", "blockhash"))
        wanted = {s: b["blockhash"] for s, b in recording.blocks.items() if final < s <= newest}
        assert {slot: str(blockhash) for slot, blockhash in stored.items()} == wanted
    archived = dict(ArchivedSlot.objects.filter(slot__gt=final).values_list("slot", "granularity"))
    # The slots of the second process before the stream was joined have no writes but in a replay,
    # and those of a lone leader's are not complete.
    lacking = set(wanted) - archived.keys()
    assert lacking <= set(range(again, back + 1)), sorted(lacking)
    assert not (kept and version == "4.1.2" and lacking)
    in_part = {slot for slot, each in archived.items() if each != Granularity.WRITE}
    assert not [slot for slot in in_part if slot < again], sorted(in_part)
    for slot, granularity in archived.items():
        sent = [each.account for each in recording.of_slot(slot, "account")]
        made = {(each.pubkey, each.lamports) for each in sent}
        rows = AccountChange.objects.filter(slot=slot, kind=0)
        found = {(bytes(row.pubkey), int(row.lamports)) for row in rows}
        assert found <= made and (found == made or granularity != Granularity.WRITE), slot


def filled() -> bool:
    """Whether the ledger lacks nothing, once the node was asked for what it lacks."""
    LedgerGap.objects.filter(closed_at__isnull=True).update(next_try_at=LONG_AGO)
    filling.fill_due_gaps(now=timezone.now)
    return not LedgerGap.objects.filter(closed_at__isnull=True).exists()
