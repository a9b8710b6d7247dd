"""Whatever was sealed when, what was removed and what came late: every read returns the same."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.blocks import SlotRecord
from chain.encodings import b58encode
from historical.models import SealedBlock
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.services import index_merging, index_packing, sealing
from tests.conftest import Rpc
from tests.emptying import LEDGER_TABLES
from tests.examples import examples

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import NOW, every_read, seal

RANGE = 128
# Ranges of 128 slots: two finished ones, and the third that the newest block is in.
SLOTS = [0, 1, 2, 5, 30, 63, 64, 66, 90, 127, 128, 130, 131, 200, 255, 256, 300]


@dataclass(frozen=True)
class Act:
    """Removes, records or seals: blocks by number, or so many steps."""

    kind: str
    first: int = 0
    last: int = 0


ACTS = st.lists(
    st.one_of(
        st.builds(Act, st.just("seal"), st.integers(1, 12)),
        st.builds(Act, st.just("seal"), st.just(500)),
        st.builds(
            Act,
            st.sampled_from(["remove", "record", "record"]),
            st.integers(0, len(SLOTS) - 1),
            st.integers(0, len(SLOTS) - 1),
        ),
    ),
    max_size=8,
)


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def made_chain(sizes: list[int], seed: int) -> list[SlotRecord]:
    parents = [0, *SLOTS]
    return [
        made_block(slot, parent, transactions=size, seed=seed)
        for slot, parent, size in zip(SLOTS, parents, sizes, strict=False)
    ]


def reads_of(rpc: Rpc, chain: list[SlotRecord]) -> Callable[[], dict[str, Any]]:
    signatures = [b58encode(each.signature) for record in chain for each in record.transactions]
    chosen = list(dict.fromkeys([*signatures[::5], *signatures[-2:]]))[:12]
    addresses = [b58encode(each) for each in ACCOUNTS[:3]]
    slots = [*SLOTS[::4], 3]
    return lambda: every_read(rpc, slots=slots, signatures=chosen, addresses=addresses)


@pytest.mark.usefixtures("empty_ledger")
@settings(max_examples=examples(24))
@given(
    sizes=st.lists(st.integers(0, 12), min_size=len(SLOTS), max_size=len(SLOTS)),
    seed=st.integers(0, 1_000),
    acts=ACTS,
)
def test_reads_do_not_depend_on_what_is_sealed(
    rpc: Rpc, sizes: list[int], seed: int, acts: list[Act]
) -> None:
    chain = made_chain(sizes, seed)
    reads = reads_of(rpc, chain)
    with rolled_back():
        record_blocks(chain, now=NOW)
        expected = reads()
    with rolled_back(), pytest.MonkeyPatch.context() as small:
        # Small steps, frames and merges, so that few transactions have all of them.
        small.setattr(sealing, "_MOST_BLOCKS", 3)
        small.setattr(sealing, "FRAME_TEXT", 3_000)
        small.setattr(index_merging, "FAN_IN", 3)
        small.setattr(index_merging, "_BLOCKS_AT_ONCE", 8)
        small.setattr(index_packing, "_MOST_TRANSACTIONS", 10)
        record_blocks(chain[::2], now=NOW)
        for act in acts:
            low, high = sorted((act.first, act.last))
            if act.kind == "seal":
                seal(RANGE, most=act.first)
            elif act.kind == "remove":
                remove_blocks(SLOTS[low], SLOTS[high])
            else:
                record_blocks(chain[low : high + 1], now=NOW)
        record_blocks(chain, now=NOW)
        assert reads() == expected
        seal(RANGE)
        assert SealedBlock.objects.count() == sum(slot < 256 for slot in SLOTS)
        assert reads() == expected
        remove_blocks(0, 127)
        seal(RANGE)
        record_blocks(chain, now=NOW)
        assert reads() == expected
        remove_blocks(0, 10**6)
        seal(RANGE)
        assert left() == []


def left() -> list[str]:
    """Tables with rows."""
    found = []
    with connection.cursor() as cursor:
        for name in LEDGER_TABLES:
            cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {name})")
            if cursor.fetchone()[0] and name != "historical_sealversion":
                found.append(name)
    return found
