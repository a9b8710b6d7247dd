"""The block engine over HTTP, in front of a running localnet."""

import base64
import hashlib
import json
import urllib.request
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58encode
from tests.localnet.wallets import SOL, balance, landed, pay, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS

BASE64 = {"encoding": "base64"}


def ask(
    localnet: Localnet, method: str, *params: Any, path: str = "bundles"
) -> tuple[dict[str, Any], Any]:
    """The whole answer, and its headers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    request = urllib.request.Request(
        f"{localnet.block_engine_url}/api/v1/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        return json.load(response), response.headers


def result(localnet: Localnet, method: str, *params: Any, path: str = "bundles") -> Any:
    answer, _ = ask(localnet, method, *params, path=path)
    assert "error" not in answer, answer["error"]
    return answer["result"]


def refusal(localnet: Localnet, method: str, *params: Any, path: str = "bundles") -> str:
    answer, _ = ask(localnet, method, *params, path=path)
    assert answer["error"]["code"] == -32602, answer
    text: str = answer["error"]["message"]
    return text


def tip_account(localnet: Localnet, number: int = 0) -> Pubkey:
    return Pubkey.from_string(result(localnet, "getTipAccounts")[number])


def texts(*transactions: VersionedTransaction) -> list[str]:
    return [base64.b64encode(bytes(each)).decode() for each in transactions]


def inflight(localnet: Localnet, bundle_id: str) -> dict[str, Any]:
    answer = result(localnet, "getInflightBundleStatuses", [bundle_id])
    assert answer["context"]["slot"] > 0
    (status,) = answer["value"]
    assert status["bundle_id"] == bundle_id
    found: dict[str, Any] = status
    return found


def settled(localnet: Localnet, bundle_id: str) -> dict[str, Any]:
    """The bundle's status, once it is decided."""

    def decided() -> dict[str, Any] | None:
        status = inflight(localnet, bundle_id)
        return status if status["status"] != "Pending" else None

    found: dict[str, Any] = localnet.wait(decided, f"done with bundle {bundle_id}")
    return found


def test_there_are_eight_tip_accounts_that_can_be_tipped(localnet: Localnet) -> None:
    accounts = result(localnet, "getTipAccounts")
    assert len(set(accounts)) == 8
    assert accounts == result(localnet, "getTipAccounts", path="getTipAccounts")
    for account in accounts:
        assert balance(localnet, Pubkey.from_string(account)) > 0


def test_a_bundle_lands_whole_and_in_order_in_one_slot(localnet: Localnet) -> None:
    alice, bob = wallet(localnet), Keypair()
    tip = tip_account(localnet)
    tipped = balance(localnet, tip)
    # The second transaction spends what the first brings.
    first = signed(localnet, [pay(alice, bob.pubkey(), SOL)], alice)
    second = signed(localnet, [pay(bob, tip, 1_000)], bob)
    bundle_id = result(localnet, "sendBundle", texts(first, second), BASE64)
    signatures = [str(first.signatures[0]), str(second.signatures[0])]
    assert bundle_id == hashlib.sha256(",".join(signatures).encode()).hexdigest()
    status = settled(localnet, bundle_id)
    assert status["status"] == "Landed"
    slots = {landed(localnet, each)["slot"] for each in signatures}
    assert slots == {status["landed_slot"]}
    block = localnet.call("getBlock", status["landed_slot"], {"transactionDetails": "signatures"})
    start = block["signatures"].index(signatures[0])
    assert block["signatures"][start : start + 2] == signatures
    assert balance(localnet, tip) == tipped + 1_000
    answer = result(localnet, "getBundleStatuses", [bundle_id])
    assert answer["value"] == [
        {
            "bundle_id": bundle_id,
            "transactions": signatures,
            "slot": status["landed_slot"],
            "confirmation_status": "finalized",
            "err": {"Ok": None},
        }
    ]
    # Once it has landed it is not taken again.
    text = refusal(localnet, "sendBundle", texts(first, second), BASE64)
    assert text == "bundle contains an already processed transaction"


