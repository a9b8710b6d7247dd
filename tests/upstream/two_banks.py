"""Stories of a slot that a validator executes twice, in any order, as messages of its stream."""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.upstream.executed import Bank, Message, Validator, interleaved, marked, status
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
