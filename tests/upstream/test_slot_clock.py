"""The slot clock: what it says between messages, and in spite of those that jump."""

from hypothesis import given
from hypothesis import strategies as st

from upstream.slot_clock import SlotClock


def running(*, first: int = 1_000, seconds: float = 0.4, messages: int = 12) -> SlotClock:
    """Told of so many slots, the first at time 0."""
    clock = SlotClock(seconds)
    for number in range(messages):
        clock.tell(first + number, number * seconds)
    return clock


def test_nothing_is_known_before_the_first_message() -> None:
    clock = SlotClock()
    assert clock.slot(1.0) is None
    assert clock.told_at is None
    clock.tell(7, 1.0)
    assert clock.slot(1.0) == 7
    assert clock.told_at == 1.0


def test_slots_go_on_between_messages() -> None:
    clock = running()
    last = 11 * 0.4
    assert clock.slot(last + 0.01) == 1_011
    assert clock.slot(last + 0.41) == 1_012
    assert clock.slot(last + 10 * 0.4 + 0.01) == 1_021


def test_single_messages_that_jump_or_come_late_move_nothing() -> None:
    clock = running()
    now = 11 * 0.4 + 0.1
    clock.tell(5_000, now)
    clock.tell(12, now)
    clock.tell(1_002, now)
    assert clock.slot(now) == 1_011


def test_it_learns_how_long_slots_take() -> None:
    clock = SlotClock(0.4)
    for number in range(12):
        clock.tell(number, number * 0.2)
    assert abs(clock.slot_seconds - 0.2) < 1e-9
    assert clock.slot(11 * 0.2 + 1.01) == 16


def test_a_chain_that_begins_anew_is_followed() -> None:
    clock = running()
    for number in range(12):
        clock.tell(number, 100 + number * 0.4)
    assert clock.slot(100 + 11 * 0.4 + 0.1) == 11


@given(
    st.lists(st.tuples(st.integers(0, 2**63), st.floats(0, 1e9)), max_size=30),
    st.floats(0, 1e9),
)
def test_whatever_it_is_told_it_names_a_slot(told: list[tuple[int, float]], now: float) -> None:
    clock = SlotClock()
    for slot, at in told:
        clock.tell(slot, at)
    found = clock.slot(now)
    assert (found is None) == (not told)
    assert found is None or found >= 0
    assert 0.1 <= clock.slot_seconds <= 1.6


@given(
    st.floats(0.2, 0.8),
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(20, 300) | st.integers(-300, -20)), max_size=3
    ),
    st.floats(0, 5),
)
def test_a_quarter_of_the_messages_may_be_wild(
    seconds: float, wild: list[tuple[int, int]], later: float
) -> None:
    clock = SlotClock()
    jumps = dict(wild)
    for number in range(12):
        clock.tell(10_000 + number + jumps.get(number, 0), number * seconds)
    now = 11 * seconds + later
    true = 10_000 + now / seconds
    found = clock.slot(now)
    assert found is not None
    # Of 12 messages 9 are true, and so are 36 of their 66 pairs.
    assert abs(found - true) < 1.01
