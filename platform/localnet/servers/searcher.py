"""The block engine's gRPC, as searchers call it: bundles and their results, leaders, tip accounts,
and tokens for keys that prove themselves.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message import Message

from chain.transactions import BadTransaction
from chain.units import Slot
from grpcserver.bounds import Bounds
from grpcserver.call import Call
from grpcserver.serving import serving
from localnet.auction import Auction, Result, Step
from localnet.errors import BadParams, NodeBehind
from localnet.identities import TIP_ACCOUNTS
from localnet.servers.searcher_auth import Authority, NotProven, Token
from localnet.submissions import SignatureFailure, Submitted, read_transaction
from upstream.grpc.status import (
    INVALID_ARGUMENT,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNIMPLEMENTED,
    GrpcStatus,
)
from upstream.protobuf import auth_pb2, bundle_pb2, searcher_pb2

REGION = "localnet"
_RESULTS = "/searcher.SearcherService/SubscribeBundleResults"
# A stream of results that its client does not read is ended.
_MOST_WAITING = 10_000


@asynccontextmanager
async def serve(
    auction: Auction, host: str, port: int, *, needs_tokens: bool = False
) -> AsyncIterator[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken. With `needs_tokens` every call but those of authentication needs an access token.
    """
    service = _Searcher(auction, Authority(), needs_tokens)
    async with serving(service.answer, Bounds.none(), host, port) as bound:
        yield bound


class _Searcher:
    def __init__(self, auction: Auction, authority: Authority, needs_tokens: bool) -> None:
        self._auction = auction
        self._authority = authority
        self._needs_tokens = needs_tokens

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
        self._of_searcher = {f"/searcher.SearcherService/{k}": each for k, each in searcher.items()}
        self._of_auth = {f"/auth.AuthService/{k}": each for k, each in auth.items()}

    async def answer(self, call: Call) -> None:
        """Answers a call, or raises its GrpcStatus."""
        if call.path == _RESULTS:
            await self._results(call)
        elif call.path in self._of_auth:
            method, request = self._of_auth[call.path]
            call.reply(method(await call.read(request)))
        elif call.path in self._of_searcher:
            answer, request = self._of_searcher[call.path]
            read = await call.read(request)
            call.reply(answer(read, self._owner(call)))
        else:
            raise GrpcStatus(UNIMPLEMENTED, "Method not found!")

    # --- who calls --------------------------------------------------------------------------------

    def _owner(self, call: Call) -> bytes | None:
        """The caller's key; None for one that has not proved any, where that is no condition."""
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        if not token and not self._needs_tokens:
            return None
        try:
            if scheme.lower() != "bearer":
                raise NotProven("expected an access token: authorization: Bearer …")
            return self._authority.owner(token)
        except NotProven as fault:
            raise GrpcStatus(UNAUTHENTICATED, str(fault)) from None

    def _challenge(self, request: Any) -> Message:
        if request.role != auth_pb2.SEARCHER:
            raise GrpcStatus(PERMISSION_DENIED, "role: expected SEARCHER")
        try:
            found = self._authority.challenge(request.pubkey)
        except NotProven as fault:
            raise GrpcStatus(INVALID_ARGUMENT, str(fault)) from None
        return auth_pb2.GenerateAuthChallengeResponse(challenge=found)

    def _tokens(self, request: Any) -> Message:
        try:
            access, refresh = self._authority.tokens(
                request.challenge, request.client_pubkey, request.signed_challenge
            )
        except NotProven as fault:
            raise GrpcStatus(PERMISSION_DENIED, str(fault)) from None
        return auth_pb2.GenerateAuthTokensResponse(
            access_token=_token(access), refresh_token=_token(refresh)
        )

    def _refresh(self, request: Any) -> Message:
        try:
            found = self._authority.refreshed(request.refresh_token)
        except NotProven as fault:
            raise GrpcStatus(PERMISSION_DENIED, str(fault)) from None
        return auth_pb2.RefreshAccessTokenResponse(access_token=_token(found))

    # --- bundles ----------------------------------------------------------------------------------

    def _send(self, request: Any, owner: bytes | None) -> Message:
        try:
            submitted = [
                _read(packet.data, number) for number, packet in enumerate(request.bundle.packets)
            ]
            bundle_id = self._auction.submit(submitted, owner=owner)
        except BadParams as error:
            raise GrpcStatus(INVALID_ARGUMENT, error.message) from None
        except NodeBehind as error:
            raise GrpcStatus(RESOURCE_EXHAUSTED, error.message) from None
        return searcher_pb2.SendBundleResponse(uuid=bundle_id)

    async def _results(self, call: Call) -> None:
        """Of the caller's bundles; without tokens of all that were sent without one."""
        await call.read(searcher_pb2.SubscribeBundleResultsRequest)
        owner = self._owner(call)

        def take(result: Result) -> None:
            if result.owner == owner:
                call.send(_message(result).SerializeToString())
                if call.waiting > _MOST_WAITING:
                    call.end(GrpcStatus(RESOURCE_EXHAUSTED, "results are not read"), drops=True)

        self._auction.listeners.add(take)
        try:
            # A client knows by the headers that results count from here on.
            call.begin()
            await call.ended()
        finally:
            self._auction.listeners.discard(take)

    # --- the chain --------------------------------------------------------------------------------

    def _next_leader(self, request: Any, _owner: bytes | None) -> Message:
        _check_regions(request.regions)
        ledger = self._auction.ledger
        slot = ledger.head.slot
        return searcher_pb2.NextScheduledLeaderResponse(
            current_slot=slot,
            next_leader_slot=slot + 1,  # all leaders are here
            next_leader_identity=str(ledger.schedule.leader(Slot(slot + 1)).identity.pubkey()),
            next_leader_region=REGION,
        )

    def _leaders(self, _request: Any, _owner: bytes | None) -> Any:
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

    def _leaders_by_region(self, request: Any, owner: bytes | None) -> Message:
        _check_regions(request.regions)
        answer = searcher_pb2.ConnectedLeadersRegionedResponse()
        leaders = self._leaders(request, owner)
        answer.connected_validators[REGION].CopyFrom(leaders)
        return answer

    def _tip_accounts(self, _request: Any, _owner: bytes | None) -> Message:
        return searcher_pb2.GetTipAccountsResponse(accounts=map(str, TIP_ACCOUNTS))

    def _regions(self, _request: Any, _owner: bytes | None) -> Message:
        return searcher_pb2.GetRegionsResponse(current_region=REGION, available_regions=[REGION])


def _check_regions(regions: Iterable[str]) -> None:
    for each in regions:
        if each != REGION:
            text = f"unknown region {each[:40]!r}: there is {REGION}"
            raise GrpcStatus(INVALID_ARGUMENT, text)


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
