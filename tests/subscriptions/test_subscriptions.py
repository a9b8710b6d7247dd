"""Every subscription says what happens on the chain, in a node's own shapes."""

import base64
import json
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import create_nonce_account

from tests.localnet.wallets import SOL, landed, on_a_nonce, pay, send, signed, wallet
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket


def test_a_signature_is_told_at_each_commitment_and_then_no_more(served: Served) -> None:
    localnet = served.localnet
    payer = wallet(localnet)
    transaction = on_a_nonce(localnet, payer)
    signature = str(transaction.signatures[0])
    with served.socket() as socket:
        numbers = {
            commitment: socket.call("signatureSubscribe", signature, {"commitment": commitment})
            for commitment in ("processed", "confirmed", "finalized")
        }
        received = socket.call(
            "signatureSubscribe",
            signature,
            {"commitment": "confirmed", "enableReceivedNotification": True},
        )
        send(localnet, transaction)
        slots = [socket.result(number)["context"]["slot"] for number in numbers.values()]
        assert len(set(slots)) == 1
        assert socket.result(received)["value"] == "receivedSignature"
        last = socket.notice(received)
        assert last == {
            "jsonrpc": "2.0",
            "method": "signatureNotification",
            "params": {
                "result": {"context": {"slot": slots[0]}, "value": {"err": None}},
                "subscription": received,
            },
        }
        # Each is over with its notification.
        error = socket.error("signatureUnsubscribe", received)
        assert error["code"] == -32602 and error["message"] == "Invalid subscription id."
        # Of a transaction that has landed it is said at once.
        again = socket.call("signatureSubscribe", signature, {"commitment": "finalized"})
        assert socket.result(again)["context"]["slot"] == slots[0]


def _of_signature(socket: Socket, number: int, signature: str) -> dict[str, Any]:
    while True:
        notice = socket.notice(number)
        if notice["params"]["result"]["value"]["signature"] == signature:
            return notice


def test_slots_and_roots_come_in_order(served: Served) -> None:
    with served.socket() as socket:
        slots, roots = socket.call("slotSubscribe"), socket.call("rootSubscribe")
        seen = [socket.result(slots) for _ in range(5)]
        assert [each["slot"] for each in seen] == sorted({each["slot"] for each in seen})
        assert all(set(each) == {"parent", "root", "slot"} for each in seen)
        assert all(each["parent"] < each["slot"] for each in seen)
        found = [socket.result(roots) for _ in range(5)]
        assert found == list(range(found[0], found[0] + 5))
        assert socket.call("slotUnsubscribe", slots) is True


def test_slots_come_with_the_root_that_the_node_had(served: Served) -> None:
    with Socket(served.localnet.websocket_url) as theirs, served.socket() as ours:
        numbers = [each.call("slotSubscribe") for each in (theirs, ours)]
        found: list[dict[int, Any]] = []
        for socket, number in zip((theirs, ours), numbers, strict=True):
            results = [socket.result(number) for _ in range(100)]
            found.append({each["slot"]: each for each in results})
    both = found[0].keys() & found[1].keys()
    assert len(both) > 50
    assert [found[1][slot] for slot in both] == [found[0][slot] for slot in both]


def test_logs_of_all_and_of_those_that_mention_an_address(served: Served) -> None:
    localnet = served.localnet
    payer, to = wallet(localnet), Pubkey.new_unique()
    with served.socket() as socket:
        both = [
            socket.call("logsSubscribe", "all", {"commitment": "confirmed"}),
            socket.call("logsSubscribe", {"mentions": [str(to)]}, {"commitment": "confirmed"}),
        ]
        signature = send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        for number in both:
            # Among all, the wallet's airdrop may come first.
            notice = _of_signature(socket, number, signature)
            assert notice["method"] == "logsNotification"
            value = notice["params"]["result"]["value"]
            assert value["signature"] == signature and value["err"] is None
            assert value["logs"][0] == "Program 11111111111111111111111111111111 invoke [1]"
        other = send(localnet, signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer))
        _of_signature(socket, both[0], other)
        landed(localnet, other, "finalized")
        assert socket.call("logsUnsubscribe", both[1]) is True
        assert not [each for each in socket.kept if each["params"]["subscription"] == both[1]]


