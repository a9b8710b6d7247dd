"""A searcher that calls a block engine's gRPC with grpcio."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import Message
from solders.keypair import Keypair

from tests.patience import PATIENCE_SECONDS
from upstream.protobuf import auth_pb2, searcher_pb2


class Searcher:
    """One channel; `token` is sent with each call."""

    def __init__(self, address: str, token: str = "") -> None:
        self.channel = grpc.insecure_channel(address)
        self.token = token

    def call(self, method: str, request: Message, answer: Any, service: str = "") -> Any:
        """The answer; grpc.RpcError."""
        unary = self.channel.unary_unary(
            f"/{service or 'searcher.SearcherService'}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return unary(request, timeout=PATIENCE_SECONDS, metadata=self._metadata())

    def auth(self, method: str, request: Message, answer: Any) -> Any:
        return self.call(method, request, answer, "auth.AuthService")

    def send(self, *wires: bytes) -> str:
        """The bundle's id."""
        request = searcher_pb2.SendBundleRequest()
        for wire in wires:
            request.bundle.packets.add().data = wire
        answer = self.call("SendBundle", request, searcher_pb2.SendBundleResponse)
        found: str = answer.uuid
        return found

    @contextmanager
    def results(self) -> Iterator["queue.Queue[Any]"]:
        """The bundles' results from now on."""
        from upstream.protobuf import bundle_pb2

        stream = self.channel.unary_stream(
            "/searcher.SearcherService/SubscribeBundleResults",
            request_serializer=searcher_pb2.SubscribeBundleResultsRequest.SerializeToString,
            response_deserializer=bundle_pb2.BundleResult.FromString,
        )(searcher_pb2.SubscribeBundleResultsRequest(), metadata=self._metadata())
        stream.initial_metadata()
        found: queue.Queue[Any] = queue.Queue()

        def read() -> None:
            try:
                for each in stream:
                    found.put(each)
            except grpc.RpcError as error:
                found.put(error)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            stream.cancel()
            thread.join(PATIENCE_SECONDS)

    def prove(self, keypair: Keypair) -> Any:
        """Takes a token for the key; the answer with both."""
        asked = self.auth(
            "GenerateAuthChallenge",
            auth_pb2.GenerateAuthChallengeRequest(
                role=auth_pb2.SEARCHER, pubkey=bytes(keypair.pubkey())
            ),
            auth_pb2.GenerateAuthChallengeResponse,
        )
        text = f"{keypair.pubkey()}-{asked.challenge}"
        answer = self.tokens(keypair, text, bytes(keypair.sign_message(text.encode())))
        self.token = answer.access_token.value
        return answer

    def tokens(self, keypair: Keypair, challenge: str, signature: bytes) -> Any:
        return self.auth(
            "GenerateAuthTokens",
            auth_pb2.GenerateAuthTokensRequest(
                challenge=challenge,
                client_pubkey=bytes(keypair.pubkey()),
                signed_challenge=signature,
            ),
            auth_pb2.GenerateAuthTokensResponse,
        )

    def close(self) -> None:
        self.channel.close()

    def _metadata(self) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.token}")] if self.token else []
