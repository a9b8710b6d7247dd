"""The Joiner: what is held, for whom, how long, and what two validators' messages make together."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from chain.blocks import Granularity, SlotRecord, TransactionRecord
from chain.units import Slot
from ingest.errors import AnotherBlock
from ingest.joining import LAG_SECONDS, SHORT_SECONDS, Joiner, Outcome
from ingest.slot_sender import Lost
from rewind.positions import END_OF_SLOT, START_OF_SLOT, first_signatures, placed
from tests.ingest.queued import closed
from tests.rewind.samples import block, key, signature, write
from upstream.geyser.events import SlotClosed, SlotIncomplete
from upstream.geyser.messages import slot_record
from upstream.geyser.pending_slots import closed_slot
from upstream.geyser.slot_buffers import EVERY_SLOT, SlotBuffer, Wholeness
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate, update_of

LEADER = 77


def made(slot: int, *, base: int = 1, step: int = 1, fork: int = 0) -> SlotRecord:
    """A slot of four transactions as a validator tells it that counts writes from `base` on. By
    place: sysvars 0 to 3, then the fee payer and account 5 for each transaction, the leader 12.
    """
    writes = [write(sysvar) for sysvar in EVERY_SLOT]
    for index in range(4):
        writes.append(write(index.to_bytes(32), signature(slot, index)))
        writes.append(write(5, signature(slot, index), lamports=index + 1))
    writes.append(write(LEADER))
    numbered = [each._replace(write_version=base + step * n) for n, each in enumerate(writes)]
    record = block(slot, writes=numbered, fork=fork)
    meta = {"err": None, "fee": 5_000, "preBalances": [], "postBalances": []}
    metas = [TransactionRecord(each.wire, meta) for each in record.transactions]
    return replace(record, transactions=metas)


def buffer_of(record: SlotRecord, *, lacks: Iterable[int] = (), live: bool = True) -> SlotBuffer:
    """Its messages but for some of the writes, by their place."""
    messages = closed(record)
    lacking, buffer = set(lacks), SlotBuffer(live=live)
    for place, packed in enumerate(messages.account_writes or ()):
        update = update_of(packed)
        assert isinstance(update, AccountUpdate)
        if place not in lacking:
            buffer.writes[update.pubkey, update.write_version] = update
            buffer.size += len(packed)
    for packed in messages.transactions:
        update = update_of(packed)
        assert isinstance(update, TransactionUpdate)
        # Its fee payer is sure to be written; the other one may have been left untouched.
        buffer.add_transaction(update._replace(untouched=(key(5),)))
    meta = update_of(messages.meta)
    assert isinstance(meta, BlockMetaUpdate)
    buffer.add_meta(meta)
    return buffer


def closing(slot: int, buffer: SlotBuffer, *, stores_untouched: bool = True) -> SlotClosed:
    """As an Assembler tells it."""
    wholeness = buffer.wholeness(lambda _: True, stores_untouched=stores_untouched)
    assert wholeness >= Wholeness.LEDGER
    reason = "" if wholeness >= Wholeness.LAST_WRITES else "writes_missing"
    return SlotClosed(closed_slot(Slot(slot), buffer, wholeness), reason, wholeness, (buffer,))


def joiner(streams: int = 2, limit_bytes: int = 1 << 20) -> Joiner:
    """All of its streams are there."""
    result = Joiner(streams, limit_bytes=limit_bytes, is_blockhash=lambda _: True)
    for number in range(streams):
        assert not list(result.set_connected(number, True, now=0.0))
    return result


def told(outcomes: Iterable[Outcome]) -> list[tuple[int, str]]:
    """(slot, granularity or reason)."""
    found = []
    for each in outcomes:
        if isinstance(each, Lost):
            found += [(slot, each.cause) for slot in range(each.first, each.last + 1)]
        else:
            fine = each.closed.granularity == Granularity.WRITE
            found.append((each.closed.slot, each.reason or ("write" if fine else "slot")))
    return found


def test_what_is_whole_goes_on_at_once_and_once() -> None:
    join = joiner()
    event = closing(9, buffer_of(made(9)))
    assert told(join.closed(0, event, now=0.0)) == [(9, "write")]
    assert told(join.closed(1, event, now=0.0)) == []
    assert join.blockhash(9) == event.closed.blockhash


@pytest.mark.parametrize("base", [1, 5_000], ids=["ahead", "behind"])
def test_two_validators_make_one_whole_slot_in_the_blocks_order(base: int) -> None:
    join = joiner()
    one = closing(9, buffer_of(made(9, base=1_000), lacks=[0, 5, 8]))
    other = closing(9, buffer_of(made(9, base=base, step=3), lacks=[1, 6, 12]))
    assert told(join.closed(0, one, now=0.0)) == []
    assert join.wanted() == [9]
    (outcome,) = join.closed(1, other, now=1.0)
    assert told([outcome]) == [(9, "write")]
    assert isinstance(outcome, SlotClosed)
    record = slot_record(outcome.closed)
    indexes = first_signatures(record.transactions)
    found = {
        (pubkey, place): each.lamports
        for (pubkey, place), each in placed(record.account_writes or (), indexes).items()
    }
    wanted = {
        (pubkey, place): each.lamports
        for (pubkey, place), each in placed(made(9).account_writes or (), indexes).items()
    }
    assert found == wanted
    assert {place for _, place in found} == {START_OF_SLOT, 0, 1, 2, 3, END_OF_SLOT}


def test_what_is_short_waits_for_a_replay_and_no_longer_than_a_bound() -> None:
    join = joiner(1)
    event = closing(9, buffer_of(made(9), lacks=[6, 8]))
    assert told(join.closed(0, event, now=0.0)) == []
    assert told(join.turn(now=SHORT_SECONDS - 1)) == []
    outcomes, news = join.replayed(0, Slot(9), [buffer_of(made(9), lacks=[8, 10])], now=1.0)
    assert (told(outcomes), news) == ([], True)
    assert join.replayed(0, Slot(9), [buffer_of(made(9), lacks=[8, 10])], now=1.0) == ([], False)
    assert told(join.turn(now=SHORT_SECONDS)) == [(9, "writes_missing")]
    assert join.wanted() == []


def test_a_slot_that_did_not_come_live_is_not_asked_for_in_vain() -> None:
    """A server's replay is the same each time, and has last writes alone."""
    join = joiner(1)
    joined = buffer_of(made(9), lacks=[0, 4, 5, 6], live=False)
    assert told(join.closed(0, closing(9, joined), now=0.0)) == []
    assert join.wanted() == [9]
    replay = buffer_of(made(9), lacks=[5, 7, 9], live=False)
    assert told(join.replayed(0, Slot(9), [replay], now=1.0)[0]) == [(9, "slot")]
    assert told(
        join.closed(0, closing(10, buffer_of(made(10), lacks=[5], live=False)), now=0.0)
    ) == [(10, "slot")]
    without = buffer_of(made(11), lacks=[0, 1], live=False)
    assert told(join.closed(0, closing(11, without), now=0.0)) == []
    outcomes, is_new = join.replayed(0, Slot(11), [without], now=1.0)
    assert (told(outcomes), is_new) == ([(11, "writes_missing")], False)


