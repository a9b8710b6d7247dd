"""The Assembler against random chains: what closes is the finalized chain, and nothing else is."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.blocks import Granularity
from chain.encodings import b58decode
from chain.units import Slot
from tests.examples import examples
from tests.upstream.stream_chain import (
    Chain,
    Leader,
    Made,
    nearby_shuffled,
    random_chain,
)
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import (
    ChainChanged,
    Event,
    HeadMoved,
    SlotClosed,
    SlotDead,
    SlotIncomplete,
)
from upstream.geyser.slot_buffers import EVERY_SLOT
from upstream.geyser.updates import (
    AccountUpdate,
    AdvancedNonce,
    BlockMetaUpdate,
    SlotUpdate,
    TransactionUpdate,
    Update,
    stores_untouched,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

SEEDS = st.integers(0, 2**32)


def fed(assembler: Assembler, messages: Iterable[Update]) -> list[Event]:
    return [event for message in messages for event in assembler.feed(message)]


def closed(events: list[Event]) -> dict[int, SlotClosed]:
    found = [event for event in events if isinstance(event, SlotClosed)]
    slots = [event.closed.slot for event in found]
    assert len(slots) == len(set(slots)), "a slot closed twice"
    return {event.closed.slot: event for event in found}


def incomplete(events: list[Event]) -> dict[int, str]:
    return {event.slot: event.reason for event in events if isinstance(event, SlotIncomplete)}


def is_block(event: SlotClosed, made: Made) -> bool:
    record = event.closed
    return (record.parent_slot, record.blockhash, record.transactions) == (
        made.parent,
        made.blockhash,
        [each.packed for each in made.transactions],
    )


def has_every_write(event: SlotClosed, made: Made) -> bool:
    assert event.closed.account_writes is not None
    return sorted(event.closed.account_writes) == sorted(each.packed for each in made.writes)


def settle(chain: Chain, slots: int = 12) -> list[Update]:
    """The chain goes on, so that every patience ends."""
    leader = Leader(random.Random(0))
    leader.version = 10**9
    more: list[Update] = []
    parent = chain.final[-1].slot
    tip = max(message.slot for message in chain.sent if isinstance(message, SlotUpdate))
    for slot in range(tip + 1, tip + 1 + slots):
        made = leader.block(slot, parent)
        more += made.messages(leader.chance)
        more.append(SlotUpdate(made.slot, made.parent, SlotStatus.SLOT_FINALIZED))
        parent = made.slot
    return more


@given(SEEDS)
def test_an_undisturbed_stream_gives_the_finalized_chain_with_every_write(seed: int) -> None:
    chain = random_chain(seed)
    events = fed(Assembler(begin=chain.first), chain.sent)
    found = closed(events)
    assert list(found) == [made.slot for made in chain.final]
    for made in chain.final:
        event = found[made.slot]
        assert is_block(event, made) and has_every_write(event, made)
        assert event.closed.granularity == Granularity.WRITE
    assert not incomplete(events)


@given(SEEDS, st.integers(1, 40))
def test_any_order_and_duplicates_change_nothing(seed: int, reach: int) -> None:
    chain = random_chain(seed)
    chance = random.Random(seed)
    messages: list[Update] = []
    for message in chain.sent:
        is_death = isinstance(message, SlotUpdate) and message.status == SlotStatus.SLOT_DEAD
        copies = 1 if is_death or chance.random() < 0.7 else 2
        messages += [message] * copies
    messages = nearby_shuffled(messages, chance, reach)
    events = fed(Assembler(begin=chain.first), [*messages, *settle(chain)])
    found = closed(events)
    assert not incomplete(events)
    for made in chain.final:
        event = found[made.slot]
        assert is_block(event, made) and has_every_write(event, made)
        assert event.closed.granularity == Granularity.WRITE


@given(SEEDS, st.floats(0.001, 0.2))
def test_nothing_is_called_whole_that_is_not(seed: int, share: float) -> None:
    chain = random_chain(seed)
    chance = random.Random(seed)
    kept = [
        message
        for message in chain.sent
        if isinstance(message, SlotUpdate) or chance.random() > share
    ]
    events = fed(Assembler(begin=chain.first), [*kept, *settle(chain)])
    found, told = closed(events), incomplete(events)
    for made in chain.final:
        assert (made.slot in found) != (made.slot in told), "every final slot is told, once"
        if made.slot in told:
            continue
        event = found[made.slot]
        assert is_block(event, made)
        if event.closed.account_writes is None:
            assert event.reason == "writes_missing"
            continue
        writes = set(event.closed.account_writes)
        assert writes <= {each.packed for each in made.writes}
        assert writes >= {each.packed for each in made.last_writes()}
        if event.closed.granularity == Granularity.WRITE:
            assert has_every_write(event, made)
    final = {made.slot for made in chain.final}
    assert set(found) | set(told) <= final | {slot for slot in found if slot > max(final)}


@given(SEEDS, st.integers(1, 40))
def test_a_validator_that_leaves_untouched_accounts_out_is_whole_when_it_comes_live(
    seed: int, reach: int
) -> None:
    chain = random_chain(seed, stores_untouched=False)
    messages = nearby_shuffled(chain.sent, random.Random(seed), reach)
    assembler = Assembler(begin=chain.first, stores_untouched=False)
    assembler.live_after(Slot(chain.first - 1))
    found = closed(fed(assembler, [*messages, *settle(chain)]))
    for made in chain.final:
        event = found[made.slot]
        assert has_every_write(event, made)
        assert event.closed.granularity == Granularity.WRITE


@given(SEEDS)
def test_its_replay_is_not_taken_for_every_write(seed: int) -> None:
    chain = random_chain(seed, stores_untouched=False)
    assembler = Assembler(begin=chain.first, stores_untouched=False)
    chance = random.Random(seed)
    replayed = replay(chain, len(chain.sent), chain.first, chance, True, 0)
    found = closed(fed(assembler, [*replayed, *settle(chain)]))
    for made in chain.final:
        event = found[made.slot]
        assert event.closed.account_writes is not None
        assert set(event.closed.account_writes) >= {each.packed for each in made.last_writes()}
        if event.closed.granularity == Granularity.WRITE:
            assert has_every_write(event, made)


@given(SEEDS, st.floats(0.001, 0.2))
def test_of_its_writes_no_sure_one_is_missed_unnoticed(seed: int, share: float) -> None:
    chain = random_chain(seed, stores_untouched=False)
    chance = random.Random(seed)
    kept = [
        message
        for message in chain.sent
        if isinstance(message, SlotUpdate) or chance.random() > share
    ]
    assembler = Assembler(begin=chain.first, stores_untouched=False)
    assembler.live_after(Slot(chain.first - 1))
    found = closed(fed(assembler, [*kept, *settle(chain)]))
    for made in chain.final:
        event = found.get(made.slot)
        if event is None or event.closed.granularity != Granularity.WRITE:
            continue
        if event.closed.account_writes is None:
            continue
        sure = {(pubkey, each.signature) for each in made.transactions for pubkey in each.written}
        missing = {each.packed for each in made.writes} - set(event.closed.account_writes)
        assert (
            not {(each.pubkey, each.signature) for each in made.writes if each.packed in missing}
            & sure
        )


@pytest.mark.parametrize(
    ("version", "stores"),
    [
        ("3.1.14", True),
        ("4.1.2", True),
        ("4.2.0", False),
        ("4.3.0-alpha.2", False),
        ("10.0", False),
        ("0.505.20216", True),
        ("0.812.40301", False),
        ("", False),
        ("next", False),
    ],
)
def test_the_version_tells_whether_untouched_accounts_are_stored(
    version: str, stores: bool
) -> None:
    assert stores_untouched(version) is stores


@given(SEEDS, st.lists(st.floats(0, 1), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_lost_connection_and_its_replay_lose_nothing(
    seed: int, cuts: list[float], last_writes: bool, other_validator: bool
) -> None:
    chain = random_chain(seed)
    chance = random.Random(seed)
    assembler = Assembler(begin=chain.first)
    events: list[Event] = []
    places = sorted({int(cut * len(chain.sent)) for cut in cuts})
    at = 0
    for number, place in enumerate([*places, len(chain.sent)]):
        events += fed(assembler, chain.sent[at:place])
        at = place
        if place == len(chain.sent):
            break
        assembler.reconnect()
        assert assembler.replay_from is not None
        offset = 10**6 * (number + 1) if other_validator else 0
        events += fed(
            assembler,
            replay(chain, place, assembler.replay_from, chance, last_writes, offset),
        )
    events += fed(assembler, settle(chain))
    found = closed(events)
    assert not {slot for slot in incomplete(events) if slot <= chain.final[-1].slot}
    for made in chain.final:
        event = found[made.slot]
        assert is_block(event, made)
        if event.closed.account_writes is not None:
            if event.closed.granularity == Granularity.WRITE and not other_validator:
                assert has_every_write(event, made)
            assert set(event.closed.account_writes) >= {each.packed for each in made.last_writes()}
        else:
            assert last_writes and other_validator


def test_what_came_live_outlasts_replays_that_lack_its_beginning() -> None:
    """As a lone leader's, which lack what a slot wrote before its bank was announced."""
    made = Leader(random.Random(1)).block(Slot(100), Slot(99))
    assembler = Assembler(begin=Slot(100))
    fed(assembler, [*made.writes, *made.transactions, made.meta])
    for _ in range(4):
        assembler.reconnect()
        fed(assembler, [*made.writes[1:], *made.transactions, made.meta])
    events = assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
    assert has_every_write(closed(events)[100], made)


