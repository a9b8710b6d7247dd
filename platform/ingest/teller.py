"""Teller: what the stream says, told on to who lands transactions, while it happens."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator

from chain.blocks import SlotRecord
from chain.encodings import b58decode
from chain.transaction_errors import transaction_error_bytes
from chain.transactions import decode_wire
from ingest.branches import Branches
from priority.happenings import BlockMade, Happening, Seen, SlotMoved
from priority.services.telling import tell
from shared_state.outages import AWAY
from upstream.geyser.schema import SlotStatus
from upstream.geyser.updates import BlockMetaUpdate, SlotUpdate, TransactionUpdate

log = logging.getLogger(__name__)

# The first word of a burst is told at once; what comes within this time goes together.
_GATHERING_SECONDS = 0.01
# Four seconds of a busy mainnet: what does not get away in that time nobody needs any more.
_MOST_HEARD = 20_000
_PAUSE_SECONDS = 0.5
_SAID_EVERY_SECONDS = 30.0
_REMEMBERED_SLOTS = 64
_BLOCKHASH_CHARACTERS = 44
_WORDS = {
    SlotStatus.SLOT_FIRST_SHRED_RECEIVED: "began",
    SlotStatus.SLOT_CREATED_BANK: "began",
    SlotStatus.SLOT_PROCESSED: "processed",
    SlotStatus.SLOT_CONFIRMED: "confirmed",
    SlotStatus.SLOT_FINALIZED: "finalized",
    SlotStatus.SLOT_DEAD: "dead",
}
Heard = TransactionUpdate | BlockMetaUpdate | SlotUpdate


class Teller:
    """A thread that tells what it hears. Nobody waits for it: while Redis is away, or slow, what it
    heard is dropped, for what is finalized settles everything anyway.
    """

    def __init__(self) -> None:
        self._heard: deque[Heard] = deque()
        self._words = Words()
        self._something = threading.Event()
        self._stopping = threading.Event()
        self._dropped = 0
        self._away_since = 0.0
        self._said_at = -_SAID_EVERY_SECONDS
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Tells what it heard so far, in a moment."""
        self._stopping.set()
        self._something.set()
        self._thread.join(timeout=3.0)

    def hear(self, update: Heard) -> None:
        """Takes it, at no more cost than that."""
        if len(self._heard) >= _MOST_HEARD:
            self._dropped += 1
            return
        self._heard.append(update)
        if not self._something.is_set():
            self._something.set()

    def _run(self) -> None:
        while True:
            self._something.wait()
            self._something.clear()
            is_last = self._stopping.is_set()
            # Whoever appends meanwhile is of the next time.
            heard = [self._heard.popleft() for _ in range(len(self._heard))]
            pause = self._tell(heard)
            if is_last:
                return
            self._stopping.wait(pause)

    def _tell(self, heard: list[Heard]) -> float:
        """How long to wait until the next time."""
        try:
            tell(self._words.of(heard), now=time.time())
        except AWAY as error:
            self._dropped += len(heard)
            if not self._away_since:
                self._away_since = time.monotonic()
                log.warning("what the chain does is not told: %s", str(error).strip())
            return _PAUSE_SECONDS
        except Exception:
            log.exception("what the chain did could not be told")
            return _PAUSE_SECONDS
        self._say_what_was_dropped()
        return _GATHERING_SECONDS

    def _say_what_was_dropped(self) -> None:
        now = time.monotonic()
        if self._away_since or (self._dropped and now - self._said_at >= _SAID_EVERY_SECONDS):
            seconds = now - self._away_since if self._away_since else 0.0
            log.warning("told again after %.1f s; %d words were dropped", seconds, self._dropped)
            self._away_since, self._dropped, self._said_at = 0.0, 0, now


class Words:
    """What the stream's messages mean to who lands; simple votes, which nobody lands, to none.

    A slot is told dead also when the branch that got confirmed leaves it out: what it held will
    stand in another one, or in none.
    """

    def __init__(self) -> None:
        self._branches = Branches()
        self._begun: deque[int] = deque(maxlen=_REMEMBERED_SLOTS)

    def of(self, heard: Iterable[Heard]) -> list[Happening]:
        """In the order in which they came; transactions of a slot together."""
        told: list[Happening] = []
        seen: dict[int, list[TransactionUpdate]] = {}
        for update in heard:
            if isinstance(update, TransactionUpdate):
                self._branches.saw(update.slot, None)
                if not update.is_vote:
                    seen.setdefault(update.slot, []).append(update)
                continue
            told += map(_seen, seen.values())
            seen.clear()
            if isinstance(update, SlotUpdate):
                told += self._moved(update)
            else:
                told += self._block(update)
        told += map(_seen, seen.values())
        return told

    def _block(self, update: BlockMetaUpdate) -> Iterator[Happening]:
        self._branches.saw(update.slot, update.parent_slot)
        try:
            blockhash = b58decode(update.blockhash[:_BLOCKHASH_CHARACTERS])
        except ValueError:
            blockhash = b""
        if len(blockhash) == 32:  # else ingest refuses the slot, and says so
            yield BlockMade(update.slot, update.parent_slot, blockhash, update.height)

    def _moved(self, update: SlotUpdate) -> Iterator[Happening]:
        slot, word = update.slot, _WORDS.get(update.status)
        if word is None:
            return
        if word == "began":
            # A leader's first shred and the bank made for it say the same.
            if slot in self._begun:
                return
            self._begun.append(slot)
        if word == "dead":
            self._branches.forget(slot)
        else:
            self._branches.saw(slot, update.parent)
        yield SlotMoved(slot, word)
        if word in ("confirmed", "finalized"):
            for other in self._branches.decide(slot):
                yield SlotMoved(other, "dead")


def of_finalized(record: SlotRecord) -> list[Happening]:
    """All that there is to tell of a finalized block, wherever it came from."""
    signatures, errors = [], {}
    for place, transaction in enumerate(record.transactions):
        signatures.append(decode_wire(transaction.wire).signatures[0])
        err = (transaction.meta or {}).get("err")
        if err is not None:
            errors[place] = transaction_error_bytes(err)
    return [
        Seen(record.slot, b"".join(signatures), list(range(len(signatures))), errors),
        BlockMade(
            record.slot, record.parent_slot, b58decode(record.blockhash), record.block_height
        ),
        SlotMoved(record.slot, "finalized"),
    ]


def _seen(updates: list[TransactionUpdate]) -> Seen:
    return Seen(
        updates[0].slot,
        b"".join(update.signature for update in updates),
        [update.transaction_index for update in updates],
        {place: update.error for place, update in enumerate(updates) if update.error},
    )
