"""Random chains as the messages of a stream, for the tests of what assembles them."""

import random
from dataclasses import dataclass, field

from chain.encodings import b58encode
from chain.units import Slot
from upstream.geyser.slot_buffers import EVERY_SLOT
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    SlotUpdate,
    TransactionUpdate,
    Update,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

FIRST = Slot(100)


@dataclass
class Made:
    """A block that a leader made: its messages but for statuses."""

    slot: Slot
    parent: Slot
    blockhash: str
    meta: BlockMetaUpdate
    transactions: list[TransactionUpdate]
    writes: list[AccountUpdate]

    def messages(self, chance: random.Random) -> list[Update]:
        statuses = (
            SlotStatus.SLOT_FIRST_SHRED_RECEIVED,
            SlotStatus.SLOT_CREATED_BANK,
            SlotStatus.SLOT_COMPLETED,
        )
        opening = [SlotUpdate(self.slot, self.parent, status) for status in statuses[:2]]
        body: list[Update] = [*self.writes, *self.transactions]
        chance.shuffle(body)
        closing = [
            SlotUpdate(self.slot, self.parent, statuses[2]),
            self.meta,
            SlotUpdate(self.slot, self.parent, SlotStatus.SLOT_PROCESSED),
        ]
        return [*opening, *body, *closing]

    def last_writes(self) -> list[AccountUpdate]:
        newest: dict[bytes, AccountUpdate] = {}
        for write in self.writes:
            if (
                write.pubkey not in newest
                or newest[write.pubkey].write_version < write.write_version
            ):
                newest[write.pubkey] = write
        return list(newest.values())


@dataclass
class Chain:
    """A chain with forks. `final` are the blocks of the finalized branch, ascending."""

    first: Slot = FIRST
    final: list[Made] = field(default_factory=list)
    sent: list[Update] = field(default_factory=list)


class Leader:
    """Makes blocks of one validator: versions rise over all of them. One that does not store what
    a transaction left untouched leaves out half of such writes here, for the others were touched.
    """

    def __init__(self, chance: random.Random, *, stores_untouched: bool = True) -> None:
        self.chance = chance
        self.stores_untouched = stores_untouched
        self.version = 0
        self.made = 0
        # By slot, of the newest block of each.
        self.blockhashes: dict[int, str] = {}

    def block(self, slot: int, parent: int, *, most_transactions: int = 4) -> Made:
        chance = self.chance
        self.made += 1
        unique = f"{slot}.{self.made}"
        blockhash = b58encode(unique.encode().rjust(32, b"\x01"))
        writes: list[AccountUpdate] = []

        def write(pubkey: bytes, signature: bytes) -> None:
            self.version += 1
            packed = b"%d:%s:%d" % (slot, pubkey[-2:], self.version)
            writes.append(AccountUpdate(Slot(slot), pubkey, self.version, signature, packed))

        for sysvar in EVERY_SLOT:
            write(sysvar, b"")
        transactions = []
        for index in range(chance.randint(0, most_transactions)):
            signature = f"{unique}.{index}".encode().rjust(64, b"\x02")
            pubkeys = tuple(
                bytes([number + 10]) * 32
                for number in chance.sample(range(5), chance.randint(1, 3))
            )
            sure = chance.randint(1, len(pubkeys))
            for place, pubkey in enumerate(pubkeys):
                if place < sure or self.stores_untouched or chance.random() < 0.5:
                    write(pubkey, signature)
            packed = b"t:" + signature[-12:]
            transactions.append(
                TransactionUpdate(
                    Slot(slot), index, signature, pubkeys[:sure], None, packed, pubkeys[sure:]
                )
            )
        rewarded: tuple[tuple[bytes, bool], ...] = ()
        if transactions:
            leader = bytes([9]) * 32
            write(leader, b"")
            rewarded = ((leader, True),)
        meta = BlockMetaUpdate(
            Slot(slot),
            Slot(parent),
            blockhash,
            self.blockhashes.get(parent, ""),
            len(transactions),
            rewarded,
            blockhash.encode(),
        )
        self.blockhashes[slot] = blockhash
        return Made(Slot(slot), Slot(parent), blockhash, meta, transactions, writes)


def random_chain(
    seed: int, *, blocks: int = 20, lag: int = 3, stores_untouched: bool = True
) -> Chain:
    """Blocks with skipped slots, forks that are left behind and slots that die and come again;
    each is finalized `lag` blocks after it was made.
    """
    chance = random.Random(seed)
    leader = Leader(chance, stores_untouched=stores_untouched)
    chain = Chain()
    slot, parent = int(chain.first), int(chain.first) - 1
    pending: list[Made] = []
    for _ in range(blocks):
        if chance.random() < 0.15:
            slot += chance.randint(1, 3)
        if chance.random() < 0.15:  # a branch that nobody builds on
            fork_parent = parent
            for _ in range(chance.randint(1, 2)):
                fork = leader.block(slot, fork_parent)
                chain.sent += fork.messages(chance)
                if chance.random() < 0.5:
                    chain.sent.append(
                        SlotUpdate(fork.slot, fork.parent, SlotStatus.SLOT_DEAD, "invalid")
                    )
                fork_parent = slot
                slot += 1
        if chance.random() < 0.1:  # a block that dies, and its slot comes again
            dead = leader.block(slot, parent)
            messages = dead.messages(chance)
            chain.sent += messages[: chance.randint(1, len(messages))]
            chain.sent.append(SlotUpdate(dead.slot, None, SlotStatus.SLOT_DEAD, "too many"))
        made = leader.block(slot, parent)
        chain.sent += made.messages(chance)
        pending.append(made)
        if chance.random() < 0.8:
            chain.sent.append(SlotUpdate(made.slot, made.parent, SlotStatus.SLOT_CONFIRMED))
        if len(pending) > lag:
            oldest = pending.pop(0)
            chain.final.append(oldest)
            if chance.random() < 0.8:
                chain.sent.append(SlotUpdate(oldest.slot, oldest.parent, SlotStatus.SLOT_FINALIZED))
        parent, slot = slot, slot + 1
    last = chain.final[-1]
    chain.sent.append(SlotUpdate(last.slot, last.parent, SlotStatus.SLOT_FINALIZED))
    return chain


def nearby_shuffled(messages: list[Update], chance: random.Random, reach: int) -> list[Update]:
    """The messages, each moved by at most about `reach` places, none past the death of a slot: a
    write that arrives after it could be of the next block as well.
    """
    result: list[Update] = []
    run: list[Update] = []
    for message in [*messages, None]:
        is_end = message is None or (
            isinstance(message, SlotUpdate) and message.status == SlotStatus.SLOT_DEAD
        )
        if not is_end:
            assert message is not None
            run.append(message)
            continue
        keyed = [(place + chance.uniform(0, reach), place) for place in range(len(run))]
        result += [run[place] for _, place in sorted(keyed)]
        run = []
        if message is not None:
            result.append(message)
    return result
