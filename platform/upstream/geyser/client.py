"""Client of one Geyser stream."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Self

from google.protobuf.message import DecodeError

from chain.units import Slot
from upstream.geyser import SERVICE
from upstream.geyser.errors import (
    FromSlotTooOld,
    Lagged,
    StreamError,
    StreamRefused,
    Unreachable,
)
from upstream.geyser.updates import (
    BadUpdate,
    EntryUpdate,
    FooterUpdate,
    ParentUpdate,
    PassedOn,
    Ping,
    Update,
    update_of,
)
from upstream.grpc import status as codes
from upstream.grpc.status import GrpcStatus
from upstream.grpc.stream import GrpcStream
from upstream.protobuf import geyser_pb2 as schema

_CONNECT_SECONDS = 10.0
# Messages that are no updates of a slot that is assembled.
_ASIDE = (Ping, EntryUpdate, FooterUpdate, ParentUpdate)
_FIRST_AVAILABLE = re.compile(r"last available: ([0-9]{1,20})\b")


class GeyserStream:
    """A subscription to every account write, transaction, block and slot status, votes included:
    a block without its votes is no block. Use it as a context manager, iterate over it once;
    iterating raises a StreamError in the end. `on_turn` is called at least every second meanwhile,
    also while nothing comes. Entries and footers are asked for only with `on_entry`, which gets
    them. Raises Unreachable without an answer.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        from_slot: Slot | None = None,
        on_turn: Callable[[], None] | None = None,
        on_entry: Callable[[PassedOn], None] | None = None,
    ) -> None:
        self._call = _call(url, "Subscribe", token)
        self._call.on_turn = on_turn
        self._on_entry = on_entry
        self._first = subscription(from_slot, entries=on_entry is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._call.__exit__()

    def close(self) -> None:
        """Ends the stream, from whatever thread."""
        self._call.close()

    def __iter__(self) -> Iterator[Update]:
        try:
            self._call.send(self._first.SerializeToString())
            for packed in self._call:
                update = update_of(packed)
                if update is None:
                    continue
                if isinstance(update, _ASIDE):
                    self._aside(update)
                    continue
                yield update
        except GrpcStatus as status:
            raise stream_error(status) from None
        except BadUpdate as error:
            raise StreamRefused(f"the stream is not of the protocol: {error}") from None

    def _aside(self, message: Ping | PassedOn) -> None:
        if isinstance(message, Ping):
            self._call.send(_PONG)
        elif self._on_entry is not None:
            self._on_entry(message)


def first_available(url: str, *, token: str = "") -> Slot | None:
    """The oldest slot that a stream can begin with; None where the server keeps none or does not
    say. Raises a StreamError.
    """
    request = schema.SubscribeReplayInfoRequest()
    answer = _ask(
        url, "SubscribeReplayInfo", token, request, schema.SubscribeReplayInfoResponse.FromString
    )
    if answer is None or not answer.HasField("first_available"):
        return None
    return Slot(answer.first_available)


def newest_slot(url: str, *, token: str = "") -> Slot | None:
    """The newest slot that the server has processed; None where it does not say. Raises a
    StreamError.
    """
    request = schema.GetSlotRequest(commitment=schema.CommitmentLevel.PROCESSED)
    answer = _ask(url, "GetSlot", token, request, schema.GetSlotResponse.FromString)
    return None if answer is None else Slot(answer.slot)


def _ask(url: str, method: str, token: str, request: Any, read: Callable[[bytes], Any]) -> Any:
    """The answer of a call that is no stream; None where the server does not have it."""
    with _call(url, method, token, whole_seconds=_CONNECT_SECONDS) as call:
        try:
            call.send(request.SerializeToString(), last=True)
            return read(next(iter(call)))
        except GrpcStatus as status:
            if status.code == codes.UNIMPLEMENTED:
                return None
            raise stream_error(status) from None
        except DecodeError:
            raise StreamRefused("the answer is not of the protocol") from None


def subscription(from_slot: Slot | None, *, entries: bool = False) -> Any:
    """The request for everything, at processed: no other commitment carries every write."""
    request = schema.SubscribeRequest(commitment=schema.CommitmentLevel.PROCESSED)
    request.accounts["a"].SetInParent()
    request.transactions["t"].SetInParent()
    request.blocks_meta["b"].SetInParent()
    request.slots["s"].interslot_updates = True
    if entries:
        request.entry["e"].include_update_parent = True
        request.block_footer["f"].include_certificates = True
    if from_slot is not None:
        request.from_slot = from_slot
    return request


def _pong() -> bytes:
    """The answer to the server's ping: a request of nothing but one of our own."""
    request = schema.SubscribeRequest()
    request.ping.id = 1
    return bytes(request.SerializeToString())


_PONG = _pong()


def stream_error(status: GrpcStatus) -> StreamError:
    """What a server's status means for who reads its stream."""
    described, text = str(status), status.text
    match status.code:
        case codes.OK:
            return Unreachable("the server ended the stream")
        case codes.OUT_OF_RANGE:
            found = _FIRST_AVAILABLE.search(text)
            return FromSlotTooOld(described, Slot(int(found[1])) if found else None)
        case codes.INTERNAL if "lagged" in text.lower():
            return Lagged(described)
        case codes.INTERNAL if "from_slot" in text:
            return FromSlotTooOld(described, None, keeps_none=True)
        case codes.RESOURCE_EXHAUSTED | codes.DATA_LOSS:
            return Lagged(described)
        case (
            codes.UNAUTHENTICATED
            | codes.PERMISSION_DENIED
            | codes.INVALID_ARGUMENT
            | codes.UNIMPLEMENTED
            | codes.NOT_FOUND
        ):
            return StreamRefused(described)
    return Unreachable(described)


def _call(url: str, method: str, token: str, **limits: float) -> GrpcStream:
    metadata = {"x-token": token} if token else {}
    try:
        return GrpcStream(url, f"/{SERVICE}/{method}", metadata=metadata, **limits)
    except GrpcStatus as status:
        raise stream_error(status) from None