def test_before_the_first_whole_slot_of_a_new_archive_nothing_is_a_gap() -> None:
    join = joiner(1)
    join.begin_new()
    joined = buffer_of(made(9), lacks=[0], live=False)
    assert told(join.closed(0, closing(9, joined), now=0.0)) == []
    assert told(join.closed(0, closing(10, buffer_of(made(10))), now=0.0)) == [(10, "write")]
    # The ledger has its block.
    assert told(join.not_repairable(Slot(9), now=0.0)) == [(9, "slot")]
    assert told(join.incomplete(0, SlotIncomplete(Slot(8), "messages_lost", ()), now=0.0)) == []
    assert told(join.not_repairable(Slot(8), now=0.0)) == []
    # Above it, and of what came live, everything is.
    for slot, live in ((7, True), (11, False)):
        lacking = buffer_of(made(slot), lacks=[0], live=live)
        assert told(join.closed(0, closing(slot, lacking), now=0.0)) == []
        assert told(join.not_repairable(Slot(slot), now=0.0)) == [(slot, "writes_missing")]


def test_what_a_replay_completes_goes_on() -> None:
    join = joiner(1)
    list(join.closed(0, closing(9, buffer_of(made(9), lacks=[6, 8])), now=0.0))
    outcomes, _ = join.replayed(0, Slot(9), [buffer_of(made(9), lacks=[10])], now=1.0)
    assert told(outcomes) == [(9, "write")]


