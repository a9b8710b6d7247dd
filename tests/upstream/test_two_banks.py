"""One slot, two banks: what closes is the final bank's, or is not called whole."""

import random
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from chain.units import Slot
from tests.examples import examples
from tests.upstream.executed import Bank, Message, Validator, interleaved, marked, status
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import Event, SlotClosed, SlotIncomplete
from upstream.geyser.updates import AccountUpdate, SlotUpdate, update_of
from upstream.protobuf.geyser_pb2 import SlotStatus

FIRST, TARGET, LAST = 100, 103, 112
KINDS = ("account", "transaction", "block_meta", "slot")


@dataclass(frozen=True)
class Order:
    """How the two banks of the slot come. `named` are the kinds of messages with a bank_id."""

    named: frozenset[str] = frozenset()
    freezes: bool = False
    is_later: bool = False
    is_mixed: bool = False
    other_parent: bool = False
    other_transactions: bool = False
    part: float = 0.5
    death: str = ""  # "named", "unnamed"
    seed: int = 0
    stores_untouched: bool = False


@dataclass
class Story:
    sent: list[Message]
    final: dict[int, Bank]
    truth: dict[int, list[Message]]


def story(order: Order) -> Story:
    """Slots one after the other, each final three slots later; in TARGET two banks run."""
    chance = random.Random(order.seed)
    validator = Validator()
    told = Story([], {}, {})
    parent = (FIRST - 1, "")
    tips = [parent]
    for slot in range(FIRST, LAST + 1):
        texts = [b"%d.%d" % (slot, number) for number in range(chance.randint(1, 5))]
        if slot != TARGET:
            bank = validator.execute(slot, parent, texts)
            told.sent += _sent(order, bank, told.truth)
        else:
            bank = _two(order, chance, validator, (parent, tips[-3]), texts, told)
        told.final[slot] = bank
        if slot - 3 in told.final:
            final = told.final[slot - 3]
            told.sent += _status(order, final, SlotStatus.SLOT_FINALIZED)
        parent = (slot, bank.blockhash)
        tips.append(parent)
    return told


def _two(
    order: Order,
    chance: random.Random,
    validator: Validator,
    parents: tuple[tuple[int, str], tuple[int, str]],
    texts: list[bytes],
    told: Story,
) -> Bank:
    kept = texts[: round(order.part * len(texts))]
    if order.other_transactions:
        kept = [b"other " + text for text in kept]
    if order.freezes and kept == texts and not order.other_parent:
        kept = [*kept, b"one more"]
    parent, other = parents[0], parents[1] if order.other_parent else parents[0]

    def dropped() -> Bank:
        return validator.execute(TARGET, other, kept, freezes=order.freezes, lamports=2_000_000)

    if order.is_later:
        bank = validator.execute(TARGET, parent, texts)
        ghost = dropped()
    else:
        ghost = dropped()
        bank = validator.execute(TARGET, parent, texts)
    died = _sent(order, ghost, {})
    if order.death:
        number = ghost.number if order.death == "named" else 0
        died.append(status(TARGET, None, SlotStatus.SLOT_DEAD, number))
    stays = _sent(order, bank, told.truth)
    if order.is_mixed:
        told.sent += interleaved(died, stays, chance)
    else:
        told.sent += [*stays, *died] if order.is_later else [*died, *stays]
    return bank


def _sent(order: Order, bank: Bank, truth: dict[int, list[Message]]) -> list[Message]:
    messages = marked(bank.messages, bank.number, order.named.__contains__)
    truth[bank.slot] = messages
    begun = _status(order, bank, SlotStatus.SLOT_CREATED_BANK)
    frozen = [each for each in messages if each.HasField("block_meta")]
    done = _status(order, bank, SlotStatus.SLOT_PROCESSED) if frozen else []
    return [*begun, *messages, *done]


def _status(order: Order, bank: Bank, value: int) -> list[Message]:
    number = bank.number if "slot" in order.named else 0
    return [status(bank.slot, bank.parent, value, number)]


def events_of(order: Order, told: Story) -> list[Event]:
    assembler = Assembler(
        begin=Slot(FIRST), stores_untouched=order.stores_untouched, patience_slots=3
    )
    assembler.live_after(Slot(FIRST - 1))
    found: list[Event] = []
    for message in told.sent:
        update = update_of(message.SerializeToString())
        assert isinstance(update, AccountUpdate | SlotUpdate) or update is not None
        found += assembler.feed(update)  # type: ignore[arg-type]
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


ORDERS = st.builds(
    Order,
    named=st.frozensets(st.sampled_from(KINDS)),
    freezes=st.booleans(),
    is_later=st.booleans(),
    is_mixed=st.booleans(),
    other_parent=st.booleans(),
    other_transactions=st.booleans(),
    part=st.floats(0, 1),
    death=st.sampled_from(["", "", "named", "unnamed"]),
    seed=st.integers(0, 2**16),
    stores_untouched=st.booleans(),
)


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
