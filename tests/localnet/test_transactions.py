"""Transactions from a wallet to a finalized block, and those that never get there."""

import asyncio
import base64
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Finalized
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import (
    TransferParams,
    transfer,
)
from solders.transaction import Transaction

from tests.localnet.wallets import (
    SOL,
    balance,
    done,
    encoded,
    landed,
    latest_blockhash,
    nonce,
    pay,
    send,
    sent,
    signed,
    wallet,
)
from tests.localnet_process import Localnet, running_localnet
from tests.patience import PATIENCE_SECONDS


def test_the_python_client_gets_an_airdrop_and_passes_it_on(localnet: Localnet) -> None:
    sender, receiver = Keypair(), Keypair()

    async def story() -> tuple[int, int, Any]:
        async with AsyncClient(localnet.url, timeout=PATIENCE_SECONDS) as client:
            airdrop = (await client.request_airdrop(sender.pubkey(), 2 * SOL)).value
            await client.confirm_transaction(airdrop, Finalized, sleep_seconds=0.02)
            blockhash = (await client.get_latest_blockhash(Finalized)).value.blockhash
            payment = transfer(
                TransferParams(
                    from_pubkey=sender.pubkey(), to_pubkey=receiver.pubkey(), lamports=SOL
                )
            )
            transaction = Transaction.new_signed_with_payer(
                [payment], sender.pubkey(), [sender], blockhash
            )
            signature = (await client.send_transaction(transaction)).value
            await client.confirm_transaction(signature, Finalized, sleep_seconds=0.02)
            return (
                (await client.get_balance(sender.pubkey(), Finalized)).value,
                (await client.get_balance(receiver.pubkey(), Finalized)).value,
                (await client.get_transaction(signature)).value,
            )

    left, received, found = asyncio.run(story())
    assert left == SOL - 5_000
    assert received == SOL
    meta = found.transaction.meta
    assert meta.err is None
    assert meta.fee == 5_000
    assert meta.pre_balances[:2] == [2 * SOL, 0]
    assert meta.post_balances[:2] == [left, received]
    assert meta.compute_units_consumed == 150


def test_a_transaction_is_processed_then_confirmed_then_finalized(localnet: Localnet) -> None:
    sender = wallet(localnet)
    signature = send(localnet, signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender))
    seen: list[str] = []

    def watched() -> bool:
        status = localnet.call("getSignatureStatuses", [signature])["value"][0]
        if status and status["confirmationStatus"] not in seen:
            seen.append(status["confirmationStatus"])
        return seen[-1:] == ["finalized"]

    localnet.wait(watched, "finalized")
    levels = ["processed", "confirmed", "finalized"]
    assert seen == [level for level in levels if level in seen]


def test_the_leader_gets_half_the_signature_fee_and_all_the_priority_fee(
    localnet: Localnet,
) -> None:
    sender = wallet(localnet)
    priced = [
        set_compute_unit_limit(10_000),
        set_compute_unit_price(2_000_000),
        pay(sender, Pubkey.new_unique(), SOL),
    ]
    signature = send(localnet, signed(localnet, priced, sender))
    slot = landed(localnet, signature)["slot"]
    found = localnet.call("getBlock", slot, {"maxSupportedTransactionVersion": 0})
    assert [each["transaction"]["signatures"] for each in found["transactions"]] == [[signature]]
    assert found["transactions"][0]["meta"]["fee"] == 5_000 + 20_000
    (reward,) = found["rewards"]
    assert reward["rewardType"] == "Fee"
    assert reward["lamports"] == 2_500 + 20_000
    (leader,) = localnet.call("getSlotLeaders", slot, 1)
    assert reward["pubkey"] == leader
    writes = localnet.call("getAccountWrites", slot)
    (paid,) = [write for write in writes if write["pubkey"] == leader]
    assert paid["lamports"] == reward["postBalance"]
    assert paid["signature"] is None
    fees = {each["slot"]: each for each in localnet.call("getRecentPrioritizationFees")}
    assert fees[slot]["prioritizationFee"] == 2_000_000