def replay(
    chain: Chain,
    place: int,
    from_slot: Slot,
    chance: random.Random,
    last_writes: bool,
    offset: int,
) -> list[Update]:
    """What a server sends again of the messages before `place`."""
    dead = dict[Slot, int]()
    for number, message in enumerate(chain.sent[:place]):
        if isinstance(message, SlotUpdate) and message.status == SlotStatus.SLOT_DEAD:
            dead[message.slot] = number
    again: list[Update] = []
    newest: dict[tuple[Slot, bytes], int] = {}
    for message in chain.sent[:place]:
        if isinstance(message, AccountUpdate):
            key = (message.slot, message.pubkey)
            newest[key] = max(newest.get(key, 0), message.write_version)
    for number, message in enumerate(chain.sent[:place]):
        if message.slot < from_slot or dead.get(message.slot, -1) >= number:
            continue
        if isinstance(message, AccountUpdate):
            if last_writes and newest[message.slot, message.pubkey] != message.write_version:
                continue
            message = message._replace(write_version=message.write_version + offset)
        again.append(message)
    return again


def test_a_stream_without_a_beginning_starts_with_the_first_slot_seen_whole() -> None:
    chain = random_chain(3)
    middle = chain.final[5]
    start = chain.sent.index(middle.meta) - 1
    events = fed(Assembler(), [*chain.sent[start:], *settle(chain)])
    found = closed(events)
    assert min(found) > middle.slot
    assert {made.slot for made in chain.final if made.slot > middle.slot} <= set(found)
    assert not incomplete(events)


