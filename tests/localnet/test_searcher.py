"""The block engine's gRPC, in front of a running localnet."""

import hashlib
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from localnet.servers.searcher_auth import Authority, NotProven
from tests.examples import examples
from tests.localnet.searcher_client import Searcher
from tests.localnet.wallets import SOL, landed, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import PATIENCE_SECONDS
from upstream.protobuf import auth_pb2, searcher_pb2


@pytest.fixture
def searcher(localnet: Localnet) -> Iterator[Searcher]:
    made = Searcher(localnet.searcher_address)
    yield made
    made.close()


def tip_account(searcher: Searcher) -> Pubkey:
    request = searcher_pb2.GetTipAccountsRequest()
    answer = searcher.call("GetTipAccounts", request, searcher_pb2.GetTipAccountsResponse)
    assert len(set(answer.accounts)) == 8
    return Pubkey.from_string(answer.accounts[0])


def steps(results: Any, bundle_id: str, last: str) -> dict[str, Any]:
    """What is reported of the bundle, up to that step."""
    found: dict[str, Any] = {}
    while last not in found:
        result = results.get(timeout=PATIENCE_SECONDS)
        assert not isinstance(result, grpc.RpcError), result
        if result.bundle_id == bundle_id:
            kind = result.WhichOneof("result")
            assert kind not in found
            found[kind] = getattr(result, kind)
    return found


def refusal(searcher: Searcher, *wires: bytes) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as raised:
        searcher.send(*wires)
    return raised.value.code().name, raised.value.details()


def test_a_bundle_lands_and_each_step_is_reported(localnet: Localnet, searcher: Searcher) -> None:
    alice, bob = wallet(localnet), Keypair()
    first = signed(localnet, [pay(alice, bob.pubkey(), SOL)], alice)
    second = signed(localnet, [pay(bob, tip_account(searcher), 1_000)], bob)
    with searcher.results() as results:
        bundle_id = searcher.send(bytes(first), bytes(second))
        found = steps(results, bundle_id, "finalized")
    signatures = [str(first.signatures[0]), str(second.signatures[0])]
    assert bundle_id == hashlib.sha256(",".join(signatures).encode()).hexdigest()
    assert list(found) == ["accepted", "processed", "finalized"]
    slots = {landed(localnet, each)["slot"] for each in signatures}
    assert slots == {found["processed"].slot}
    leader = localnet.call("getSlotLeaders", found["processed"].slot, 1)[0]
    assert found["processed"].validator_identity == leader
    assert found["accepted"].slot <= found["processed"].slot


