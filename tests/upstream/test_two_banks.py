"""One slot, two banks: what closes is the final bank's, or is not called whole."""

from hypothesis import given, settings

from chain.units import Slot
from tests.examples import examples
from tests.upstream.executed import Message
from tests.upstream.two_banks import FIRST, KINDS, LAST, ORDERS, TARGET, Order, Story, story
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import Event, SlotClosed, SlotIncomplete
from upstream.geyser.updates import EntryUpdate, Ping, update_of


def events_of(order: Order, told: Story) -> list[Event]:
    assembler = Assembler(
        begin=Slot(FIRST), stores_untouched=order.stores_untouched, patience_slots=3
    )
    assembler.live_after(Slot(FIRST - 1))
    found: list[Event] = []
    for message in told.sent:
        update = update_of(message.SerializeToString())
        assert update is not None and not isinstance(update, EntryUpdate | Ping)
        found += assembler.feed(update)
    assert assembler.size >= 0
    return found


def verdicts(order: Order) -> dict[int, str]:
    """By final slot: "whole" with exactly its final bank's messages, "block" without writes, "gap";
    anything else fails.
    """
    told = story(order)
    found: dict[int, str] = {}
    for event in events_of(order, told):
        if isinstance(event, SlotIncomplete):
            assert event.slot not in found
            found[event.slot] = "gap"
        elif isinstance(event, SlotClosed):
            closed = event.closed
            assert closed.slot not in found
            found[closed.slot] = "block" if closed.account_writes is None else "whole"
            truth = told.truth[closed.slot]
            kinds = {kind: [m for m in truth if m.HasField(kind)] for kind in KINDS[:3]}
            assert closed.blockhash == told.final[closed.slot].blockhash
            assert closed.transactions == _packed(kinds["transaction"])
            assert [closed.meta] == _packed(kinds["block_meta"])
            if closed.account_writes is not None:
                assert sorted(closed.account_writes) == sorted(_packed(kinds["account"]))
            for buffer in event.buffers:
                assert {each.packed for each in buffer.writes.values()} <= set(_packed(truth))
    return found


def _packed(messages: list[Message]) -> list[bytes]:
    return [each.SerializeToString() for each in messages]


@settings(max_examples=examples(400))
@given(ORDERS)
def test_a_slot_of_two_banks_is_its_final_banks_or_a_gap(order: Order) -> None:
    found = verdicts(order)
    others = {slot: verdict for slot, verdict in found.items() if slot != TARGET}
    assert set(others.values()) == {"whole"}
    assert set(found) >= set(range(FIRST, LAST - 3))


@settings(max_examples=examples(150))
@given(ORDERS)
def test_where_messages_name_their_banks_the_slot_is_always_whole(order: Order) -> None:
    named = Order(**{**vars(order), "named": frozenset(KINDS)})
    assert set(verdicts(named).values()) == {"whole"}


@settings(max_examples=examples(150))
@given(ORDERS)
def test_blocks_that_name_their_banks_are_enough_where_banks_come_one_by_one(order: Order) -> None:
    """As nodes of 4.4 send it: told by the order of the writes."""
    changes = {"named": frozenset({"block_meta"}), "death": "", "other_transactions": False}
    assert verdicts(Order(**{**vars(order), **changes}))[TARGET] == "whole"


def test_an_empty_bank_that_was_dropped_is_told_by_its_sysvars() -> None:
    for is_later in (False, True):
        order = Order(part=0.0, is_later=is_later)
        assert verdicts(order)[TARGET] == "whole"
