"""sendBundle on /bundle: both forms, the trial before, and the faces of what is refused."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58encode
from priority.submissions import Tip, pending_key
from priority.upstreams.models import Upstream
from shared_state.redis_client import client
from tests.ingest.following import follower
from tests.ingest.made_nonces import advance
from tests.localnet.wallets import SOL, latest_blockhash, wallet
from tests.localnet.wallets import pay as pay_from
from tests.localnet.wallets import signed as signed_by
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.odd_nodes import Answer, OddNode
from tests.priority.sending import (
    MINIMUM,
    SENT,
    advance_nonce,
    pay,
    queued,
    refusal,
    result,
    signature,
    signed,
    signed_v0,
    static_address,
    text,
    tip,
)

Door = Callable[..., Any]
pytestmark = pytest.mark.django_db


def send(door: Door, bundle: Sequence[VersionedTransaction], *config: Any, **more: Any) -> Any:
    path = more.pop("path", "/bundle")
    return door(path, "sendBundle", [text(each) for each in bundle], *config, **more)


def id_of(bundle: Sequence[VersionedTransaction]) -> str:
    return hashlib.sha256(",".join(map(signature, bundle)).encode()).hexdigest()


def some(count: int) -> list[VersionedTransaction]:
    """So many transactions; the last one tips."""
    return [*(signed(pay(Pubkey.new_unique(), 1)) for _ in range(count - 1)), signed_v0(tip())]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("config", [(), ({"encoding": "base64"},)], ids=["alone", "config"])
def test_a_bundle_waits_whole(door: Door, count: int, config: tuple[Any, ...], issue: Any) -> None:
    bundle = some(count)
    key = issue(scopes=["bundle"])
    response = send(door, bundle, *config, key=key.secret)
    signatures = [signature(each) for each in bundle]
    assert result(response) == (signatures[0] if count == 1 else signatures)
    assert response.headers["X-Bundle-Id"] == id_of(bundle)
    assert "X-Bundle-Id" in response.headers["Access-Control-Expose-Headers"]
    (entry,) = queued()
    assert (entry.kind, entry.bundle_id, entry.key_id) == ("bundle", id_of(bundle), key.key.pk)
    assert entry.wires == [bytes(each) for each in bundle]
    assert entry.signatures == [bytes(each.signatures[0]) for each in bundle]
    assert entry.tip == Tip(bytes(static_address()), MINIMUM, count - 1, 0)
    for name in [bytes.fromhex(entry.bundle_id), *entry.signatures]:
        assert client().exists(pending_key(name))


def test_base58_is_read_where_no_encoding_is_named(door: Door) -> None:
    bundle = some(2)
    texts = [b58encode(bytes(bundle[0])), text(bundle[1])]
    assert result(door("/bundle", "sendBundle", texts)) == [signature(each) for each in bundle]
    response = door("/bundle", "sendBundle", texts, {"encoding": "base64"})
    assert response.json()["error"]["data"]["reason"] == "transaction_undecodable"
    texts = [b58encode(bytes(signed(tip())))]
    assert result(door("/bundle", "sendBundle", texts, {"encoding": "base58"}))
    for junk in ("", "0", "=" * 3_000):
        assert door("/bundle", "sendBundle", [junk]).json()["error"]["data"]["at"] == "[0][0]"


def test_the_tip_may_stand_in_any_of_them(door: Door) -> None:
    for place in range(3):
        bundle = [signed(pay(Pubkey.new_unique(), 1)) for _ in range(3)]
        bundle[place] = signed(tip(MINIMUM + place))
        result(send(door, bundle))
        found = queued()[-1].tip
        assert found is not None
        assert (found.transaction_index, found.lamports) == (place, MINIMUM + place)


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        ([], "bundle_empty"),
        ([tip()] * 5, "bundle_too_large"),
        ([pay(Pubkey.new_unique(), 1)], "tip_missing"),
        ([tip(), pay(Pubkey.new_unique(), 1)], ""),
    ],
    ids=["empty", "large", "untipped", "tipped first"],
)
def test_how_many_and_with_a_tip(door: Door, bundle: list[Any], reason: str) -> None:
    response = send(door, [signed(each) for each in bundle])
    if reason:
        assert refusal(response)["reason"] == reason
    else:
        assert len(result(response)) == 2


def test_a_bundle_has_each_transaction_once(door: Door) -> None:
    first, second = some(2)
    refused = refusal(send(door, [first, second, first]))
    assert refused["reason"] == "bundle_duplicates"
    assert (refused["at"], refused["signature"]) == ("[0][2]", signature(first))


def test_a_nonce_advances_once_in_a_block(door: Door) -> None:
    """With the next hash, too: the second one would be in the block that made it."""
    advances, others = advance_nonce(), advance_nonce()
    bundle = [signed(advances, tip()), signed(others), signed(tip()), signed(advances)]
    refused = refusal(send(door, bundle))
    assert (refused["reason"], refused["at"]) == ("bundle_nonce_twice", "[0][3]")
    assert refused["nonceAccount"] == str(advances.accounts[0].pubkey)
    assert not queued()
    assert len(result(send(door, bundle[:3]))) == 3


def test_what_is_wrong_is_told_by_its_place(door: Door) -> None:
    first, second = some(2)
    texts = [text(first), text(bytes(second)[:-1])]
    refused = refusal(door("/bundle", "sendBundle", texts))
    assert (refused["reason"], refused["at"]) == ("transaction_undecodable", "[0][1]")
    refused = refusal(send(door, [signed(tip(1)), signed(pay(Pubkey.new_unique(), 1))]))
    assert (refused["reason"], refused["at"]) == ("tip_too_small", "[0][0]")
    for params in ([], ["text"], [[1]], [["x"], {"encoding": "hex"}], [["x"], {}, 1]):
        assert refusal(door("/bundle", "sendBundle", *params))["reason"] == "invalid_params"


def test_the_same_bundle_twice_is_one_and_its_transactions_go_with_it(door: Door) -> None:
    bundle = some(2)
    answers = [result(send(door, bundle)) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len(queued()) == 1
    # By itself a transaction of a bundle on its way is not sent: it would land without the others.
    alone = result(door("/priority", "sendTransaction", text(bundle[1]), SENT))
    assert alone == signature(bundle[1])
    assert len(queued()) == 1
    # Another bundle may try its luck with it.
    result(send(door, [bundle[1], signed(pay(Pubkey.new_unique(), 1))]))
    assert len(queued()) == 2


def test_a_transaction_on_its_way_may_also_go_in_a_bundle(door: Door) -> None:
    bundle = some(2)
    result(door("/priority", "sendTransaction", text(bundle[1]), SENT))
    result(send(door, bundle))
    assert [entry.kind for entry in queued()] == ["transaction", "bundle"]


def test_bundles_have_a_rate_of_their_own(door: Door, issue: Any) -> None:
    limits = {"bundles_per_second": 0.01, "bundles_burst": 2}
    key = issue(requests_per_second=100, requests_burst=100, **limits).secret
    for _ in range(2):
        result(send(door, some(1), key=key))
    response = send(door, some(1), key=key)
    assert response.status_code == 429
    assert response.headers["Content-Type"].startswith("text/plain")
    assert response.content == b"Too many requests\n"
    assert int(response.headers["Retry-After"]) >= 1
    # What is no bundle is not of that rate.
    for _ in range(3):
        response = door("/bundle", "nothingLikeIt", key=key)
        assert response.json()["error"]["data"]["reason"] == "method_not_found"


def test_a_batch_takes_as_many_bundles_as_it_has(client: Any, issue: Any) -> None:
    limits = {"bundles_per_second": 0.01, "bundles_burst": 2}
    key = issue(requests_per_second=0.01, requests_burst=100, **limits).secret

    def batch(*methods: str) -> Any:
        calls = [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": [[text(signed(tip()))]]}
            for place, method in enumerate(methods)
        ]
        headers = {"Authorization": key}
        return client.post("/bundle", calls, content_type="application/json", headers=headers)

    response = batch("sendBundle", "other", "sendBundle", "other", "other")
    assert response.status_code == 200
    assert ["result" in each for each in response.json()] == [True, False, True, False, False]
    assert "X-Bundle-Id" not in response.headers
    assert batch("other").headers["X-RateLimit-Remaining"] == "94"
    assert batch("sendBundle").status_code == 429


def test_the_faces_of_refusals(door: Door, issue: Any) -> None:
    response = send(door, some(1), key="no-such-key")
    assert response.status_code == 401
    assert response.headers["Content-Type"].startswith("text/plain")
    response = send(door, some(1), key=issue(scopes=["rewind"]).secret)
    assert response.status_code == 403
    assert response.headers["Content-Type"].startswith("text/plain")
    # Without a key it may be sent, inside the limits of those who have none.
    assert result(send(door, some(1), key=""))
    assert queued()[-1].key_id is None


def test_an_edge_without_block_engines_answers_404(door: Door) -> None:
    Upstream.objects.filter(kind="block_engine").update(is_enabled=False)
    response = send(door, some(1))
    assert refusal(response, status=404, code=-32601)["reason"] == "bundles_off"
    assert response.json()["id"] == 1


@pytest.mark.parametrize("path", ["/bundle/bundles", "/api/v1/bundles"])
def test_a_block_engines_client_gets_the_id(client: Any, issue: Any, path: str) -> None:
    issued = issue(scopes=["bundle"])
    bundle = some(2)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "sendBundle",
        "params": [[b58encode(bytes(each)) for each in bundle]],
    }
    query = f"{path}?uuid={issued.secret}"
    assert result(client.post(query, body, content_type="application/json")) == id_of(bundle)
    assert queued()[-1].key_id == issued.key.pk
    headers = {"x-jito-auth": issued.secret}
    answer = client.post(path, body, content_type="application/json", headers=headers)
    assert result(answer) == id_of(bundle)
    assert (
        client.post(f"{path}?uuid=nobody", body, content_type="application/json").status_code == 401
    )


@pytest.mark.parametrize("path", ["/bundle/transactions", "/api/v1/transactions"])
def test_a_block_engines_client_sends_transactions(door: Door, path: str) -> None:
    transaction = signed(tip())
    told = result(door(path, "sendTransaction", text(transaction), {"encoding": "base64"}))
    assert told == signature(transaction)
    transaction = signed(tip())
    assert result(door(path, "sendTransaction", b58encode(bytes(transaction))))
    assert [entry.kind for entry in queued()] == ["transaction"] * 2
    client().flushdb()
    alone = door(f"{path}?bundleOnly=true", "sendTransaction", text(signed(tip())))
    assert refusal(alone)["reason"] == "bundle_only_not_served"


@pytest.fixture(scope="module")
def alice(localnet: Localnet) -> Keypair:
    return wallet(localnet, 100 * SOL)


def made(chain: Localnet, payer: Keypair, *lamports: int) -> list[VersionedTransaction]:
    """A tip, and behind it payments of so much."""
    blockhash = latest_blockhash(chain)
    tipped = pay_from(payer, static_address(), MINIMUM)
    first = signed_by(chain, [tipped], payer, blockhash=blockhash)
    return [
        first,
        *(
            signed_by(
                chain, [pay_from(payer, Pubkey.new_unique(), each)], payer, blockhash=blockhash
            )
            for each in lamports
        ),
    ]


def test_a_bundle_that_must_fail_is_refused_with_its_error(
    door: Door, chain: Localnet, alice: Keypair
) -> None:
    bundle = made(chain, alice, SOL, 1_000 * SOL, SOL)
    refused = refusal(send(door, bundle))
    assert refused["reason"] == "bundle_simulation_failed"
    assert refused["transactionIndex"] == 2
    assert refused["signature"] == signature(bundle[2])
    assert refused["err"] == {"InstructionError": [0, {"Custom": 1}]}
    assert any("insufficient lamports" in line for line in refused["logs"])


def test_a_bundle_that_can_land_is_accepted(door: Door, chain: Localnet, alice: Keypair) -> None:
    assert len(result(send(door, made(chain, alice, SOL, SOL)))) == 3


def test_a_bundle_that_landed_meanwhile_is_known(
    door: Door, chain: Localnet, alice: Keypair
) -> None:
    blockhash = latest_blockhash(chain)
    bundle = [
        signed_by(chain, [pay_from(alice, static_address(), MINIMUM)], alice, blockhash=blockhash)
    ]
    told = result(send(door, bundle))
    chain.call("sendTransaction", text(bundle[0]), SENT)
    landed = [signature(bundle[0])]
    chain.wait(lambda: chain.call("getSignatureStatuses", landed)["value"][0], "landed")
    assert result(send(door, bundle)) == told  # no trial is made of what is on its way
    assert len(queued()) == 1
    client().flushdb()
    assert refusal(send(door, bundle))["err"] == "AlreadyProcessed"


def test_the_trial_can_be_switched_off(
    door: Door, chain: Localnet, alice: Keypair, settings: Any
) -> None:
    settings.BUNDLE_SIMULATION = False
    assert result(send(door, made(chain, alice, 1_000 * SOL)))


def test_a_node_that_does_not_know_the_blockhash_yet_refuses_nothing(
    door: Door, chain: Localnet, alice: Keypair
) -> None:
    tipped = pay_from(alice, static_address(), MINIMUM)
    bundle = [signed_by(chain, [tipped], alice, blockhash=str(Hash.new_unique()))]
    assert result(send(door, bundle))


@pytest.mark.django_db(transaction=True)
def test_a_blockhash_that_no_block_has_is_refused_while_the_chain_is_followed(
    door: Door, chain: Localnet, alice: Keypair
) -> None:
    def invented() -> list[VersionedTransaction]:
        # A nonce that is advanced by another instruction than the first explains it.
        calls = [pay_from(alice, static_address(), MINIMUM), advance(authority=alice)]
        return [signed_by(chain, calls, alice, blockhash=str(Hash.new_unique()))]

    # What migrations made is gone after another test of this kind.
    Upstream.objects.get_or_create(name="engine", defaults={"kind": Upstream.Kind.BLOCK_ENGINE})
    with follower(chain.geyser_url, chain.url):
        answers: list[Any] = []

        def is_refused() -> bool:
            """On a busy machine the chain may stand still for longer than a bundle waits."""
            bundle = invented()
            answers.append((bundle, send(door, bundle)))
            return "error" in answers[-1][1].json()

        wait(is_refused, "the refusal")
        bundle, answer = answers[-1]
        refused = answer.json()["error"]["data"]
        assert refused["reason"] == "blockhash_not_found"
        assert "instruction 1 advances a nonce" in answer.json()["error"]["message"]
        assert id_of(bundle) not in {entry.bundle_id for entry in queued()}
        assert refused["signature"] == signature(bundle[0])
        assert refused["blockhash"] == str(bundle[0].message.recent_blockhash)
        assert result(send(door, made(chain, alice, SOL)))


def test_where_no_trial_can_be_made_the_bundle_is_accepted(
    door: Door, node: Callable[[Answer], OddNode]
) -> None:
    asked = node(lambda body: (500, b"no"))
    assert result(send(door, some(1)))
    assert asked.bodies, "the node was asked"
    asked = node(lambda body: (200, json.dumps({"error": {"code": -32005}}).encode()))
    assert result(send(door, some(1)))


def test_what_tips_nobody_is_not_tried(door: Door, node: Callable[[Answer], OddNode]) -> None:
    asked = node(lambda body: (500, b"no"))
    refusal(send(door, [signed(pay(Pubkey.new_unique(), 1))]))
    assert not asked.bodies