def test_what_only_paid_its_fee_has_no_logs_and_counts_as_a_transaction(served: Served) -> None:
    localnet = served.localnet
    payer = wallet(localnet)
    nobody = Instruction(Pubkey.new_unique(), b"", [])
    with Socket(localnet.websocket_url) as theirs, served.socket() as ours:
        asked = {"mentions": [str(payer.pubkey())]}, {"commitment": "processed"}
        logs = [each.call("logsSubscribe", *asked) for each in (theirs, ours)]
        updates = [each.call("slotsUpdatesSubscribe") for each in (theirs, ours)]
        vain = send(localnet, signed(localnet, [nobody], payer), skipPreflight=True)
        slot = landed(localnet, vain)["slot"]
        paid = send(localnet, signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer))
        stored = ours.call("logsSubscribe", asked[0], {"fromSlot": slot})
        for socket, number in zip((theirs, ours, ours), (*logs, stored), strict=True):
            seen: list[str] = []
            while paid not in seen:
                seen.append(socket.result(number)["value"]["signature"])
            assert vain not in seen
        for socket, number in zip((theirs, ours), updates, strict=True):
            stats: dict[str, Any] = {}
            while not stats:
                found = socket.result(number)
                stats = found["stats"] if found["slot"] == slot and "stats" in found else {}
            assert (stats["numSuccessfulTransactions"], stats["numFailedTransactions"]) == (1, 1)


def test_bad_params_get_the_nodes_own_words(served: Served) -> None:
    known = str(Pubkey.new_unique())
    wrong = [
        ("accountSubscribe", ["x"], "Invalid Request: Invalid pubkey provided"),
        ("signatureSubscribe", [known], "Invalid Request: Invalid signature provided"),
        ("logsSubscribe", [{"mentions": ["x"]}], "Invalid Request: Invalid mentions provided"),
        ("logsSubscribe", [{"mentions": []}], "Invalid Request: Only 1 address supported"),
        ("accountSubscribe", [], "`params` should have at least 1 argument(s)"),
        (
            "blockSubscribe",
            ["all", {"commitment": "processed"}],
            "Method does not support commitment below `confirmed`",
        ),
        ("programSubscribe", [known, {"filters": [{"dataSize": 1}] * 5}],
         "Too many filters provided; max 4"),
        ("slotUnsubscribe", [1_000_000_000], "Invalid subscription id."),
    ]  # fmt: skip
    with served.socket() as socket:
        for method, params, text in wrong:
            error = socket.error(method, *params)
            assert (error["code"], error["message"]) == (-32602, text)
        assert socket.error("getSlot")["code"] == -32601
        socket.send("{")
        assert socket.receive()["error"]["code"] == -32700
        # The pings of JavaScript's clients get no answer.
        socket.send({"jsonrpc": "2.0", "method": "ping"})
        socket.send(json.dumps([{"jsonrpc": "2.0", "id": n, "method": "rootSubscribe"}
                                for n in range(3)]))  # fmt: skip
        answers = socket.find(lambda message: isinstance(message, list))
        assert [each["id"] for each in answers] == [0, 1, 2]


def test_an_account_in_every_encoding_and_a_slice(served: Served) -> None:
    localnet = served.localnet
    payer, to = wallet(localnet), Pubkey.new_unique()
    with served.socket() as socket:
        config = {"commitment": "confirmed"}
        numbers = {
            encoding: socket.call("accountSubscribe", str(to), {**config, "encoding": encoding})
            for encoding in ("binary", "base58", "base64", "base64+zstd", "jsonParsed")
        }
        clock = "SysvarC1ock11111111111111111111111111111111"
        whole = socket.call("accountSubscribe", clock, {**config, "encoding": "base64"})
        part = socket.call(
            "accountSubscribe",
            clock,
            {**config, "encoding": "base64", "dataSlice": {"offset": 8, "length": 4}},
        )
        send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        found = {encoding: socket.result(number) for encoding, number in numbers.items()}
        assert len({each["context"]["slot"] for each in found.values()}) == 1
        for encoding, each in found.items():
            assert (
                each["value"]
                == localnet.call("getAccountInfo", str(to), {**config, "encoding": encoding})[
                    "value"
                ]
            )
        assert found["base64"]["value"] == {
            "lamports": SOL,
            "data": ["", "base64"],
            "owner": str(Pubkey.default()),
            "executable": False,
            "rentEpoch": 18446744073709551615,
            "space": 0,
        }
        first, cut = socket.result(whole), socket.result(part)
        while first["context"] != cut["context"]:
            first = socket.result(whole)
        data = base64.b64decode(first["value"]["data"][0])
        assert base64.b64decode(cut["value"]["data"][0]) == data[8:12]
        assert cut["value"]["space"] == len(data) == 40


