"""The follower: finalized slots from one or several streams to the slot sender."""

import logging
import threading
import time
from collections.abc import Sequence

from django.db import connection

from embedded.notify import progress
from ingest.chain_identity import SameChain
from ingest.errors import AnotherBlock, ChainBroken
from ingest.event_publisher import EventPublisher
from ingest.joining import JoinedStreams
from ingest.repair import SlotRepairer
from ingest.slot_sender import SlotSender
from ingest.sources import Stream
from ingest.stream_reader import StreamReader
from livefeed.feed import Held, LiveFeed
from shared_state.pace import silence_seconds
from upstream.node import Node

log = logging.getLogger(__name__)

_TURN_SECONDS = 0.5
# Shares of the assemblers' memory: slots held for a replay, and what a replay assembles.
_HELD_SHARE = 4
_REPLAY_BYTES = 256 * 1_048_576


class Follower:
    """`run` until `stop`. Each stream has a thread that reads and assembles it, and one more
    repairs incomplete slots; the sender and the publisher have threads of their own.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        node: Node | None,
        sender: SlotSender,
        publisher: EventPublisher,
        live: LiveFeed,
        *,
        assembler_bytes: int,
    ) -> None:
        self._streams = streams
        self._sender = sender
        self._joined = JoinedStreams(
            len(streams),
            sender,
            publisher,
            live,
            limit_bytes=assembler_bytes // _HELD_SHARE,
            is_blockhash=self._is_hash,
            on_change=self._update_state,
        )
        same_chain = SameChain(node, self._joined.blockhash, self._is_first)
        self._readers = [
            StreamReader(
                number,
                stream,
                node,
                self._joined,
                same_chain,
                is_one_of_several=len(streams) > 1,
                assembler_bytes=assembler_bytes // len(streams),
            )
            for number, stream in enumerate(streams)
        ]
        live.held = self._held
        stores_untouched = lambda: self._readers[0].stores_untouched  # noqa: E731
        self._repairer = SlotRepairer(
            streams,
            self._joined,
            stores_untouched=stores_untouched,
            limit_bytes=min(_REPLAY_BYTES, assembler_bytes),
        )
        self._joined.on_incomplete = self._repairer.wake
        self._joined.stores_untouched = live.stores_untouched = stores_untouched
        self._failures: dict[int, BaseException] = {}
        self._stopping = threading.Event()
        self._changed = threading.Event()

    def stop(self) -> None:
        """For any thread or signal handler."""
        self._stopping.set()
        self._sender.release()
        self._changed.set()
        for reader in self._readers:
            reader.stop()

    def run(self) -> None:
        """Follows until `stop`. Raises what no new connection can repair."""
        threads = [
            threading.Thread(target=self._read, args=(number,), name=f"stream-{number}")
            for number in range(len(self._readers))
        ]
        for thread in threads:
            thread.daemon = True
            thread.start()
        self._repairer.start()
        try:
            while not self._stopping.is_set():
                self._changed.wait(_TURN_SECONDS)
                self._changed.clear()
                alive = [r for n, r in enumerate(self._readers) if n not in self._failures]
                if all(reader.is_alive() for reader in alive):
                    progress()
                self._joined.turn()
                self._update_state()
                if self._sender.failure is not None:
                    raise self._sender.failure
                self._check_failures()
        finally:
            self.stop()
            for thread in threads:
                thread.join()
            self._repairer.stop()

    def _check_failures(self) -> None:
        """Raises what ended a reader, unless only that stream is at fault and others go on."""
        failures = list(self._failures.values())
        for failure in failures:
            if not isinstance(failure, ChainBroken) or len(failures) == len(self._readers):
                raise failure

    def _read(self, number: int) -> None:
        reader = self._readers[number]
        try:
            reader.run()
        except AnotherBlock as error:
            self._failures[number] = ChainBroken(f"the {reader.name}: {error}")
        except BaseException as error:
            self._failures[number] = error
        finally:
            failure = self._failures.get(number)
            if failure is not None:
                reader.problem, reader.connected_since = str(failure), 0.0
                if len(self._readers) > 1 and isinstance(failure, ChainBroken):
                    log.error("the %s is no longer followed: %s", reader.name, failure)
                    self._joined.set_connected(number, False)
            self._changed.set()
            connection.close()

    def _update_state(self) -> None:
        """Chooses the leading stream and updates the published state."""
        now, state = time.monotonic(), self._sender.state
        connected = [reader for reader in self._readers if reader.connected_since]
        silence = silence_seconds()
        active = [reader for reader in connected if now - reader.heard_at < silence]
        leader = next(iter(active or connected), self._readers[0])
        for reader in self._readers:
            reader.leads = reader is leader
        state.connected_since = min((reader.connected_since for reader in connected), default=0.0)
        state.streams, state.streams_connected = len(self._readers), len(connected)
        problems = [reader.problem for reader in self._readers if reader.problem]
        state.problem = "; ".join(dict.fromkeys(problems))

    def _held(self) -> Held:
        found = [reader.held() for reader in self._readers]
        return max(root for root, _ in found), [each for _, held in found for each in held]

    def _is_hash(self, value: bytes) -> bool:
        return any(reader.is_blockhash(value) for reader in self._readers)

    def _is_first(self, number: int) -> bool:
        """Whether no stream before it in the list is connected, and none was followed yet."""
        earlier = any(reader.connected_since for reader in self._readers[:number])
        return not earlier and not self._joined.any_connected()
