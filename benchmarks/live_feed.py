"""What subscribers cost the follower, and what it does where there are none: CPU of the live feed
for a slot of 1,000 transactions and 4,504 account writes, beside reading and assembling the same
messages.
"""

import statistics
import time
from collections.abc import Callable, Iterable

from benchmarks.sample_chain import FIRST_SLOT, SampleChain, messages_of, slot_message
from benchmarks.service import database
from chain.units import Slot
from livefeed.feed import Held, LiveFeed
from livefeed.messages import Ask, Kind, Level, Want
from upstream.geyser.assembly import Assembler
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    Ping,
    SlotUpdate,
    Update,
    update_of,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

_SLOTS, _ROUNDS = 24, 7
# What the gRPC server wants as long as it runs, and what a stream of blocks does.
_TIPS = [Want(Kind.TIP, level) for level in Level]
_HEADERS = [Want(Kind.HEADER, level) for level in Level]


def main() -> None:
    with database():  # the feed publishes by its Redis
        _measure([*_messages()])


def _measure(messages: list[list[bytes]]) -> None:
    slots = [[_update(each) for each in slot] for slot in messages]
    held = _assemble([[each for each in slot if not _is_final(each)] for slot in slots]).held(1)
    account = next(each for each in slots[0] if isinstance(each, AccountUpdate)).pubkey
    works: dict[str, Callable[[], object]] = {
        "reading": lambda: [_update(each) for slot in messages for each in slot],
        "assembling": lambda: _assemble(slots),
        "the feed, no subscriber": lambda: _feed(slots, []),
        "the feed, a gRPC server without streams": lambda: _feed(slots, _TIPS),
        "the feed, blocks' headers": lambda: _feed(slots, _HEADERS),
        "the feed, an account": lambda: _feed(slots, [Want(Kind.ACCOUNT, key=account)]),
        "who comes first, for a slot that is not final": lambda: _fill(held),
    }
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(_ROUNDS):
        for name, work in works.items():
            began = time.thread_time()
            work()
            taken[name].append((time.thread_time() - began) * 1e3 / _SLOTS)
    for name, times in taken.items():
        print(f"{name}: {statistics.median(times):.1f} ms of CPU a slot, least {min(times):.1f}")


def _messages() -> Iterable[list[bytes]]:
    chain = SampleChain()
    for slot in range(FIRST_SLOT, FIRST_SLOT + _SLOTS):
        statuses = ((slot - 1, SlotStatus.SLOT_CONFIRMED), (slot - 2, SlotStatus.SLOT_FINALIZED))
        known = [each for each in statuses if each[0] >= FIRST_SLOT]
        made = messages_of(chain.slot(Slot(slot)))
        yield [*made, *(slot_message(Slot(number), status) for number, status in known)]


def _update(message: bytes) -> Update:
    update = update_of(message)
    assert update is not None and not isinstance(update, Ping)
    return update  # type: ignore[return-value]


def _is_final(update: Update) -> bool:
    return isinstance(update, SlotUpdate) and update.status == SlotStatus.SLOT_FINALIZED


def _assemble(slots: list[list[Update]]) -> Assembler:
    assembler = Assembler()
    for slot in slots:
        for update in slot:
            assembler.feed(update)
    return assembler


def _fill(held: Held) -> None:
    feed = LiveFeed()
    feed.held = lambda: held
    feed._ask(Ask("a process", 1, whole=True, add=_HEADERS), time.monotonic())
    feed._turn()


def _feed(slots: list[list[Update]], wants: list[Want]) -> None:
    """As the follower's threads do it."""
    feed = LiveFeed()
    if wants:
        feed._ask(Ask("a process", 1, whole=True, add=wants), time.monotonic())
    for slot in slots:
        for update in slot:
            # As StreamReader does.
            if feed.reads_all or isinstance(update, SlotUpdate | BlockMetaUpdate):
                feed.add(1, update)
        feed._turn()


if __name__ == "__main__":
    main()
