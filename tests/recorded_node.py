"""A real validator that was recorded (the fixtures `agave-…`), played again: the stream of its
Yellowstone plugin, by grpcio, and the JSON-RPC that a follower needs beside it.

Nothing of the service is used for it. As with the plugin, a stream begins where the chain is, in
the middle of a slot; a replay has frozen slots alone, with the last write of each account.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from functools import cached_property, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
import zstandard

from tests.patience import PATIENCE_SECONDS
from tests.recordings import messages
from upstream.protobuf import geyser_pb2 as schema

_SERVICE = "geyser.Geyser"
_NAMED = schema.SubscribeUpdate(filters=["all"]).SerializeToString()
_STATUSES = {
    schema.SlotStatus.SLOT_PROCESSED: "processed",
    schema.SlotStatus.SLOT_CONFIRMED: "confirmed",
    schema.SlotStatus.SLOT_FINALIZED: "finalized",
}
# What a plugin sends of a slot before one of these is in no replay.
BEGINNINGS = (
    schema.SlotStatus.SLOT_FIRST_SHRED_RECEIVED,
    schema.SlotStatus.SLOT_CREATED_BANK,
)
_LEVELS = ("processed", "confirmed", "finalized")
_CONTENT = ("account", "transaction", "entry")
_PING_SECONDS = 15.0
_BYTES_A_SECOND = 20_000_000


class Message(NamedTuple):
    """What the plugin sent; `body` is without the names of filters."""

    slot: int
    kind: str
    body: bytes

    @property
    def update(self) -> Any:
        return schema.SubscribeUpdate.FromString(self.body)


# From the number of the stream, or of the node's process, and a message to those in its place.
Twist = Callable[[int, Message], Iterable[Message]]


def _as_it_came(_number: int, message: Message) -> Iterable[Message]:
    return (message,)


@dataclass(frozen=True)
class Recording:
    """A recorded node: its stream from a slot's first message on, its blocks and banks by slot."""

    version: str
    messages: list[Message]
    blocks: dict[int, dict[str, Any]]
    banks: dict[int, dict[str, Any]]

    def place(self, slot: int, share: float = 0.0) -> int:
        """How many messages come before so large a share of the slot's own."""
        own = [n for n, each in enumerate(self.messages) if each.slot == slot]
        own = [n for n in own if self.messages[n].kind != "slot"] or own
        return own[min(int(len(own) * share), len(own) - 1)] if own else len(self.messages)

    def last_final(self) -> int:
        """The newest slot that is final in it."""
        of_slots = (each.update.slot for each in self.messages if each.kind == "slot")
        return max(
            each.slot for each in of_slots if each.status == schema.SlotStatus.SLOT_FINALIZED
        )

    def of_slot(self, slot: int, kind: str) -> list[Any]:
        """The slot's updates of a kind, in the order in which they came."""
        return [getattr(each.update, kind) for each in self._places.get((slot, kind), ())]

    @cached_property
    def _places(self) -> dict[tuple[int, str], list[Message]]:
        found: dict[tuple[int, str], list[Message]] = {}
        for each in self.messages:
            found.setdefault((each.slot, each.kind), []).append(each)
        return found


def message_of(packed: bytes) -> Message | None:
    """What the plugin sent for the filters `all`; None for what is of no slot."""
    update = schema.SubscribeUpdate.FromString(packed)
    kind = update.WhichOneof("update_oneof")
    if not update.filters:
        return None
    assert packed.startswith(_NAMED)
    return Message(getattr(update, kind).slot, kind, packed[len(_NAMED) :])


def _is_late(message: Message) -> bool:
    """Whether its slot was begun and sent before."""
    return message.kind == "slot" and message.update.slot.status in _STATUSES


