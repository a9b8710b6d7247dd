"""The block engine's gRPC, as searchers call it: bundles and their results, leaders, tip accounts,
and tokens for keys that prove themselves.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from chain.transactions import BadTransaction
from chain.units import Slot
from localnet.auction import Auction, Result, Step
from localnet.errors import BadParams, NodeBehind
from localnet.identities import TIP_ACCOUNTS
from localnet.servers.searcher_auth import Authority, NotProven, Token
from localnet.submissions import SignatureFailure, Submitted, read_transaction
from upstream.protobuf import auth_pb2, bundle_pb2, searcher_pb2

REGION = "localnet"
_OPTIONS = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 65_536)]
# A stream of results that its client does not read is ended.
_MOST_WAITING = 10_000


@asynccontextmanager
async def serve(
    auction: Auction, host: str, port: int, *, needs_tokens: bool = False
) -> AsyncIterator[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken. With `needs_tokens` every call but those of authentication needs an access token.
    """
    server = grpc.aio.server(options=_OPTIONS)
    service = _Searcher(auction, Authority(), needs_tokens)
    server.add_generic_rpc_handlers(service.handlers())
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        raise OSError(errno.EADDRINUSE, f"port {port} is taken") from None
    await server.start()
    try:
        yield bound
    finally:
        await server.stop(grace=None)


class _Searcher:
    def __init__(self, auction: Auction, authority: Authority, needs_tokens: bool) -> None:
        self._auction = auction
        self._authority = authority
        self._needs_tokens = needs_tokens

    def handlers(self) -> tuple[Any, ...]:
        searcher = {
            "SendBundle": (self._send, searcher_pb2.SendBundleRequest),
            "GetNextScheduledLeader": (
                self._next_leader,
                searcher_pb2.NextScheduledLeaderRequest,
            ),
            "GetConnectedLeaders": (self._leaders, searcher_pb2.ConnectedLeadersRequest),
            "GetConnectedLeadersRegioned": (
                self._leaders_by_region,
                searcher_pb2.ConnectedLeadersRegionedRequest,
            ),
            "GetTipAccounts": (self._tip_accounts, searcher_pb2.GetTipAccountsRequest),
            "GetRegions": (self._regions, searcher_pb2.GetRegionsRequest),
        }
        auth = {
            "GenerateAuthChallenge": (self._challenge, auth_pb2.GenerateAuthChallengeRequest),
            "GenerateAuthTokens": (self._tokens, auth_pb2.GenerateAuthTokensRequest),
            "RefreshAccessToken": (self._refresh, auth_pb2.RefreshAccessTokenRequest),
        }
        of_searcher = {
            name: _unary(_reading(request, self._guarded(answer)))
            for name, (answer, request) in searcher.items()
        }
        of_searcher["SubscribeBundleResults"] = grpc.unary_stream_rpc_method_handler(
            self._results,
            response_serializer=_serialized,
        )
        of_auth = {
            name: _unary(_reading(request, answer)) for name, (answer, request) in auth.items()
        }
        return (
            grpc.method_handlers_generic_handler("searcher.SearcherService", of_searcher),
            grpc.method_handlers_generic_handler("auth.AuthService", of_auth),
        )

    # --- who calls --------------------------------------------------------------------------------

    def _guarded(self, answer: Any) -> Any:
        async def guarded(request: Any, context: Any) -> Message:
            found: Message = await answer(request, context, await self._owner(context))
            return found

        return guarded

    async def _owner(self, context: Any) -> bytes | None:
        """The caller's key; None for one that has not proved any, where that is no condition."""
        metadata = dict(context.invocation_metadata() or ())
        scheme, _, token = str(metadata.get("authorization", "")).partition(" ")
        if not token and not self._needs_tokens:
            return None
        try:
            if scheme.lower() != "bearer":
                raise NotProven("expected an access token: authorization: Bearer …")
            return self._authority.owner(token)
        except NotProven as fault:
            await _end(context, grpc.StatusCode.UNAUTHENTICATED, str(fault))

    async def _challenge(self, request: Any, context: Any) -> Message:
        if request.role != auth_pb2.SEARCHER:
            await _end(context, grpc.StatusCode.PERMISSION_DENIED, "role: expected SEARCHER")
        try:
            found = self._authority.challenge(request.pubkey)
        except NotProven as fault:
            await _end(context, grpc.StatusCode.INVALID_ARGUMENT, str(fault))
        return auth_pb2.GenerateAuthChallengeResponse(challenge=found)

    async def _tokens(self, request: Any, context: Any) -> Message:
        try:
            access, refresh = self._authority.tokens(
                request.challenge, request.client_pubkey, request.signed_challenge
            )
        except NotProven as fault:
            await _end(context, grpc.StatusCode.PERMISSION_DENIED, str(fault))
        return auth_pb2.GenerateAuthTokensResponse(
            access_token=_token(access), refresh_token=_token(refresh)
        )

    async def _refresh(self, request: Any, context: Any) -> Message:
        try:
            found = self._authority.refreshed(request.refresh_token)
        except NotProven as fault:
            await _end(context, grpc.StatusCode.PERMISSION_DENIED, str(fault))
        return auth_pb2.RefreshAccessTokenResponse(access_token=_token(found))

    # --- bundles ----------------------------------------------------------------------------------

    async def _send(self, request: Any, context: Any, owner: bytes | None) -> Message:
        try:
            submitted = [
                _read(packet.data, number) for number, packet in enumerate(request.bundle.packets)
            ]
            bundle_id = self._auction.submit(submitted, owner=owner)
        except BadParams as error:
            await _end(context, grpc.StatusCode.INVALID_ARGUMENT, error.message)
        except NodeBehind as error:
            await _end(context, grpc.StatusCode.RESOURCE_EXHAUSTED, error.message)
        return searcher_pb2.SendBundleResponse(uuid=bundle_id)

    async def _results(self, _request: Any, context: Any) -> AsyncIterator[Message]:
        """Of the caller's bundles; without tokens of all that were sent without one."""
        owner = await self._owner(context)
        waiting: asyncio.Queue[Result] = asyncio.Queue()
        lost = asyncio.Event()

        def take(result: Result) -> None:
            if result.owner == owner:
                waiting.put_nowait(result)
                if waiting.qsize() > _MOST_WAITING:
                    lost.set()

        self._auction.listeners.add(take)
        try:
            # A client knows by the headers that results count from here on.
            await context.send_initial_metadata(())
            while not lost.is_set():
                yield _message(await waiting.get())
            await _end(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "results are not read")
        finally:
            self._auction.listeners.discard(take)

    # --- the chain --------------------------------------------------------------------------------

    async def _next_leader(self, request: Any, context: Any, _owner: bytes | None) -> Message:
        await _check_regions(request.regions, context)
        ledger = self._auction.ledger
        slot = ledger.head.slot
        return searcher_pb2.NextScheduledLeaderResponse(
            current_slot=slot,
            next_leader_slot=slot + 1,  # all leaders are here
            next_leader_identity=str(ledger.schedule.leader(Slot(slot + 1)).identity.pubkey()),
            next_leader_region=REGION,
        )

    async def _leaders(self, _request: Any, _context: Any, _owner: bytes | None) -> Any:
        ledger = self._auction.ledger
        schedule, head = ledger.schedule, ledger.head.slot
        epoch = schedule.epoch_of(head)
        first = schedule.first_slot(epoch)
        answer = searcher_pb2.ConnectedLeadersResponse()
        for leader, slots in schedule.slots_led(epoch):
            identity = str(leader.identity.pubkey())
            answer.connected_validators[identity].slots.extend(
                first + each for each in slots if first + each >= head
            )
        return answer

    async def _leaders_by_region(self, request: Any, context: Any, owner: bytes | None) -> Message:
        await _check_regions(request.regions, context)
        answer = searcher_pb2.ConnectedLeadersRegionedResponse()
        leaders = await self._leaders(request, context, owner)
        answer.connected_validators[REGION].CopyFrom(leaders)
        return answer

    async def _tip_accounts(self, _request: Any, _context: Any, _owner: bytes | None) -> Message:
        return searcher_pb2.GetTipAccountsResponse(accounts=map(str, TIP_ACCOUNTS))

    async def _regions(self, _request: Any, _context: Any, _owner: bytes | None) -> Message:
        return searcher_pb2.GetRegionsResponse(current_region=REGION, available_regions=[REGION])