def test_a_final_slot_of_which_nothing_came_is_told() -> None:
    chain = random_chain(5)
    lost = chain.final[4].slot
    kept = [message for message in chain.sent if message.slot != lost]
    events = fed(Assembler(begin=chain.first), [*kept, *settle(chain)])
    assert incomplete(events) == {lost: "messages_lost"}


def test_a_lost_last_write_leaves_the_ledger_alone_and_an_earlier_one_its_mark() -> None:
    leader = Leader(random.Random(1))
    made = leader.block(100, 99, most_transactions=0)
    alice = bytes([50]) * 32
    transactions = [
        TransactionUpdate(Slot(100), index, bytes([index + 1]) * 64, (alice,), None, b"t%d" % index)
        for index in range(2)
    ]
    writes = [
        AccountUpdate(Slot(100), alice, 1000 + each.transaction_index, each.signature, b"w")
        for each in transactions
    ]
    meta = made.meta._replace(transaction_count=2)

    def granularity(lost: AccountUpdate | None) -> tuple[int, bool]:
        assembler = Assembler(begin=Slot(100), patience_slots=1)
        sent = [*made.writes, *[w for w in writes if w is not lost], *transactions, meta]
        events = fed(assembler, sent)
        events += assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
        events += assembler.feed(SlotUpdate(Slot(101), Slot(100), SlotStatus.SLOT_FINALIZED))
        event = closed(events)[100]
        return event.closed.granularity, event.closed.account_writes is not None

    assert granularity(None) == (Granularity.WRITE, True)
    assert granularity(writes[0]) == (Granularity.SLOT, True)
    assert granularity(writes[1])[1] is False


