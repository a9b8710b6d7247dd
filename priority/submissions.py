"""Accepted submissions as they wait in Redis for a lander, and their states."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from shared_state.redis_client import NAMESPACE

# A stream; its consumer group, and its fields: a packed Accepted, and what decides its turn.
ACCEPTED_STREAM = f"{NAMESPACE}landing:accepted"
LANDERS = "landers"
FIELD = "s"
TIER_FIELD = "t"
LAMPORTS_FIELD = "l"
# The name of all block engines in a caller's selection.
BUNDLE_NAME = "bundle"


class State(StrEnum):
    """How far a submission has come."""

    RECEIVED = "received"  # accepted, durable
    SENT = "sent"  # at least one upstream has it
    LANDED = "landed"  # in a block, as deep as `commitment` says
    FAILED = "failed"  # in a block, with an error
    EXPIRED = "expired"  # in no block, and can never be
    REFUSED = "refused"  # likewise, and no upstream ever took it


# Django's choices.
STATES = [(state.value, state.value) for state in State]


# In a block, with or without an error; and with those that can never be in one: settled.
IN_A_BLOCK = (State.LANDED, State.FAILED)
SETTLED = (*IN_A_BLOCK, State.EXPIRED, State.REFUSED)


def landed_share(states: Mapping[str, int]) -> float | None:
    """Of the settled submissions, the share that landed: in a block, without an error. None where
    none settled. What every page and metric calls landed (docs/landing.md).
    """
    settled = sum(states.get(state, 0) for state in SETTLED)
    return states.get(State.LANDED, 0) / settled if settled else None


def sending(state: str, stopped: str, *, settled: bool) -> str | None:
    """Whether it is sent: `active` or `stopped`; None in a block, and once it is final."""
    if settled or state in IN_A_BLOCK:
        return None
    return "stopped" if stopped else "active"


class Tip(msgspec.Struct, frozen=True, array_like=True):
    """The first qualifying tip: lamports to an address by an instruction of a transaction."""

    pubkey: bytes
    lamports: int
    transaction_index: int
    instruction_index: int


class Accepted(msgspec.Struct, frozen=True, array_like=True):
    """A transaction (`wires` has one), a bundle (1 to 4), or a sweep of our own, without a tip.

    `signatures` are the first of each transaction; `received_at` is in Unix seconds, when the
    request came; `only` names the chosen upstreams in lower case, empty: all of the tier.
    """

    kind: str  # models.Submission.Kind
    signatures: list[bytes]
    wires: list[bytes]
    received_at: float
    key_id: int | None
    tier: str
    edge: str
    request_id: str
    tip: Tip | None = None
    max_retries: int | None = None
    only: list[str] = []
    bundle_id: str = ""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Accepted).decode


_TIP = Accepted.__struct_fields__.index("tip")
# How msgpack begins an array of so many.
_ARRAY = bytes((0x90 + len(Accepted.__struct_fields__),))
assert len(Accepted.__struct_fields__) < 16


def pack(accepted: Accepted) -> bytes:
    head, tail = pack_around_tip(accepted)
    return head + pack_tip(accepted.tip) + tail


def pack_around_tip(accepted: Accepted) -> tuple[bytes, bytes]:
    """What stands before and behind the packed tip, which is chosen where the addresses are looked
    up.
    """
    packed = [_encode(getattr(accepted, name)) for name in Accepted.__struct_fields__]
    return _ARRAY + b"".join(packed[:_TIP]), b"".join(packed[_TIP + 1 :])


def pack_tip(tip: Tip | None) -> bytes:
    return _encode(tip)


def unpack(packed: bytes) -> Accepted:
    """Raises msgspec.MsgspecError for what is none."""
    return _decode(packed)


def queue_milliseconds(accepted_at: datetime | None, sent_at: datetime | None) -> int | None:
    """How long a submission waited to be sent; None where it was not, or before it was accepted."""
    if accepted_at is None or sent_at is None or sent_at < accepted_at:
        return None
    return round((sent_at - accepted_at).total_seconds() * 1_000)


def pending_names(bundle_id: str, signatures: Sequence[bytes]) -> list[bytes]:
    """The names under which Redis remembers a submission."""
    return [*([bytes.fromhex(bundle_id)] if bundle_id else []), *signatures]


def pending_key(signature: bytes) -> str:
    """Redis has it from acceptance until the fate is settled, and some time more: the same
    transaction is not accepted twice meanwhile.
    """
    return f"{NAMESPACE}landing:known:{signature.hex()}"
