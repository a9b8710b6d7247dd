"""The messages between the follower's live feed and the processes that have subscribers."""

from enum import IntEnum

import msgspec

from chain.units import I64_MAX
from livefeed.filters import AccountFilter
from shared_state.redis_client import channel

# A process states that it is there at least so often; one that is silent for longer is forgotten.
ALIVE_SECONDS = 1.0
FORGOTTEN_SECONDS = 10.0


def asks_channel() -> str:
    """Where processes say what they want."""
    return channel("live:asks")


def hello_channel() -> str:
    """Where a feed asks for it: of all processes, or of the one that the message names."""
    return channel("live:hello")


def channel_of(process: str) -> str:
    """The channel of one process."""
    return channel(f"live:to:{process}")


class Level(IntEnum):
    """Commitments as numbers, in their order."""

    PROCESSED = 0
    CONFIRMED = 1
    FINALIZED = 2


class Kind(IntEnum):
    """What a want is of; the comment says what its key is."""

    ACCOUNT = 0  # pubkey
    PROGRAM = 1  # owner
    SIGNATURE = 2  # signature, 64 bytes
    RECEIVED = 3  # signature: as soon as its transaction comes
    LOGS = 4  # b"": all but votes
    LOGS_WITH_VOTES = 5  # b""
    MENTIONS = 6  # pubkey that a transaction names
    BLOCK = 7  # b""
    BLOCK_MENTIONS = 8  # pubkey that a transaction names
    VOTES = 9  # b""
    SLOTS = 10  # b""
    ROOTS = 11  # b""
    UPDATES = 12  # b""
    ALL_ACCOUNTS = 13  # b""
    HEADER = 14  # b"": the block's message without its transactions
    ENTRIES = 15  # b""
    ACCOUNTS_WITHIN = 16  # packed cuckoo filter of pubkeys
    MENTIONS_WITHIN = 17  # packed cuckoo filter of pubkeys that a transaction names
    TIP = 18  # b"": the block's message, whether or not the rest of the slot is there
    FOOTERS = 19  # b""


class Want(msgspec.Struct, frozen=True, array_like=True):
    """What a process wants of each slot that reaches the level. `filters` are of a program's
    accounts.
    """

    kind: Kind
    level: Level = Level.PROCESSED
    key: bytes = b""
    filters: tuple[AccountFilter, ...] = ()


class Ask(msgspec.Struct, array_like=True):
    """A process's change of wants, confirmed by an Answer of that number; 0 wants none. `whole`:
    these are all of them. `again` are wants whose slots that reached their level before are sent
    too, as far as they are kept.
    """

    process: str
    number: int = 0
    whole: bool = False
    add: list[Want] = []
    drop: list[Want] = []
    again: list[Want] = []


class Known(msgspec.Struct, array_like=True):
    """A signature that a kept slot has: the slot's level, and the transaction's packed error."""

    signature: bytes
    slot: int
    level: Level
    error: bytes
    index: int


class Answer(msgspec.Struct, array_like=True, tag="answer"):
    """The wants of an Ask count from here on. `known` are signatures among them that were seen.
    `first` is the lowest slot from which on every final slot is kept or comes, None while there is
    none; `slot` and `root` are the newest processed and final ones. Without `remembers` a signature
    that is not known may be of a final slot.
    """

    number: int
    slot: int
    root: int
    first: int | None
    known: list[Known] = []
    remembers: bool = True


class Reached(msgspec.Struct, array_like=True, tag="reached"):
    """What is wanted of a slot that reached a level: the stream's packed messages of account writes
    (the last one of each account), `indexes` of the transactions that made these (-1 for none), of
    transactions in their order and of the block. `ask` is the
    number of the Ask whose `again` this is of, 0 for what happens now. `is_whole`: nothing of
    the slot was missing. `at` is when the block's message came, in Unix seconds. The counts are of
    the whole slot, wanted or not; of failed transactions only with the block. `entries` are
    messages in their order; `has_entries`: all of them came, if they are wanted, or the slot is of
    before the stream began. `bank` is the validator's bank_id, 0 where the stream does not send it.
    `new_parents` come with the entries: messages that the block goes on from another parent.
    """

    slot: int
    parent: int | None
    level: Level
    is_whole: bool
    at: float
    ask: int = 0
    accounts: list[bytes] = []
    indexes: list[int] = []
    transactions: list[bytes] = []
    block: bytes | None = None
    transaction_count: int = 0
    account_count: int = 0
    failed_count: int = 0
    entries: list[bytes] = []
    has_entries: bool = True
    bank: int = 0
    new_parents: list[bytes] = []
    footer: bytes = b""


class Received(msgspec.Struct, array_like=True, tag="received"):
    """Wanted transactions came, in a slot that is not processed yet."""

    slot: int
    signatures: list[bytes]


class Moved(msgspec.Struct, array_like=True, tag="moved"):
    """A slot's life: `update` is its name in slotsUpdates; `at` in Unix milliseconds. `stats` are
    the transactions of a frozen one: entries, successful, failed, most in an entry. `bank` as in
    Reached.
    """

    slot: int
    parent: int | None
    root: int
    update: str
    at: int
    error: str = ""
    stats: tuple[int, int, int, int] | None = None
    bank: int = 0


class Opened(msgspec.Struct, array_like=True, tag="opened"):
    """A bank was created on its parent (slotNotification)."""

    slot: int
    parent: int
    root: int


class Rooted(msgspec.Struct, array_like=True, tag="rooted"):
    """A slot became final (rootNotification)."""

    slot: int


class Missed(msgspec.Struct, array_like=True, tag="missed"):
    """Of the final slot, or between it and the final one before, something did not come by the
    stream: what was wanted of it may not have been sent. `is_break`: that is one or more slots as
    a whole; else `accounts` are those whose last write in the slot was missing.
    """

    slot: int
    is_break: bool = False
    accounts: list[bytes] = []


# What was missed where it is not known.
EVERYTHING = Missed(I64_MAX, is_break=True)
Body = Answer | Reached | Received | Moved | Opened | Rooted | Missed


class Envelope(msgspec.Struct, array_like=True):
    """A message to one process. `feed` is another for another follower; `number` counts the
    messages to this process, so that it sees whether one is missing.
    """

    feed: int
    number: int
    body: Body


encode = msgspec.msgpack.Encoder().encode
read_ask = msgspec.msgpack.Decoder(Ask).decode
read_envelope = msgspec.msgpack.Decoder(Envelope).decode
