"""Client of a block engine's gRPC: bundles, their results, and its tip accounts."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError, Message
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from upstream.block_engine import GRPC_URLS, BundleWord
from upstream.foreign_text import fit
from upstream.grpc.channel import Channel
from upstream.grpc.status import (
    ALREADY_EXISTS,
    CANCELLED,
    DEADLINE_EXCEEDED,
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    OUT_OF_RANGE,
    UNAUTHENTICATED,
    UNAVAILABLE,
    GrpcStatus,
)
from upstream.http.errors import BadAddress
from upstream.protobuf import auth_pb2, bundle_pb2, searcher_pb2
from upstream.submitting import NoAnswer, Refused, SubmitError, Unwilling

log = logging.getLogger(__name__)

_MOST_WORDS = 10_000
_LONGEST_TEXT = 250
# Before a token expires it is renewed; after results ended they are asked for again.
_RENEWED_SECONDS = 60.0
_AGAIN_SECONDS = 2.0
_ABOUT_THE_BUNDLE = {INVALID_ARGUMENT, FAILED_PRECONDITION, ALREADY_EXISTS, OUT_OF_RANGE}
_NO_ANSWER = {DEADLINE_EXCEEDED, UNAVAILABLE, CANCELLED}
_INVALID_PARAMS = -32602


class SearcherEngine:
    """One block engine at grpc://host:port, or grpcs:// for TLS. For one event loop. With a
    `keypair` it proves that key first, and its calls carry tokens.
    """

    def __init__(self, url: str, *, seconds: float, keypair: Keypair | None = None) -> None:
        self.name, place = _place(url)
        self._channel = Channel(place)
        self._seconds = seconds
        self._keypair = keypair
        self._words: OrderedDict[str, BundleWord] = OrderedDict()
        self._sending: set[asyncio.Task[None]] = set()
        self._results: asyncio.Task[None] | None = None
        self._access: Any = None
        self._refresh: Any = None
        self._proving = asyncio.Lock()

    def start_bundle(
        self, wires: Sequence[bytes], done: Callable[[str | SubmitError], None]
    ) -> None:
        """Sends; `done` is called once with the bundle's id with the engine, which means that it is
        in the auction, or with why it is not; never before this has returned.
        """
        request = searcher_pb2.SendBundleRequest()
        request.bundle.header.ts.GetCurrentTime()
        for wire in wires:
            packet = request.bundle.packets.add()
            packet.data = wire
            packet.meta.size = len(wire)

        async def send() -> None:
            try:
                answer = await self._call("SendBundle", request, searcher_pb2.SendBundleResponse)
                done(fit(answer.uuid, 128))
            except SubmitError as error:
                done(error)

        task = asyncio.get_running_loop().create_task(send())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def tip_accounts(self) -> list[Pubkey]:
        """The accounts on which a tip counts. Raises SubmitError."""
        request = searcher_pb2.GetTipAccountsRequest()
        found = await self._call("GetTipAccounts", request, searcher_pb2.GetTipAccountsResponse)
        try:
            return [Pubkey.from_string(each) for each in found.accounts]
        except ValueError:
            raise NoAnswer("GetTipAccounts answered no addresses") from None

    async def inflight(self, bundle_ids: Sequence[str]) -> dict[str, BundleWord]:
        """What the engine has reported of the bundles so far; nothing is asked."""
        return {each: self._words[each] for each in bundle_ids if each in self._words}

    async def warm(self) -> None:
        """Is connected, and reads results; never raises."""
        if self._results is None or self._results.done():
            self._results = asyncio.get_running_loop().create_task(self._read_results())

    async def close(self) -> None:
        tasks = [*self._sending] + ([self._results] if self._results else [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._channel.close()

    # --- results ----------------------------------------------------------------------------------

    async def _read_results(self) -> None:
        """Until the stream ends; the next `warm` after some seconds opens another."""
        try:
            metadata = await self._metadata()
            path = "/searcher.SearcherService/SubscribeBundleResults"
            async for data in self._channel.stream(path, b"", metadata=metadata):
                self._note(bundle_pb2.BundleResult.FromString(data))
        except (SubmitError, DecodeError) as error:
            log.debug("the results of %s ended: %s", self.name, error)
        except GrpcStatus as error:
            self._forget_token(error)
            log.debug("the results of %s ended: %s", self.name, error)
        await asyncio.sleep(_AGAIN_SECONDS)

    def _note(self, result: Any) -> None:
        bundle_id = fit(result.bundle_id, 128)
        self._words[bundle_id] = _word(result)
        self._words.move_to_end(bundle_id)
        while len(self._words) > _MOST_WORDS:
            self._words.popitem(last=False)

    # --- calls ------------------------------------------------------------------------------------

    async def _call(self, method: str, request: Message, answer: Any) -> Any:
        """Raises SubmitError. A token that the engine has forgotten is renewed once."""
        service = "searcher.SearcherService"
        token, metadata = self._access, await self._metadata()
        try:
            return await self._asked(service, method, request, answer, metadata)
        except Unwilling:
            if token is None or self._access is not None:
                raise
        return await self._asked(service, method, request, answer, await self._metadata())

    async def _asked(
        self,
        service: str,
        method: str,
        request: Message,
        answer: Any,
        metadata: Mapping[str, str] | None = None,
    ) -> Any:
        try:
            data = await self._channel.unary(
                f"/{service}/{method}",
                request.SerializeToString(),
                metadata=metadata or {},
                seconds=self._seconds,
            )
            return answer.FromString(data)
        except GrpcStatus as error:
            self._forget_token(error)
            raise _fault(method, error) from None
        except DecodeError:
            raise NoAnswer(f"{method}: the answer is no {answer.DESCRIPTOR.name}") from None

    def _forget_token(self, error: GrpcStatus) -> None:
        if error.code == UNAUTHENTICATED:
            self._access = self._refresh = None

    async def _metadata(self) -> dict[str, str]:
        """The access token, where a key is to be proven. Raises SubmitError."""
        if self._keypair is None:
            return {}
        async with self._proving:
            if not _lasts(self._access):
                self._access = await self._new_token(self._keypair)
        return {"authorization": f"Bearer {self._access.value}"}

    async def _new_token(self, keypair: Keypair) -> Any:
        if _lasts(self._refresh):
            request = auth_pb2.RefreshAccessTokenRequest(refresh_token=self._refresh.value)
            try:
                answer = await self._auth(
                    "RefreshAccessToken", request, auth_pb2.RefreshAccessTokenResponse
                )
                return answer.access_token
            except (Unwilling, Refused):
                self._refresh = None  # it forgot us: from the beginning
        pubkey = keypair.pubkey()
        asked = await self._auth(
            "GenerateAuthChallenge",
            auth_pb2.GenerateAuthChallengeRequest(role=auth_pb2.SEARCHER, pubkey=bytes(pubkey)),
            auth_pb2.GenerateAuthChallengeResponse,
        )
        challenge = f"{pubkey}-{asked.challenge}"
        given = await self._auth(
            "GenerateAuthTokens",
            auth_pb2.GenerateAuthTokensRequest(
                challenge=challenge,
                client_pubkey=bytes(pubkey),
                signed_challenge=bytes(keypair.sign_message(challenge.encode())),
            ),
            auth_pb2.GenerateAuthTokensResponse,
        )
        self._refresh = given.refresh_token
        return given.access_token

    async def _auth(self, method: str, request: Message, answer: Any) -> Any:
        return await self._asked("auth.AuthService", method, request, answer)


def _place(url: str) -> tuple[str, str]:
    """Name and http or https URL. Raises BadAddress."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise BadAddress(f"{url}: not a port") from None
    if not url.startswith(GRPC_URLS) or not parts.hostname or parts.username:
        raise BadAddress(f"{url}: expected grpc://host:port or grpcs://host, without a user")
    if parts.path not in ("", "/") or parts.query:
        raise BadAddress(f"{url}: gRPC has no path and no query")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    name = f"{host}:{port}" if port else host
    return name, f"{'https' if parts.scheme == 'grpcs' else 'http'}://{name}"