def test_a_bundle_of_which_one_fails_leaves_no_trace(localnet: Localnet) -> None:
    alice, poor = wallet(localnet), wallet(localnet, SOL // 100)
    before = balance(localnet, alice.pubkey())
    good = signed(localnet, [pay(alice, tip_account(localnet, 1), 5_000)], alice)
    bad = signed(localnet, [pay(poor, alice.pubkey(), SOL)], poor)
    bundle_id = result(localnet, "sendBundle", texts(good, bad), BASE64)
    status = settled(localnet, bundle_id)
    assert (status["status"], status["landed_slot"]) == ("Failed", None)
    assert result(localnet, "getBundleStatuses", [bundle_id])["value"] == [None]
    assert balance(localnet, alice.pubkey()) == before
    signatures = [str(each.signatures[0]) for each in (good, bad)]
    assert localnet.call("getSignatureStatuses", signatures)["value"] == [None, None]


def test_base58_is_the_encoding_unless_told(localnet: Localnet) -> None:
    alice = wallet(localnet)
    transaction = signed(localnet, [pay(alice, tip_account(localnet), 1_000)], alice)
    bundle_id = result(localnet, "sendBundle", [b58encode(bytes(transaction))])
    assert settled(localnet, bundle_id)["status"] == "Landed"


def test_a_bundle_that_was_never_sent_is_invalid(localnet: Localnet) -> None:
    unknown = "0" * 64
    assert inflight(localnet, unknown) == {
        "bundle_id": unknown,
        "status": "Invalid",
        "landed_slot": None,
    }
    assert result(localnet, "getBundleStatuses", [unknown])["value"] == [None]
    for method in ("getBundleStatuses", "getInflightBundleStatuses"):
        assert result(localnet, method, [])["value"] == []
        assert "at most 5" in refusal(localnet, method, [unknown] * 6)


def test_tips_are_counted(localnet: Localnet) -> None:
    alice, bob = wallet(localnet), Keypair().pubkey()
    tip = tip_account(localnet)
    for instructions, text in (
        ([pay(alice, bob, SOL)], "Bundles must write lock at least one tip account"),
        ([pay(alice, tip, 999)], "at least 1000 lamports, found 999"),
    ):
        sent = texts(signed(localnet, instructions, alice))
        assert text in refusal(localnet, "sendBundle", sent, BASE64)
    # Several small ones are a tip together.
    half = [pay(alice, tip, 500), pay(alice, tip_account(localnet, 1), 500)]
    bundle_id = result(localnet, "sendBundle", texts(signed(localnet, half, alice)), BASE64)
    assert settled(localnet, bundle_id)["status"] == "Landed"


def test_what_is_no_bundle_is_refused(localnet: Localnet) -> None:
    alice = wallet(localnet)
    good = signed(localnet, [pay(alice, tip_account(localnet), 1_000)], alice)
    (text,) = texts(good)
    forged = bytes(good)[:1] + bytes(64) + bytes(good)[65:]
    for params, expected in (
        ([[]], "bundle contains no transactions"),
        ([[text] * 6, BASE64], "bundle exceeds 5 transactions: 6"),
        ([[text, text], BASE64], "bundle contains duplicate transactions"),
        ([[text, "AAAA"], BASE64], "transaction #1 could not be decoded"),
        ([[text, "!"], BASE64], "transaction #1 could not be decoded"),
        ([["A" * 2_000], BASE64], "transaction #0 could not be decoded: more than 1232 bytes"),
        ([[text]], "transaction #0 could not be decoded"),
        (
            [[base64.b64encode(forged).decode()], BASE64],
            "transaction #0 has an invalid signature",
        ),
        ([[text], {"encoding": "hex"}], "unsupported encoding: hex"),
        (["text"], "expected a sequence"),
    ):
        assert expected in refusal(localnet, "sendBundle", *params), params


@pytest.mark.parametrize("bundle_only", [False, True])
def test_a_single_transaction_has_a_bundle_id_in_the_headers(
    localnet: Localnet, bundle_only: bool
) -> None:
    alice = wallet(localnet)
    transaction = signed(localnet, [pay(alice, tip_account(localnet), 1_000)], alice)
    path = "transactions?bundleOnly=true" if bundle_only else "transactions"
    (text,) = texts(transaction)
    answer, headers = ask(localnet, "sendTransaction", text, BASE64, path=path)
    signature = str(transaction.signatures[0])
    assert answer["result"] == signature
    assert headers["x-bundle-id"] == hashlib.sha256(signature.encode()).hexdigest()
    assert landed(localnet, signature)["err"] is None
    status = inflight(localnet, headers["x-bundle-id"])["status"]
    assert status == ("Landed" if bundle_only else "Invalid")


def test_only_a_bundle_protects_a_transaction_that_fails(localnet: Localnet) -> None:
    alice, tip = wallet(localnet, SOL), tip_account(localnet)
    failing = [pay(alice, tip, 1_000), pay(alice, Pubkey.default(), 2 * SOL)]
    protected = signed(localnet, failing, alice)
    (text,) = texts(protected)
    _, headers = ask(localnet, "sendTransaction", text, BASE64, path="transactions?bundleOnly=true")
    assert settled(localnet, headers["x-bundle-id"])["status"] == "Failed"
    assert balance(localnet, alice.pubkey()) == SOL
    result(localnet, "sendTransaction", text, BASE64, path="transactions")
    # The same transaction by itself lands, fails and pays its fee.
    assert landed(localnet, str(protected.signatures[0]))["err"] is not None
    assert balance(localnet, alice.pubkey()) == SOL - 5_000
    without_tip = signed(localnet, [pay(alice, Keypair().pubkey(), SOL // 2)], alice)
    assert "tip account" in refusal(
        localnet,
        "sendTransaction",
        *texts(without_tip),
        BASE64,
        path="transactions?bundleOnly=true",
    )
