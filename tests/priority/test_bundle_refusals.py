"""What simulateBundle refuses, and who may call it."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0, MessageV1
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from priority.simulation.methods import BundleConfig
from tests.examples import examples
from tests.priority.bundling import Post, answer, asking, refused, text
from tests.priority.odd_nodes import OddNode

pytestmark = pytest.mark.django_db

PAYER = Keypair.from_seed(bytes(32))
PAY = transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=Pubkey.default(), lamports=1))
GOOD = VersionedTransaction(
    MessageV0.try_compile(PAYER.pubkey(), [PAY], [], Hash.default()), [PAYER]
)
NEWER = VersionedTransaction(MessageV1.try_compile(PAYER.pubkey(), [PAY], Hash.default()), [PAYER])
KEY = str(PAYER.pubkey())
ANCHOR = {"slot": 3, "transactionIndex": 1}


def wire(data: bytes) -> str:
    return base64.b64encode(data).decode()


# Members of the first parameter beside one good transaction → reason, and members of the data.
REFUSED: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "none": ({"encodedTransactions": []}, "bundle_empty", {"maximum": 4}),
    "five": (
        {"encodedTransactions": [text(GOOD)] * 5}, "bundle_too_large", {"maximum": 4, "found": 5}
    ),
    "no base64": (
        {"encodedTransactions": [text(GOOD), "&"]},
        "transaction_undecodable",
        {"at": "[0].encodedTransactions[1]"},
    ),
    "no transaction": ({"encodedTransactions": ["AQ=="]}, "transaction_undecodable", {}),
    "bytes behind": (
        {"encodedTransactions": [wire(bytes(GOOD) + b"\0")]}, "transaction_undecodable", {}
    ),
    "too large": (
        {"encodedTransactions": [wire(bytes(1_233))]},
        "transaction_too_large",
        {"maximum": 1_232, "found": 1_233},
    ),
    "version 2": (
        {"encodedTransactions": [wire(b"\x82" + bytes(NEWER)[1:])]},
        "unsupported_version",
        {"found": 2, "maximum": 1},
    ),
    "version 1, too large": (
        {"encodedTransactions": [wire(b"\x81" + bytes(4_096))]},
        "transaction_too_large",
        {"maximum": 4_096, "found": 4_097},
    ),
    "base58 for base64": ({"transactionEncoding": "base58"}, "transaction_undecodable", {}),
    "no such encoding": ({"transactionEncoding": "hex"}, "invalid_params", {}),
    "texts that are none": ({"encodedTransactions": [7]}, "invalid_params", {}),
    "no list": ({"encodedTransactions": text(GOOD)}, "invalid_params", {}),
    "configs too many": (
        {"preExecutionAccountsConfigs": [None, None]},
        "configs_mismatch",
        {"found": 2, "required": 1, "at": "[0].preExecutionAccountsConfigs"},
    ),
    "configs too few": (
        {"postExecutionAccountsConfigs": []}, "configs_mismatch", {"found": 0, "required": 1}
    ),
    "accounts in base58": (
        {"preExecutionAccountsConfigs": [{"addresses": [KEY], "encoding": "base58"}]},
        "invalid_params",
        {},
    ),
    "accounts in binary": (
        {"postExecutionAccountsConfigs": [{"addresses": [], "encoding": "binary"}]},
        "invalid_params",
        {},
    ),
    "no address": (
        {"postExecutionAccountsConfigs": [{"addresses": ["testing123"]}]}, "invalid_params", {}
    ),
    "no addresses": (
        {"postExecutionAccountsConfigs": [{"encoding": "base64"}]}, "invalid_params", {}
    ),
    "too many addresses": (
        {"preExecutionAccountsConfigs": [{"addresses": [KEY] * 65}]},
        "too_many_snapshots",
        {"maximum": 64, "found": 65},
    ),
    "no such bank": ({"simulationBank": "root"}, "invalid_params", {}),
    "no such commitment": ({"simulationBank": {"commitment": "max"}}, "invalid_params", {}),
    "an index alone": ({"transactionIndex": 3}, "bad_position", {}),
    "two positions": ({"slot": 3, "anchor": ANCHOR}, "bad_position", {}),
    "two slots": ({"slot": 3, "simulationBank": {"slot": 4}}, "bad_position", {}),
    "a bank and an anchor": (
        {"simulationBank": 4, "anchor": ANCHOR}, "bad_position", {}
    ),
    "an unsigned one": (
        {
            "encodedTransactions": [
                text(VersionedTransaction.populate(GOOD.message, [GOOD.signatures[0].default()]))
            ]
        },
        "signature_invalid",
        {"at": "[0].encodedTransactions[0]"},
    ),
}  # fmt: skip


@pytest.fixture
def untouched(node: Callable[..., OddNode]) -> OddNode:
    """A node that must not be asked at all."""
    return node(lambda body: (500, b"no"))


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named(untouched: OddNode, post: Post, case: str) -> None:
    members, reason, expected = REFUSED[case]
    data = refused(post, {**asking([GOOD]), **members})
    assert data["reason"] == reason
    assert {name: data[name] for name in expected} == expected
    if "encodedTransactions" not in members:
        data = refused(post, asking([GOOD]), members)
        assert data["reason"] == reason
    assert untouched.bodies == []


def test_params_must_be_one_or_two_objects(untouched: OddNode, post: Post) -> None:
    for params in ([], [None], [[text(GOOD)]], [asking([GOOD]), {}, {}], [asking([GOOD]), 7], [{}]):
        assert refused(post, *params)["reason"] == "invalid_params"


@trying(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(
    members=st.dictionaries(
        st.sampled_from(
            sorted(set(BundleConfig.__struct_encode_fields__) | {"encodedTransactions"})
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers(-1, 2**65) | st.text(max_size=9) | st.floats(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["addresses", "encoding", "slot", "commitment", "signature"]),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=6,
        ),
        max_size=4,
    ),
    second=st.booleans(),
)
def test_whatever_is_asked_is_answered_with_a_reason(
    untouched: OddNode, post: Post, members: dict[str, Any], second: bool
) -> None:
    params = [asking([GOOD]), members] if second else [{**asking([GOOD]), **members}]
    error = answer(post, *params)["error"]
    assert error["code"] in (-32600, -32602, -32700, -32005, -32014), error
    assert error["data"]["reason"] != "internal_error"


def test_the_key_needs_the_right_to_simulate(
    untouched: OddNode, post: Post, issue: Callable[..., Any]
) -> None:
    limits = {"requests_per_second": 100, "requests_burst": 100}
    other = issue(scopes=["proxy"], **limits).secret
    body = {"jsonrpc": "2.0", "id": 1, "method": "simulateBundle", "params": []}
    response = post(body, key=other)
    assert response.status_code == 403
    assert response.json()["error"]["data"]["reason"] == "scope_missing"
    able = issue(scopes=["simulate"], **limits).secret
    assert post(body, key=able).json()["error"]["code"] == -32602
    assert post({**body, "method": "getSlot"}, key=able).status_code == 403
    mixed = post([body, {**body, "id": 2, "method": "getSlot"}], key=able).json()
    reasons = [each["error"]["data"]["reason"] for each in mixed]
    assert reasons == ["invalid_params", "scope_missing"]


def test_who_has_no_key_may_simulate_on_the_public_host(untouched: OddNode, post: Post) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "simulateBundle", "params": []}
    for host in ("public.rpc.localhost", "localhost"):
        response = post(body, key="", host=host)
        assert response.status_code == 200 and response.json()["error"]["code"] == -32602