def test_a_programs_accounts_that_pass_filters(served: Served) -> None:
    localnet = served.localnet
    payer, to = wallet(localnet), Pubkey.new_unique()
    system = str(Pubkey.default())
    with served.socket() as socket:
        config = {"commitment": "confirmed", "encoding": "base64"}
        empty = socket.call("programSubscribe", system, {**config, "filters": [{"dataSize": 0}]})
        sized = socket.call("programSubscribe", system, {**config, "filters": [{"dataSize": 80}]})
        send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        found = socket.result(empty)
        while found["value"]["pubkey"] != str(to):
            found = socket.result(empty)
        assert found["value"]["account"]["lamports"] == SOL
        # A nonce account has 80 bytes.
        nonce = Keypair()
        rent = localnet.call("getMinimumBalanceForRentExemption", 80)
        created = create_nonce_account(payer.pubkey(), nonce.pubkey(), payer.pubkey(), rent)
        send(localnet, signed(localnet, list(created), payer, nonce))
        value = socket.result(sized)["value"]
        assert value["pubkey"] == str(nonce.pubkey()) and value["account"]["space"] == 80
        assert not [each for each in socket.kept if each["params"]["subscription"] == sized]


def test_blocks_are_getblocks(served: Served) -> None:
    localnet = served.localnet
    payer, to = wallet(localnet), Pubkey.new_unique()
    with served.socket() as socket:
        config = {
            "commitment": "confirmed",
            "encoding": "jsonParsed",
            "maxSupportedTransactionVersion": 0,
            "showRewards": True,
        }
        named = {"mentionsAccountOrProgram": str(to)}
        every = socket.call("blockSubscribe", "all", config)
        of_it = socket.call("blockSubscribe", named, config)
        old = socket.call(
            "blockSubscribe", named, {**config, "maxSupportedTransactionVersion": None}
        )
        signature = send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        value = socket.result(of_it)["value"]
        slot, block = value["slot"], value["block"]
        assert value["err"] is None
        (entry,) = block["transactions"]
        assert entry["transaction"]["signatures"] == [signature]
        landed(localnet, signature, "finalized")
        config.pop("showRewards")
        whole = localnet.call("getBlock", slot, {**config, "rewards": True})
        told = socket.result(every)["value"]
        while told["slot"] != slot:
            told = socket.result(every)["value"]
        assert told["block"] == whole
        refused = socket.result(old)["value"]
        assert refused == {
            "slot": slot, "block": None, "err": {"UnsupportedTransactionVersion": 0}
        }  # fmt: skip


def test_a_slots_life(served: Served) -> None:
    with served.socket() as socket:
        number = socket.call("slotsUpdatesSubscribe")
        votes = socket.call("voteSubscribe")
        kinds: dict[int, list[str]] = {}
        while not any(each[-1] == "root" for each in kinds.values() if len(each) > 4):
            found = socket.result(number)
            kinds.setdefault(found["slot"], []).append(found["type"])
            if found["type"] == "createdBank":
                assert found["parent"] == found["slot"] - 1
            if found["type"] == "frozen":
                assert set(found["stats"]) == {
                    "numTransactionEntries", "numSuccessfulTransactions",
                    "numFailedTransactions", "maxTransactionsPerEntry",
                }  # fmt: skip
        life = next(each for each in kinds.values() if each[-1] == "root" and len(each) > 4)
        assert [each for each in life if each != "completed"] == [
            "firstShredReceived", "createdBank", "frozen", "optimisticConfirmation", "root",
        ]  # fmt: skip
        assert socket.call("voteUnsubscribe", votes) is True
