"""The Assembler at a node that is restarted: what came before is final once a final block descends
from it, whether the node goes on with it or makes other blocks.
"""

import random
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from chain.blocks import Granularity
from chain.units import Slot
from tests.upstream.stream_chain import Leader, Made
from tests.upstream.test_assembly import closed, fed, has_every_write, incomplete, is_block
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import Event, SlotsLost
from upstream.geyser.updates import BlockMetaUpdate, SlotUpdate, Update
from upstream.protobuf.geyser_pb2 import SlotStatus

BEGIN = 100
LAG = 5
OLD, NEW = 14, 24


@dataclass
class Process:
    """A lone validator's run: its blocks, and what it sends of them and of those before."""

    leader: Leader
    tip: list[Made]
    made: list[Made] = field(default_factory=list)
    sent: list[Update] = field(default_factory=list)

    def run(self, blocks: int) -> None:
        chance = self.leader.chance
        slot = self.tip[-1].slot + 1 if self.tip else BEGIN
        for _ in range(blocks):
            slot += chance.choice([0, 0, 0, 1, 2])
            made = self.leader.block(slot, self.tip[-1].slot if self.tip else BEGIN - 1)
            self.made.append(made)
            self.tip.append(made)
            self.sent += made.messages(chance)
            if len(self.tip) > LAG:
                final = self.tip[-1 - LAG]
                self.sent.append(SlotUpdate(final.slot, final.parent, SlotStatus.SLOT_FINALIZED))
            slot += 1


@dataclass
class Restart:
    """`cut` and `joined` are shares of what the processes send, `survivors` of the blocks that were
    not final when the first one ended; `replays`: the second one replays its blocks. `counts_on`:
    its write versions go on; `links`: a node has the blocks that the stream did not bring.
    """

    seed: int
    cut: float
    survivors: float
    joined: float
    replays: bool
    counts_on: bool
    links: bool

    def run(self) -> tuple[list[Event], list[Made], list[Made], set[Slot]]:
        """The events, the final chain, its blocks that a process sent as a whole, and those of them
        that the second one made.
        """
        chance = random.Random(self.seed)
        old = Process(Leader(chance, stores_untouched=chance.random() < 0.5), [])
        old.run(OLD)
        cut = int(len(old.sent) * self.cut)
        before = old.sent[:cut]
        finals = [e.slot for e in before if isinstance(e, SlotUpdate) and e.status == 2]
        begun = {each.slot for each in before}
        blocks = [each for each in old.made if each.slot in begun]
        final = sum(each.slot <= max(finals, default=0) for each in blocks)
        kept = blocks[: final + round((len(blocks) - final) * self.survivors)]
        leader = Leader(chance, stores_untouched=old.leader.stores_untouched)
        leader.made, leader.blockhashes = OLD, {each.slot: each.blockhash for each in kept}
        leader.version = old.leader.version if self.counts_on else chance.randint(0, 40)
        new = Process(leader, list(kept))
        new.run(NEW)

        assembler = Assembler(begin=Slot(BEGIN), stores_untouched=leader.stores_untouched)
        assembler.live_after(Slot(BEGIN - 1))
        events = fed(assembler, before)
        assembler.reconnect()
        joined = int(len(new.sent) * self.joined / 3)
        metas = [e.slot for e in new.sent[:joined] if isinstance(e, BlockMetaUpdate)]
        replay_from = assembler.replay_from
        assert replay_from is not None
        again: list[Update] = []
        if self.replays and metas:
            if replay_from < min(metas):
                assembler.begin_later(Slot(min(metas)))
            first = max(replay_from, min(metas))
            again = [e for e in new.sent[:joined] if e.slot in metas and e.slot >= first]
        else:
            # The first slot may come in part.
            while isinstance(new.sent[joined], SlotUpdate):
                joined += 1
            assembler.begin_later(Slot(new.sent[joined].slot + 1))
        assembler.live_after(max(each.slot for each in new.sent[: joined + 1]))
        chain = {each.slot: each for each in new.tip}
        for update in again + new.sent[joined:]:
            events += assembler.feed(update)
            while self.links and (unlinked := assembler.unlinked):
                made = chain[unlinked[0]].meta
                name = made.slot, made.blockhash, made.parent_slot, made.parent_blockhash
                events += assembler.link(*name)
                assert unlinked[0] not in assembler.unlinked
        came = {*before, *again, *new.sent[joined:]}
        whole = [e for e in new.tip[:-LAG] if came >= {e.meta, *e.writes, *e.transactions}]
        return events, new.tip[:-LAG], whole, {each.slot for each in new.made}


RESTARTS = st.builds(
    Restart,
    st.integers(0, 2**32),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(RESTARTS)
def test_what_closes_is_the_final_chain_and_what_does_not_is_told(restart: Restart) -> None:
    events, final, *_ = restart.run()
    found = closed(events)
    truth = {each.slot: each for each in final}
    told = incomplete(events).keys() | {
        slot
        for event in events
        if isinstance(event, SlotsLost)
        for slot in range(event.first, event.last + 1)
    }
    for slot, event in found.items():
        assert is_block(event, truth[Slot(slot)])
        if event.closed.granularity == Granularity.WRITE and event.closed.account_writes:
            assert has_every_write(event, truth[Slot(slot)])
    # The newest may still wait for what is late.
    assert truth.keys() - found.keys() - told <= {each.slot for each in final[-8:]}
    assert not found.keys() & told


@given(RESTARTS)
def test_whole_blocks_of_before_are_final_with_their_descendants(restart: Restart) -> None:
    events, final, came, new = restart.run()
    found = closed(events)
    whole = {each.slot for each in came}
    # A block that did not come has no parent, but where a node says which.
    broken = [each.slot for each in final if each.slot not in whole]
    for made in came[: -LAG - 2]:
        if restart.links or made.slot in new or made.slot > max(broken, default=0):
            assert made.slot in found
            assert found[made.slot].closed.granularity == Granularity.WRITE or made.slot in new