def load(folder: Path, first: int = 0, last: int = 1 << 62) -> Recording:
    """The recording between the first message of slot `first` and that of the slot above `last`."""
    found: list[Message] = []
    for message in filter(None, map(message_of, messages(folder))):
        if message.slot > last:
            break
        if found or (message.slot >= first and not _is_late(message)):
            found.append(message)
    blocks = json.loads(zstandard.decompress((folder / "blocks.json.zst").read_bytes()))
    banks = json.loads((folder / "banks.json").read_bytes())
    return Recording(
        folder.name.removeprefix("agave-"),
        found,
        {int(slot): block for slot, block in blocks.items()},
        {int(slot): bank for slot, bank in banks.items()},
    )


@dataclass
class _Stream:
    """A subscriber; `place` is the next one of the node's messages that it is sent, `sent` how many
    of them there were when it had all.
    """

    number: int
    place: int
    asked: SimpleQueue[Any]
    sent: int = -1
    filters: "Filters | None" = None
    # The newest request that was not refused.
    request: Any = None
    is_cut: bool = False


class RecordedNode:
    """The node as far as it was played. `kept` slots can be replayed, none with 0. `twist` is what
    becomes of messages on their way, `makes` what the node makes of them.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        kept: int = 150,
        twist: Twist = _as_it_came,
        makes: Twist = _as_it_came,
    ):
        self.recording = recording
        self.kept = kept
        self.twist = twist
        self.makes = makes
        self.restarts = 0
        self.geyser_url = self.url = ""
        # Requests that subscribed, and names of JSON-RPC methods that were called.
        self.subscribed: list[Any] = []
        self.called: list[str] = []
        self.newest = dict.fromkeys(_LEVELS, 0)
        self._happened = 0
        self._made: list[Message] = []
        self._frozen: dict[int, _Frozen] = {}
        self._begun: dict[int, _Frozen] = {}
        self._streams: list[_Stream] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self.http: _HttpServer | None = None

    def play(self, place: int | None = None, *, slot_seconds: float = 0.0) -> None:
        """Lets everything before the place happen, all without one; `slot_seconds` after each new
        slot, and longer after a large one, as it took longer there.
        """
        size = 0
        for message in self.recording.messages[self._happened : place]:
            with self._changed:
                self._happened += 1
                begins = False
                for each in self.makes(self.restarts, message):
                    begins = self._happen(each) or begins
                    self._made.append(each)
                self._changed.notify_all()
            size += len(message.body)
            if begins and slot_seconds:
                time.sleep(max(slot_seconds, size / _BYTES_A_SECOND))
                size = 0

    def joined(self) -> list[Any]:
        """What the running process sends: the request of each stream that it did not refuse."""
        with self._changed:
            streams = [each for each in self._streams if not each.is_cut]
        return [each.request for each in streams if each.request is not None]

    def cut(self) -> None:
        """Every stream breaks behind what has happened, however late this machine sends it."""
        with self._changed:
            is_sent = self._changed.wait_for(self._is_sent, PATIENCE_SECONDS)
            assert is_sent, "a subscriber does not take what happened"
            for each in self._streams:
                each.is_cut = True
                each.asked.put(None)
            self._changed.notify_all()

    def _is_sent(self) -> bool:
        made = len(self._made)
        return self._is_closed or all(each.is_cut or each.sent == made for each in self._streams)

    @contextlib.contextmanager
    def away(self, place: int) -> Iterator[None]:
        """The node is killed: for the block its ports are closed. It goes on where the chain is at
        the place, in a process whose plugin knows nothing of before.
        """
        self._close_ports()
        with self._changed:
            for each in self._streams:  # those, too, that were begun before the ports closed
                each.is_cut = True
            self.restarts += 1
            self._happened = place
            self._frozen.clear()
            self._begun.clear()
        try:
            yield
        finally:
            self.open_ports()

    def _happen(self, message: Message) -> bool:
        """Takes note of the message; True if its slot begins with it."""
        slot = message.slot
        if message.kind == "slot":
            status = message.update.slot.status
            level = _STATUSES.get(status)
            if level is not None:
                self.newest[level] = max(slot, self.newest[level])
                if slot in self._frozen:
                    self._frozen[slot].statuses.append(message)
            elif status in BEGINNINGS:
                self._begun.setdefault(slot, _Frozen())
            return level == "processed"
        begun = self._begun.get(slot)
        if begun is None:
            return False  # as its BlockMachineStorage: nothing before the status that begins a slot
        begun.add(message)
        if message.kind == "block_meta":
            count = message.update.block_meta.executed_transaction_count
            del self._begun[slot]
            if sum(each.kind == "transaction" for each in begun.content) == count:
                self._frozen[slot] = begun
                for old in sorted(self._frozen)[: -self.kept or None]:
                    del self._frozen[old]
        return False

    # --- the stream -------------------------------------------------------------------------------

    def subscribe(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        with self._changed:
            stream = _Stream(len(self._streams), len(self._made), SimpleQueue())
            self._streams.append(stream)

        def read() -> None:
            with contextlib.suppress(grpc.RpcError):
                for each in requests:
                    stream.asked.put(schema.SubscribeRequest.FromString(each))
                    with self._changed:
                        self._changed.notify_all()

        threading.Thread(target=read, daemon=True).start()
        context.add_callback(lambda: self._end(stream))
        first = stream.asked.get()
        while True:
            while first is not None or not stream.asked.empty():
                request = first if first is not None else stream.asked.get()
                first = None
                if request is not None:
                    yield from self._asked(stream, request, context)
            with self._changed:
                if stream.is_cut or self._is_closed:
                    break
                place = stream.place
                if place == len(self._made) and stream.asked.empty():
                    if stream.sent != place:
                        stream.sent = place
                        self._changed.notify_all()
                    if not self._changed.wait(_PING_SECONDS):
                        yield schema.SubscribeUpdate(ping={}).SerializeToString()
                    continue
                stream.place = len(self._made)
                sent = self._made[place : stream.place]
            assert stream.filters is not None
            for message in sent:
                if stream.is_cut:
                    break
                for each in self.twist(stream.number, message):
                    yield from stream.filters.updates(each)
        if not self._is_closed:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection is cut")

    def _end(self, stream: _Stream) -> None:
        with self._changed:
            stream.is_cut = True
            stream.asked.put(None)
            self._changed.notify_all()

    def _asked(self, stream: _Stream, request: Any, context: Any) -> Iterator[bytes]:
        if request.HasField("ping"):
            pong = schema.SubscribeUpdate(pong={"id": request.ping.id})
            yield pong.SerializeToString()
            return
        self.subscribed.append(request)
        try:
            stream.filters = Filters(request)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"failed to create filter: {error}")
        if not request.HasField("from_slot"):
            stream.request = request
            return
        if not self.kept:
            context.abort(grpc.StatusCode.INTERNAL, "from_slot is not supported")
        with self._changed:
            first = self._first_available()
            if first is not None and request.from_slot < first:
                context.abort(
                    grpc.StatusCode.OUT_OF_RANGE,
                    f"broadcast from {request.from_slot} is not available, last available: {first}",
                )
            slots = [slot for slot in sorted(self._frozen) if slot >= request.from_slot]
            past = [message for slot in slots for message in self._frozen[slot].replayed()]
        if not past:
            context.abort(grpc.StatusCode.INTERNAL, "failed to get replay response")
        stream.request = request
        for message in past:
            yield from stream.filters.updates(message)

    def _first_available(self) -> int | None:
        return min(self._frozen, default=None)

    def ask(self, name: str, packed: bytes, context: Any) -> bytes:
        """A unary call's answer."""
        answer: Any
        with self._changed:
            if name == "GetSlot":
                level = _LEVELS[schema.GetSlotRequest.FromString(packed).commitment]
                answer = schema.GetSlotResponse(slot=self.newest[level])
            elif name == "Ping":
                count = schema.PingRequest.FromString(packed).count
                answer = schema.PongResponse(count=count)
            elif name == "GetVersion":
                words = {"package": "yellowstone-grpc-geyser", "solana": self.recording.version}
                answer = schema.GetVersionResponse(version=json.dumps({"version": words}))
            else:
                # Before the first slot is frozen the plugin names the highest number that there is.
                first = self._first_available()
                first = (1 << 64) - 1 if first is None and self.kept else first
                answer = schema.SubscribeReplayInfoResponse(first_available=first)
        return bytes(answer.SerializeToString())

    # --- JSON-RPC ---------------------------------------------------------------------------------

    def call(self, method: str, params: list[Any]) -> Any:
        """The result; KeyError for a method that was not recorded, LookupError for no block."""
        self.called.append(method)
        config = next((each for each in params if isinstance(each, dict)), {})
        level = self.newest[config.get("commitment", "finalized")]
        blocks, banks = self.recording.blocks, self.recording.banks
        match method:
            case "getGenesisHash":
                return banks[0]["blockhash"]
            case "getVersion":
                return {"solana-core": self.recording.version, "feature-set": 0}
            case "getHealth":
                return "ok"
            case "getSlot":
                return level
            case "getBlockHeight":
                return blocks[level]["blockHeight"]
            case "getFirstAvailableBlock":
                return min(blocks)
            case "getBlocks":
                last = min(params[1], level)
                return [slot for slot in sorted(blocks) if params[0] <= slot <= last]
            case "getBlock":
                # In the form that was recorded, whatever encoding is asked for.
                if params[0] > level or params[0] not in blocks:
                    raise LookupError(f"Block not available for slot {params[0]}")
                block = blocks[params[0]]
                bare = config.get("transactionDetails") == "none"
                return {k: v for k, v in block.items() if not (bare and k == "transactions")}
            case "getEpochSchedule":
                return {
                    "slotsPerEpoch": 128,
                    "leaderScheduleSlotOffset": 128,
                    "warmup": False,
                    "firstNormalEpoch": 0,
                    "firstNormalSlot": 0,
                }
        raise KeyError(method)

    # --- ports ------------------------------------------------------------------------------------

    def open_ports(self) -> None:
        """Listens at `geyser_url` and `url`: the second time where it did the first time."""
        unary = ("GetSlot", "SubscribeReplayInfo", "GetVersion", "Ping")
        methods: dict[str, Any] = {
            "Subscribe": grpc.stream_stream_rpc_method_handler(self.subscribe),
            **{
                name: grpc.unary_unary_rpc_method_handler(partial(self.ask, name)) for name in unary
            },
        }
        self._grpc = grpc.server(
            futures.ThreadPoolExecutor(16),
            # A plugin's server counts no pings.
            options=[("grpc.max_send_message_length", -1), ("grpc.http2.max_ping_strikes", 0)],
        )
        handler = grpc.method_handlers_generic_handler(_SERVICE, methods)
        self._grpc.add_generic_rpc_handlers((handler,))
        port = self._grpc.add_insecure_port(f"127.0.0.1:{urlsplit(self.geyser_url).port or 0}")
        self.geyser_url = f"http://127.0.0.1:{port}"
        address = ("127.0.0.1", urlsplit(self.url).port or 0)
        self.http = _HttpServer(address, partial(_Rpc, self))
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        serve = partial(self.http.serve_forever, poll_interval=0.05)
        self._serving = threading.Thread(target=serve)
        self._grpc.start()
        self._serving.start()

    def _close_ports(self) -> None:
        self.cut()
        self._grpc.stop(None).wait()
        self.http.shutdown()
        self.http.server_close()
        self._serving.join()
        self.http = None

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
        self._close_ports()


