"""Faults that localnet injects on demand, to test its clients."""

from dataclasses import dataclass


@dataclass(slots=True)
class Faults:
    """Set through the JSON-RPC method `setFaults` of localnet's own port, field by field in
    camelCase; each works from the next slot or message on. Counts fall to 0 as they are used up.

    - skip_slots: so many next slots get no block.
    - fork_slots: the next block starts a fork of so many slots that dies: its slots are streamed,
      then marked dead or left behind, and the chain goes on from the block before it.
    - two_banks: so many next slots are executed twice; the bank that is dropped is streamed before
      the block, with two_banks_later after it, and with two_banks_freeze to its end, else until the
      middle. No status says that it was dropped.
    - bank_ids: which messages of the stream name their bank: "none", "blocks" (block messages), or
      "all" but the statuses FIRST_SHRED_RECEIVED, COMPLETED and DEAD.
    - drop_streams: every open Geyser stream is cut, once.
    - refuse_streams: new Geyser streams are answered UNAVAILABLE while it is set.
    - duplicate_percent, reorder_percent, lose_percent: of the stream's account and transaction
      messages, how many are sent twice, are held back behind a few later ones, are not sent at all.
    - corrupt_write, lose_write: so many next account writes of transactions are streamed with a
      lamport too many, or not at all, in blocks that count what was streamed. Replays have them.
    - forged_votes: of so many validators, the first ones, another key signs the votes while it is
      set. localnet runs them all the same.
    - replay_last_writes: a from_slot replay has only the last write of each account and slot, as
      the open-source server does it; else every one.
    - replay_slots: how many slots back from_slot can reach; more in a chain's first minutes.
    - tpu: "ok", "slow" (a stream is read after tpu_delay_seconds), "refuse" (connections are
      closed with code 2).
    """

    skip_slots: int = 0
    fork_slots: int = 0
    two_banks: int = 0
    two_banks_later: bool = False
    two_banks_freeze: bool = False
    bank_ids: str = "none"
    drop_streams: bool = False
    refuse_streams: bool = False
    duplicate_percent: float = 0.0
    reorder_percent: float = 0.0
    lose_percent: float = 0.0
    corrupt_write: int = 0
    lose_write: int = 0
    forged_votes: int = 0
    replay_last_writes: bool = False
    replay_slots: int = 150
    tpu: str = "ok"
    tpu_delay_seconds: float = 1.0