def test_a_bundle_that_fails_is_rejected_with_the_transaction(
    localnet: Localnet, searcher: Searcher
) -> None:
    alice, poor = wallet(localnet), wallet(localnet, SOL // 100)
    good = signed(localnet, [pay(alice, tip_account(searcher), 5_000)], alice)
    bad = signed(localnet, [pay(poor, alice.pubkey(), SOL)], poor)
    with searcher.results() as results:
        found = steps(results, searcher.send(bytes(good), bytes(bad)), "rejected")
    failure = found["rejected"].simulation_failure
    assert failure.tx_signature == str(bad.signatures[0])
    assert "InstructionError" in failure.msg
    assert localnet.call("getSignatureStatuses", [str(good.signatures[0])])["value"] == [None]


def test_what_is_no_bundle_is_refused(localnet: Localnet, searcher: Searcher) -> None:
    alice = wallet(localnet)
    good = bytes(signed(localnet, [pay(alice, tip_account(searcher), 1_000)], alice))
    untipped = bytes(signed(localnet, [pay(alice, Keypair().pubkey(), SOL)], alice))
    forged = good[:1] + bytes(64) + good[65:]
    for wires, expected in (
        ((), "bundle contains no transactions"),
        ((good,) * 6, "bundle exceeds 5 transactions: 6"),
        ((good, good), "bundle contains duplicate transactions"),
        ((untipped,), "Bundles must write lock at least one tip account"),
        ((good, b"\0"), "transaction #1 could not be decoded"),
        ((forged,), "transaction #0 has an invalid signature"),
        ((good + bytes(2_000),), "transaction #0 could not be decoded"),
    ):
        code, text = refusal(searcher, *wires)
        assert (code, expected in text) == ("INVALID_ARGUMENT", True), (text, expected)
    # Nothing of it hindered the good one.
    searcher.send(good)
    landed(localnet, str(VersionedTransaction.from_bytes(good).signatures[0]))
    assert refusal(searcher, good)[1] == "bundle contains an already processed transaction"


def test_leaders_and_regions(localnet: Localnet, searcher: Searcher) -> None:
    request = searcher_pb2.NextScheduledLeaderRequest()
    following = searcher.call(
        "GetNextScheduledLeader", request, searcher_pb2.NextScheduledLeaderResponse
    )
    assert following.next_leader_slot == following.current_slot + 1
    leader = localnet.call("getSlotLeaders", following.next_leader_slot, 1)[0]
    assert following.next_leader_identity == leader
    connected = searcher.call(
        "GetConnectedLeaders",
        searcher_pb2.ConnectedLeadersRequest(),
        searcher_pb2.ConnectedLeadersResponse,
    ).connected_validators
    slots = [slot for each in connected.values() for slot in each.slots]
    assert following.next_leader_slot in connected[leader].slots
    assert len(slots) == len(set(slots))
    regions = searcher.call(
        "GetRegions", searcher_pb2.GetRegionsRequest(), searcher_pb2.GetRegionsResponse
    )
    assert list(regions.available_regions) == [regions.current_region]
    by_region = searcher.call(
        "GetConnectedLeadersRegioned",
        searcher_pb2.ConnectedLeadersRegionedRequest(regions=[regions.current_region]),
        searcher_pb2.ConnectedLeadersRegionedResponse,
    )
    assert set(by_region.connected_validators) == {regions.current_region}
    request.regions.append("tokyo")
    with pytest.raises(grpc.RpcError) as raised:
        searcher.call("GetNextScheduledLeader", request, searcher_pb2.NextScheduledLeaderResponse)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_key_is_proven_by_its_signature(localnet: Localnet, searcher: Searcher) -> None:
    keypair, other = Keypair(), Keypair()
    for challenge, signed_by in (
        ("{key}-{text}", other),  # signed by another key
        ("{other}-{text}", keypair),  # of another key
        ("{key}-nothing", keypair),
    ):
        asked = searcher.auth(
            "GenerateAuthChallenge",
            auth_pb2.GenerateAuthChallengeRequest(
                role=auth_pb2.SEARCHER, pubkey=bytes(keypair.pubkey())
            ),
            auth_pb2.GenerateAuthChallengeResponse,
        )
        text = challenge.format(key=keypair.pubkey(), other=other.pubkey(), text=asked.challenge)
        with pytest.raises(grpc.RpcError) as raised:
            searcher.tokens(keypair, text, bytes(signed_by.sign_message(text.encode())))
        assert raised.value.code() is grpc.StatusCode.PERMISSION_DENIED
    tokens = searcher.prove(keypair)
    assert tokens.refresh_token.expires_at_utc.seconds > tokens.access_token.expires_at_utc.seconds
    tip_account(searcher)
    fresh = searcher.auth(
        "RefreshAccessToken",
        auth_pb2.RefreshAccessTokenRequest(refresh_token=tokens.refresh_token.value),
        auth_pb2.RefreshAccessTokenResponse,
    )
    searcher.token = fresh.access_token.value
    tip_account(searcher)
    searcher.token = "wrong"
    with pytest.raises(grpc.RpcError) as raised:
        tip_account(searcher)
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_with_tokens_each_sees_its_own_results() -> None:
    with running_localnet("--block-engine-auth") as localnet:
        one, two = (Searcher(localnet.searcher_address) for _ in range(2))
        with pytest.raises(grpc.RpcError) as raised:
            tip_account(one)
        assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED
        for each in (one, two):
            each.prove(Keypair())
        alice = wallet(localnet)
        wires = [
            bytes(signed(localnet, [pay(alice, tip_account(one), lamports)], alice))
            for lamports in (1_000, 1_001)
        ]
        with one.results() as first, two.results() as second:
            of_one, of_two = one.send(wires[0]), two.send(wires[1])
            for results, own in ((first, of_one), (second, of_two)):
                seen = {results.get(timeout=PATIENCE_SECONDS).bundle_id for _ in range(3)}
                assert seen == {own}
        one.close()
        two.close()


def test_tokens_and_challenges_expire() -> None:
    now = [1_000.0]
    authority, keypair = Authority(lambda: now[0]), Keypair()
    key = bytes(keypair.pubkey())

    def proven() -> Any:
        text = f"{keypair.pubkey()}-{authority.challenge(key)}"
        now[0] += late
        return authority.tokens(text, key, bytes(keypair.sign_message(text.encode())))

    late = 61.0
    with pytest.raises(NotProven):
        proven()
    late = 0.0
    access, refresh = proven()
    assert authority.owner(access.value) == key
    now[0] = access.expires_at + 1
    with pytest.raises(NotProven):
        authority.owner(access.value)
    assert authority.owner(authority.refreshed(refresh.value).value) == key
    now[0] = refresh.expires_at + 1
    with pytest.raises(NotProven):
        authority.refreshed(refresh.value)
    with pytest.raises(NotProven):
        authority.challenge(b"short")


@settings(max_examples=examples(60), deadline=None)
@given(
    method=st.sampled_from(
        [
            "searcher.SearcherService/SendBundle",
            "searcher.SearcherService/GetNextScheduledLeader",
            "searcher.SearcherService/Nothing",
            "auth.AuthService/GenerateAuthChallenge",
            "auth.AuthService/GenerateAuthTokens",
            "auth.AuthService/RefreshAccessToken",
        ]
    ),
    body=st.binary(max_size=200),
)
def test_any_bytes_are_answered(localnet: Localnet, method: str, body: bytes) -> None:
    searcher = Searcher(localnet.searcher_address)
    call = searcher.channel.unary_unary(f"/{method}")
    try:
        call(body, timeout=PATIENCE_SECONDS)
    except grpc.RpcError as error:
        assert error.code() in {
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.PERMISSION_DENIED,
            grpc.StatusCode.UNIMPLEMENTED,
        }, error
    finally:
        searcher.close()
