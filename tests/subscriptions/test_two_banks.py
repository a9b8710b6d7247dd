"""One slot, two banks: what subscribers of each commitment are sent of it."""

from hypothesis import example, given, settings

from livefeed.messages import Level
from livefeed.slots import SlotTracker
from tests.examples import examples
from tests.upstream.two_banks import FIRST, KINDS, LAST, ORDERS, TARGET, Order, story
from upstream.geyser.updates import AccountUpdate, Ping, TransactionUpdate, Update, update_of

# (blockhash, last write of each account, transactions), None if the slot is not whole.
Sent = tuple[str, set[bytes], list[bytes]] | None


def sent(order: Order) -> tuple[dict[tuple[int, Level], list[Sent]], dict[int, Sent]]:
    """What each slot announced at each level, and what its final bank has."""
    told = story(order)
    tracker = SlotTracker()
    found: dict[tuple[int, Level], list[Sent]] = {}
    for number, message in enumerate(told.sent):
        update = update_of(message.SerializeToString())
        assert update is not None and not isinstance(update, Ping)
        tracker.take(0, update, now=float(number), at=1.0)
        for slot, level in tracker.steps(float(number)):
            part = slot.best()
            is_there = part.meta is not None and slot.was_whole
            content = _content(part.blockhash, part.accounts, part.transactions)
            found.setdefault((slot.number, level), []).append(content if is_there else None)
    truth = {}
    for slot_number, bank in told.final.items():
        updates = [update_of(each.SerializeToString()) for each in told.truth[slot_number]]
        writes = [each for each in updates if isinstance(each, AccountUpdate)]
        writes.sort(key=lambda each: each.write_version)
        ran = {e.transaction_index: e for e in updates if isinstance(e, TransactionUpdate)}
        truth[slot_number] = _content(bank.blockhash, {each.pubkey: each for each in writes}, ran)
    return found, truth


def _content(
    blockhash: str, accounts: dict[bytes, AccountUpdate], ran: dict[int, TransactionUpdate]
) -> Sent:
    packed: list[Update] = [ran[index] for index in sorted(ran)]
    return blockhash, {each.packed for each in accounts.values()}, [e.packed for e in packed]


@settings(max_examples=examples(300))
@example(Order(named=frozenset({"account", "block_meta"}), is_later=True, part=1.0))
@given(ORDERS)
def test_a_confirmed_slot_is_its_final_banks_or_not_whole(order: Order) -> None:
    found, truth = sent(order)
    for slot in range(FIRST, LAST - 3):
        for level in (Level.CONFIRMED, Level.FINALIZED):
            for each in found[slot, level]:
                assert each is None or each == truth[slot]
            assert slot == TARGET or found[slot, level] == [truth[slot]]


@settings(max_examples=examples(300))
@given(ORDERS)
def test_where_messages_name_their_banks_each_level_has_the_final_one(order: Order) -> None:
    found, truth = sent(Order(**{**vars(order), "named": frozenset(KINDS)}))
    for slot in range(FIRST, LAST - 3):
        for level in Level:
            assert found[slot, level][-1] == truth[slot]
    for level in (Level.CONFIRMED, Level.FINALIZED):
        assert found[TARGET, level] == [truth[TARGET]]