def test_a_replay_of_an_account_that_the_bank_wrote_after_its_transactions_is_whole() -> None:
    """As the incinerator, whose lamports are burned when the block ends."""
    leader = Leader(random.Random(1))
    made = leader.block(100, 99, most_transactions=0)
    payer, burned = bytes([50]) * 32, bytes([51]) * 32
    burn = TransactionUpdate(Slot(100), 0, bytes([1]) * 64, (payer, burned), None, b"t")
    paid = AccountUpdate(Slot(100), payer, 1000, burn.signature, b"w")
    sent = AccountUpdate(Slot(100), burned, 1001, burn.signature, b"w")
    emptied = AccountUpdate(Slot(100), burned, 1002, b"", b"w")
    meta = made.meta._replace(transaction_count=1)

    def granularity(*writes: AccountUpdate) -> tuple[int, bool]:
        assembler = Assembler(begin=Slot(100))
        events = fed(assembler, [*made.writes, *writes, burn, meta])
        events += assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
        events += assembler.give_up_before(Slot(101), "stream_lost")
        event = closed(events)[100]
        return event.closed.granularity, event.closed.account_writes is not None

    assert granularity(paid, sent, emptied) == (Granularity.WRITE, True)
    assert granularity(paid, emptied) == (Granularity.SLOT, True)
    # One that the bank wrote before the transactions says nothing of what they wrote.
    early = emptied._replace(write_version=999)
    assert granularity(paid, early)[1] is False


@pytest.mark.parametrize("lost", EVERY_SLOT)
def test_a_lost_sysvar_write_is_noticed(lost: bytes) -> None:
    made = Leader(random.Random(1)).block(100, 99)
    assembler = Assembler(begin=Slot(100))
    fed(assembler, [w for w in made.writes if w.pubkey != lost])
    events = fed(assembler, [*made.transactions, made.meta])
    events += assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
    events += assembler.give_up_before(Slot(101), "stream_lost")
    assert closed(events)[100].reason == "writes_missing"


def test_halves_of_a_slot_from_two_validators_are_not_put_together() -> None:
    leader = Leader(random.Random(1))
    made = leader.block(100, 99, most_transactions=0)
    alice, bob = bytes([50]) * 32, bytes([51]) * 32
    transactions = [
        TransactionUpdate(
            Slot(100), index, bytes([index + 1]) * 64, (pubkey,), None, b"t%d" % index
        )
        for index, pubkey in enumerate((alice, bob))
    ]
    meta = made.meta._replace(transaction_count=2)
    by_one = AccountUpdate(Slot(100), alice, 1000, transactions[0].signature, b"w")
    by_another = AccountUpdate(Slot(100), bob, 80, transactions[1].signature, b"w")

    def is_whole(versions_by_another: int) -> bool:
        """The sysvars come from both, under each one's own versions."""
        again = [
            write._replace(write_version=write.write_version + versions_by_another)
            for write in made.writes
        ]
        assembler = Assembler(begin=Slot(100))
        fed(assembler, [*made.writes, by_one])
        assembler.reconnect()
        events = fed(assembler, [*again, by_another, *transactions, meta])
        events += assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
        events += assembler.give_up_before(Slot(101), "stream_lost")
        return not closed(events)[100].reason

    assert is_whole(0)
    assert not is_whole(70)


