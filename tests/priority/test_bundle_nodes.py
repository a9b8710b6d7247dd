"""simulateBundle behind nodes that misbehave: lag, race, forget, refuse."""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from solders.keypair import Keypair

from chain.addresses import CLOCK
from columns.kept import forget_all
from priority.simulation import code_cache
from tests.localnet.wallets import SOL, pay, signed, wallet
from tests.localnet_process import Localnet
from tests.priority.bundling import Post, answer, asking, flat, new_mint
from tests.priority.odd_nodes import OddNode
from tests.simulator.world import token_address, token_transfer

pytestmark = pytest.mark.django_db
FROZEN = 5
Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def alice(localnet: Localnet) -> Keypair:
    return wallet(localnet, 1_000 * SOL)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    code_cache.forget()
    forget_all()
    yield


@pytest.fixture
def between(localnet: Localnet, node: Callable[..., OddNode]) -> Callable[[Change], OddNode]:
    """`between(change)`: a node that is localnet, but for what `change` makes of its answers."""

    def start(change: Change) -> OddNode:
        def answers(body: bytes) -> tuple[int, bytes]:
            calls = json.loads(body)
            alone = isinstance(calls, dict)
            told = localnet.post([calls] if alone else calls)
            changed = change(told)
            return 200, json.dumps(changed[0] if alone else changed).encode()

        return node(answers)

    return start


def methods(odd: OddNode) -> list[list[str]]:
    """The methods of each body."""
    bodies = [json.loads(body) for body in odd.bodies]
    return [[each["method"] for each in ([b] if isinstance(b, dict) else b)] for b in bodies]


def keys_of(body: bytes) -> list[str]:
    calls = json.loads(body)
    asked = [each["params"] for each in ([calls] if isinstance(calls, dict) else calls)]
    return [key for params in asked for key in params[0] if isinstance(params[0], list)]


def test_a_few_calls_are_enough_and_the_second_time_one(
    localnet: Localnet,
    alice: Keypair,
    between: Callable[[Change], OddNode],
    post: Post,
    slow_chain: None,
) -> None:
    mint, held = new_mint(localnet, alice, supply=9)
    other = token_address(Keypair().pubkey(), mint)
    transaction = signed(localnet, [token_transfer(held, mint, other, alice.pubkey(), 1, 6)], alice)
    # So that the chain stands still: every answer is of one slot, which localnet has reached.
    localnet.wait_for_slot(FROZEN, "confirmed")
    odd = between(lambda told: [frozen(each) for each in told])
    first = flat(post, [transaction], replaceRecentBlockhash=False)
    told = methods(odd)
    # Keys with sysvars; then code and mints; then the features, a hundred on a page.
    assert told[0] == ["getMultipleAccounts", "getSignatureStatuses"]
    assert told[-1] == ["getMultipleAccounts"] * 4
    assert len(told) <= 4, [keys_of(body) for body in odd.bodies[:-1]]
    odd.bodies.clear()
    assert flat(post, [transaction])["err"] == first["err"]
    assert len(odd.bodies) == 1


def frozen(told: dict[str, Any]) -> dict[str, Any]:
    """The answer as if of that slot."""
    if "result" in told:
        told["result"]["context"]["slot"] = FROZEN
    return told


def test_what_is_known_of_the_nodes_slot_is_not_read_again(
    localnet: Localnet,
    alice: Keypair,
    between: Callable[[Change], OddNode],
    post: Post,
    slow_chain: None,
) -> None:
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    odd = between(lambda told: [frozen(each) for each in told])
    first = flat(post, [transaction])
    odd.bodies.clear()
    assert flat(post, [transaction]) == first
    (body,) = odd.bodies
    assert keys_of(body) == [str(CLOCK), str(transaction.signatures[0])]


@pytest.mark.parametrize("bodies_a_slot", [1, 2, 3, 5])
def test_nothing_of_a_slot_before_is_left(
    localnet: Localnet,
    alice: Keypair,
    node: Callable[..., OddNode],
    post: Post,
    bodies_a_slot: int,
) -> None:
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    payer, bodies = str(alice.pubkey()), 0

    def answers(body: bytes) -> tuple[int, bytes]:
        """Of localnet, at a slot that goes on, in which the payer has as many lamports."""
        nonlocal bodies
        bodies += 1
        slot = 100 + bodies // bodies_a_slot
        asked = _calls(body)
        for call in asked:
            call["params"][1:] = [{**each, "minContextSlot": 0} for each in call["params"][1:]]
        told = localnet.post(asked)
        for call, each in zip(asked, told, strict=True):
            each["result"]["context"]["slot"] = slot
            for key, value in zip(call["params"][0], each["result"]["value"], strict=True):
                if key == payer:
                    value["lamports"] = SOL + slot
        return 200, json.dumps(told if body.startswith(b"[") else told[0]).encode()

    node(answers)
    for _ in range(20):
        before = 100 + bodies // bodies_a_slot
        result = flat(post, [transaction])
        slot = result["context"]["slot"]
        assert before <= slot <= 100 + bodies // bodies_a_slot
        assert result["preExecutionAccounts"][0]["lamports"] == SOL + slot


