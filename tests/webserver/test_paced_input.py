"""PacedInput: every byte once and in order, none while it is held, and no more than its share."""

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from tests.patience import PATIENCE_SECONDS
from webserver.paced_input import SHARE, PacedInput, Share, Shares


class Source:
    """What PacedInput pauses."""

    is_paused = False

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False


@given(
    st.lists(
        st.binary(max_size=5_000) | st.sampled_from(("hold", "release", "wait", "turn")),
        max_size=20,
    )
)
def test_all_bytes_come_once_and_in_order_and_none_while_held(steps: list[bytes | str]) -> None:
    async def run() -> None:
        source, taken, held, waits = Source(), bytearray(), False, 0.0

        def read(data: bytes) -> None:
            nonlocal turns
            assert not held and time.monotonic() >= waits
            assert turns == 0, "what comes behind a slice was left out"
            turns += 1
            # Part of a slice may come again.
            kept = len(data) // 3 if len(taken) % 2 else 0
            taken.extend(data[: len(data) - kept])
            if kept:
                paced.put_back(data[len(data) - kept :])

        def then() -> None:
            nonlocal turns
            turns -= 1

        turns = 0
        paced = PacedInput(
            source, Share(time.monotonic()), read=read, is_over=lambda: False, then=then
        )
        sent = bytearray()
        for step in steps:
            if step == "hold":
                held = True
                paced.hold()
            elif step == "release":
                held = False
                paced.release()
            elif step == "wait":
                waits = max(waits, time.monotonic() + 0.001)
                paced.wait(0.002)
            elif isinstance(step, bytes):
                sent += step
                paced.received(step)
            await asyncio.sleep(0)
        held = False
        paced.release()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(taken) < len(sent) or source.is_paused:
                await asyncio.sleep(0)
        assert taken == sent
        assert not source.is_paused

    asyncio.run(run())


def test_nothing_is_passed_on_once_it_is_over_or_lost() -> None:
    async def run() -> list[bytes]:
        taken: list[bytes] = []
        paced = PacedInput(
            Source(), Share(time.monotonic()), read=taken.append, is_over=lambda: bool(taken)
        )
        paced.received(bytes(100_000))
        lost = PacedInput(Source(), Share(time.monotonic()), read=taken.append, is_over=bool)
        lost.received(bytes(100_000))
        lost.stop()
        for _ in range(100):
            await asyncio.sleep(0)
        return taken

    assert len(asyncio.run(run())) == 2


def test_a_share_is_spent_at_once_or_earned_and_kept_by_holder() -> None:
    shares = Shares()
    share = shares.of("203.0.113.9", 100.0)
    assert share is shares.of("203.0.113.9", 100.0)
    assert share is not shares.of("203.0.113.8", 100.0)
    assert share.charge(0.01, 100.0) == 0
    # What is owed is earned by waiting as long as it says.
    waits = share.charge(0.02, 100.0)
    assert waits > 0
    assert share.charge(0.0, 100.001 + waits) == 0
    assert share.charge(SHARE / 100, 100.01 + waits) == 0
    # No more than at once is ever saved.
    assert share.charge(0.6, 10_000.0) > 0


def test_a_million_addresses_are_not_kept() -> None:
    shares = Shares()
    for number in range(20_000):
        shares.of(f"address {number}", number / 100)
    assert len(shares) < 10_000


def test_an_address_in_debt_is_not_read_on_a_new_connection_either() -> None:
    async def run() -> bytes:
        source, taken = Source(), bytearray()
        share = Share(time.monotonic())
        share.charge(1_000.0, time.monotonic())
        paced = PacedInput(source, share, read=taken.extend, is_over=lambda: False)
        paced.received(b"first")
        assert source.is_paused
        await asyncio.sleep(0)
        assert not taken
        return paced.stop()

    assert asyncio.run(run()) == b"first"