def test_a_used_nonce_must_be_there_and_one_that_a_blockhash_made_needless_not() -> None:
    for used in (True, False):
        leader = Leader(random.Random(2))
        before = leader.block(100, 99, most_transactions=0)
        made = leader.block(101, 100, most_transactions=0)
        payer, nonce = bytes([60]) * 32, bytes([61]) * 32
        blockhash = bytes([7]) * 32 if used else b58decode(before.blockhash)
        failed = TransactionUpdate(
            Slot(101), 0, bytes([8]) * 64, (payer,), AdvancedNonce(nonce, blockhash), b"t"
        )
        write = AccountUpdate(Slot(101), payer, 5000, failed.signature, b"w")
        assembler = Assembler(begin=Slot(100))
        meta = made.meta._replace(transaction_count=1)
        events = fed(assembler, [*before.writes, before.meta, *made.writes, write, failed, meta])
        events += assembler.feed(SlotUpdate(Slot(101), Slot(100), SlotStatus.SLOT_FINALIZED))
        events += assembler.give_up_before(Slot(102), "stream_lost")
        assert (closed(events)[101].reason == "writes_missing") is used


def test_another_chain_is_told() -> None:
    assembler = Assembler(begin=Slot(100), after_finalized=True)
    made = Leader(random.Random(1)).block(105, 90)
    events = fed(assembler, made.messages(random.Random(1)))
    events += assembler.feed(SlotUpdate(Slot(105), Slot(90), SlotStatus.SLOT_FINALIZED))
    assert ChainChanged(Slot(105), Slot(90), Slot(99)) in events


def test_memory_is_bounded_and_what_fell_out_is_told() -> None:
    leader = Leader(random.Random(4))
    assembler = Assembler(begin=Slot(100), limit_bytes=2000)
    made = [leader.block(slot, slot - 1) for slot in range(100, 160)]
    events: list[Event] = []
    for each in made:
        events += fed(assembler, each.messages(leader.chance))
        assert assembler.size <= 2000 + 200
    last = made[-1]
    events += assembler.feed(SlotUpdate(last.slot, last.parent, SlotStatus.SLOT_FINALIZED))
    events += fed(assembler, settle(Chain(final=[last], sent=[SlotUpdate(last.slot, None, 0)])))
    told = incomplete(events)
    assert set(told.values()) == {"buffer_full"}
    assert set(closed(events)) | set(told) >= {each.slot for each in made}


def test_the_head_and_the_finalized_head_are_told() -> None:
    assembler = Assembler(begin=Slot(100))
    made = Leader(random.Random(1)).block(100, 99)
    events = fed(assembler, made.messages(random.Random(1)))
    assert HeadMoved(Slot(100), None) in events
    events = assembler.feed(SlotUpdate(Slot(100), Slot(99), SlotStatus.SLOT_FINALIZED))
    assert HeadMoved(Slot(100), Slot(100)) in events


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.builds(
                SlotUpdate,
                st.integers(95, 110),
                st.none() | st.integers(90, 112),
                st.integers(0, 6),
            ),
            st.builds(
                BlockMetaUpdate,
                st.integers(95, 110),
                st.integers(90, 112),
                st.sampled_from(["x", "y"]),
                st.just(""),
                st.integers(0, 2),
                st.just(()),
                st.just(b"m"),
            ),
            st.builds(
                TransactionUpdate,
                st.integers(95, 110),
                st.integers(0, 2),
                st.sampled_from([b"1" * 64, b"2" * 64]),
                st.just(()),
                st.none(),
                st.just(b"t"),
            ),
            st.builds(
                AccountUpdate,
                st.integers(95, 110),
                st.sampled_from([*EVERY_SLOT, b"a" * 32]),
                st.integers(0, 9),
                st.sampled_from([b"", b"1" * 64]),
                st.just(b"w"),
            ),
            st.none(),
        ),
        max_size=80,
    )
)
def test_no_order_of_messages_breaks_it(messages: list[Update | None]) -> None:
    assembler = Assembler(begin=Slot(98), patience_slots=2)
    events: list[Event] = []
    for message in messages:
        if message is None:
            assembler.reconnect()
        else:
            events += assembler.feed(message)
    closed(events)
    assert sum(isinstance(event, SlotDead) for event in events) <= len(messages)
    assert assembler.size >= 0
