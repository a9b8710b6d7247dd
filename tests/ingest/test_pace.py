"""Slots of other lengths: whatever counts in slots and waits in seconds reads the chain's pace."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.blocks import SlotRecord
from chain.units import UnixTimestamp
from historical.transactions.services.mentions import slots_per_day
from ingest.services import slots as measuring
from ingest.services.slots import store_records
from operations.readings.present import read
from priority.lander.chain_view import Chain
from priority.queue.services.stalled_queue import limits, refused_from_ms
from shared_state import pace
from shared_state.redis_client import client
from tests.rewind.samples import block

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
BEGAN = 1_790_000_000
LENGTHS = (0.25, 0.4, 0.8)


@pytest.fixture(autouse=True)
def nothing_known(empty_redis: None, settings: Any) -> Iterator[None]:
    settings.LOCALNET = False
    pace.forget()
    measuring.forget_pace()
    yield
    pace.forget()
    measuring.forget_pace()


def chain_of(slot_seconds: float, slots: Sequence[int]) -> list[SlotRecord]:
    """Blocks whose times are whole seconds, as validators' votes give them."""
    parents = [0, *slots]
    return [
        replace(
            block(slot, parent, None, transactions=0),
            block_time=UnixTimestamp(BEGAN + int(slot * slot_seconds)),
        )
        for parent, slot in zip(parents, slots, strict=False)
    ]


def follow(slot_seconds: float, *, skipped: int = 0) -> None:
    """Two minutes of the chain are stored, a block in each slot, or in one of `skipped` + 1."""
    slots = range(1, int(120 / slot_seconds), 1 + skipped)
    store_records(chain_of(slot_seconds, slots), source="a node", now=NOW)
    measuring.publish_pace()


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize("skipped", [0, 3])
@pytest.mark.parametrize("slot_seconds", LENGTHS)
def test_everything_reads_the_measured_pace(slot_seconds: float, skipped: int) -> None:
    assert pace.slot_seconds() == pace.NOMINAL_SECONDS
    pace.forget()
    follow(slot_seconds, skipped=skipped)
    assert pace.slot_seconds() == pytest.approx(slot_seconds, rel=0.03)
    assert pace.slots_in(60) == pytest.approx(60 / slot_seconds, rel=0.03)
    # How late the queue may be is a number of slots.
    of_queue = limits()
    assert of_queue.slot_ms == pytest.approx(1_000 * slot_seconds, rel=0.03)
    assert refused_from_ms() == pytest.approx(16 * 1_000 * slot_seconds / 3, rel=0.03)
    assert read(NOW).landing.refused_from_ms == refused_from_ms()
    # A lander's clock begins with it.
    chain = Chain(of_queue.slot_ms / 1_000)
    chain.hear(1_000, 50.0)
    now = 50.0 + 10.5 * slot_seconds
    assert chain.slot_now(now) == pytest.approx(1_010, abs=1)
    assert slots_per_day() == pytest.approx(86_400 / slot_seconds, rel=0.03)


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_days_of_a_ledger_without_times_go_by_the_pace_of_now() -> None:
    pace.publish(0.25)
    assert slots_per_day() == 345_600


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_a_chain_that_has_hardly_begun_is_not_measured() -> None:
    store_records(chain_of(0.25, range(1, 100)), source="a node", now=NOW)
    measuring.publish_pace()
    assert pace.slot_seconds() == pace.NOMINAL_SECONDS


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_ledger")
def test_it_is_measured_of_the_newest_slots_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain whose slots become shorter is measured again, once in 15 seconds."""
    # A busy machine stores for so long.
    monkeypatch.setattr(measuring, "_PACE_EVERY_SECONDS", 3_600.0)
    before = chain_of(0.8, range(1, 200))
    ends = before[-1].block_time
    assert ends is not None
    shorter = [
        replace(each, block_time=UnixTimestamp(int(ends + (each.slot - 199) * 0.25)))
        for each in chain_of(0.25, range(200, 1_400))
    ]
    store_records(before, source="a node", now=NOW)
    measuring.publish_pace()
    assert pace.slot_seconds() == pytest.approx(0.8, rel=0.03)
    store_records(
        [replace(shorter[0], parent_slot=before[-1].slot), *shorter[1:]], source="a node", now=NOW
    )
    measuring.publish_pace()
    pace.forget()
    assert pace.slot_seconds() == pytest.approx(0.8, rel=0.03)
    measuring.forget_pace()
    measuring.publish_pace()
    pace.forget()
    assert pace.slot_seconds() == pytest.approx(0.25, rel=0.03)


def test_localnet_is_as_fast_as_it_is_set_until_it_is_measured(settings: Any) -> None:
    settings.LOCALNET, settings.LOCALNET_SLOT_MS = True, 800
    assert pace.slot_seconds() == 0.8
    pace.publish(0.25)
    assert pace.slot_seconds() == 0.8  # known for half a minute
    pace.forget()
    assert pace.slot_seconds() == 0.25


@given(st.floats(allow_nan=False) | st.integers(-(2**70), 2**70))
def test_no_measure_stops_a_wait_or_makes_it_endless(seconds: float) -> None:
    pace.publish(seconds)
    pace.forget()
    assert 0.01 <= pace.slot_seconds() <= 60
    assert pace.slots_in(60) >= 1


@pytest.mark.parametrize("stored", [b"", b"nan", b"inf", b"-inf", b"fast"])
def test_what_is_no_pace_is_none(stored: bytes) -> None:
    client().set("tidemark:pace", stored)
    assert pace.slot_seconds() == pace.NOMINAL_SECONDS
