"""Client of a block engine's JSON-RPC: bundles, their statuses, and its tip accounts."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from upstream.http.poster import Poster
from upstream.submitting import NoAnswer, SubmitError, call, start_call

MOST_TRANSACTIONS = 5
# Engines at these are called by gRPC (searcher.py), at others by JSON-RPC.
GRPC_URLS = ("grpc://", "grpcs://")
_PATH = "/api/v1/bundles"
_DROPPED = frozenset({"Failed"})


class BundleWord(NamedTuple):
    """What an engine says of a bundle; `is_dropped` where it will not land this time."""

    text: str
    is_dropped: bool = False


class Engine(Protocol):
    """What a block engine does, by JSON-RPC or gRPC. For one event loop."""

    @property
    def name(self) -> str:
        """The engine's host, for people."""

    def start_bundle(
        self, wires: Sequence[bytes], done: Callable[[str | SubmitError], None]
    ) -> None:
        """Sends; `done` is called once with the bundle's id with the engine, which means that it is
        in the auction, or with why it is not; never before this has returned.
        """

    async def tip_accounts(self) -> list[Pubkey]:
        """The accounts on which a tip counts. Raises SubmitError."""

    async def inflight(self, bundle_ids: Sequence[str]) -> dict[str, BundleWord]:
        """What is known of each bundle. At most 5. Raises SubmitError."""

    async def warm(self) -> None: ...

    async def close(self) -> None: ...


class _Inflight(msgspec.Struct):
    bundle_id: str
    status: str


class _InflightAnswer(msgspec.Struct):
    value: list[_Inflight | None]


class BlockEngine:
    """One block engine's JSON-RPC, at the address of its host: an Engine."""

    def __init__(self, url: str, *, seconds: float) -> None:
        self._poster = Poster(url)
        self._seconds = seconds

    @property
    def name(self) -> str:
        """The engine's host, for people."""
        return self._poster.name

    def start_bundle(
        self, wires: Sequence[bytes], done: Callable[[str | SubmitError], None]
    ) -> None:
        """Sends; `done` is called once with the bundle's id with the engine, which means that it is
        in the auction, or with why it is not; never before this has returned.
        """
        texts = b'","'.join(map(b64encode, wires))
        params = b'["%s"],{"encoding":"base64"}' % texts

        def answered(found: Any) -> None:
            if isinstance(found, (str, SubmitError)):
                done(found)
            else:
                done(NoAnswer("sendBundle answered no id"))

        body = _body(b"sendBundle", params)
        start_call(self._poster, body, answered, seconds=self._seconds, path=_PATH)

    async def tip_accounts(self) -> list[Pubkey]:
        """The accounts on which a tip counts. Raises SubmitError."""
        found = await self._call(b"getTipAccounts", b"")
        try:
            return [Pubkey.from_string(each) for each in msgspec.convert(found, list[str])]
        except ValueError:  # msgspec's is one too
            raise NoAnswer("getTipAccounts answered no addresses") from None

    async def inflight(self, bundle_ids: Sequence[str]) -> dict[str, BundleWord]:
        """How far each bundle has come, in the engine's words: Pending, Failed, Landed, Invalid.
        At most 5. Raises SubmitError.
        """
        found = await self._call(b"getInflightBundleStatuses", msgspec.json.encode(bundle_ids))
        try:
            answer = msgspec.convert(found, _InflightAnswer)
        except msgspec.ValidationError:
            raise NoAnswer("getInflightBundleStatuses answered no statuses") from None
        return {
            each.bundle_id: BundleWord(each.status, each.status in _DROPPED)
            for each in answer.value
            if each is not None
        }

    async def warm(self) -> None:
        await self._poster.warm(2, seconds=self._seconds)

    async def close(self) -> None:
        await self._poster.close()

    async def _call(self, method: bytes, params: bytes) -> object:
        body = _body(method, params)
        return await call(self._poster, body, seconds=self._seconds, path=_PATH)


def engine_at(url: str, *, seconds: float, keypair: Keypair | None) -> Engine:
    """The engine at the URL. By gRPC it is shown the keypair, if any. Raises BadAddress."""
    if url.startswith(GRPC_URLS):
        # Imported where it is used: HTTP/2 and protobuf take memory.
        from upstream.searcher import SearcherEngine

        return SearcherEngine(url, seconds=seconds, keypair=keypair)
    return BlockEngine(url, seconds=seconds)


def _body(method: bytes, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"%s","params":[%s]}' % (method, params)