def test_what_no_replay_has_waits_for_the_other_stream_alone() -> None:
    join = joiner()
    incomplete = SlotIncomplete(Slot(9), "messages_lost", ())
    assert told(join.incomplete(0, incomplete, now=0.0)) == []
    assert told(join.not_repairable(Slot(9), now=0.0)) == []
    assert told(join.decided(1, Slot(8), now=0.0)) == []
    assert told(join.decided(1, Slot(9), now=0.0)) == [(9, "messages_lost")]


def test_a_stream_that_goes_is_not_waited_for() -> None:
    join = joiner()
    list(join.closed(0, closing(9, buffer_of(made(9), lacks=[6])), now=0.0))
    list(join.not_repairable(Slot(9), now=0.0))
    assert told(join.set_connected(1, False, now=0.0)) == [(9, "writes_missing")]


def test_an_untouched_account_that_only_the_other_stream_has_is_stored() -> None:
    """Nobody can tell it from one that was not written: both are heard, or the time is over."""
    join = joiner()
    join.stores_untouched = False
    lacking = [7]
    for slot in (9, 10):
        event = closing(slot, buffer_of(made(slot), lacks=lacking), stores_untouched=False)
        assert event.wholeness is Wholeness.EVERY_WRITE
        assert told(join.closed(0, event, now=0.0)) == []
    assert join.wanted() == [], "a replay proves no more"
    (outcome,) = join.closed(1, closing(9, buffer_of(made(9, base=500))), now=1.0)
    assert isinstance(outcome, SlotClosed)
    assert len(outcome.closed.account_writes or ()) == len(made(9).account_writes or ())
    assert told(join.turn(now=LAG_SECONDS)) == [(10, "write")]


def test_a_replay_takes_nothing_from_what_came_whole() -> None:
    """Neither one over the connection after it, nor one that was asked for."""
    join = joiner()
    join.stores_untouched = False
    live, replay = buffer_of(made(9), lacks=[7]), buffer_of(made(9), lacks=[5, 7], live=False)
    event = replace(closing(9, live, stores_untouched=False), buffers=(live, replay))
    assert told(join.closed(0, event, now=0.0)) == []
    assert told(join.replayed(0, Slot(9), [replay], now=1.0)[0]) == []
    assert told(join.turn(now=LAG_SECONDS)) == [(9, "write")]


def test_no_more_is_held_than_the_limit() -> None:
    size = buffer_of(made(9)).size
    join = joiner(limit_bytes=3 * size)
    outcomes: list[Outcome] = []
    for slot in range(9, 29):
        event = closing(slot, buffer_of(made(slot), lacks=[6]))
        outcomes += join.closed(0, event, now=0.0)
        assert len(join.wanted()) <= 3
    assert [slot for slot, _ in told(outcomes)] == list(range(9, 26))


def test_a_range_that_one_stream_lost_is_a_gap_only_where_no_other_brings_it() -> None:
    join = joiner()
    assert told(join.lost(0, 5, 12, "stream_lost", now=0.0)) == []
    list(join.closed(1, closing(9, buffer_of(made(9))), now=0.0))
    lost = [(slot, "stream_lost") for slot in range(5, 13) if slot != 9]
    assert told(join.decided(1, Slot(12), now=0.0)) == lost
    assert told(join.lost(0, 20, 21, "stream_lost", now=0.0)) == []
    late = told(join.turn(now=SHORT_SECONDS))
    assert late == [(20, "stream_lost"), (21, "stream_lost")]


def test_another_block_of_a_slot_is_another_chain() -> None:
    join = joiner()
    list(join.closed(0, closing(9, buffer_of(made(9))), now=0.0))
    with pytest.raises(AnotherBlock, match="another chain"):
        list(join.closed(1, closing(9, buffer_of(made(9, fork=1))), now=0.0))