@dataclass
class _Frozen:
    """A slot as the plugin keeps it, from its beginning on."""

    content: list[Message] = field(default_factory=list)
    metas: list[Message] = field(default_factory=list)
    statuses: list[Message] = field(default_factory=list)

    def add(self, message: Message) -> None:
        (self.content if message.kind in _CONTENT else self.metas).append(message)

    def replayed(self) -> list[Message]:
        newest: dict[bytes, tuple[int, int]] = {}
        for number, each in enumerate(self.content):
            if each.kind == "account":
                account = each.update.account.account
                version = account.write_version, number
                newest[account.pubkey] = max(version, newest.get(account.pubkey, version))
        kept = {number for _, number in newest.values()}
        content = [e for n, e in enumerate(self.content) if e.kind != "account" or n in kept]
        return [*content, *self.metas, *self.statuses]


class Filters:
    """The filters of one request: those that recorded messages can be held against."""

    def __init__(self, request: Any) -> None:
        if request.commitment != schema.CommitmentLevel.PROCESSED:
            raise ValueError("the stream was recorded at processed")
        if request.blocks or request.transactions_status or request.accounts_data_slice:
            raise ValueError("not recorded")
        if any(each.filters for each in request.accounts.values()):
            raise ValueError("accounts are chosen by account and owner alone")
        self._request = request

    def updates(self, message: Message) -> Iterator[bytes]:
        names = self.names(message)
        if names:
            yield schema.SubscribeUpdate(filters=names).SerializeToString() + message.body

    def names(self, message: Message) -> list[str]:
        """Those of the filters that the message passes."""
        asked = self._request
        match message.kind:
            case "account" if asked.accounts:
                account = message.update.account.account
                return [n for n, each in asked.accounts.items() if _takes_account(each, account)]
            case "transaction" if asked.transactions:
                info = message.update.transaction.transaction
                return [n for n, each in asked.transactions.items() if _takes(each, info)]
            case "slot" if asked.slots:
                between = message.update.slot.status not in _STATUSES
                status = message.update.slot.status
                return [
                    name
                    for name, each in asked.slots.items()
                    if (each.interslot_updates or not between)
                    and not (each.filter_by_commitment and _STATUSES.get(status) != "processed")
                ]
            case "block_meta":
                return list(asked.blocks_meta)
            case "entry":
                return list(asked.entry)
        return []