def _lasts(token: Any) -> bool:
    if token is None:
        return False
    return bool(token.expires_at_utc.seconds - time.time() > _RENEWED_SECONDS)


def _fault(method: str, error: GrpcStatus) -> SubmitError:
    text = fit(error.text or str(error), _LONGEST_TEXT)
    if error.code in _ABOUT_THE_BUNDLE:
        return Refused(_INVALID_PARAMS, text)
    if error.code == DEADLINE_EXCEEDED:
        return NoAnswer(f"{method}: no answer in time")
    if error.code in _NO_ANSWER:
        return NoAnswer(f"{method}: {text}")
    return Unwilling(fit(str(error), _LONGEST_TEXT))


def _word(result: Any) -> BundleWord:
    match result.WhichOneof("result"):
        case "accepted":
            return BundleWord(f"accepted for slot {result.accepted.slot}")
        case "processed":
            return BundleWord(f"processed in slot {result.processed.slot}")
        case "finalized":
            return BundleWord("finalized")
        case "dropped":
            reason = result.dropped.reason
            known = reason in bundle_pb2.DroppedReason.values()
            name = bundle_pb2.DroppedReason.Name(reason) if known else str(reason)
            return BundleWord(f"dropped: {name}", is_dropped=True)
        case "rejected":
            return BundleWord(f"rejected: {_rejection(result.rejected)}", is_dropped=True)
        case _:
            return BundleWord("an unknown result")


def _rejection(rejected: Any) -> str:
    kind = rejected.WhichOneof("reason")
    if kind is None:
        return "no reason given"
    reason = getattr(rejected, kind)
    text = fit(reason.msg, _LONGEST_TEXT)
    if kind == "simulation_failure" and reason.tx_signature:
        text = f"{text} (transaction {fit(reason.tx_signature, 100)})"
    return f"{kind.replace('_', ' ')}: {text}" if text else kind.replace("_", " ")