def test_a_failed_transaction_stands_in_its_block_and_costs_its_fee(localnet: Localnet) -> None:
    sender = wallet(localnet, SOL)
    receiver = Pubkey.new_unique()
    signature = send(
        localnet, signed(localnet, [pay(sender, receiver, 5 * SOL)], sender), skipPreflight=True
    )
    status = landed(localnet, signature)
    assert status["err"] == {"InstructionError": [0, {"Custom": 1}]}
    assert balance(localnet, sender.pubkey()) == SOL - 5_000
    assert balance(localnet, receiver) == 0
    writes = localnet.call("getAccountWrites", status["slot"])
    assert [w["pubkey"] for w in writes if w["signature"] == signature] == [str(sender.pubkey())]


def test_preflight_refuses_what_would_fail_in_the_nodes_own_form(localnet: Localnet) -> None:
    sender = wallet(localnet, SOL)
    transaction = signed(localnet, [pay(sender, Pubkey.new_unique(), 5 * SOL)], sender)
    error = sent(localnet, transaction)["error"]
    assert error["code"] == -32002
    assert error["message"] == (
        "Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1"
    )
    data = error["data"]
    assert data["err"] == {"InstructionError": [0, {"Custom": 1}]}
    assert data["unitsConsumed"] == 150
    assert data["accounts"] is None
    assert data["fee"] == 5_000
    for name in ("preBalances", "postBalances", "preTokenBalances", "postTokenBalances"):
        assert data[name] is None
    assert data["loadedAddresses"] is None
    assert any("insufficient lamports" in line for line in data["logs"])
    assert balance(localnet, sender.pubkey(), "processed") == SOL


