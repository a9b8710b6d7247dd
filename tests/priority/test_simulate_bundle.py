"""simulateBundle at the head of a running localnet, in both forms; and what really comes of it."""

import base64
import json
import urllib.request
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.addresses import TOKEN, TOKEN_2022
from chain.node_version import NEWEST
from tests.localnet.wallets import SOL, done, latest_blockhash, pay, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS
from tests.priority.bundling import Post, answer, asking, flat, nested, new_mint
from tests.simulator.world import (
    call,
    create_token_account,
    limits,
    readable,
    token_address,
    token_transfer,
)

pytestmark = pytest.mark.django_db
TOKEN_PROGRAMS = [TOKEN, TOKEN_2022]


@pytest.fixture(scope="module")
def alice(localnet: Localnet) -> Keypair:
    return wallet(localnet, 1_000 * SOL)


@pytest.fixture
def newcomer() -> Keypair:
    return Keypair()


def engine(localnet: Localnet, method: str, *params: Any) -> Any:
    """The block engine's result."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    request = urllib.request.Request(
        f"{localnet.block_engine_url}/api/v1/bundles",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        told = json.load(response)
    assert "error" not in told, told["error"]
    return told["result"]


def land(localnet: Localnet, bundle: list[VersionedTransaction]) -> list[dict[str, Any]]:
    """The bundle really sent: each transaction as the block has it."""
    texts = asking(bundle)["encodedTransactions"]
    bundle_id = engine(localnet, "sendBundle", texts, {"encoding": "base64"})

    def landed() -> bool:
        status = engine(localnet, "getInflightBundleStatuses", [bundle_id])["value"][0]["status"]
        assert status != "Failed", "the bundle failed"
        return bool(status == "Landed")

    localnet.wait(landed, f"done with bundle {bundle_id}")
    config = {"commitment": "confirmed", "maxSupportedTransactionVersion": 0}

    def confirmed() -> list[dict[str, Any]] | None:
        found = [localnet.call("getTransaction", str(e.signatures[0]), config) for e in bundle]
        return found if all(found) else None

    told: list[dict[str, Any]] = localnet.wait(confirmed, "confirmed")
    return told


def tipped(localnet: Localnet, payer: Keypair) -> Any:
    tip = Pubkey.from_string(engine(localnet, "getTipAccounts")[0])
    return pay(payer, tip, 10_000)


@pytest.mark.parametrize("program", TOKEN_PROGRAMS, ids=["token", "token-2022"])
def test_a_bundle_does_what_it_would_do_if_it_were_sent(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post, program: Pubkey
) -> None:
    mint, held = new_mint(chain, alice, supply=1_000_000, program=program)
    his = token_address(newcomer.pubkey(), mint, program)
    blockhash = latest_blockhash(chain)
    me, him = alice.pubkey(), newcomer.pubkey()
    bundle = [
        signed(chain, instructions, *signers, blockhash=blockhash)
        for instructions, signers in (
            ([create_token_account(me, him, mint, program)], (alice,)),
            ([token_transfer(held, mint, his, me, 600, 6, program)], (alice,)),
            ([pay(alice, him, SOL)], (alice,)),
            (
                [
                    token_transfer(his, mint, held, him, 1, 6, program),
                    tipped(chain, newcomer),
                ],
                (newcomer,),
            ),
        )
    ]
    tried = nested(post, bundle)
    assert tried["value"]["summary"] == "succeeded"
    together = flat(post, bundle)
    assert (together["err"], len(tried["value"]["transactionResults"])) == (None, 4)
    landed = land(chain, bundle)
    for simulated, real in zip(tried["value"]["transactionResults"], landed, strict=True):
        meta = real["meta"]
        assert simulated["err"] is None
        assert simulated["logs"] == meta["logMessages"]
        assert simulated["unitsConsumed"] == meta["computeUnitsConsumed"]
        assert simulated["fee"] == meta["fee"]
        # Others pay tips to the same account meanwhile; all else is this bundle's alone.
        keys = real["transaction"]["message"]["accountKeys"]
        mine = [place for place, key in enumerate(keys) if key in map(str, (me, him, held, his))]
        for name in ("preBalances", "postBalances"):
            assert [simulated[name][n] for n in mine] == [meta[name][n] for n in mine]
        for name in ("preTokenBalances", "postTokenBalances"):
            assert simulated[name] == meta[name]
    assert together["logs"] == [line for real in landed for line in real["meta"]["logMessages"]]
    assert together["unitsConsumed"] == sum(real["meta"]["computeUnitsConsumed"] for real in landed)


def test_the_flat_form_shows_what_each_transaction_may_write(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    before = chain.call("getBalance", str(alice.pubkey()), {"commitment": "processed"})["value"]
    blockhash = latest_blockhash(chain)
    bundle = [
        signed(chain, [pay(alice, newcomer.pubkey(), 2 * SOL)], alice, blockhash=blockhash),
        signed(chain, [pay(newcomer, alice.pubkey(), SOL)], newcomer, blockhash=blockhash),
    ]
    told = flat(post, bundle)
    assert set(told) == {
        "context", "err", "logs", "preExecutionAccounts", "postExecutionAccounts",
        "unitsConsumed", "returnData",
    }  # fmt: skip
    assert told["context"]["apiVersion"] == NEWEST.name and told["context"]["slot"] > 0
    assert told["err"] is None and told["returnData"] is None and told["unitsConsumed"] == 300
    system = "11111111111111111111111111111111"
    assert told["logs"] == [f"Program {system} invoke [1]", f"Program {system} success"] * 2
    pre, post_ = told["preExecutionAccounts"], told["postExecutionAccounts"]
    assert [each and each["lamports"] for each in pre] == [
        before, None, 2 * SOL, before - 2 * SOL - 5_000,
    ]  # fmt: skip
    assert [each["lamports"] for each in post_] == [
        before - 2 * SOL - 5_000, 2 * SOL, SOL - 5_000, before - SOL - 5_000,
    ]  # fmt: skip
    assert post_[1] == {
        "lamports": 2 * SOL,
        "owner": system,
        "data": "",
        "executable": False,
        "rentEpoch": 2**64 - 1,
    }
    # Nothing was sent.
    assert chain.call("getBalance", str(newcomer.pubkey()))["value"] == 0


def test_accounts_are_shown_as_asked_for_in_order(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    mint, held = new_mint(chain, alice, supply=1_000)
    his = token_address(newcomer.pubkey(), mint)
    blockhash = latest_blockhash(chain)
    bundle = [
        signed(chain, instructions, alice, blockhash=blockhash)
        for instructions in (
            [create_token_account(alice.pubkey(), newcomer.pubkey(), mint)],
            [token_transfer(held, mint, his, alice.pubkey(), 7, 6)],
        )
    ]
    before = [{"addresses": [str(his), str(mint)]}, None]
    after = [None, {"addresses": [str(mint), str(his)], "encoding": "jsonParsed"}]
    configs = {"preExecutionAccountsConfigs": before, "postExecutionAccountsConfigs": after}
    told = flat(post, bundle, **configs)
    assert told["err"] is None
    none, shown = told["preExecutionAccounts"]
    assert none is None
    real = chain.call(
        "getAccountInfo", str(mint), {"encoding": "base64", "commitment": "processed"}
    )["value"]
    real["data"] = real["data"][0]
    del real["space"]
    assert shown == real
    parsed, his_own = told["postExecutionAccounts"]
    assert parsed["data"]["parsed"]["type"] == "mint"
    amount = his_own["data"]["parsed"]["info"]["tokenAmount"]
    assert (amount["amount"], amount["decimals"]) == ("7", 6)
    first, second = nested(post, bundle, **configs)["value"]["transactionResults"]
    assert (first["postExecutionAccounts"], second["preExecutionAccounts"]) == ([], [])
    absent, same = first["preExecutionAccounts"]
    assert absent == {
        "lamports": 0,
        "owner": "11111111111111111111111111111111",
        "data": ["", "base64"],
        "executable": False,
        "rentEpoch": 0,
        "space": 0,
    }
    assert same["data"] == [real["data"], "base64"] and same["space"] == 82
    assert second["postExecutionAccounts"][1]["data"] == his_own["data"]
    # A token account is parsed by its mint, whether or not a transaction names either.
    alone = [signed(chain, [pay(alice, newcomer.pubkey(), SOL)], alice)]
    named = [{"addresses": [str(held)], "encoding": "jsonParsed"}]
    (shown,) = flat(post, alone, preExecutionAccountsConfigs=named)["preExecutionAccounts"]
    assert shown["data"]["parsed"]["info"]["tokenAmount"]["amount"] == "1000"
    compressed = [{"addresses": [str(held)], "encoding": "base64+zstd"}] * 2
    (_, zstd) = nested(post, bundle, postExecutionAccountsConfigs=compressed)["value"][
        "transactionResults"
    ]
    data, encoding = zstd["postExecutionAccounts"][0]["data"]
    assert encoding == "base64+zstd" and base64.b64decode(data)[:4] == b"\x28\xb5\x2f\xfd"


def test_the_first_failure_ends_it_and_is_told_with_its_signature(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    blockhash = latest_blockhash(chain)
    bundle = [
        signed(chain, [pay(alice, newcomer.pubkey(), SOL)], alice, blockhash=blockhash),
        signed(chain, [pay(newcomer, alice.pubkey(), 5 * SOL)], newcomer, blockhash=blockhash),
        signed(chain, [pay(alice, newcomer.pubkey(), SOL + 1)], alice, blockhash=blockhash),
    ]
    told = flat(post, bundle)
    err = {"InstructionError": [0, {"Custom": 1}]}
    assert told["err"] == err
    assert "insufficient lamports" in told["logs"][-2]
    # The failing one writes nothing, the third does not run.
    assert told["postExecutionAccounts"][2:] == told["preExecutionAccounts"][2:]
    assert len(told["postExecutionAccounts"]) == 4
    value = nested(post, bundle)["value"]
    signature = str(bundle[1].signatures[0])
    text = "Error processing Instruction 0: custom program error: 0x1"
    assert value["summary"] == {
        "failed": {
            "error": {"TransactionFailure": [signature, text]},
            "tx_signature": signature,
            "txSignature": signature,
        }
    }
    assert [each["err"] for each in value["transactionResults"]] == [None, err]


def test_a_transaction_twice_or_one_that_has_landed_is_processed_already(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    once = signed(chain, [pay(alice, newcomer.pubkey(), SOL)], alice)
    told = nested(post, [once, once])["value"]["transactionResults"]
    assert [each["err"] for each in told] == [None, "AlreadyProcessed"]
    other = signed(chain, [pay(alice, newcomer.pubkey(), SOL // 2)], alice)
    tip = signed(chain, [tipped(chain, alice)], alice)
    land(chain, [once, tip])
    told = nested(post, [other, once, tip])["value"]["transactionResults"]
    assert [each["err"] for each in told] == [None, "AlreadyProcessed"]
    assert flat(post, [once])["err"] == "AlreadyProcessed"
    # With another blockhash it would be another transaction.
    assert flat(post, [once], replaceRecentBlockhash=True)["err"] is None


def test_blockhashes_must_be_recent_unless_they_are_replaced(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    dead = signed(
        chain, [pay(alice, newcomer.pubkey(), SOL)], alice, blockhash=str(Pubkey.default())
    )
    assert flat(post, [dead])["err"] == "BlockhashNotFound"
    assert flat(post, [dead], replaceRecentBlockhash=True)["err"] is None
    before = chain.call("getBlockHeight", {"commitment": "processed"})
    (result,) = nested(post, [dead], replaceRecentBlockhash=True)["value"]["transactionResults"]
    after = chain.call("getBlockHeight", {"commitment": "processed"})
    assert result["err"] is None
    replacement = result["replacementBlockhash"]
    # Of a block so new that it dies in 150 from then.
    assert before - 10 < replacement["lastValidBlockHeight"] - 150 <= after
    assert chain.call("isBlockhashValid", replacement["blockhash"], {"commitment": "processed"})[
        "value"
    ]


def test_signatures_are_verified_unless_told_otherwise(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    good = signed(chain, [pay(alice, newcomer.pubkey(), SOL)], alice)
    other = signed(chain, [pay(alice, newcomer.pubkey(), 2 * SOL)], alice)
    forged = VersionedTransaction.populate(good.message, other.signatures)
    for params in ([asking([good, forged])], [asking([good, forged]), {}]):
        error = answer(post, *params)["error"]
        assert (error["code"], error["data"]["reason"]) == (-32602, "signature_invalid")
        assert error["data"]["at"] == "[0].encodedTransactions[1]"
    assert flat(post, [forged], skipSigVerify=True)["err"] is None


def test_the_newest_state_is_that_of_the_commitment(
    chain: Localnet, alice: Keypair, newcomer: Keypair, post: Post
) -> None:
    done(chain, [pay(alice, newcomer.pubkey(), SOL)], alice)
    bundle = [signed(chain, [pay(newcomer, alice.pubkey(), 1)], newcomer)]
    finalized = chain.call("getSlot", {"commitment": "finalized"})
    for bank in (
        "finalized",
        {"commitment": "finalized"},
        {"commitment": {"commitment": "finalized"}},
    ):
        told = answer(
            post, asking(bundle), {"simulationBank": bank, "replaceRecentBlockhash": True}
        )
        assert told["result"]["context"]["slot"] >= finalized
    newest = chain.call("getSlot", {"commitment": "processed"})
    told = answer(post, asking(bundle), {"simulationBank": "tip"})
    assert told["result"]["context"]["slot"] >= newest
    assert flat(post, bundle)["context"]["slot"] >= newest
    assert answer(post, asking(bundle), {})["result"]["value"]["summary"] == "succeeded"


def test_units_and_return_data_are_those_of_all_transactions(
    chain: Localnet, alice: Keypair, post: Post
) -> None:
    mint, held = new_mint(chain, alice, supply=5)
    # GetAccountDataSize answers with the size of a token account.
    asks = call(TOKEN, b"\x15", [readable(mint)])
    blockhash = latest_blockhash(chain)
    bundle = [
        signed(chain, [asks], alice, blockhash=blockhash),
        signed(chain, [pay(alice, held, 1), *limits(units=50_000)], alice, blockhash=blockhash),
    ]
    told = flat(post, bundle)
    assert told["err"] is None
    assert told["returnData"] == {"programId": str(TOKEN), "data": "pQAAAAAAAAA="}
    results = nested(post, bundle)["value"]["transactionResults"]
    assert results[0]["returnData"] == {
        "programId": str(TOKEN),
        "data": ["pQAAAAAAAAA=", "base64"],
    }
    assert results[1]["returnData"] is None
    assert told["unitsConsumed"] == sum(each["unitsConsumed"] for each in results) > 300
