"""While blocks come into holes and at the head, each list of blocks or of an address has every slot
of the chain, or names it as missing: nothing that was stored between its statements is in neither.
And each list of blocks is a state that was there at one time, up to its end.
"""

import json
import random
import threading
from functools import partial

import pytest
from django.db import connection
from solders.pubkey import Pubkey

from eventloop.faces import complete
from historical.blocks.services import block_lists
from historical.coverage.services.holes import HEADER
from historical.recording.services.recording import record_blocks
from historical.remote.services.remote_history import RemoteReads
from historical.transactions.services.addresses import signatures_for_address
from historical.transactions.services.whole_lists import whole_list
from tests.patience import PATIENCE_SECONDS
from tests.rewind.samples import block

from .sealed_reads import NOW

BLOCKS = 600
# Blocks of a commit.
TOGETHER = 3


def of_address(headers: dict[str, str]) -> list[int]:
    """Slots of the transactions of an address that every block names."""
    read = partial(
        signatures_for_address, Pubkey((1).to_bytes(32)), limit=1_000, before=None, until=None
    )
    text = complete(whole_list(read, headers, strict=False))
    return [each["slot"] for each in reversed(json.loads(bytes(text)))]


@pytest.mark.django_db(transaction=True)
def test_a_slot_is_listed_or_named_while_blocks_come() -> None:
    chance = random.Random(1)
    slots = [2_000]
    while len(slots) < BLOCKS:
        slots.append(slots[-1] + chance.choice([1, 1, 2, 5]))
    links = dict(zip(slots[1:], slots, strict=False))
    record_blocks([block(slots[0], slots[0] - 1)], now=NOW)
    # Each block is stored as soon as any later one, but for those that come much later.
    order = sorted(slots[1:], key=lambda slot: slot + chance.choice([0, 0, 0, 150, 400]))
    place = {slot: at for at, slot in enumerate(order)}
    stored = threading.Event()

    def write() -> None:
        try:
            for at in range(0, len(order), TOGETHER):
                some = order[at : at + TOGETHER]
                record_blocks([block(slot, links[slot]) for slot in some], now=NOW)
        finally:
            stored.set()
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    readings = named = 0
    try:
        while not stored.is_set() or not readings:
            headers: dict[str, str] = {}
            limit = chance.choice([0, 40, None])
            reads = RemoteReads("test", headers)
            if limit is None:
                found = of_address(headers)
            elif limit:
                found = block_lists.slots_from(slots[0], limit, reads, strict=False)
            else:
                found = block_lists.slots_between(slots[0], slots[-1], reads, strict=False)
                # What was stored first, and nothing of what came later.
                newest = max((place[slot] for slot in found[1:]), default=-1)
                state = order[: -(-(newest + 1) // TOGETHER) * TOGETHER]
                assert found[1:] == sorted(slot for slot in state if slot <= found[-1])
            text = headers.get(HEADER, "")
            parts = [part for part in text.split(", ") if "-" in part]
            gaps = [
                range(int(low), int(high) + 1) for low, high in (part.split("-") for part in parts)
            ]
            # Behind that more gaps may lie.
            end = gaps[-1][-1] if "..." in text else found[-1]
            for slot in slots:
                if slot <= end:
                    assert slot in found or any(slot in gap for gap in gaps), (slot, found, text)
            readings += 1
            named += bool(gaps)
    finally:
        writer.join(PATIENCE_SECONDS)
    assert named
    final: dict[str, str] = {}
    reads = RemoteReads("test", final)
    assert block_lists.slots_between(slots[0], slots[-1], reads, strict=True) == slots
    assert not final
    print(f"{readings} readings, {named} of them with gaps")