def _unary(answer: Callable[..., Any]) -> Any:
    return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialized)


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


def _reading(request: Any, answer: Callable[..., Any]) -> Callable[..., Any]:
    """Answers bytes; those that are no message with INVALID_ARGUMENT."""

    async def read(body: bytes, context: Any) -> Message:
        try:
            message = request.FromString(body)
        except DecodeError:
            await _end(
                context, grpc.StatusCode.INVALID_ARGUMENT, f"no {request.DESCRIPTOR.full_name}"
            )
        found: Message = await answer(message, context)
        return found

    return read


async def _end(context: Any, code: Any, text: str) -> NoReturn:
    await context.abort(code, text)
    raise AssertionError("abort raises")


async def _check_regions(regions: Any, context: Any) -> None:
    for each in regions:
        if each != REGION:
            await _end(
                context,
                grpc.StatusCode.INVALID_ARGUMENT,
                f"unknown region {each[:40]!r}: there is {REGION}",
            )


def _read(wire: bytes, number: int) -> Submitted:
    try:
        return read_transaction(wire)
    except SignatureFailure:
        raise BadParams(f"transaction #{number} has an invalid signature") from None
    except BadTransaction as error:
        raise BadParams(f"transaction #{number} could not be decoded: {error}") from None


def _token(token: Token) -> Any:
    found = auth_pb2.Token(value=token.value)
    found.expires_at_utc.FromNanoseconds(int(token.expires_at * 1e9))
    return found


def _message(result: Result) -> Any:
    found = bundle_pb2.BundleResult(bundle_id=result.bundle_id)
    match result.step:
        case Step.ACCEPTED:
            found.accepted.slot = result.slot
            found.accepted.validator_identity = result.identity
        case Step.PROCESSED:
            found.processed.slot = result.slot
            found.processed.validator_identity = result.identity
            found.processed.bundle_index = result.place
        case Step.FINALIZED:
            found.finalized.SetInParent()
        case Step.FAILED:
            found.rejected.simulation_failure.tx_signature = result.signature
            found.rejected.simulation_failure.msg = result.text
        case Step.KNOWN:
            found.rejected.dropped_bundle.msg = result.text
    return found