def _takes_account(wanted: Any, account: Any) -> bool:
    keys = _texts([account.pubkey, account.owner])
    return (not wanted.account or keys[0] in wanted.account) and (
        not wanted.owner or keys[1] in wanted.owner
    )


def _takes(wanted: Any, info: Any) -> bool:
    if wanted.HasField("vote") and wanted.vote != info.is_vote:
        return False
    if wanted.HasField("failed") and wanted.failed != bool(info.meta.err.err):
        return False
    loaded = [*info.meta.loaded_writable_addresses, *info.meta.loaded_readonly_addresses]
    keys = set(_texts([*info.transaction.message.account_keys, *loaded]))
    return (
        (not wanted.account_include or bool(keys & set(wanted.account_include)))
        and not keys & set(wanted.account_exclude)
        and keys >= set(wanted.account_required)
    )


def _texts(keys: Iterable[bytes]) -> list[str]:
    from solders.pubkey import Pubkey

    return [str(Pubkey(key)) for key in keys]


class _HttpServer(ThreadingHTTPServer):
    """Its end closes the connections that clients keep, whose threads would keep the recording."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for each in list(self._connections):
            with contextlib.suppress(OSError):  # it ended meanwhile
                each.shutdown(socket.SHUT_RDWR)


class _Rpc(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, node: RecordedNode, *arguments: Any) -> None:
        self._node = node
        super().__init__(*arguments)

    def do_POST(self) -> None:
        if self.server is not self._node.http:
            self.close_connection = True  # the node was killed since
            return
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        many = asked if isinstance(asked, list) else [asked]
        answers = [self._answer(each) for each in many]
        body = json.dumps(answers if isinstance(asked, list) else answers[0]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        try:
            found["result"] = self._node.call(asked["method"], asked.get("params") or [])
        except KeyError:
            found["error"] = {"code": -32601, "message": "Method not found"}
        except LookupError as error:
            found["error"] = {"code": -32004, "message": str(error.args[0])}
        return found

    def log_message(self, *_: Any) -> None:
        """Nothing of it is printed."""


@contextlib.contextmanager
def serving(node: RecordedNode) -> Iterator[RecordedNode]:
    """The node at `geyser_url` and `url`, until the end of the block."""
    node.open_ports()
    try:
        yield node
    finally:
        node.close()
