"""What a running node sends and stores, as a recording that the service is held against."""

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import grpc

from tests.clients.chain_endpoints import of_localnet
from tests.localnet_process import Localnet
from tests.real.validator import Validator
from tests.recorded_doors import WHOLE
from tests.recorded_node import Message, Recording, message_of
from upstream.protobuf import geyser_pb2 as schema


class Listener:
    """Everything that the node's own stream sends, from joining it on, until the node ends."""

    def __init__(self, node: Localnet) -> None:
        self._node = node
        self._ended = threading.Event()
        self._joined = threading.Event()
        self.messages: list[Message] = []
        self.failure: list[grpc.RpcError] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> "Listener":
        self._thread.start()
        self._joined.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def recording(self, version: str, last: int) -> Recording:
        """What was sent so far; of whole slots from the first one on, up to the last, the blocks
        and the banks.
        """
        assert not self.failure, self.failure
        heard = list(self.messages)
        first = heard[0].slot + 1
        slots = self._node.call("getBlocks", first, last)
        blocks = of_localnet(self._node, [("getBlock", slot, WHOLE) for slot in slots])
        banks = self._node.banks() if isinstance(self._node, Validator) else {}
        banks[0] = {**banks.get(0, {}), "blockhash": self._node.call("getGenesisHash")}
        return Recording(version, heard, dict(zip(slots, blocks, strict=True)), banks)

    def _listen(self) -> None:
        request = schema.SubscribeRequest(commitment=schema.CommitmentLevel.PROCESSED)
        for each in (request.accounts, request.transactions, request.entry, request.blocks_meta):
            each["all"].SetInParent()
        request.slots["all"].interslot_updates = True

        def requests() -> Iterator[Any]:
            yield request
            self._ended.wait()

        options = [("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(
            f"127.0.0.1:{self._node.geyser_port}", options=options
        ) as channel:
            call = channel.stream_stream(
                "/geyser.Geyser/Subscribe",
                request_serializer=schema.SubscribeRequest.SerializeToString,
            )(requests())

            def end() -> None:
                self._ended.wait()
                call.cancel()

            threading.Thread(target=end, daemon=True).start()
            try:
                for packed in call:
                    message = message_of(packed)
                    if message is not None:
                        self.messages.append(message)
                        self._joined.set()
            except grpc.RpcError as error:
                if not self._ended.is_set():
                    self.failure.append(error)
            finally:
                self._joined.set()