def test_accounts_are_all_of_one_slot(
    localnet: Localnet, alice: Keypair, between: Callable[[Change], OddNode], post: Post
) -> None:
    newcomer = Keypair()
    mint, held = new_mint(localnet, alice, supply=9)
    other = token_address(newcomer.pubkey(), mint)
    transaction = signed(localnet, [token_transfer(held, mint, other, alice.pubkey(), 1, 6)], alice)
    bodies = 0

    def moving(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The chain goes on between the first two answers, and then stands still."""
        nonlocal bodies
        bodies += 1
        for each in told:
            if "result" in each:
                each["result"]["context"]["slot"] = FROZEN if bodies == 1 else 6
        return told

    odd = between(moving)
    result = flat(post, [transaction])
    assert result["context"]["slot"] == 6
    # What was read first is read once more, together with what was lacking.
    first, third = keys_of(odd.bodies[0]), keys_of(odd.bodies[2])
    assert set(first) < set(third)


def test_a_chain_that_never_stands_still_is_told(
    localnet: Localnet, alice: Keypair, between: Callable[[Change], OddNode], post: Post
) -> None:
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    slots = iter(range(100, 10_000))

    def running(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for each in told:
            if "result" in each:
                each["result"]["context"]["slot"] = next(slots)
        return told

    between(running)
    # Two pages of accounts, so that there is something to be of two slots.
    shown = [str(Keypair().pubkey()) for _ in range(64)]
    configs = [{"addresses": shown}]
    others = [{"addresses": [str(Keypair().pubkey()) for _ in range(64)]}]
    told = answer(
        post,
        asking(
            [transaction],
            preExecutionAccountsConfigs=configs,
            postExecutionAccountsConfigs=others,
        ),
    )
    error = told["error"]
    assert (error["code"], error["data"]["reason"]) == (-32005, "head_moved")


def test_a_node_behind_another_is_asked_again(
    localnet: Localnet, alice: Keypair, between: Callable[[Change], OddNode], post: Post
) -> None:
    mint, held = new_mint(localnet, alice, supply=9)
    transaction = signed(localnet, [token_transfer(held, mint, held, alice.pubkey(), 1, 6)], alice)
    bodies = 0

    def lagging(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        nonlocal bodies
        bodies += 1
        if bodies == 2:
            error = {"code": -32016, "message": "Minimum context slot has not been reached"}
            return [{"jsonrpc": "2.0", "id": each["id"], "error": error} for each in told]
        return [frozen(each) for each in told]

    odd = between(lagging)
    assert flat(post, [transaction])["err"] is None
    configs = [each["params"][1] for each in _calls(odd.bodies[1])]
    assert all(config["minContextSlot"] == 5 for config in configs)
    assert keys_of(odd.bodies[1]) == keys_of(odd.bodies[2])


def _calls(body: bytes) -> list[dict[str, Any]]:
    calls = json.loads(body)
    return [calls] if isinstance(calls, dict) else calls


BROKEN: dict[str, tuple[Any, str]] = {
    "no JSON": (lambda body: (200, b"<html>"), "upstream_answer_unreadable"),
    "HTTP 500": (lambda body: (500, b""), "upstream_answer_unreadable"),
    "no context": (lambda body: (200, _each(body, {"value": []})), "upstream_answer_unreadable"),
    "accounts too few": (
        lambda body: (200, _each(body, {"context": {"slot": 5}, "value": []})),
        "upstream_answer_unreadable",
    ),
    "accounts absent": (
        lambda body: (200, _each(body, None)),
        "upstream_answer_unreadable",
    ),
    "its own error": (
        lambda body: (
            200,
            json.dumps(
                [
                    {"id": each["id"], "error": {"code": -32601, "message": "Method not found"}}
                    for each in json.loads(body)
                ]
            ).encode(),
        ),
        "",
    ),
}


def _each(body: bytes, result: Any) -> bytes:
    told = []
    for each in json.loads(body):
        value = result
        if result is None:
            value = {"context": {"slot": 5}, "value": [None] * len(each["params"][0])}
        told.append({"jsonrpc": "2.0", "id": each["id"], "result": value})
    return json.dumps(told).encode()


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_node_is_told(
    localnet: Localnet,
    alice: Keypair,
    node: Callable[..., OddNode],
    post: Post,
    case: str,
) -> None:
    answers, reason = BROKEN[case]
    node(answers)
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    error = answer(post, asking([transaction]))["error"]
    assert error.get("data", {}).get("reason", "") == reason
    assert reason or error == {"code": -32601, "message": "Method not found"}


def test_a_node_that_is_not_there_is_told(
    localnet: Localnet, alice: Keypair, settings: Any, post: Post
) -> None:
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        settings.UPSTREAM_RPC_URL = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        error = answer(post, asking([transaction]))["error"]
    assert error["data"]["reason"] == "upstream_unreachable"


def test_without_a_node_and_without_an_archive_there_is_nothing_to_simulate_on(
    localnet: Localnet, alice: Keypair, settings: Any, post: Post
) -> None:
    settings.UPSTREAM_RPC_URL = ""
    transaction = signed(localnet, [pay(alice, alice.pubkey(), 1)], alice)
    error = answer(post, asking([transaction]))["error"]
    assert error["data"]["reason"] == "no_upstream_node"