def test_a_wrong_signature_is_refused_and_never_lands(localnet: Localnet) -> None:
    sender = wallet(localnet)
    good = signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
    forged = type(good).populate(good.message, [Signature.new_unique()])
    error = sent(localnet, forged)["error"]
    assert (error["code"], error["message"]) == (
        -32002,
        "Transaction simulation failed: Transaction did not pass signature verification",
    )
    assert error["data"]["err"] == "SignatureFailure"
    assert (error["data"]["logs"], error["data"]["unitsConsumed"]) == ([], 0)
    config = {"encoding": "base64", "sigVerify": True, "commitment": "confirmed"}
    value = localnet.call("simulateTransaction", encoded(forged), config)["value"]
    assert (value["err"], value["preBalances"], value["fee"]) == ("SignatureFailure", None, None)
    assert value["loadedAddresses"] == {"readonly": [], "writable": []}
    # Unchecked it is answered as a node does, and dropped.
    signature = send(localnet, forged, skipPreflight=True)
    # That the good one was checked before, and this one read, says nothing for this one.
    send(localnet, good, skipPreflight=True)
    assert sent(localnet, forged)["error"]["code"] == -32002
    done(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
    assert localnet.call("getSignatureStatuses", [signature])["value"] == [None]


def test_the_same_transaction_lands_once(localnet: Localnet) -> None:
    sender, receiver = wallet(localnet), Pubkey.new_unique()
    transaction = signed(localnet, [pay(sender, receiver, SOL)], sender)
    for _ in range(3):
        send(localnet, transaction, skipPreflight=True)
    landed(localnet, str(transaction.signatures[0]))
    assert send(localnet, transaction, skipPreflight=True) == str(transaction.signatures[0])
    error = sent(localnet, transaction)["error"]
    assert error["code"] == -32002
    assert error["message"].endswith("This transaction has already been processed")
    assert balance(localnet, receiver) == SOL


def test_a_blockhash_dies_after_150_blocks() -> None:
    with running_localnet(LOCALNET_SLOT_MS=15) as localnet:
        sender = wallet(localnet)
        latest = localnet.call("getLatestBlockhash", {"commitment": "finalized"})["value"]
        late = signed(
            localnet,
            [pay(sender, Pubkey.new_unique(), SOL)],
            sender,
            blockhash=latest["blockhash"],
        )
        assert localnet.call("isBlockhashValid", latest["blockhash"])["value"] is True
        height = latest["lastValidBlockHeight"]
        localnet.wait(lambda: localnet.call("getBlockHeight") > height, "that far")
        assert localnet.call("isBlockhashValid", latest["blockhash"])["value"] is False
        error = sent(localnet, late)["error"]
        assert error["message"] == "Transaction simulation failed: Blockhash not found"
        signature = send(localnet, late, skipPreflight=True)
        done(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
        assert localnet.call("getSignatureStatuses", [signature])["value"] == [None]


def test_a_simulation_tells_all_and_changes_nothing(localnet: Localnet) -> None:
    sender, receiver = wallet(localnet, 2 * SOL), Pubkey.new_unique()
    transaction = signed(
        localnet, [pay(sender, receiver, SOL)], sender, blockhash=str(Pubkey.new_unique())
    )
    config: dict[str, Any] = {"encoding": "base64", "commitment": "confirmed"}
    refused = localnet.call("simulateTransaction", encoded(transaction), config)["value"]
    assert refused["err"] == "BlockhashNotFound"
    config |= {
        "replaceRecentBlockhash": True,
        "innerInstructions": True,
        "accounts": {"encoding": "base64", "addresses": [str(receiver), str(Pubkey.new_unique())]},
    }
    value = localnet.call("simulateTransaction", encoded(transaction), config)["value"]
    assert value["err"] is None
    assert value["accounts"][0]["lamports"] == SOL
    assert value["accounts"][1] is None
    assert value["replacementBlockhash"]["blockhash"] != str(transaction.message.recent_blockhash)
    assert value["innerInstructions"] == []
    assert (value["unitsConsumed"], value["fee"]) == (150, 5_000)
    assert balance(localnet, receiver) == 0
    config["sigVerify"] = True
    answer = localnet.answer("simulateTransaction", encoded(transaction), config)
    assert answer["error"] == {
        "code": -32602,
        "message": "sigVerify may not be used with replaceRecentBlockhash",
    }


def test_a_simulation_shows_accounts_that_it_loaded_and_that_do_not_exist(
    localnet: Localnet,
) -> None:
    """As Agave's simulateTransaction does: it shows the loaded accounts first, then the bank's."""
    sender, named, other = wallet(localnet, 2 * SOL), Pubkey.new_unique(), Pubkey.new_unique()
    transfer = pay(sender, Pubkey.new_unique(), SOL)
    accounts = [*transfer.accounts, AccountMeta(named, False, False)]
    instruction = Instruction(transfer.program_id, bytes(transfer.data), accounts)
    config: dict[str, Any] = {"encoding": "base64", "commitment": "confirmed"}
    config["accounts"] = {"encoding": "base64", "addresses": [str(named), str(other)]}
    transaction = signed(localnet, [instruction], sender)
    value = localnet.call("simulateTransaction", encoded(transaction), config)["value"]
    assert value["err"] is None
    assert value["accounts"] == [
        {
            "lamports": 0,
            "data": ["", "base64"],
            "owner": "11111111111111111111111111111111",
            "executable": False,
            "rentEpoch": 2**64 - 1,
            "space": 0,
        },
        None,
    ]


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("!!!", "base64", "invalid base64 encoding"),
        ("0OIl", "base58", "invalid base58 encoding"),
        ("A" * 1_648, "base64", "base64 encoded solana_transaction::versioned"),
        ("AQID", "base64", "failed to deserialize solana_transaction::versioned"),
        ("", "base64", "failed to deserialize solana_transaction::versioned"),
    ],
)
def test_what_is_no_transaction_is_refused_with_the_reason(
    localnet: Localnet, text: str, encoding: str, expected: str
) -> None:
    error = localnet.answer("sendTransaction", text, {"encoding": encoding})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith(expected)


