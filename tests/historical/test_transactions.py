"""getTransaction and getSignatureStatuses."""

import base64

import pytest

from chain.encodings import b58decode

HISTORICAL = "/historical"
V0 = {"maxSupportedTransactionVersion": 0}
UNKNOWN = "5" * 87


def signatures_of(rpc, slot):
    answer = rpc(HISTORICAL, "getBlock", slot, {"transactionDetails": "signatures"})
    return answer["result"]["signatures"]


def test_the_binary_encodings_hold_the_same_bytes(rpc, real_ledger):
    for signature in signatures_of(rpc, 332254855)[:200:10]:
        wires = {}
        for encoding in ("base64", "base58"):
            answer = rpc(HISTORICAL, "getTransaction", signature, {**V0, "encoding": encoding})
            data, told = answer["result"]["transaction"]
            assert told == encoding
            wires[encoding] = data
        bare = rpc(HISTORICAL, "getTransaction", signature, {**V0, "encoding": "binary"})["result"]
        assert bare["transaction"] == wires["base58"]
        wire = base64.b64decode(wires["base64"])
        assert b58decode(wires["base58"]) == wire


def test_an_unknown_signature_is_null(rpc, real_ledger):
    assert rpc(HISTORICAL, "getTransaction", UNKNOWN)["result"] is None


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["abc"], "Invalid param: WrongSize"),
        (["0" * 87], "Invalid param: Invalid"),
        ([7], "Invalid params: invalid type: integer `7`, expected a string."),
        (
            [UNKNOWN, {"maxSupportedTransactionVersion": "0"}],
            "Invalid params: data did not match any variant of untagged enum"
            " RpcEncodingConfigWrapper.",
        ),
        (
            [UNKNOWN, {"commitment": "processed"}],
            "Method does not support commitment below `confirmed`",
        ),
    ],
)
def test_a_bad_param_is_told_in_the_standard_nodes_words(rpc, real_ledger, params, message):
    error = rpc(HISTORICAL, "getTransaction", *params)["error"]
    assert (error["code"], error["message"]) == (-32602, message)


def test_a_versioned_transaction_needs_a_caller_that_knows_versions(rpc, real_ledger):
    block = rpc(HISTORICAL, "getBlock", 254170887, V0)["result"]["transactions"]
    seen = set()
    for entry in block[:150]:
        signature = entry["transaction"]["signatures"][0]
        answer = rpc(HISTORICAL, "getTransaction", signature)
        seen.add(entry["version"])
        if entry["version"] == 0:
            assert answer["error"]["code"] == -32015
            assert answer["error"]["data"]["reason"] == "unsupported_transaction_version"
        else:
            assert "version" not in answer["result"]
    assert seen == {0, "legacy"}


def test_statuses_come_in_order_with_null_for_the_unknown(rpc, real_ledger):
    first, second = signatures_of(rpc, 254170887)[5:7]
    result = rpc(HISTORICAL, "getSignatureStatuses", [second, UNKNOWN, first, second])["result"]
    assert result["context"]["slot"] == 332254855
    assert [value and value["slot"] for value in result["value"]] == [
        254170887, None, 254170887, 254170887,
    ]  # fmt: skip
    for signature, value in zip([second, None, first], result["value"][:3], strict=True):
        if signature is None:
            continue
        meta = rpc(HISTORICAL, "getTransaction", signature, V0)["result"]["meta"]
        assert value == {
            "slot": 254170887,
            "confirmations": None,
            "err": meta["err"],
            "status": meta["status"],
            "confirmationStatus": "finalized",
        }


def test_256_statuses_are_answered_and_257_are_not(rpc, real_ledger):
    signatures = signatures_of(rpc, 254170887)[:257]
    result = rpc(HISTORICAL, "getSignatureStatuses", signatures[:256])["result"]
    assert all(value["slot"] == 254170887 for value in result["value"])
    error = rpc(HISTORICAL, "getSignatureStatuses", signatures)["error"]
    assert error["code"] == -32602
    assert error["data"] == {
        "reason": "too_many_signatures", "maximum": 256, "found": 257,
    }  # fmt: skip


def test_a_memo_and_a_failure_are_told_by_the_lists_as_by_the_transaction(rpc, real_ledger):
    block = rpc(HISTORICAL, "getBlock", 147078735, {"encoding": "jsonParsed"})["result"]
    (with_memo,) = [
        (entry, instruction)
        for entry in block["transactions"]
        for instruction in entry["transaction"]["message"]["instructions"]
        if instruction.get("program") == "spl-memo"
    ]
    entry, instruction = with_memo
    payer = entry["transaction"]["message"]["accountKeys"][0]["pubkey"]
    listed = rpc(HISTORICAL, "getSignaturesForAddress", payer)["result"]
    memo = instruction["parsed"]
    (found,) = [
        each for each in listed if each["signature"] == entry["transaction"]["signatures"][0]
    ]
    assert found["memo"] == f"[{len(memo.encode())}] {memo}"
    assert found["err"] == entry["meta"]["err"]


def test_statuses_of_no_signatures_are_none(rpc):
    answer = rpc(HISTORICAL, "getSignatureStatuses", [])
    assert answer["result"]["value"] == []