def test_a_fee_is_known_before_it_is_paid(localnet: Localnet) -> None:
    sender = wallet(localnet)
    priced = [set_compute_unit_limit(1_000), set_compute_unit_price(7_000_000)]
    transaction = signed(localnet, [*priced, pay(sender, Pubkey.new_unique(), 1)], sender)
    message = encoded_message(transaction)
    config = {"commitment": "processed"}
    assert localnet.call("getFeeForMessage", message, config)["value"] == 5_000 + 7_000
    unknown = signed(localnet, priced, sender, blockhash=str(Pubkey.new_unique()))
    assert localnet.call("getFeeForMessage", encoded_message(unknown), config)["value"] is None
    assert localnet.answer("getFeeForMessage", "AQID")["error"]["code"] == -32602
    assert localnet.answer("getFeeForMessage", "someInvalidMessage")["error"] == {
        "code": -32602,
        "message": "invalid base64 encoding: Invalid padding",
    }


def encoded_message(transaction: Any) -> str:
    return base64.b64encode(to_bytes_versioned(transaction.message)).decode()


def test_many_transactions_land_in_order_and_their_money_adds_up(localnet: Localnet) -> None:
    sender = wallet(localnet)
    receivers = [Pubkey.new_unique() for _ in range(300)]
    # Asked for once: the first ones would be too old when the last one is signed.
    blockhash = latest_blockhash(localnet)
    transactions = [
        signed(localnet, [pay(sender, receiver, 1_000_000 + number)], sender, blockhash=blockhash)
        for number, receiver in enumerate(receivers)
    ]
    answers = localnet.post(
        [
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "sendTransaction",
                "params": [encoded(each), {"encoding": "base64", "skipPreflight": True}],
            }
            for number, each in enumerate(transactions)
        ]
    )
    signatures = [answer["result"] for answer in answers]
    for signature in signatures:
        landed(localnet, signature)
    found = localnet.call(
        "getMultipleAccounts", [str(key) for key in receivers[:100]], {"commitment": "finalized"}
    )["value"]
    assert [account["lamports"] for account in found] == [1_000_000 + n for n in range(100)]
    spent = sum(1_000_000 + number for number in range(300)) + 300 * 5_000
    assert balance(localnet, sender.pubkey(), "finalized") == 10 * SOL - spent
    listed = localnet.call(
        "getSignaturesForAddress", str(sender.pubkey()), {"limit": 300, "commitment": "finalized"}
    )
    assert [entry["signature"] for entry in listed] == signatures[::-1]
    page = localnet.call(
        "getSignaturesForAddress",
        str(sender.pubkey()),
        {"before": signatures[200], "until": signatures[197]},
    )
    assert [entry["signature"] for entry in page] == [signatures[199], signatures[198]]


def test_a_durable_nonce_carries_a_transaction_over_dead_blockhashes(localnet: Localnet) -> None:
    sender, receiver = wallet(localnet), Pubkey.new_unique()
    account, advance, before = nonce(localnet, sender)

    def stored() -> str:
        config = {"encoding": "jsonParsed", "commitment": "confirmed"}
        shown = localnet.call("getAccountInfo", str(account), config)["value"]["data"]
        text: str = shown["parsed"]["info"]["blockhash"]
        return text

    assert localnet.call("isBlockhashValid", before)["value"] is False
    durable = signed(localnet, [advance, pay(sender, receiver, SOL)], sender, blockhash=before)
    assert landed(localnet, send(localnet, durable), "confirmed")["err"] is None
    after = stored()
    assert after != before
    # A failing one costs its fee and uses the nonce up too.
    failing = signed(localnet, [advance, pay(sender, receiver, 99 * SOL)], sender, blockhash=after)
    status = landed(localnet, send(localnet, failing, skipPreflight=True), "finalized")
    assert status["err"] == {"InstructionError": [1, {"Custom": 1}]}
    assert stored() not in (before, after)
    writes = localnet.call("getAccountWrites", status["slot"])
    keys = [w["pubkey"] for w in writes if w["signature"] == str(failing.signatures[0])]
    assert sorted(keys) == sorted([str(sender.pubkey()), str(account)])


def test_the_faucet_gives_new_keys_what_they_ask(localnet: Localnet) -> None:
    key = Keypair().pubkey()
    signatures = {localnet.call("requestAirdrop", str(key), SOL) for _ in range(5)}
    assert len(signatures) == 5
    for signature in signatures:
        landed(localnet, signature)
    assert balance(localnet, key, "finalized") == 5 * SOL
